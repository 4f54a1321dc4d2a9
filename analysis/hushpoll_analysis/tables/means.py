"""Means of a number within groups, and their differences."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import numpy.typing as npt
from hushpoll_client.messages import msg

from hushpoll_analysis.channel.base import Floats
from hushpoll_analysis.channel.view import analysis_channel, channel_view, sampler, set_view
from hushpoll_analysis.counts import check_level, finite_numbers, level_of_each
from hushpoll_analysis.errors import AnalysisError, NotIdentifiedError
from hushpoll_analysis.estimand.means import MeanDifference, mean_of
from hushpoll_analysis.estimates import Estimate, IntervalEstimate
from hushpoll_analysis.interval import joint_method
from hushpoll_analysis.interval.mover import Mover, difference_limits
from hushpoll_analysis.interval.student import critical, two_sided
from hushpoll_analysis.interval.wald import Wald
from hushpoll_analysis.result import PlottedResult
from hushpoll_analysis.sample.columns import Variable
from hushpoll_analysis.sample.sample import read_sample
from hushpoll_analysis.tidy import Tidy

from .cells import FAINT

if TYPE_CHECKING:
    import pandas as pd
    from hushpoll_client import Channel
    from hushpoll_client.mechanism import Mechanism
    from hushpoll_client.survey import Question

TOO_FEW = "too few respondents for an interval"


@dataclass(frozen=True, kw_only=True)
class GroupMean(IntervalEstimate):
    """The mean within one group; `note` says why there is none."""

    group: Any
    interval: str
    note: str

    @classmethod
    def of(cls, group: Any, mean: Estimate) -> GroupMean:
        """Return an estimated mean as that of a group."""
        return cls(
            group=group,
            estimate=mean.estimate,
            se=mean.se,
            low=mean.low,
            high=mean.high,
            interval=mean.interval,
            note="",
        )

    @classmethod
    def symmetric(cls, group: Any, estimate: float, se: float, margin: float, interval: str) -> GroupMean:
        """Return a mean whose limits are as far below as above."""
        return cls(
            group=group,
            estimate=estimate,
            se=se,
            low=estimate - margin,
            high=estimate + margin,
            interval=interval,
            note="",
        )

    @classmethod
    def missing(cls, group: Any, note: str) -> GroupMean:
        """Return a group that has no mean, and why."""
        nan = math.nan
        return cls(group=group, estimate=nan, se=nan, low=nan, high=nan, interval="", note=note)


@dataclass(frozen=True, kw_only=True)
class GroupMeanDifference(MeanDifference):
    """The mean of one group minus that of another; `p_value` is that of the normal test, or of t."""

    group: Any
    reference: Any
    p_value: float


@dataclass(frozen=True)
class MeanComparison(Tidy, PlottedResult):
    """Means within groups and their differences."""

    words = "difference of the means"
    plotted_column = "difference"

    level: float
    means: tuple[GroupMean, ...]
    differences: tuple[GroupMeanDifference, ...]

    def to_frame(self) -> pd.DataFrame:
        """Return one row per difference, as a pandas table."""
        import pandas as pd

        return pd.DataFrame([vars(difference) for difference in self.differences]).set_index(
            ["group", "reference"]
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the comparison as JSON values."""
        return {
            "level": self.level,
            "means": [vars(mean) for mean in self.means],
            "differences": [vars(difference) for difference in self.differences],
        }


def compare_means(
    counts: Any,
    groups: Variable,
    outcome: Channel | Mechanism,
    values: Any,
    level: float = 0.95,
    reference: Any = None,
    rounding: float = 0.0,
    simultaneous: bool = False,
) -> MeanComparison:
    r"""Compare the mean of a number between groups.

    Joint counts have a row for each report (or exact value) of the groups, a column for each report of the outcome.
    Within an exact group the mean is that of `mean`, and a difference is built from both limits (MOVER). A randomized
    group's mean is a ratio, :math:`m_g = \sum_z b_g(z_1) b_v(z_2) f_z / \sum_z b_g(z_1) f_z`, whose variance comes
    from the influence :math:`b_g(z_1)(b_v(z_2) - m_g)/p_g`; its interval, and that of a difference, is normal.
    `reference` is the group to compare the others with; by default every pair is compared.
    """
    check_level(level)
    table = np.asarray(counts, dtype=np.float64)

    def within(each_level: float) -> Within:
        if groups.randomized:
            return _randomized_groups(table, groups, outcome, finite_numbers(values, "values"), each_level)
        return _exact_groups(table, groups, outcome, values, each_level, rounding)

    return mean_comparison(within, groups, level, reference, simultaneous)


