"""The score interval of any linear quantity b.f: Wilson's idea where several report frequencies carry the estimate."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
from scipy.special import ndtri

from hushpoll_analysis.channel.view import Floats
from hushpoll_analysis.shares.quantities import Quantity

from .base import Limits, Resampling

__all__ = ["Score", "linear_score_limits"]

FURTHEST = 1e9  # how far to tilt the frequencies before the edge counts as reached
HALVINGS = 60


class Score:
    """All values v with |b.f - v| <= z sqrt(Var_v / n), the variance at the frequencies most likely under b.p = v."""

    name = "score"
    words = "score interval"

    def fits(self, quantity: Quantity) -> bool:
        """Fit what the reports alone determine: an estimated decoy share has no part in it."""
        return quantity.decoy is None

    def limits(self, quantity: Quantity, level: float, resampling: Resampling) -> Limits:
        """Give the score limits, with n."""
        return self.of_all([quantity], level)[0]

    def of_all(self, wanted: Sequence[Quantity], level: float) -> list[Limits]:
        """Give the limits of several quantities of the same reports at once."""
        one = wanted[0]
        possible = one.view.possible
        weights = np.stack([quantity.weights[possible] for quantity in wanted])
        frequencies = np.broadcast_to(one.counts[possible] / one.size, weights.shape)
        low, high = linear_score_limits(weights, frequencies, one.size, level)
        return list(zip(low.tolist(), high.tolist(), strict=True))


def linear_score_limits(
    weights: Floats, frequencies: Floats, n: float, level: float
) -> tuple[Floats, Floats]:
    """Score limits of b.p for multinomials of size n, one quantity a row.

    The most likely p with b.p = v are f_z / (alpha + beta b_z): one family, tilted away from f, along which b.p runs
    from the estimate to the least or largest weight. For two weights this is Wilson's interval.

    References
    ----------
    Miettinen, Nurminen (1985), Statist. Med. 4, 213-226 (a score interval with the restricted maximum); Owen (1988),
    Biometrika 75, 237-249 (the family).
    """
    z = -float(ndtri((1.0 - level) / 2.0))
    low = weights.min(axis=-1)
    width = weights.max(axis=-1) - low
    scaled = (weights - low[:, None]) / np.where(width > 0.0, width, 1.0)[:, None]
    down = 1.0 - _reach(1.0 - scaled, frequencies, n, z)
    return low + width * down, low + width * _reach(scaled, frequencies, n, z)


def _reach(weights: Floats, frequencies: Floats, n: float, z: float) -> Floats:
    """The largest v that the test does not reject, row by row; weights run from 0 to 1."""
    estimate = np.sum(weights * frequencies, axis=-1)

    def excess(shares: Floats) -> Floats:
        value = np.sum(weights * shares, axis=-1)
        spread = np.sum(weights**2 * shares, axis=-1) - value**2
        result: Floats = (value - estimate) * math.sqrt(n) - z * np.sqrt(np.maximum(spread, 0.0))
        return result

    def tilted(tilt: Floats) -> Floats:
        moved = frequencies / (1.0 + tilt[:, None] * (1.0 - weights))
        result: Floats = moved / np.sum(moved, axis=-1, keepdims=True)
        return result

    end = tilted(np.full(len(weights), FURTHEST))
    heaviest = (weights == 1.0) / np.maximum(np.sum(weights == 1.0, axis=-1, keepdims=True), 1)

    def mixed(part: Floats) -> Floats:
        result: Floats = (1.0 - part[:, None]) * end + part[:, None] * heaviest
        return result

    # Within the family, where its end is rejected. Else nobody sent the heaviest report, and beyond the end of the
    # family that one takes its share from all the others.
    inside = tilted(np.expm1(_first(lambda s: excess(tilted(np.expm1(s))), len(weights), math.log(FURTHEST))))
    beyond = mixed(_first(lambda part: excess(mixed(part)), len(weights), 1.0))
    value = np.sum(weights * np.where((excess(end) > 0.0)[:, None], inside, beyond), axis=-1)
    result: Floats = np.where(estimate >= 1.0, 1.0, value)
    return result


def _first(excess: Callable[[Floats], Floats], rows: int, end: float) -> Floats:
    """Halve [0, end] toward the place where the excess turns positive."""
    low, high = np.zeros(rows), np.full(rows, end)
    for _ in range(HALVINGS):
        middle = (low + high) / 2.0
        above = excess(middle) > 0.0
        low, high = np.where(above, low, middle), np.where(above, middle, high)
    return high
