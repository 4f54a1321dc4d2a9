"""The exact interval of a frequency."""

from __future__ import annotations

from scipy.special import betaincinv

from .base import Limits
from .frequency import FrequencyMethod

__all__ = ["ClopperPearson"]


class ClopperPearson(FrequencyMethod):
    """Clopper and Pearson (1934): two exact one-sided tests, so that it never covers less than its level."""

    name = "clopper-pearson"
    words = "exact (Clopper-Pearson) interval"

    def of(self, successes: float, trials: float, level: float) -> Limits:
        """Give quantiles of Beta(k, n - k + 1) and Beta(k + 1, n - k)."""
        tail, failures = (1.0 - level) / 2.0, trials - successes
        low = 0.0 if successes <= 0 else float(betaincinv(successes, failures + 1.0, tail))
        # Both limits by the lower tail, where a small level keeps its digits.
        high = 1.0 if failures <= 0 else 1.0 - float(betaincinv(failures, successes + 1.0, tail))
        return low, high
