"""Confidence intervals: one function per method behind one door, `interval`.

Wilson, Clopper-Pearson and Jeffreys are intervals of one binomial frequency, mapped through the line that leads from
the frequency to the quantity. They are valid only where the estimate depends on one report frequency; elsewhere the
delta-method normal (Wald) interval stands in, and the result says so.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy.optimize import brentq, minimize_scalar
from scipy.special import xlog1py, xlogy
from scipy.stats import beta, binomtest, chi2, norm

from hushpoll_analysis.channel.view import Floats
from hushpoll_analysis.errors import AnalysisError

from .constrained import Maximum, constrained_shares, kernel
from .newton import newton
from .quantities import OneFrequency, Quantity

__all__ = ["METHODS", "Interval", "crossings", "fallback", "interval", "misfit", "outside"]

BINOMIAL = ("wilson", "clopper-pearson", "jeffreys")
# A likelihood limit is accepted when it is proven to be this close, relative to the range of the quantity.
CERTAIN = 1e-6
# A little of everything in a start, so that no share is stuck at zero.
WARM = 1e-3
UNSETTLED = "the likelihood interval did not settle; use the wald or bootstrap interval"
METHODS = (*BINOMIAL, "wald", "likelihood", "bootstrap")


@dataclass(frozen=True)
class Interval:
    """Lower and upper limit, and the method that gave them."""

    low: float
    high: float
    method: str


def interval(
    quantity: Quantity, method: str = "wilson", level: float = 0.95, replicates: int = 2000, seed: int = 1
) -> Interval:
    """A confidence interval for a linear quantity, unclipped.

    Parameters
    ----------
    quantity : Quantity
    method : str
        One of `METHODS`. A binomial method becomes "wald" where the estimate depends on several report frequencies.
    level : float
    replicates, seed : int
        For the bootstrap; the default seed makes it repeat exactly.

    Returns
    -------
    Interval
    """
    if method not in METHODS:
        raise AnalysisError(f"interval: unknown method {method!r}; choose one of {', '.join(METHODS)}")
    if method in BINOMIAL:
        if quantity.line is not None:
            return Interval(*_binomial(quantity.line, method, level), method)
        method = "wald"
    if method == "wald":
        return Interval(*_wald(quantity, level), method)
    if method == "likelihood":
        return Interval(*_likelihood(quantity, level), method)
    return Interval(*_bootstrap(quantity, level, replicates, seed), method)


def outside(quantity: Quantity, found: Interval) -> bool:
    """Whether an interval lies wholly outside the possible values."""
    low, high = quantity.bounds
    slack = 1e-12 * max(1.0, high - low)
    return found.high < low - slack or found.low > high + slack


def fallback(quantity: Quantity, found: Interval, level: float) -> Interval | None:
    """The likelihood interval inside the bounds, where the interval found cannot be shown.

    That is where it lies wholly outside the bounds, or has no width because all reports are in one cell.
    """
    if found.high > found.low and not outside(quantity, found):
        return None
    return Interval(*_likelihood(quantity, level), "likelihood")


def misfit(quantity: Quantity) -> float:
    """One-sided p-value of an estimate this far outside the possible values, if the design were right.

    Exact binomial where the estimate depends on one frequency, normal elsewhere.
    """
    low, high = quantity.bounds
    below = quantity.estimate < low
    edge = low if below else high
    line = quantity.line
    if line is not None:
        less = below == (line.slope > 0)
        probability = line.probability(edge)
        test = binomtest(line.successes, line.trials, probability, "less" if less else "greater")
        return float(test.pvalue)
    if quantity.se == 0:
        return 0.0
    return float(norm.sf(abs(quantity.estimate - edge) / quantity.se))


def _wald(quantity: Quantity, level: float) -> tuple[float, float]:
    """b.f -+ z se; the standard error has n - 1."""
    margin = float(norm.isf((1 - level) / 2)) * quantity.se
    return quantity.estimate - margin, quantity.estimate + margin


def _binomial(line: OneFrequency, method: str, level: float) -> tuple[float, float]:
    """Wilson (1927), Clopper-Pearson (1934) or the Jeffreys prior (Brown, Cai, DasGupta 2001), all with n."""
    k, n = line.successes, line.trials
    if method == "jeffreys":
        low, high = beta.interval(level, k + 0.5, n - k + 0.5)
    else:
        # Two one-sided intervals are the two-sided one, and spare scipy the search for a two-sided p-value, which takes
        # most of a report's time and which nobody reads here.
        tail = 0.5 + level / 2
        kind: Literal["wilson", "exact"] = "wilson" if method == "wilson" else "exact"
        low = binomtest(k, n, alternative="greater").proportion_ci(tail, method=kind).low
        high = binomtest(k, n, alternative="less").proportion_ci(tail, method=kind).high
    ends = line.at(float(low)), line.at(float(high))
    return min(ends), max(ends)


def _likelihood(quantity: Quantity, level: float) -> tuple[float, float]:
    """All values inside the bounds with 2 (l_max - l) <= chi2(1), the maximum taken inside the bounds too.

    Where the estimate depends on one frequency, l is the likelihood of that frequency alone, so that the interval
    belongs to the estimate; elsewhere it is the profile of all reports over the simplex.
    """
    limit = float(chi2.isf(1 - level, 1)) / 2
    if quantity.decoy is not None:
        return _likelihood_decoy(quantity, limit)
    if quantity.line is not None:
        return _likelihood_line(quantity.line, quantity.bounds, limit)
    return _likelihood_simplex(quantity, limit)


def _likelihood_line(line: OneFrequency, bounds: tuple[float, float], limit: float) -> tuple[float, float]:
    left, right = sorted(line.probability(edge) for edge in bounds)

    def value(probability: float) -> float:
        k, n = line.successes, line.trials
        return float(xlogy(k, probability) + xlog1py(n - k, -probability))

    best = min(max(line.successes / line.trials, left), right)
    ends = [line.at(p) for p in crossings(value, best, left, right, limit)]
    return _clip(min(ends), bounds), _clip(max(ends), bounds)


def _likelihood_decoy(quantity: Quantity, limit: float) -> tuple[float, float]:
    """Profile over the decoy's share q, whose own poll is part of the likelihood."""
    decoy = quantity.decoy
    assert decoy is not None
    no, yes = (float(value) for value in quantity.target)
    counts = quantity.counts.astype(np.float64)

    def value(share: float) -> float:
        return decoy.profile(counts, np.array([1 - share, share]))

    unclipped = (quantity.estimate - no) / (yes - no)
    best = unclipped
    if not 0 <= unclipped <= 1:
        found = minimize_scalar(
            lambda p: -value(p), bounds=(0.0, 1.0), method="bounded", options={"xatol": 1e-10}
        )
        best = max([0.0, 1.0, float(found.x)], key=value)
    ends = [no + (yes - no) * share for share in crossings(value, best, 0.0, 1.0, limit)]
    return _clip(min(ends), quantity.bounds), _clip(max(ends), quantity.bounds)


