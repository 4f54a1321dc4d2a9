"""Wilson's score interval of a frequency."""

from __future__ import annotations

import math

from scipy.special import ndtri

from .base import Limits
from .frequency import FrequencyMethod

__all__ = ["Wilson", "score_limits"]


def score_limits(share: float, size: float, z: float) -> Limits:
    """All p with |share - p| <= z sqrt(p (1 - p) / size)."""
    shrink = 1.0 + z * z / size
    centre = (share + z * z / (2.0 * size)) / shrink
    half = z / shrink * math.sqrt(share * (1.0 - share) / size + z * z / (4.0 * size * size))
    # A frequency of 0 or 1 is itself a limit; rounding must not put it a hair outside.
    low = 0.0 if share <= 0.0 else centre - half
    high = 1.0 if share >= 1.0 else centre + half
    return low, high


class Wilson(FrequencyMethod):
    """Wilson (1927): the frequencies that a score test does not reject."""

    name = "wilson"
    words = "Wilson's score interval"

    def of(self, successes: float, trials: float, level: float) -> Limits:
        """Give the score limits with n, not n - 1."""
        return score_limits(successes / trials, trials, -float(ndtri((1.0 - level) / 2.0)))
