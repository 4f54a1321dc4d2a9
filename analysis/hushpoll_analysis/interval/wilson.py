"""Wilson's score interval of a frequency."""

from __future__ import annotations

import numpy as np
from hushpoll_client.messages import msg
from scipy.special import ndtri

from hushpoll_analysis.channel.base import Floats

from .frequency import MAPPED, FrequencyMethod, Population


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
    label = msg("Wilson's score interval")
    description = msg("Wilson score intervals {mapped}", mapped=MAPPED)

    def of_each(self, successes: Floats, trials: Floats, levels: Floats) -> tuple[Floats, Floats]:
        """Return the score limits with n, not n - 1."""
        return score_limits(successes / trials, trials, -ndtri((1.0 - levels) / 2.0))

    def of_population(
        self, successes: Floats, trials: Floats, levels: Floats, population: Population
    ) -> tuple[Floats, Floats]:
        """Return all p with |share - p| <= z sqrt(V(p) / n), V being the variance of one report in the population.

        V is the smaller one of p (1 - p) and of a parabola, so that these p satisfy two quadratic inequalities.
        """
        share, z = successes / trials, -ndtri((1.0 - levels) / 2.0)
        first, last = score_limits(share, trials, z)
        (u, v), f, bit = population.line(), population.fraction, z * z / trials
        square, half = 1.0 + bit * (1.0 - f), share + bit * (1.0 - f + f * v) / 2.0
        root = np.sqrt(np.maximum(half**2 - square * (share**2 - bit * f * u), 0.0))
        return np.maximum(first, (half - root) / square), np.minimum(last, (half + root) / square)