def crossings(
    value: Callable[[float], float],
    best: float,
    left: float,
    right: float,
    limit: float,
    peak: float | None = None,
) -> tuple[float, float]:
    """Where a function with one maximum at `best` falls `limit` below it, or the edge if it never does."""
    top = value(best) if peak is None else peak

    def short(point: float) -> float:
        return min(max(top - value(point), 0.0), 1e9) - limit

    low = left if best <= left or short(left) <= 0 else float(brentq(short, left, best, xtol=1e-13))
    high = right if best >= right or short(right) <= 0 else float(brentq(short, best, right, xtol=1e-13))
    return low, high


def _likelihood_simplex(quantity: Quantity, limit: float) -> tuple[float, float]:
    """Smallest and largest a.h over the simplex where the log-likelihood is within `limit` of its maximum."""
    peak = constrained_shares(quantity.counts, quantity.view)
    ends = [_extreme(quantity, peak, limit, sign) for sign in (1.0, -1.0)]
    return _clip(ends[0], quantity.bounds), _clip(ends[1], quantity.bounds)


def _extreme(quantity: Quantity, peak: Maximum, limit: float, sign: float) -> float:
    """Walk along the profile likelihood toward the smallest sign * a.h until it has fallen by `limit`.

    Charging each share 1 + lambda a (a scaled to 0..1) gives the best shares among all with the same a.h; lambda = 0
    is the maximum, a larger one goes further down. The limit found is believed only with a certificate (`_least`).
    """
    view, n = quantity.view, quantity.n
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
        found = newton(frequencies, view.forward, view.backward, start, 1e-10, 40, 1.0 + charge * scaled)
        above = over(found)
        sides[above >= 0] = found
        return above

    def over(found: Floats) -> float:
        return max(kernel(frequencies, view.forward(found)), -1e6) - floor

    if float(scaled @ peak.shares) <= CERTAIN:
        return sign * min(low, high)
    # Where the likelihood is nearly normal, it has fallen by `limit` at the charge sqrt(2 limit) / (n se).
    usual = math.sqrt(2 * limit) * abs(high - low) / (n * max(quantity.se, 1e-9))
    inner, outer = 0.0, min(max(1.2 * usual, 1e-6), 1.0)
    while at(outer) >= 0:
        if float(scaled @ sides[True]) <= CERTAIN / 10:
            return sign * min(low, high)
        if outer > 1e12:
            raise AnalysisError(UNSETTLED)
        inner, outer = outer, 4 * outer
    for accuracy in (1e-4, 1e-8, 1e-12):
        brentq(at, inner, outer, xtol=1e-15, rtol=accuracy)
        inside, beyond = sides[True], sides[False]
        part = float(
            brentq(lambda s, to, back: over((1 - s) * back + s * to), 0.0, 1.0, (beyond, inside), xtol=1e-15)
        )
        reached = (1 - part) * inside + part * beyond
        expected = view.forward(reached)
        slope = view.backward(
            np.divide(frequencies, expected, where=frequencies > 0, out=np.zeros_like(expected))
        )
        bound = _least(scaled, slope, float(slope @ reached) - over(reached))
        if float(scaled @ reached) - bound <= CERTAIN:
            return sign * (min(low, high) + abs(high - low) * float(scaled @ reached))
    raise AnalysisError(UNSETTLED)


