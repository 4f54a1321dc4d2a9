"""Likelihood-ratio intervals, restricted to possible values."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from hushpoll_client.messages import msg
from scipy.optimize import brentq, minimize_scalar
from scipy.special import xlog1py, xlogy
from scipy.stats import chi2

from hushpoll_analysis.channel.base import Floats
from hushpoll_analysis.channel.maximum_likelihood import Maximum, constrained_shares, kernel
from hushpoll_analysis.channel.newton import newton
from hushpoll_analysis.errors import AnalysisError

from .base import IntervalMethod, Limits, Resampling
from .quantity import OneFrequency, Quantity

# A likelihood limit is accepted when it is proven to be this close, relative to the range of the quantity.
CERTAIN = 1e-6
# A little of everything in a start, so that no share is stuck at zero.
WARM = 1e-3
# In a finite population a limit and the variance there decide each other; so often they are found in turns.
TURNS = 4
UNSETTLED = "the likelihood interval did not settle; use the wald or bootstrap interval"


def simplex_limits(quantity: Quantity, limit: float) -> Limits:
    """Smallest and largest a.h over the simplex where the log-likelihood is within `limit` of its maximum."""
    peak = constrained_shares(quantity.counts, quantity.view)
    return _settled(quantity, peak, limit, 1.0), _settled(quantity, peak, limit, -1.0)


def _settled(quantity: Quantity, peak: Maximum, limit: float, sign: float) -> float:
    """Return the limit; in a finite population with the number of answers that the reports are worth at the limit."""
    value, shares = _extreme(quantity, peak, limit, sign)
    for _ in range(TURNS if quantity.sampling_fraction > 0.0 else 0):
        value, shares = _extreme(quantity, peak, limit * quantity.growth / quantity.worth(shares), sign)
    return value


def _extreme(quantity: Quantity, peak: Maximum, limit: float, sign: float) -> tuple[float, Floats]:
    """Walk along the profile likelihood toward the smallest sign * a.h until it has fallen by `limit`.

    Charging each share 1 + lambda a (a scaled to 0..1) gives the best shares among all with the same a.h; lambda = 0
    is the maximum, a larger one goes further down. The limit found is believed only with a certificate (`_least`), and
    given with its shares.
    """
    view, n = quantity.view, quantity.size
    frequencies = quantity.counts / n
    low, high = (sign * bound for bound in quantity.bounds)
    scaled = (sign * quantity.target - min(low, high)) / abs(high - low)
    floor = (peak.log_likelihood - limit) / n
    # The best shares so far on either side of the floor; where the profile is not strictly concave (few kinds of
    # reports seen) the walk jumps over it, and the limit lies between the two.
    sides: dict[bool, Floats] = {True: peak.shares}

    def at(charge: float) -> float:
        """How far the log-likelihood is above the floor for one charge."""
        start = (1 - WARM) * sides[True] + WARM / view.options
        fit = newton(
            frequencies,
            view.forward,
            backward=view.backward,
            shares=start,
            tolerance=1e-10,
            steps=40,
            cost=1.0 + charge * scaled,
        )
        above = over(fit)
        sides[above >= 0] = fit
        return above

    def over(tilt: Floats) -> float:
        return max(kernel(frequencies, view.forward(tilt)), -1e6) - floor

    if float(scaled @ peak.shares) <= CERTAIN:
        return sign * min(low, high), peak.shares
    # Where the likelihood is nearly normal, it has fallen by `limit` at the charge sqrt(2 limit) / (n se).
    usual = math.sqrt(2 * limit) * abs(high - low) / (n * max(quantity.se, 1e-9))
    inner, outer = 0.0, min(max(1.2 * usual, 1e-6), 1.0)
    while at(outer) >= 0:
        if float(scaled @ sides[True]) <= CERTAIN / 10:
            return sign * min(low, high), sides[True]
        if outer > 1e12:
            raise AnalysisError(UNSETTLED)
        inner, outer = outer, 4 * outer
    for accuracy in (1e-4, 1e-8, 1e-12):
        brentq(at, inner, outer, xtol=1e-15, rtol=accuracy)
        inside, beyond = sides[True], sides[False]
        fraction = float(
            brentq(lambda s, to, back: over((1 - s) * back + s * to), 0.0, 1.0, (beyond, inside), xtol=1e-15)
        )
        reached = (1 - fraction) * inside + fraction * beyond
        expected = view.forward(reached)
        slope = view.backward(
            np.divide(frequencies, expected, where=frequencies > 0, out=np.zeros_like(expected))
        )
        bound = _least(scaled, slope, float(slope @ reached) - over(reached))
        if float(scaled @ reached) - bound <= CERTAIN:
            return sign * (min(low, high) + abs(high - low) * float(scaled @ reached)), reached
    raise AnalysisError(UNSETTLED)


def _least(target: Floats, slope: Floats, floor: float) -> float:
    """Smallest a.h over shares with slope.h >= floor: at most two options, so the hull of the points (slope, a).

    The log-likelihood is concave, so its tangent encloses the likelihood set and this bounds a.h from below.
    """
    enough = slope >= floor
    if np.any(enough):
        least = float(target[enough].min())
    else:
        least = np.inf
    inside, outside = np.flatnonzero(enough), np.flatnonzero(~enough)
    if inside.size and outside.size:
        weight = (floor - slope[outside])[None, :] / (slope[inside][:, None] - slope[outside][None, :])
        mixed = weight * target[inside][:, None] + (1 - weight) * target[outside][None, :]
        least = min(least, float(mixed.min()))
    return least


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
