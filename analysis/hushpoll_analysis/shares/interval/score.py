"""The score interval of any linear quantity b.f: Wilson's idea where several report frequencies carry the estimate."""

from __future__ import annotations

import math

import numpy as np
from scipy.optimize import brentq
from scipy.special import ndtri

from hushpoll_analysis.channel.view import Floats
from hushpoll_analysis.shares.quantities import Quantity

from .base import Limits, Resampling

__all__ = ["Score", "linear_score_limits"]

FURTHEST = 1e9  # how far to tilt the frequencies before the edge counts as reached


class Score:
    """All values v with |b.f - v| <= z sqrt(Var_v / n), the variance at the frequencies most likely under b.p = v."""

    name = "score"
    words = "score interval"

    def fits(self, quantity: Quantity) -> bool:
        """Fit what the reports alone determine: an estimated decoy share has no part in it."""
        return quantity.decoy is None

    def limits(self, quantity: Quantity, level: float, resampling: Resampling) -> Limits:
        """Give the score limits, with n."""
        possible = quantity.view.possible
        return linear_score_limits(
            quantity.weights[possible], quantity.counts[possible] / quantity.n, quantity.n, level
        )


def linear_score_limits(weights: Floats, frequencies: Floats, n: float, level: float) -> Limits:
    """Score limits of b.p for a multinomial of size n.

    The most likely p with b.p = v are f_z / (alpha + beta b_z): one family, tilted away from f, along which b.p runs
    from the estimate to the least or largest weight. For two weights this is Wilson's interval.

    References
    ----------
    Miettinen, Nurminen (1985), Statist. Med. 4, 213-226 (a score interval with the restricted maximum); Owen (1988),
    Biometrika 75, 237-249 (the family).
    """
    z = -float(ndtri((1.0 - level) / 2.0))
    low, high = float(weights.min()), float(weights.max())
    if high == low:
        return low, high
    scaled = (weights - low) / (high - low)
    up = _reach(scaled, frequencies, n, z)
    down = 1.0 - _reach(1.0 - scaled, frequencies, n, z)
    return low + (high - low) * down, low + (high - low) * up


def _reach(weights: Floats, frequencies: Floats, n: float, z: float) -> float:
    """The largest v that the test does not reject; weights run from 0 to 1."""
    estimate = float(weights @ frequencies)

    def excess(shares: Floats) -> float:
        value = float(weights @ shares)
        spread = float(weights**2 @ shares) - value * value
        return (value - estimate) * math.sqrt(n) - z * math.sqrt(max(spread, 0.0))

    def tilted(tilt: float) -> Floats:
        moved = frequencies / (1.0 + tilt * (1.0 - weights))
        return np.asarray(moved / moved.sum(), dtype=np.float64)

    if estimate >= 1.0:
        return 1.0
    end = tilted(FURTHEST)
    if excess(end) > 0.0:
        found = brentq(lambda tilt: excess(tilted(tilt)), 0.0, FURTHEST, xtol=1e-13, rtol=1e-12)
        return float(weights @ tilted(float(found)))
    # Nobody sent the heaviest report: beyond the end of the family it takes its share from all the others.
    heaviest = np.where(weights == 1.0, 1.0, 0.0)
    heaviest /= heaviest.sum()

    def mixed(part: float) -> Floats:
        return np.asarray((1.0 - part) * end + part * heaviest, dtype=np.float64)

    part = float(brentq(lambda share: excess(mixed(share)), 1e-12, 1.0, xtol=1e-14))
    return float(weights @ mixed(part))
