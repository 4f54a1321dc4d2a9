"""The likelihood set of a general table: how far a.h can go over the simplex, with a certificate."""

from __future__ import annotations

import math

import numpy as np
from scipy.optimize import brentq

from hushpoll_analysis.channel.base import Floats
from hushpoll_analysis.channel.maximum_likelihood import Maximum, constrained_shares
from hushpoll_analysis.channel.multinomial import kernel
from hushpoll_analysis.channel.newton import newton
from hushpoll_analysis.errors import AnalysisError

from .base import Limits
from .quantity import Quantity

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
