"""The interval of a frequency under Jeffreys' prior."""

from __future__ import annotations

from scipy.special import betaincinv

from .base import Limits
from .frequency import FrequencyMethod

__all__ = ["Jeffreys"]


class Jeffreys(FrequencyMethod):
    """Equal-tailed quantiles of Beta(k + 1/2, n - k + 1/2); Brown, Cai, DasGupta (2001)."""

    name = "jeffreys"
    words = "Jeffreys interval"

    def of(self, successes: float, trials: float, level: float) -> Limits:
        """Give the posterior's quantiles."""
        tail, yes, no = (1.0 - level) / 2.0, successes + 0.5, trials - successes + 0.5
        return float(betaincinv(yes, no, tail)), 1.0 - float(betaincinv(no, yes, tail))
