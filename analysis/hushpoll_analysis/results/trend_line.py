"""The straight line through waves, and tests of any change and of bending, where each wave knows its own error."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy import stats
from scipy.optimize import brentq

from hushpoll_analysis.channel.base import Floats
from hushpoll_analysis.estimates import Difference
from hushpoll_analysis.interval.mover import difference_limits
from hushpoll_analysis.interval.student import critical, two_sided

from .wave_values import WaveValue

SMALLEST = 1e-12  # limits at smaller levels lose their digits
LARGEST = 1.0 - 1e-6
MANY_UNITS = 40
"""Degrees of freedom of a wave from which on its variance is taken at another share than its own."""


@dataclass(frozen=True, kw_only=True)
class Change(Difference):
    """What changed between two waves."""

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
    """Return the change with limits from those of both waves (MOVER), and the level at which they reach 0."""
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
    low, high = limits(level)
    return Change(difference=gap, se=math.hypot(after.se, before.se), low=low, high=high, p_value=p_value)


def satterthwaite(parts: Floats, freedom: Sequence[int | None]) -> float | None:
    """Return the degrees of freedom of a sum of estimated variances; None where all are known."""
    uncertainty = sum(
        variance**2 / degrees
        for variance, degrees in zip(parts.tolist(), freedom, strict=True)
        if degrees is not None
    )
    return float(parts.sum()) ** 2 / uncertainty if uncertainty else None


def line_through(when: Floats, waves: Sequence[WaveValue], level: float) -> Line:
    """Fit the line by weighted least squares, with weights that do not depend on the single waves' estimates.

    1/SE^2 of a rare answer is largest in the waves in which it came out rarest by chance. Weights are therefore the
    variances that the waves would have if nothing changed, and the test of bending takes those on the line. The slope's
    own variance is the sum of the waves' estimated ones; the uncertainty of weights that come from few clusters is that
    of Kenward and Roger (1997), its degrees of freedom Satterthwaite's.
    """
    values, errors = (np.array([getattr(wave, name) for wave in waves]) for name in ("estimate", "error"))
    loose = np.array([0.0 if wave.freedom is None else 1.0 / wave.freedom for wave in waves])
    weights = 1.0 / null_variances(waves)
    columns = np.stack([np.ones_like(when), when - weights @ when / weights.sum()], axis=1)
    spread = float(weights @ columns[:, 1] ** 2)
    slope = float(weights @ (columns[:, 1] * values)) / spread
    more = float(weights * (1.0 - _leverages(columns, weights)) * loose @ columns[:, 1] ** 2)
    parts = (weights * columns[:, 1] * errors) ** 2
    se = math.sqrt((float(parts.sum()) + 4.0 * more) / spread**2)
    freedom = satterthwaite(parts, [wave.freedom for wave in waves])
    half = critical(level, freedom) * se
    size = abs(slope) / se
    bent = None
    if len(waves) > 2:
        line = weights @ values / weights.sum() + slope * columns[:, 1]
        bent = _fits(columns, values, 1.0 / variances_at(waves, line), loose)
    return Line(
        slope,
        se,
        low=slope - half,
        high=slope + half,
        slope_p=float(two_sided(size, freedom)),
        changed_p=_fits(columns[:, :1], values, weights, loose),
        bent_p=bent,
    )


def null_variances(waves: Sequence[WaveValue]) -> Floats:
    """Return the variances that the waves have if all of them have the same value: their weighted mean."""
    values, sizes = (np.array([getattr(wave, name) for wave in waves]) for name in ("estimate", "n"))
    middle = float(sizes @ values / sizes.sum())
    for _ in range(3):
        variances = variances_at(waves, np.full(len(waves), middle))
        middle = float(values @ (1.0 / variances) / np.sum(1.0 / variances))
    return variances_at(waves, np.full(len(waves), middle))


def variances_at(waves: Sequence[WaveValue], values: Floats) -> Floats:
    """Return the variance of each wave's estimate where these are the true values.

    Shares know theirs. The spread of numbers among people is taken as the same in all waves, and each wave adds its own
    noise. Of other waves the estimated variance stands.
    """
    variances = np.array([wave.error**2 for wave in waves])
    numbers = [
        position for position, wave in enumerate(waves) if wave.noise is not None and wave.variance_at is None
    ]
    if len(numbers) > 1:
        sizes = np.array([waves[position].n for position in numbers])
        noise = np.array([waves[position].noise or 0.0 for position in numbers]) ** 2
        among_people = sizes * np.maximum(variances[numbers] - noise, 0.0)
        variances[numbers] = float((sizes - 1) @ among_people / np.sum(sizes - 1)) / sizes + noise
    for position, value_of_wave in enumerate(waves):
        # Of few clusters the spread is mostly that between clusters, which the share does not tell.
        if value_of_wave.variance_at is not None and (
            value_of_wave.freedom is None or value_of_wave.freedom >= MANY_UNITS
        ):
            variances[position] = value_of_wave.variance_at(float(values[position]))
    return variances


def _leverages(columns: Floats, weights: Floats) -> Floats:
    inverse = np.linalg.inv((columns * weights[:, None]).T @ columns)
    return np.asarray(weights * np.einsum("ia,ab,ib->i", columns, inverse, columns), dtype=np.float64)


def _fits(columns: Floats, values: Floats, weights: Floats, loose: Floats) -> float:
    """Test that the columns explain the values: chi-square, or F where variances have degrees of freedom (1/`loose`).

    With one column this is Welch's (1951) test that all means are the same; Johansen (1980) has the general one.
    """
    root = np.sqrt(weights)
    coefficients, *_ = np.linalg.lstsq(columns * root[:, None], values * root, rcond=None)
    misfit = float(weights @ (values - columns @ coefficients) ** 2)
    free = len(values) - columns.shape[1]
    looseness = float((1.0 - _leverages(columns, weights)) ** 2 @ loose)
    if not looseness:
        return float(stats.chi2.sf(misfit, free))
    scale = free + 2.0 * looseness - 6.0 * looseness / (free + 2.0)
    return float(stats.f.sf(misfit / scale, free, free * (free + 2.0) / (3.0 * looseness)))
