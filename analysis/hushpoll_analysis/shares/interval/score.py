"""The score interval of any linear quantity b.f: Wilson's idea where several report frequencies carry the estimate."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial

import numpy as np
import numpy.typing as npt
from scipy.special import ndtri

from hushpoll_analysis.channel.view import Floats
from hushpoll_analysis.shares.quantities import Quantity

from .base import Limits, ManyLimits, Resampling

__all__ = ["Score", "linear_score_limits"]

FURTHEST = 1e9  # how far to tilt the frequencies before the edge counts as reached
STEPS = 120
CLOSE = 1e-13


class Score:
    """All values v with |b.f - v| <= z sqrt(Var_v / n), the variance at the frequencies most likely under b.p = v."""

    name = "score"
    words = "score interval"

    def fits(self, quantity: Quantity) -> bool:
        """Fit what the reports alone determine: an estimated decoy share has no part in it."""
        return quantity.decoy is None

    def limits(self, quantity: Quantity, level: float, resampling: Resampling) -> Limits:
        """Give the score limits, with n."""
        low, high = self.together([quantity])(np.array([level]), np.ones(1))
        return float(low[0]), float(high[0])

    def together(self, wanted: Sequence[Quantity]) -> ManyLimits:
        """Give the limits of many quantities at once; effective answers are fewer by the factor's square."""
        possible = [one.view.possible for one in wanted]
        weights = np.stack([one.weights[where] for one, where in zip(wanted, possible, strict=True)])
        sizes = np.array([one.size for one in wanted])
        counts = np.stack([one.counts[where] for one, where in zip(wanted, possible, strict=True)])
        frequencies = counts / sizes[:, None]
        return lambda levels, shrink: linear_score_limits(weights, frequencies, sizes * shrink**2, levels)


def linear_score_limits(
    weights: Floats, frequencies: Floats, n: npt.ArrayLike, level: npt.ArrayLike
) -> tuple[Floats, Floats]:
    """Score limits of b.p for multinomials of size n, one quantity a row; n and level are one for all, or one each.

    The most likely p with b.p = v are f_z / (alpha + beta b_z): one family, tilted away from f, along which b.p runs
    from the estimate to the least or largest weight. For two weights this is Wilson's interval.

    References
    ----------
    Miettinen, Nurminen (1985), Statist. Med. 4, 213-226 (a score interval with the restricted maximum); Owen (1988),
    Biometrika 75, 237-249 (the family).
    """
    levels, sizes = (np.broadcast_to(np.asarray(one, dtype=np.float64), len(weights)) for one in (level, n))
    z = -ndtri((1.0 - levels) / 2.0)
    low = weights.min(axis=-1)
    width = weights.max(axis=-1) - low
    scaled = (weights - low[:, None]) / np.where(width > 0.0, width, 1.0)[:, None]
    down = 1.0 - _reach(1.0 - scaled, frequencies, sizes, z)
    return low + width * down, low + width * _reach(scaled, frequencies, sizes, z)


def _reach(weights: Floats, frequencies: Floats, n: Floats, z: Floats) -> Floats:
    """Give the largest v that the test does not reject, row by row; weights run from 0 to 1."""
    end = _tilted(weights, frequencies, np.full(len(weights), FURTHEST))
    estimate = np.einsum("ij,ij->i", weights, frequencies)
    within = _excess(weights, estimate, end, n, z) > 0.0
    value = np.ones(len(weights))
    # Within the family, where its end is rejected. Else nobody sent the heaviest report, and beyond the end of the
    # family that one takes its share from all the others.
    beyond = ~within & (estimate < 1.0)
    for rows, path, length in (
        (within, _tilt(weights[within], frequencies[within]), math.log(FURTHEST)),
        (beyond, _mix(weights[beyond], end[beyond]), 1.0),
    ):
        if np.any(rows):
            excess = partial(_along, path, weights[rows], estimate[rows], n[rows], z[rows])
            value[rows] = np.einsum("ij,ij->i", weights[rows], path(_first(excess, int(rows.sum()), length)))
    return value


def _excess(weights: Floats, estimate: Floats, shares: Floats, n: Floats, z: Floats) -> Floats:
    """How far beyond the estimate these shares lie, in units of the test: positive where it rejects them."""
    value = np.einsum("ij,ij->i", weights, shares)
    spread = np.einsum("ij,ij,ij->i", weights, weights, shares) - value**2
    result: Floats = (value - estimate) * np.sqrt(n) - z * np.sqrt(np.maximum(spread, 0.0))
    return result


def _along(
    path: Callable[[Floats], Floats], weights: Floats, estimate: Floats, n: Floats, z: Floats, at: Floats
) -> Floats:
    return _excess(weights, estimate, path(at), n, z)


def _tilted(weights: Floats, frequencies: Floats, tilt: Floats) -> Floats:
    moved = frequencies / (1.0 + tilt[:, None] * (1.0 - weights))
    result: Floats = moved / np.sum(moved, axis=-1, keepdims=True)
    return result


def _tilt(weights: Floats, frequencies: Floats) -> Callable[[Floats], Floats]:
    """Give the family, by the logarithm of its tilt."""
    return lambda at: _tilted(weights, frequencies, np.expm1(at))


def _mix(weights: Floats, end: Floats) -> Callable[[Floats], Floats]:
    """From the end of the family to nothing but the heaviest report."""
    heaviest = (weights == 1.0) / np.maximum(np.sum(weights == 1.0, axis=-1, keepdims=True), 1)
    return lambda part: (1.0 - part[:, None]) * end + part[:, None] * heaviest


def _first(excess: Callable[[Floats], Floats], rows: int, end: float) -> Floats:
    """Give the place in [0, end] where the excess turns positive: false position, halving every third time."""
    low, high = np.zeros(rows), np.full(rows, end)
    below, above = np.minimum(excess(low), 0.0), np.maximum(excess(high), 0.0)
    for turn in range(STEPS):
        gap = above - below
        part = np.where(gap > 0.0, -below / np.where(gap > 0.0, gap, 1.0), 0.5)
        # A step that stays at one side is halved, so that both sides close in.
        middle = low + (high - low) * (0.5 if turn % 3 == 2 else np.clip(part, 0.02, 0.98))
        found = excess(middle)
        over = found > 0.0
        low, high = np.where(over, low, middle), np.where(over, middle, high)
        below, above = np.where(over, below, found), np.where(over, found, above)
        if np.max(high - low) < CLOSE * end:
            break
    return high
