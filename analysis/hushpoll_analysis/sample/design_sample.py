"""A weighted sample as one that means, cumulative shares, quantiles and densities can be estimated from."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from hushpoll_client import Channel
from hushpoll_client.mechanism import Mechanism
from scipy import stats

from hushpoll_analysis.channel.base import Floats
from hushpoll_analysis.channel.decoy import estimated_decoy
from hushpoll_analysis.channel.maximum_likelihood import constrained_shares, nearest_on_simplex
from hushpoll_analysis.channel.sets import SetView
from hushpoll_analysis.channel.view import analysis_channel, channel_view, sampler, set_view
from hushpoll_analysis.errors import NotIdentifiedError
from hushpoll_analysis.estimates import Estimate
from hushpoll_analysis.interval.quantity import Quantity
from hushpoll_analysis.sample.columns import Codes, read_column, report_codes
from hushpoll_analysis.sample.design import SampleDesign
from hushpoll_analysis.sample.design_keywords import SampleKeys
from hushpoll_analysis.sample.distinct_rows import times_of
from hushpoll_analysis.sample.option_columns import part_codes
from hushpoll_analysis.sample.sample import Sample
from hushpoll_analysis.sample.weighted import WeightedReports
from hushpoll_analysis.sample.weighted_sets import WeightedSets

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False)
class DesignSample(Sample):
    """Reports with their sample design instead of counts.

    Every quantity has the linearised standard error, and as its counts the answers with equal weights that it is worth,
    made fewer by (z/t)^2: intervals of a simple random sample then use t (Korn and Graubard 1998).
    """

    reports: WeightedReports = field(kw_only=True)
    level: float = field(kw_only=True)

    @property
    def n(self) -> int:
        """The number of respondents."""
        return self.reports.design.n

    @property
    def shrink(self) -> float:
        """The ratio z/t at the level."""
        tail = (1.0 - self.level) / 2.0
        return float(stats.norm.isf(tail) / stats.t.isf(tail, self.reports.design.degrees_of_freedom))

    def quantity(self, target: npt.ArrayLike) -> Quantity:
        """Estimate a.h; the standard error is larger by t/z, and `plainly` takes that out again."""
        quantity = self.reports.quantity(np.asarray(target, dtype=np.float64))
        shrunk = self.shrink**2
        line = quantity.line
        if line is not None:
            line = replace(line, successes=line.successes * shrunk, trials=line.trials * shrunk)
        return replace(
            quantity,
            counts=np.asarray(quantity.counts * shrunk, dtype=np.float64),
            line=line,
            se=quantity.se / self.shrink,
        )

    def rounding_error(self, rounding: float) -> float:
        """Return 0: the reports know of their rounding."""
        return 0.0

    @cached_property
    def likeliest(self) -> Floats:
        """The shares, none below 0, that make the weighted reports likeliest; of sets the nearest possible ones."""
        if isinstance(self.reports, WeightedSets):
            return nearest_on_simplex(self.view.shares(self.reports.frequencies))
        return constrained_shares(self.reports.frequencies * self.n, self.view).shares

    def covariance(self, targets: Floats) -> Floats:
        """Linearised covariance of the estimates of several a.h (rows)."""
        design = self.reports.design.without_population
        values = np.stack([self.reports.values(target) for target in targets], axis=1)
        return design.covariance(values - design.mean(values))

    def plainly(self, entry: Any) -> Any:
        """Return an entry with the standard error itself in place of the one that t made larger."""
        plain = replace(entry, se=entry.se * self.shrink)
        # t at another level is another factor, which the quantity does not know.
        if isinstance(plain, Estimate):
            return replace(plain, limits_at=None)
        return plain


def design_sample(
    frame: pd.DataFrame,
    mechanism: Channel | Mechanism,
    name: str,
    keys: SampleKeys,
    level: float,
    rounding: float = 0.0,
) -> DesignSample:
    """Read one question's reports with their sample design."""
    design, _ = keys.design_or_simple(frame)
    sets = set_view(mechanism)
    if sets is not None:
        return _design_sets(
            frame, mechanism, name=name, design=design, sets=sets, level=level, rounding=rounding
        )
    view = channel_view(mechanism)
    codes: Codes = report_codes(read_column(frame, name, True), view.outcomes)
    reports = WeightedReports(view, codes, design, estimated_decoy(mechanism), rounding)
    shares: Floats | None
    try:
        shares = view.shares(reports.frequencies)
    except NotIdentifiedError:
        shares = None
    counts = np.bincount(codes, times_of(frame), view.outcomes).astype(np.int64)
    return DesignSample(view, counts, shares, reports.decoy, reports=reports, level=level)


def _design_sets(
    frame: pd.DataFrame,
    mechanism: Channel | Mechanism,
    name: str,
    design: SampleDesign,
    sets: SetView,
    level: float,
    rounding: float,
) -> DesignSample:
    sampler_of = sampler(analysis_channel(mechanism))
    held = np.stack([part_codes(frame, name, marginal, sampler_of) for marginal in sampler_of.parts], axis=1)
    reports = WeightedSets(sets, held, design, None, rounding, sets=sets)
    times = times_of(frame).astype(np.int64)
    inside = times @ held
    counts = np.stack([times.sum() - inside, inside], axis=1).reshape(-1)
    shares = sets.shares(reports.frequencies)
    return DesignSample(sets, counts, shares, None, reports=reports, level=level)
