"""Wilson's score interval of a frequency."""

from __future__ import annotations

import numpy as np
from scipy.special import ndtri

from hushpoll_analysis.channel.view import Floats

from .frequency import FrequencyMethod

__all__ = ["Wilson", "score_limits"]


def score_limits(share: Floats, size: Floats, z: Floats) -> tuple[Floats, Floats]:
    """All p with |share - p| <= z sqrt(p (1 - p) / size)."""
    shrink = 1.0 + z * z / size
    centre = (share + z * z / (2.0 * size)) / shrink
    half = z / shrink * np.sqrt(share * (1.0 - share) / size + z * z / (4.0 * size * size))
    # A frequency of 0 or 1 is itself a limit; rounding must not put it a hair outside.
    return np.where(share <= 0.0, 0.0, centre - half), np.where(share >= 1.0, 1.0, centre + half)


class Wilson(FrequencyMethod):
    """Wilson (1927): the frequencies that a score test does not reject."""

    name = "wilson"
    words = "Wilson's score interval"

    def of_each(self, successes: Floats, trials: Floats, levels: Floats) -> tuple[Floats, Floats]:
        """Give the score limits with n, not n - 1."""
        return score_limits(successes / trials, trials, -ndtri((1.0 - levels) / 2.0))
