"""Ratios of shares within one question: Yes among those who did not decline."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from scipy.optimize import brentq
from scipy.special import ndtri

from hushpoll_analysis.arguments import one_or_more
from hushpoll_analysis.channel.base import Floats
from hushpoll_analysis.channel.sets import SetView
from hushpoll_analysis.errors import AnalysisError
from hushpoll_analysis.estimates import IntervalEstimate, Shown, shown_share
from hushpoll_analysis.interval import IntervalMethod, interval, interval_method
from hushpoll_analysis.interval.quantity import Quantity
from hushpoll_analysis.interval.score import Score
from hushpoll_analysis.interval.score_ratio import FARTHEST, ratio_score_limits
from hushpoll_analysis.interval.wald import Wald
from hushpoll_analysis.result import PlottedResult
from hushpoll_analysis.sample.sample import Sample

if TYPE_CHECKING:
    from hushpoll_analysis.estimand.share_estimates import ShareEstimates
    from hushpoll_analysis.estimates import Estimate


@dataclass(frozen=True, eq=False)
class Ratios:
    """Several ratios with one denominator `bottom`; a row of `tops` is a numerator."""

    sample: Sample
    tops: Floats
    bottom: Floats
    requested: str

    @cached_property
    def whole(self) -> Quantity:
        """The denominator."""
        return self.sample.quantity(self.bottom)

    @cached_property
    def parts(self) -> list[Quantity]:
        """The numerators."""
        return [self.sample.quantity(top) for top in self.tops]

    @cached_property
    def estimates(self) -> Floats:
        """The ratios."""
        return np.array([numerator.estimate for numerator in self.parts]) / self.whole.estimate

    @cached_property
    def gaps(self) -> list[Quantity]:
        """The differences a.h - R c.h at the estimated ratios R: their standard errors are those of R times c.h."""
        targets = self.tops - self.estimates[:, None] * self.bottom
        return [self.sample.quantity(target) for target in targets]

    @property
    def method(self) -> IntervalMethod:
        """The interval method."""
        requested = interval_method(self.sample.method_name(self.requested))
        normal = isinstance(self.sample.view, SetView) or requested.normal
        return Wald() if normal else Score()

    def limits(self, level: float) -> Floats:
        """Return low and high of each ratio, one row a ratio.

        A ratio R belongs to the interval if 0 is not rejected as the value of a.h - R c.h: by the score test, or by
        the normal one (Fieller 1954) if "wald" is requested or reports are sets. If 0 is not rejected for the
        denominator itself, every ratio is possible and the limits are infinite.
        """
        if interval(self.whole, self.method.name, level).low <= 0.0:
            return np.tile([-math.inf, math.inf], (len(self.tops), 1))
        if self.method.normal:
            return self._fieller(level)
        return self._score(level)

    def _score(self, level: float) -> Floats:
        view = self.sample.view
        # The counts that each ratio is worth: those of a design or a finite population are not the reports themselves.
        counts = np.stack([np.asarray(gap.counts, dtype=np.float64)[view.possible] for gap in self.gaps])
        tops = np.stack([numerator.weights[view.possible] for numerator in self.parts])
        bottoms = np.tile(self.whole.weights[view.possible], (len(tops), 1))
        sizes = counts.sum(axis=1)
        ends = ratio_score_limits(tops, bottoms, counts / sizes[:, None], sizes, level)
        limits = np.stack(ends, axis=1)
        # The search ends there without a limit.
        unbounded = np.abs(limits - self.estimates[:, None]) >= FARTHEST * (1.0 - 1e-9)
        return np.where(unbounded, [-math.inf, math.inf], limits)

    @cached_property
    def _covariances(self) -> Floats:
        """Covariance of each numerator with the denominator, from the variance of their difference."""
        differences = [self.sample.quantity(top - self.bottom).se for top in self.tops]
        errors = np.array([numerator.se for numerator in self.parts])
        return np.asarray((errors**2 + self.whole.se**2 - np.array(differences) ** 2) / 2.0)

    def _fieller(self, level: float) -> Floats:
        """Solve (t - R b)^2 = z^2 (V_t - 2 R C + R^2 V_b) for R, with the denominator clear of 0."""
        square = float(ndtri(0.5 + level / 2.0)) ** 2
        values = np.array([numerator.estimate for numerator in self.parts])
        variances = np.array([numerator.se for numerator in self.parts]) ** 2
        leading = self.whole.estimate**2 - square * self.whole.se**2
        half = values * self.whole.estimate - square * self._covariances
        root = np.sqrt(np.maximum(half**2 - leading * (values**2 - square * variances), 0.0))
        return np.stack([half - root, half + root], axis=1) / leading


FURTHEST = 8.0


@dataclass(frozen=True, kw_only=True)
class RatioEstimate(IntervalEstimate, PlottedResult):
    """The share of some answers among others; unclipped. `low` and `high` hold the ratios that the data allow.

    `shown` lies within 0 and 1: of an interval that lies wholly outside it is the likelihood interval inside, and
    `misfit` is the p-value of that, as in `estimate`: a small one says that data and design disagree.
    """

    words = "ratio"
    figures_follow = "among"

    of: tuple[str, ...]
    among: tuple[str, ...]
    level: float
    shown: Shown
    misfit: float | None


def ratio_of(table: ShareEstimates, of: Sequence[str], among: Sequence[str]) -> RatioEstimate:
    """Estimate h(of) / h(among).

    A ratio R belongs to the interval where 0 belongs to that of h(of) - R h(among), a linear quantity, whose interval
    method it takes over; for the normal one this is Fieller's. Where h(among) is not clear of 0 every ratio is
    possible and the interval is unbounded: to refuse there would leave the others as a selection that covers less often
    than it says.
    """
    of, among = one_or_more(of, "of"), one_or_more(among, "among")
    top, bottom = _target(table, of), _target(table, among)
    if np.any(bottom < top):
        raise AnalysisError("the answers counted are not all among the others", "name them in among= too")
    denominator = table.functional(bottom)
    numerator = table.functional(top)
    if denominator.low <= 0.0:
        return _unbounded(table, (of, among), numerator, denominator)
    estimate = numerator.estimate / denominator.estimate
    gap = table.functional(top - estimate * bottom, interval="wald")

    def limit(side: str) -> Callable[[float], float]:
        return lambda ratio: float(getattr(table.functional(top - ratio * bottom), side))

    low, high = _end(limit("low"), estimate, -1.0), _end(limit("high"), estimate, 1.0)
    shown_low, shown_high, misfit = low, high, None
    # Of what lies outside, the likelihood interval of the part that cannot be below 0 stands in.
    if high < 0.0:
        shown_low, shown_high = 0.0, numerator.shown.high / denominator.shown.estimate
        misfit = numerator.misfit
    elif low > 1.0:
        rest = table.functional(bottom - top)
        shown_low, shown_high = 1.0 - rest.shown.high / denominator.shown.estimate, 1.0
        misfit = rest.misfit
    return RatioEstimate(
        of=tuple(map(str, of)),
        among=tuple(map(str, among)),
        estimate=estimate,
        se=gap.se / denominator.estimate,
        low=low,
        high=high,
        level=table.level,
        shown=shown_share(estimate, shown_low, shown_high),
        misfit=misfit,
    )


def _unbounded(
    table: ShareEstimates,
    names: tuple[Sequence[str], Sequence[str]],
    numerator: Estimate,
    denominator: Estimate,
) -> RatioEstimate:
    """Return a ratio of which nothing is known; there is no estimate unless the share below is above 0."""
    of, among = (tuple(map(str, name)) for name in names)
    estimate = se = math.nan
    if denominator.estimate > 0.0:
        estimate = numerator.estimate / denominator.estimate
        gap = table.functional(_target(table, of) - estimate * _target(table, among), interval="wald")
        se = gap.se / denominator.estimate
    middle = 0.5
    if not math.isnan(estimate):
        middle = min(max(estimate, 0.0), 1.0)
    return RatioEstimate(
        of=of,
        among=among,
        estimate=estimate,
        se=se,
        low=-math.inf,
        high=math.inf,
        level=table.level,
        shown=Shown(middle, 0.0, 1.0),
        misfit=None,
    )


def _target(table: ShareEstimates, chosen: Sequence[str]) -> Floats:
    target = np.zeros(table.view.options)
    for option in chosen:
        if option not in table.options:
            raise AnalysisError(f"{option!r} is not an answer", f"there is {', '.join(table.options)}")
        target[table.options.index(option)] = 1.0
    return target


def _end(limit: Callable[[float], float], estimate: float, side: float) -> float:
    """Walk from the estimate until 0 leaves the interval."""
    inner, step = estimate, 0.02
    while step < FURTHEST:
        outer = estimate + side * step
        value = limit(outer)
        if value * side < 0.0:
            return float(brentq(limit, inner, outer, xtol=1e-9))
        inner, step = outer, 2.0 * step
    return side * math.inf