class Within(Protocol):
    """Means of groups at one level."""

    def mean(self, g: int) -> GroupMean:
        """Return the mean of one group."""

    def difference(self, g: int, base: int) -> GroupMeanDifference | None:
        """Return the mean of one group minus that of another; None where one of them has none."""


@dataclass(frozen=True, eq=False)
class ExactGroupMeans:
    """Means of groups that each row names: each group is a sample by itself.

    A difference is built from the limits of both means (MOVER). `correlation` is that of two groups' means: 0 in a
    simple random sample; under a design people of both can be in the same clusters and strata, and intervals have
    `freedom` degrees of freedom.
    """

    groups: Variable
    means: Sequence[Estimate | None]
    correlation: Callable[[int, int], float] | None = None
    freedom: int | None = None

    def mean(self, g: int) -> GroupMean:
        """Return the mean of one group."""
        mean, label = self.means[g], self.groups.labels[g]
        if mean is None:
            return GroupMean.missing(label, f"{self.groups.name} = {label}: {TOO_FEW}")
        return GroupMean.of(label, mean)

    def difference(self, g: int, base: int) -> GroupMeanDifference | None:
        """Return the mean of one group minus that of another."""
        mean, other = self.means[g], self.means[base]
        if mean is None or other is None:
            return None
        correlation, interval = 0.0, Mover.name
        if self.correlation is None:
            interval = joint_method([mean.interval, other.interval]).name
        elif mean.se > 0.0 and other.se > 0.0:
            correlation = self.correlation(g, base)
        low, high = difference_limits(mean, other, correlation)
        variance = mean.se**2 + other.se**2 - 2.0 * correlation * mean.se * other.se
        difference, se = mean.estimate - other.estimate, math.sqrt(max(variance, 0.0))
        return GroupMeanDifference(
            group=self.groups.labels[g],
            reference=self.groups.labels[base],
            difference=difference,
            se=se,
            low=low,
            high=high,
            p_value=_p_value(difference, se, self.freedom),
            interval=interval,
        )


@dataclass(frozen=True, eq=False, kw_only=True)
class RatioGroupMeans:
    """Means of groups that are estimated too: ratios with one covariance matrix, and normal intervals or those of t."""

    groups: Variable
    sizes: Floats
    """The estimated share of each group."""
    size_errors: Floats
    means: Floats
    covariance: Floats
    level: float
    freedom: int | None = None

    @property
    def faint(self) -> npt.NDArray[np.bool_]:
        """Whether it is not clear that there is anyone in a group."""
        return faint_groups(self.sizes, self.size_errors)

    @property
    def interval(self) -> str:
        """The name of the interval's method."""
        return Wald.name if self.freedom is None else "t"

    @cached_property
    def quantile(self) -> float:
        """How many standard errors an interval has on either side."""
        return critical(self.level, self.freedom)

    def mean(self, g: int) -> GroupMean:
        """Return the mean of one group."""
        label = self.groups.labels[g]
        if self.faint[g]:
            words = msg(
                "{name} = {label}: the group's estimated share {size:.3f} is not clear of zero (standard error "
                "{error:.3f}), so no mean within it can be given",
                name=self.groups.name,
                label=label,
                size=float(self.sizes[g]),
                error=float(self.size_errors[g]),
            )
            return GroupMean.missing(label, words)
        se = math.sqrt(max(float(self.covariance[g, g]), 0.0))
        return GroupMean.symmetric(label, float(self.means[g]), se, self.quantile * se, self.interval)

    def difference(self, g: int, base: int) -> GroupMeanDifference | None:
        """Return the mean of one group minus that of another."""
        if self.faint[g] or self.faint[base]:
            return None
        difference = float(self.means[g] - self.means[base])
        variance = self.covariance[g, g] + self.covariance[base, base] - 2.0 * self.covariance[g, base]
        se = math.sqrt(max(float(variance), 0.0))
        return GroupMeanDifference(
            group=self.groups.labels[g],
            reference=self.groups.labels[base],
            difference=difference,
            se=se,
            low=difference - self.quantile * se,
            high=difference + self.quantile * se,
            p_value=_p_value(difference, se, self.freedom),
            interval=self.interval,
        )


