"""The score interval of any linear quantity b.f: Wilson's idea where several report frequencies carry the estimate."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import numpy.typing as npt
from hushpoll_client.messages import msg
from scipy.special import ndtri

from hushpoll_analysis.channel.base import Floats

from .base import IntervalMethod, Limits, ManyLimits, Resampling
from .quantity import Quantity

FURTHEST = 1e9  # how far to tilt the frequencies before the edge counts as reached
STEPS = 120
CLOSE = 1e-13


class Score(IntervalMethod):
    """All values v with |b.f - v| <= z sqrt(Var_v / n), the variance at the frequencies most likely under b.p = v."""

    name = "score"
    label = msg("score interval")
    description = msg("score intervals")

    def fits(self, quantity: Quantity) -> bool:
        """Fit what the reports alone determine: an estimated decoy share has no part in it."""
        return quantity.decoy is None

    def limits(self, quantity: Quantity, level: float, resampling: Resampling) -> Limits:
        """Return the score limits, with n."""
        low, high = self.together([quantity])(np.array([level]), np.ones(1))
        return float(low[0]), float(high[0])

    def batches(self, quantities: Sequence[Quantity]) -> Iterator[tuple[list[int], ManyLimits | None]]:
        """Yield those at once that have as many possible reports."""
        lengths = [int(quantity.view.possible.sum()) for quantity in quantities]
        for length in dict.fromkeys(lengths):
            positions = [k for k, other in enumerate(lengths) if other == length]
            yield positions, self.together([quantities[k] for k in positions])

    def together(self, quantities: Sequence[Quantity]) -> ManyLimits:
        """Return the limits of many quantities at once; effective answers are fewer by the factor's square."""
        possible = [quantity.view.possible for quantity in quantities]
        weights = np.stack(
            [quantity.weights[where] for quantity, where in zip(quantities, possible, strict=True)]
        )
        counts = np.stack(
            [quantity.counts[where] for quantity, where in zip(quantities, possible, strict=True)]
        )
        frequencies = counts / np.array([quantity.size for quantity in quantities])[:, None]
        sizes = np.array([quantity.reports for quantity in quantities])
        population = None
        if any(quantity.sampling_fraction > 0.0 for quantity in quantities):
            noise = np.stack(
                [quantity.noise()[where] for quantity, where in zip(quantities, possible, strict=True)]
            )
            least = np.array([quantity.view.noise(quantity.weights).min() for quantity in quantities])
            population = Drawn(
                np.array([quantity.sampling_fraction for quantity in quantities]), noise, least
            )
        return lambda levels, shrink: linear_score_limits(
            weights, frequencies, sizes * shrink**2, levels, population
        )


@dataclass(frozen=True, eq=False)
class Drawn:
    """The fraction drawn of a finite population, and what the randomization adds to a report; one row each.

    `noise` are unbiased estimates of Var(b | truth) by report, `least` is its smallest value over the true answers.
    """

    fraction: Floats
    noise: Floats
    least: Floats

    def __getitem__(self, rows: npt.NDArray[np.bool_]) -> Drawn:
        return Drawn(self.fraction[rows], self.noise[rows], self.least[rows])

    def scaled(self, unit: Floats) -> Drawn:
        """Return the same for weights that are divided by a unit."""
        return Drawn(self.fraction, self.noise / unit[:, None] ** 2, self.least / unit**2)

    def variance(self, shares: Floats, spread: Floats) -> Floats:
        """Return the variance of one report, which without end is `spread`: (1 - f) of it, and f of the noise.

        Reports that differ by chance from any true answers' may tell a noise that no true answer has.
        """
        noise = np.maximum(np.minimum(np.einsum("ij,ij->i", self.noise, shares), spread), self.least)
        return np.asarray((1.0 - self.fraction) * spread + self.fraction * noise)


