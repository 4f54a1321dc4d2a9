"""LikelihoodRatio-ratio intervals, restricted to possible values."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from hushpoll_client.messages import msg
from scipy.optimize import brentq, minimize_scalar
from scipy.special import xlog1py, xlogy
from scipy.stats import chi2

from hushpoll_analysis.errors import AnalysisError

from .base import IntervalMethod, Limits, Resampling
from .quantity import OneFrequency, Quantity
from .simplex import simplex_limits


class LikelihoodRatio(IntervalMethod):
    """All values inside the bounds with 2 (l_max - l) <= chi2(1), the maximum taken inside the bounds too.

    Where the estimate depends on one frequency, l is the likelihood of that frequency alone, so that the interval
    belongs to the estimate; elsewhere it is the profile of all reports over the simplex. In a finite population the
    distance from the maximum is multiplied by how much less the estimate varies there, at the value that is tried.
    """

    name = "likelihood"
    label = msg("likelihood-ratio interval")
    description = msg("likelihood-ratio intervals restricted to possible shares")
    bounded = True

    def fits(self, quantity: Quantity) -> bool:
        """Fit every quantity."""
        return True

    def limits(self, quantity: Quantity, level: float, resampling: Resampling) -> Limits:
        """Return the ends of the likelihood set, within the bounds."""
        limit = float(chi2.isf(1 - level, 1)) / 2
        if quantity.decoy is not None:
            ends = _with_decoy(quantity, limit)
        elif quantity.line is not None:
            ends = _on_line(quantity.line, quantity.bounds, limit)
        else:
            ends = simplex_limits(quantity, limit)
        return _clip(min(ends), quantity.bounds), _clip(max(ends), quantity.bounds)


def _on_line(line: OneFrequency, bounds: Limits, limit: float) -> Limits:
    left, right = sorted(line.probability(edge) for edge in bounds)

    k, n = line.reports

    def whole(probability: float) -> float:
        return float(xlogy(k, probability) + xlog1py(n - k, -probability))

    best = min(max(k / n, left), right)
    top = whole(best)

    def value(probability: float) -> float:
        return (whole(probability) - top) * line.worth(probability)

    low, high = crossings(value, best, left, right, limit)
    return line.at(low), line.at(high)


def _with_decoy(quantity: Quantity, limit: float) -> Limits:
    """Profile over the decoy's share q, whose own poll is part of the likelihood."""
    decoy = quantity.decoy
    assert decoy is not None
    no, yes = (float(value) for value in quantity.target)
    counts = quantity.counts.astype(np.float64)

    def value(share: float) -> float:
        return decoy.profile(counts, np.array([1 - share, share]))

    best = (quantity.estimate - no) / (yes - no)
    if not 0 <= best <= 1:
        minimum = minimize_scalar(
            lambda p: -value(p), bounds=(0.0, 1.0), method="bounded", options={"xatol": 1e-10}
        )
        best = max([0.0, 1.0, float(minimum.x)], key=value)
    low, high = crossings(value, best, 0.0, 1.0, limit)
    return no + (yes - no) * low, no + (yes - no) * high


def crossings(
    value: Callable[[float], float],
    best: float,
    left: float,
    right: float,
    limit: float,
    peak: float | None = None,
) -> Limits:
    """Where a function with one maximum at `best` falls `limit` below it, or the edge if it never does."""
    top = value(best) if peak is None else peak

    def short(point: float) -> float:
        return min(max(top - value(point), 0.0), 1e9) - limit

    if best <= left or short(left) <= 0:
        low = left
    else:
        low = float(brentq(short, left, best, xtol=1e-13))
    if best >= right or short(right) <= 0:
        high = right
    else:
        high = float(brentq(short, best, right, xtol=1e-13))
    return low, high


def _clip(value: float, bounds: Limits) -> float:
    if math.isnan(value):
        raise AnalysisError(
            "the likelihood could not be computed for these counts", "check counts and mechanism"
        )
    return min(max(value, bounds[0]), bounds[1])