def _least(target: Floats, slope: Floats, floor: float) -> float:
    """Smallest a.h over shares with slope.h >= floor: at most two options, so the hull of the points (slope, a).

    The log-likelihood is concave, so its tangent encloses the likelihood set and this bounds a.h from below.
    """
    enough = slope >= floor
    least = float(target[enough].min()) if np.any(enough) else np.inf
    inside, outside = np.flatnonzero(enough), np.flatnonzero(~enough)
    if inside.size and outside.size:
        weight = (floor - slope[outside])[None, :] / (slope[inside][:, None] - slope[outside][None, :])
        mixed = weight * target[inside][:, None] + (1 - weight) * target[outside][None, :]
        least = min(least, float(mixed.min()))
    return least


def _bootstrap(quantity: Quantity, level: float, replicates: int, seed: int) -> tuple[float, float]:
    """Percentiles of the estimate over resampled reports, and resampled decoy answers where q was estimated."""
    if replicates < 200:
        raise AnalysisError(f"replicates: at least 200 are needed for percentiles, got {replicates}")
    rng = np.random.default_rng(seed)
    n, line = quantity.n, quantity.line
    if line is not None:
        drawn = line.intercept + line.slope * rng.binomial(n, line.successes / n, size=replicates) / n
    else:
        frequencies = rng.multinomial(n, quantity.counts / n, size=replicates) / n
        if quantity.decoy is not None:
            drawn = quantity.decoy.redraw(frequencies, quantity.weights, rng)
        else:
            drawn = frequencies @ quantity.weights
    if not np.all(np.isfinite(drawn)):
        raise AnalysisError(
            "bootstrap: a resampled decoy share makes the channel singular; the decoy's poll is too small"
        )
    low, high = np.quantile(drawn, [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)


def _clip(value: float, bounds: tuple[float, float]) -> float:
    if math.isnan(value):
        raise AnalysisError(
            "the likelihood could not be computed for these counts; check counts and mechanism"
        )
    return min(max(value, bounds[0]), bounds[1])
