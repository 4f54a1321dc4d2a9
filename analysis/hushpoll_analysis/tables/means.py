"""Means of a number within groups, and their differences."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from hushpoll_client.messages import msg
from scipy import stats

from hushpoll_analysis.channel.view import Floats, analysis_channel, channel_view, sampler, set_view
from hushpoll_analysis.counts import check_level, finite_numbers
from hushpoll_analysis.errors import AnalysisError, NotIdentifiedError
from hushpoll_analysis.estimand.means import MeanDifference, mean_difference, mean_of
from hushpoll_analysis.estimates import Estimate, IntervalEstimate
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

__all__ = [
    "GroupMean",
    "GroupMeanDifference",
    "MeanComparison",
    "compare_means",
    "faint_group",
    "mean_comparison",
    "small_group",
    "tells_shares",
]

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

    Within an exact group the mean is that of `mean`, and a difference is built from both limits (MOVER). A randomized
    group's mean is a ratio, :math:`m_g = \sum_z b_g(z_1) b_v(z_2) f_z / \sum_z b_g(z_1) f_z`, whose variance comes
    from the influence :math:`b_g(z_1)(b_v(z_2) - m_g)/p_g`; its interval, and that of a difference, is normal.

    Parameters
    ----------
    counts : array_like
        Joint counts: a row for each report (or exact value) of the groups, a column for each report of the outcome.
    groups : Variable
        What makes the groups, randomized or exact.
    outcome : Mechanism or Channel
    values : array_like
        The number that each true answer of the outcome stands for.
    level, rounding
        As for `mean`.
    reference
        The group to compare the others with; by default every pair is compared.
    simultaneous
        Make the level hold for all differences together (Bonferroni).

    Returns
    -------
    MeanComparison
    """
    check_level(level)
    table = np.asarray(counts, dtype=np.float64)

    def within(each_level: float) -> Within:
        if groups.randomized:
            return _Randomized(table, groups, outcome, finite_numbers(values, "values"), each_level)
        return _Exact(table, groups, outcome, values, each_level, rounding)

    return mean_comparison(within, groups, level, reference, simultaneous)


class Within(Protocol):
    """Means of groups at one level."""

    def mean(self, g: int) -> GroupMean:
        """Return the mean of one group."""

    def difference(self, g: int, base: int) -> GroupMeanDifference | None:
        """Return the mean of one group minus that of another; None where one of them has none."""


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
    if simultaneous and len(pairs) > 1:
        together = within(1.0 - (1.0 - level) / len(pairs))
    else:
        together = alone
    differences = [together.difference(g, base) for g, base in pairs]
    return MeanComparison(
        level,
        tuple(alone.mean(g) for g in groups_of),
        tuple(difference for difference in differences if difference is not None),
    )


def small_group(groups: Variable, g: int) -> GroupMean:
    """Return a group that has too few people for a mean."""
    label = groups.labels[g]
    return GroupMean.missing(label, f"{groups.name} = {label}: {TOO_FEW}")


def faint_group(groups: Variable, g: int, size: float, error: float) -> GroupMean:
    """Return a randomized group of which it is not clear that there is anybody in it."""
    label = groups.labels[g]
    words = msg(
        "{name} = {label}: the group's estimated share {size:.3f} is not clear of zero (standard error "
        "{error:.3f}), so no mean within it can be given",
        name=groups.name,
        label=label,
        size=size,
        error=error,
    )
    return GroupMean.missing(label, words)


class _Exact:
    """Groups that each row names: each has a separate mean."""

    def __init__(
        self,
        table: Floats,
        groups: Variable,
        outcome: Channel | Mechanism,
        values: Any,
        level: float,
        rounding: float,
    ) -> None:
        self.groups = groups
        self.found: list[Estimate | None] = []
        design = sampler(analysis_channel(outcome))
        for row in np.rint(table).astype(np.int64):
            enough = design.total(row) >= 2
            sample = None
            if enough:
                sample = read_sample(row, outcome)
            self.found.append(None if sample is None else mean_of(sample, values, level, rounding=rounding))

    def mean(self, g: int) -> GroupMean:
        mean = self.found[g]
        if mean is None:
            return small_group(self.groups, g)
        return GroupMean.of(self.groups.labels[g], mean)

    def difference(self, g: int, base: int) -> GroupMeanDifference | None:
        group_mean, other = self.found[g], self.found[base]
        if group_mean is None or other is None:
            return None
        gap = mean_difference(group_mean, other)
        return GroupMeanDifference(
            group=self.groups.labels[g],
            reference=self.groups.labels[base],
            p_value=_p(gap.difference, gap.se),
            **vars(gap),
        )


class _Randomized:
    """Groups that are estimated too: means are ratios, with one covariance matrix."""

    def __init__(
        self, table: Floats, groups: Variable, outcome: Channel | Mechanism, values: Floats, level: float
    ) -> None:
        n, margin, weighted, squared = _moments(table, outcome, values)
        if n < 2:
            raise AnalysisError(f"a standard error needs at least 2 respondents, got {n:.0f}")
        self.groups = groups
        self.z = float(stats.norm.isf((1.0 - level) / 2.0))
        members = groups.weights
        slope, extra = np.zeros_like(members), 0.0
        if groups.decoy is not None:
            slope, extra = groups.decoy.slope, groups.decoy.variance
        self.sizes = members @ margin
        variances = (members**2 @ margin - self.sizes**2) / (n - 1) + (slope @ margin) ** 2 * extra
        self.spread = np.sqrt(np.maximum(variances, 0.0))
        self.faint = self.sizes < FAINT * self.spread
        sizes = np.where(self.faint, np.nan, self.sizes)
        self.means = members @ weighted / sizes
        moved = (slope @ weighted - self.means * (slope @ margin)) / sizes
        # The mean of b_g (b - m_g) b_h (b - m_h) over the reports, report by report of the groups.
        ratio, centre = members / sizes[:, None], self.means[:, None]
        crossed = (ratio * squared) @ ratio.T + centre * ((ratio * margin) @ ratio.T) * centre.T
        mixed = (ratio * weighted) @ ratio.T
        self.covariance = (crossed - centre * mixed - mixed * centre.T) / (n - 1)
        self.covariance += np.outer(moved, moved) * extra

    def mean(self, g: int) -> GroupMean:
        if self.faint[g]:
            return faint_group(self.groups, g, float(self.sizes[g]), float(self.spread[g]))
        value, se = float(self.means[g]), math.sqrt(max(float(self.covariance[g, g]), 0.0))
        return GroupMean.symmetric(self.groups.labels[g], value, se, self.z * se, Wald.name)

    def difference(self, g: int, base: int) -> GroupMeanDifference | None:
        if self.faint[g] or self.faint[base]:
            return None
        gap = float(self.means[g] - self.means[base])
        both = self.covariance[g, g] + self.covariance[base, base] - 2.0 * self.covariance[g, base]
        se = math.sqrt(max(float(both), 0.0))
        return GroupMeanDifference(
            group=self.groups.labels[g],
            reference=self.groups.labels[base],
            difference=gap,
            se=se,
            low=gap - self.z * se,
            high=gap + self.z * se,
            p_value=_p(gap, se),
            interval=Wald.name,
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


def _p(difference: float, se: float) -> float:
    if se > 0.0:
        return 2.0 * float(stats.norm.sf(abs(difference) / se))
    return math.nan


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
