"""MOVER: the method of variance estimates recovery, which builds an interval from the limits of its parts.

The distance from an estimate to its limit stands for z times its standard error on that side, so that a difference or a
ratio of shares inherits the skewness of their own intervals. Zou, Donner (2008), Statist. Med. 27, 1693-1702; Donner,
Zou (2012), Stat. Methods Med. Res. 21, 347-359.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from hushpoll_client.messages import msg
from scipy.optimize import brentq

from hushpoll_analysis.channel.base import Floats
from hushpoll_analysis.channel.decoy import EstimatedDecoy

from .adaptive import CHOSEN, frequency_limits
from .base import IntervalMethod, Limits, Resampling
from .quantity import Quantity

FARTHEST = 1e4  # a limit beyond this many times the possible range is none


@dataclass(frozen=True)
class BoundedEstimate:
    """An estimate with its own limits."""

    estimate: float
    low: float
    high: float

    @property
    def below(self) -> float:
        """The distance to the lower limit."""
        return self.estimate - self.low

    @property
    def above(self) -> float:
        """The distance to the upper limit."""
        return self.high - self.estimate


class Mover(IntervalMethod):
    """The share behind a decoy whose own share was counted, from the limits of both frequencies."""

    name = "mover"
    label = msg("interval from the limits of its parts (MOVER)")
    description = CHOSEN

    def fits(self, quantity: Quantity) -> bool:
        """Fit an estimated decoy, or one frequency (whose own interval it then is)."""
        return quantity.line is not None or (quantity.decoy is not None and quantity.view.outcomes == 2)

    def limits(self, quantity: Quantity, level: float, resampling: Resampling) -> Limits:
        """Combine the limits of the reports and of the decoy's poll."""
        line = quantity.line
        if line is not None:
            ends = [line.at(end) for end in frequency_limits(line.successes, line.trials, level)]
            return min(ends), max(ends)
        yes, n = quantity.counts[1].item(), quantity.counts.sum().item()
        reports = BoundedEstimate(yes / n, *frequency_limits(yes, n, level))
        return decoy_limits(quantity, reports, level)


def decoy_limits(quantity: Quantity, reports: BoundedEstimate, level: float) -> Limits:
    """All p for which z - A(p) - B(p) q, with P(Yes) = A(p) + B(p) q, has an interval that holds 0.

    `reports` is the frequency of Yes with its limits; the decoy's own come from its poll. Where the decoy's share
    leaves the sign of C[1] - C[0] open, no limit exists and the possible value stands in.
    """
    decoy = quantity.decoy
    assert decoy is not None
    q = BoundedEstimate(decoy.share, *frequency_limits(decoy.yes, decoy.of, level))
    base = decoy.without[:, 1]
    move = decoy.within[:, 1] - base

    def room(share: float) -> float:
        """How far 0 lies inside the interval of z - A(p) - B(p) q; negative outside."""
        slope = float(move[0] + share * (move[1] - move[0]))
        gap = reports.estimate - float(base[0] + share * (base[1] - base[0])) - slope * q.estimate
        side = reports.above
        if gap > 0.0:
            side = reports.below
        other = q.below
        if (gap > 0.0) == (slope > 0.0):
            other = q.above
        return math.hypot(side, slope * other) - abs(gap)

    no, yes = (float(value) for value in quantity.target)
    best = (quantity.estimate - no) / (yes - no)
    ends = [no + (yes - no) * _edge(room, best, side) for side in (-1.0, 1.0)]
    return min(ends), max(ends)


@dataclass(frozen=True)
class DecoyError:
    """What a decoy's estimated share q does to an estimate h(q).

    D(q) (h(q) - v) is linear in q, with D(q) the determinant of the decoy's channel, so that at a value v it moves by
    `slope` + `bend` (h - v) in units of D.
    """

    share: BoundedEstimate
    slope: float
    bend: float

    @classmethod
    def of(cls, decoy: EstimatedDecoy, slope: float, level: float) -> DecoyError:
        """Read it from the decoy's poll and dh/dq."""
        bend = 0.0
        if decoy.without.shape == (2, 2):
            at_none, at_full = (
                float(channel[1, 1] - channel[0, 1]) for channel in (decoy.without, decoy.within)
            )
            here = at_none + decoy.share * (at_full - at_none)
            bend = 0.0
            if here:
                bend = (at_full - at_none) / here
        return cls(BoundedEstimate(decoy.share, *frequency_limits(decoy.yes, decoy.of, level)), slope, bend)

    def side(self, gap: float) -> float:
        """Return how far the limit of q moves the estimate towards a value that lies `gap` below it."""
        move = self.slope + self.bend * gap
        return move * (self.share.above if (gap > 0.0) == (move < 0.0) else self.share.below)