def faint_groups(sizes: Floats, errors: Floats) -> npt.NDArray[np.bool_]:
    """Return which groups have a share that is not clear of 0."""
    return np.asarray(sizes < FAINT * errors)


def mean_comparison(
    within: Callable[[float], Within], groups: Variable, level: float, reference: Any, simultaneous: bool
) -> MeanComparison:
    """Put together means and differences; `within` makes them at a level."""
    groups_of = range(len(groups.labels))
    if reference is None:
        pairs = [(b, a) for a, b in combinations(groups_of, 2)]
    else:
        base = groups.position(reference)
        pairs = [(g, base) for g in groups_of if g != base]
    alone = within(level)
    together = alone
    if simultaneous and len(pairs) > 1:
        together = within(level_of_each(level, len(pairs)))
    differences = [together.difference(g, base) for g, base in pairs]
    return MeanComparison(
        level,
        tuple(alone.mean(g) for g in groups_of),
        tuple(difference for difference in differences if difference is not None),
    )


def _exact_groups(
    table: Floats, groups: Variable, outcome: Channel | Mechanism, values: Any, level: float, rounding: float
) -> ExactGroupMeans:
    means: list[Estimate | None] = []
    design = sampler(analysis_channel(outcome))
    for row in np.rint(table).astype(np.int64):
        mean = None
        if design.total(row) >= 2:
            mean = mean_of(read_sample(row, outcome), values, level, rounding=rounding)
        means.append(mean)
    return ExactGroupMeans(groups, means)


def _randomized_groups(
    table: Floats, groups: Variable, outcome: Channel | Mechanism, values: Floats, level: float
) -> RatioGroupMeans:
    n, margin, weighted, squared = _moments(table, outcome, values)
    if n < 2:
        raise AnalysisError(f"a standard error needs at least 2 respondents, got {n:.0f}")
    members = groups.weights
    slope, extra = np.zeros_like(members), 0.0
    if groups.decoy is not None:
        slope, extra = groups.decoy.slope, groups.decoy.variance
    sizes = members @ margin
    variances = (members**2 @ margin - sizes**2) / (n - 1) + (slope @ margin) ** 2 * extra
    errors = np.sqrt(np.maximum(variances, 0.0))
    clear_sizes = np.where(faint_groups(sizes, errors), np.nan, sizes)
    means = members @ weighted / clear_sizes
    moved = (slope @ weighted - means * (slope @ margin)) / clear_sizes
    # The mean of b_g (b - m_g) b_h (b - m_h) over the reports, report by report of the groups.
    ratio, centre = members / clear_sizes[:, None], means[:, None]
    crossed = (ratio * squared) @ ratio.T + centre * ((ratio * margin) @ ratio.T) * centre.T
    mixed = (ratio * weighted) @ ratio.T
    covariance = (crossed - centre * mixed - mixed * centre.T) / (n - 1)
    return RatioGroupMeans(
        groups=groups,
        sizes=sizes,
        size_errors=errors,
        means=means,
        covariance=covariance + np.outer(moved, moved) * extra,
        level=level,
    )


def _moments(
    table: Floats, outcome: Channel | Mechanism, values: Floats
) -> tuple[float, Floats, Floats, Floats]:
    """Return n, and of each report of the groups its share with the sums of b and of b^2 of the outcome's reports."""
    sets = set_view(outcome)
    if sets is None:
        n = float(table.sum())
        frequencies = table / max(n, 1.0)
        numbers = channel_view(outcome).solution(values)
        return n, frequencies.sum(axis=1), frequencies @ numbers, frequencies @ numbers**2
    sizes = table[:, :2].sum(axis=1)
    n = float(sizes.sum())
    shares = sets.shares(table / np.maximum(sizes, 1.0)[:, None])
    margin = sizes / max(n, 1.0)
    # E[b^2 | x] is linear in the shares too: sets are counted option by option, not one by one.
    return n, margin, margin * (shares @ values), margin * (shares @ sets.moments(values))


def _p_value(difference: float, se: float, freedom: int | None) -> float:
    """Return the p-value of no difference, normal or that of t; nan without a standard error."""
    if not se > 0.0:
        return math.nan
    return float(two_sided(difference / se, freedom))


def tells_shares(question: Question) -> bool:
    """Whether the reports tell the share of every answer, and these are what people answered."""
    if question.answers.spacing:
        return False
    if not question.channel.listed:
        return True
    view = channel_view(question.mechanism)
    try:
        view.shares(np.zeros(view.outcomes))
    except NotIdentifiedError:
        return False
    return True
