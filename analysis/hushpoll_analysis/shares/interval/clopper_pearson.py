"""The exact interval of a frequency."""

from __future__ import annotations

import numpy as np
from scipy.special import betaincinv

from hushpoll_analysis.channel.view import Floats

from .frequency import FrequencyMethod

__all__ = ["ClopperPearson"]


class ClopperPearson(FrequencyMethod):
    """Clopper and Pearson (1934): two exact one-sided tests, so that it never covers less than its level."""

    name = "clopper-pearson"
    words = "exact (Clopper-Pearson) interval"

    def of_each(self, successes: Floats, trials: Floats, levels: Floats) -> tuple[Floats, Floats]:
        """Give quantiles of Beta(k, n - k + 1) and Beta(k + 1, n - k)."""
        tail, failures = (1.0 - levels) / 2.0, trials - successes
        some, others = successes > 0.0, failures > 0.0
        low = betaincinv(np.where(some, successes, 1.0), failures + 1.0, tail)
        # Both limits by the lower tail, where a small level keeps its digits.
        high = 1.0 - betaincinv(np.where(others, failures, 1.0), successes + 1.0, tail)
        return np.where(some, low, 0.0), np.where(others, high, 1.0)
