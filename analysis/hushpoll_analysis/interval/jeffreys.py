"""The interval of a frequency under Jeffreys' prior."""

from __future__ import annotations

import numpy as np
from hushpoll_client.messages import msg
from scipy.special import betaincinv

from hushpoll_analysis.channel.base import Floats

from .frequency import MAPPED, FrequencyMethod


class Jeffreys(FrequencyMethod):
    """Equal-tailed quantiles of Beta(k + 1/2, n - k + 1/2); Brown, Cai, DasGupta (2001)."""

    name = "jeffreys"
    label = msg("Jeffreys interval")
    description = msg("Jeffreys intervals {mapped}", mapped=MAPPED)

    def of_each(self, successes: Floats, trials: Floats, levels: Floats) -> tuple[Floats, Floats]:
        """Return the posteriors' quantiles."""
        tail, yes, no = (1.0 - levels) / 2.0, successes + 0.5, trials - successes + 0.5
        low, high = betaincinv(yes, no, tail), 1.0 - betaincinv(no, yes, tail)
        return np.asarray(low, dtype=np.float64), np.asarray(high, dtype=np.float64)