def with_decoys(reports: BoundedEstimate, decoys: Sequence[DecoyError]) -> Limits:
    """Return all values v whose distance is compatible with the limits from the reports and from every decoy's poll."""

    def room(value: float) -> float:
        gap = reports.estimate - value
        side = reports.above
        if gap > 0.0:
            side = reports.below
        return math.hypot(side, *(decoy.side(gap) for decoy in decoys)) - abs(gap)

    return _edge(room, reports.estimate, -1.0), _edge(room, reports.estimate, 1.0)


def _edge(room: Callable[[float], float], best: float, side: float) -> float:
    """Walk away from the estimate until the room is used up."""
    inner, step = best, 0.05
    while step < FARTHEST:
        outer = best + side * step
        if room(outer) < 0.0:
            return float(brentq(room, inner, outer, xtol=1e-12))
        inner, step = outer, 2.0 * step
    possible = 0.0 if side < 0.0 else 1.0
    if side < 0.0:
        return min(best, possible)
    return max(best, possible)


def difference_limits(first: BoundedEstimate, second: BoundedEstimate, correlation: float = 0.0) -> Limits:
    """Limits of first - second; the correlation is that of the two estimates, 0 for independent groups."""
    gap = first.estimate - second.estimate
    low = _joined(first.below, second.above, correlation)
    high = _joined(first.above, second.below, correlation)
    return gap - low, gap + high


def _joined(first: float, other: float, correlation: float) -> float:
    return math.sqrt(max(first * first + other * other - 2.0 * correlation * first * other, 0.0))


def linear_limits(estimate: float, parts: Sequence[tuple[float, BoundedEstimate]]) -> Limits:
    """Limits of a sum of independent parts, each times its slope."""
    down = [slope * (estimate.below if slope > 0.0 else estimate.above) for slope, estimate in parts]
    up = [slope * (estimate.above if slope > 0.0 else estimate.below) for slope, estimate in parts]
    return estimate - math.hypot(*down), estimate + math.hypot(*up)


def sum_limits(parts: Sequence[BoundedEstimate], correlation: Floats) -> Limits:
    """Limits of a sum of estimates with these correlations; Zou, Huang, Zhang (2009)."""
    below, above = (np.array([getattr(estimate, side) for estimate in parts]) for side in ("below", "above"))
    estimate = math.fsum(part_estimate.estimate for part_estimate in parts)
    down, up = (math.sqrt(max(float(side @ correlation @ side), 0.0)) for side in (below, above))
    return estimate - down, estimate + up


def correlations(covariance: Floats, errors: Floats) -> Floats:
    """Return the correlations of estimates: 1 with one that shows no variance, which is the widest."""
    scale = np.outer(errors, errors)
    correlation = np.where(scale > 0.0, covariance / np.where(scale > 0.0, scale, 1.0), 1.0)
    np.fill_diagonal(correlation, 1.0)
    return np.clip(correlation, -1.0, 1.0)


def ratio_limits(first: BoundedEstimate, second: BoundedEstimate, correlation: float = 0.0) -> Limits:
    """Limits of first / second: the values R at which a limit of first - R second is 0.

    The second part's lower limit must be above 0: elsewhere a ratio has no bounded interval.
    """
    mirrored = BoundedEstimate(-first.estimate, -first.high, -first.low)
    return _lowest(first, second, correlation), -_lowest(mirrored, second, -correlation)


def least_ratio(first: BoundedEstimate, second: BoundedEstimate, correlation: float = 0.0) -> float:
    """Return the lower limit of first / second where the second part may be 0: any larger ratio is possible.

    A ratio of shares is not negative, so 0 where the first part may be 0 too.
    """
    if first.low > 0.0:
        return _lowest(first, second, correlation)
    return 0.0


def _lowest(first: BoundedEstimate, second: BoundedEstimate, correlation: float) -> float:
    """Solve first - R second = sqrt(below^2 + R^2 other^2 - 2 R rho below other), a quadratic in R."""
    a, b, below = first.estimate, second.estimate, first.below
    other = second.below
    if first.low >= 0.0:
        other = second.above
    square, half, free = b * b - other**2, a * b - correlation * below * other, a * a - below**2
    root = math.sqrt(max(half * half - square * free, 0.0))
    # Two forms of the same root; each is the stable one where the other divides by nearly 0.
    if half > 0.0:
        return free / (half + root)
    return (half - root) / square