def linear_score_limits(
    weights: Floats,
    frequencies: Floats,
    n: npt.ArrayLike,
    level: npt.ArrayLike,
    population: Drawn | None = None,
) -> tuple[Floats, Floats]:
    """Score limits of b.p for multinomials of size n, one quantity a row; n and level are one for all, or one each.

    The most likely p with b.p = v are f_z / (alpha + beta b_z): one family, tilted away from f, along which b.p runs
    from the estimate to the least or largest weight. For two weights this is Wilson's interval. In a finite population
    n are the reports that came in, and each v is tested with the variance that it has there.

    References
    ----------
    Miettinen, Nurminen (1985), Statist. Med. 4, 213-226 (a score interval with the restricted maximum); Owen (1988),
    Biometrika 75, 237-249 (the family).
    """
    levels, sizes = (
        np.broadcast_to(np.asarray(value, dtype=np.float64), len(weights)) for value in (level, n)
    )
    z = -ndtri((1.0 - levels) / 2.0)
    low = weights.min(axis=-1)
    width = weights.max(axis=-1) - low
    unit = np.where(width > 0.0, width, 1.0)
    scaled = (weights - low[:, None]) / unit[:, None]
    if population is None:
        none = np.zeros(len(weights))
        population = Drawn(none, np.zeros_like(weights), none)
    population = population.scaled(unit)
    down = 1.0 - _reach(1.0 - scaled, frequencies, sizes, z, population)
    return low + width * down, low + width * _reach(scaled, frequencies, sizes, z, population)


def _reach(weights: Floats, frequencies: Floats, n: Floats, z: Floats, population: Drawn) -> Floats:
    """Return the largest v that the test does not reject, row by row; weights run from 0 to 1."""
    end = _tilted(weights, frequencies, np.full(len(weights), FURTHEST))
    estimate = np.einsum("ij,ij->i", weights, frequencies)
    within = _excess(weights, estimate, end, n, z, population) > 0.0
    value = np.ones(len(weights))
    # Within the family, where its end is rejected. Else nobody sent the heaviest report, and beyond the end of the
    # family that one takes its share from all the others.
    beyond = ~within & (estimate < 1.0)
    for rows, path, length in (
        (within, _tilt(weights[within], frequencies[within]), math.log(FURTHEST)),
        (beyond, _mix(weights[beyond], end[beyond]), 1.0),
    ):
        if np.any(rows):
            excess = partial(_along, path, weights[rows], estimate[rows], n[rows], z[rows], population[rows])
            value[rows] = np.einsum("ij,ij->i", weights[rows], path(_first(excess, int(rows.sum()), length)))
    return value


def _excess(
    weights: Floats, estimate: Floats, shares: Floats, n: Floats, z: Floats, population: Drawn
) -> Floats:
    """How far beyond the estimate these shares lie, in units of the test: positive where it rejects them."""
    value = np.einsum("ij,ij->i", weights, shares)
    spread = np.maximum(np.einsum("ij,ij,ij->i", weights, weights, shares) - value**2, 0.0)
    if np.any(population.fraction):
        spread = population.variance(shares, spread)
    result: Floats = (value - estimate) * np.sqrt(n) - z * np.sqrt(spread)
    return result


def _along(
    path: Callable[[Floats], Floats],
    weights: Floats,
    estimate: Floats,
    n: Floats,
    z: Floats,
    population: Drawn,
    at: Floats,
) -> Floats:
    return _excess(weights, estimate, path(at), n, z, population)


def _tilted(weights: Floats, frequencies: Floats, tilt: Floats) -> Floats:
    moved = frequencies / (1.0 + tilt[:, None] * (1.0 - weights))
    result: Floats = moved / np.sum(moved, axis=-1, keepdims=True)
    return result


def _tilt(weights: Floats, frequencies: Floats) -> Callable[[Floats], Floats]:
    """Return the family, by the logarithm of its tilt."""
    return lambda at: _tilted(weights, frequencies, np.expm1(at))


def _mix(weights: Floats, end: Floats) -> Callable[[Floats], Floats]:
    """From the end of the family to nothing but the heaviest report."""
    heaviest = (weights == 1.0) / np.maximum(np.sum(weights == 1.0, axis=-1, keepdims=True), 1)
    return lambda fraction: (1.0 - fraction[:, None]) * end + fraction[:, None] * heaviest


def _first(excess: Callable[[Floats], Floats], rows: int, end: float) -> Floats:
    """Return the place in [0, end] where the excess turns positive: false position, halving every third time."""
    low, high = np.zeros(rows), np.full(rows, end)
    below, above = np.minimum(excess(low), 0.0), np.maximum(excess(high), 0.0)
    for turn in range(STEPS):
        gap = above - below
        fraction = np.where(gap > 0.0, -below / np.where(gap > 0.0, gap, 1.0), 0.5)
        # A step that stays at one side is halved, so that both sides close in.
        middle = low + (high - low) * (0.5 if turn % 3 == 2 else np.clip(fraction, 0.02, 0.98))
        height = excess(middle)
        over = height > 0.0
        low, high = np.where(over, low, middle), np.where(over, middle, high)
        below, above = np.where(over, below, height), np.where(over, height, above)
        if np.max(high - low) < CLOSE * end:
            break
    return high
