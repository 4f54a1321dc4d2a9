"""The straight line through waves, and tests of any change and of bending, where each wave knows its own error."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy import stats
from scipy.optimize import brentq

from hushpoll_analysis.channel.view import Floats
from hushpoll_analysis.shares.interval.mover import difference_limits

from .wave_values import WaveValue, quantile

__all__ = ["Change", "Line", "change_between", "line_through"]

SMALLEST = 1e-12  # limits at smaller levels lose their digits
LARGEST = 1.0 - 1e-6


class Change(NamedTuple):
    """What changed between two waves."""

    change: float
    se: float
    low: float
    high: float
    p_value: float


class Line(NamedTuple):
    """The weighted straight line with its tests."""

    slope: float
    se: float
    low: float
    high: float
    slope_p: float
    changed_p: float
    bent_p: float | None


def change_between(after: WaveValue, before: WaveValue, level: float) -> Change:
    """Give the change with limits from those of both waves (MOVER), and the level at which they reach 0."""
    gap = after.estimate - before.estimate
    freedom = satterthwaite(np.array([after.error, before.error]) ** 2, [after.freedom, before.freedom])

    def limits(level: float) -> tuple[float, float]:
        return difference_limits(after.part_with(level, freedom), before.part_with(level, freedom))

    def clear(log_tail: float) -> float:
        low, high = limits(1.0 - math.exp(log_tail))
        return low if gap > 0.0 else -high

    ends = math.log(SMALLEST), math.log(LARGEST)
    if gap == 0.0 or clear(ends[1]) <= 0.0:
        p_value = 1.0
    elif clear(ends[0]) > 0.0:
        p_value = SMALLEST
    else:
        p_value = math.exp(brentq(clear, *ends, xtol=1e-9))
    return Change(gap, math.hypot(after.se, before.se), *limits(level), p_value)


def satterthwaite(parts: Floats, freedom: Sequence[int | None]) -> float | None:
    """Give the degrees of freedom of a sum of estimated variances; None where all are known."""
    each = sum(part**2 / own for part, own in zip(parts.tolist(), freedom, strict=True) if own is not None)
    return float(parts.sum()) ** 2 / each if each else None


def line_through(when: Floats, waves: Sequence[WaveValue], level: float) -> Line:
    """Fit the line by weighted least squares, with the uncertainty of weights that were estimated from few clusters.

    The variance of the slope is that of Kenward and Roger (1997), its degrees of freedom Satterthwaite's; for waves
    without degrees of freedom this is the normal interval.
    """
    values, weights = np.array([one.estimate for one in waves]), np.array([one.error for one in waves]) ** -2
    loose = np.array([0.0 if one.freedom is None else 1.0 / one.freedom for one in waves])
    columns = np.stack([np.ones_like(when), when - weights @ when / weights.sum()], axis=1)
    spread = float(weights @ columns[:, 1] ** 2)
    slope = float(weights @ (columns[:, 1] * values)) / spread
    more = float(weights * (1.0 - _leverages(columns, weights)) * loose @ columns[:, 1] ** 2)
    se = math.sqrt(1.0 / spread + 4.0 * more / spread**2)
    freedom = satterthwaite(weights * columns[:, 1] ** 2, [one.freedom for one in waves])
    half = quantile(level, freedom) * se
    size = abs(slope) / se
    return Line(
        slope,
        se,
        slope - half,
        slope + half,
        2.0 * float(stats.norm.sf(size) if freedom is None else stats.t.sf(size, freedom)),
        _fits(columns[:, :1], values, weights, loose),
        _fits(columns, values, weights, loose) if len(waves) > 2 else None,
    )


def _leverages(columns: Floats, weights: Floats) -> Floats:
    inverse = np.linalg.inv((columns * weights[:, None]).T @ columns)
    return np.asarray(weights * np.einsum("ia,ab,ib->i", columns, inverse, columns), dtype=np.float64)


def _fits(columns: Floats, values: Floats, weights: Floats, loose: Floats) -> float:
    """Test that the columns explain the values: chi-square, or F where variances have degrees of freedom (1/`loose`).

    With one column this is Welch's (1951) test that all means are the same; Johansen (1980) has the general one.
    """
    root = np.sqrt(weights)
    found, *_ = np.linalg.lstsq(columns * root[:, None], values * root, rcond=None)
    misfit = float(weights @ (values - columns @ found) ** 2)
    free = len(values) - columns.shape[1]
    looseness = float((1.0 - _leverages(columns, weights)) ** 2 @ loose)
    if not looseness:
        return float(stats.chi2.sf(misfit, free))
    scale = free + 2.0 * looseness - 6.0 * looseness / (free + 2.0)
    return float(stats.f.sf(misfit / scale, free, free * (free + 2.0) / (3.0 * looseness)))
