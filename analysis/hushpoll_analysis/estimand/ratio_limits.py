"""Intervals of ratios a.h / c.h of shares of one question, for all kinds of sample."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.special import ndtri

from hushpoll_analysis.channel.base import Floats
from hushpoll_analysis.channel.sets import SetView
from hushpoll_analysis.interval import IntervalMethod, interval, interval_method
from hushpoll_analysis.interval.quantity import Quantity
from hushpoll_analysis.interval.score import Score
from hushpoll_analysis.interval.score_ratio import FARTHEST, ratio_score_limits
from hushpoll_analysis.interval.wald import Wald
from hushpoll_analysis.sample.sample import Sample


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
