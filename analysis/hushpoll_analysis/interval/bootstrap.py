"""Percentiles of resampled estimates."""

from __future__ import annotations

import numpy as np
from hushpoll_client.messages import msg

from hushpoll_analysis.channel.base import Floats
from hushpoll_analysis.errors import AnalysisError

from .base import IntervalMethod, Limits, Resampling
from .quantity import Quantity

LEAST = 200  # fewer replicates leave a 95 % limit to five of them


class Bootstrap(IntervalMethod):
    """Percentiles over resampled reports, and resampled decoy answers where q was estimated."""

    name = "bootstrap"
    label = msg("percentile bootstrap interval")
    description = msg("percentile bootstrap intervals")

    def fits(self, quantity: Quantity) -> bool:
        """Fit every quantity."""
        return True

    def limits(self, quantity: Quantity, level: float, resampling: Resampling) -> Limits:
        """Return the percentiles; the same seed gives the same limits."""
        if not isinstance(resampling.replicates, int) or resampling.replicates < LEAST:
            raise AnalysisError(
                f"replicates: at least {LEAST} are needed for percentiles, got {resampling.replicates!r}"
            )
        draws = _draws(quantity, resampling.replicates, np.random.default_rng(resampling.seed))
        if not np.all(np.isfinite(draws)):
            raise AnalysisError(
                "bootstrap: a resampled decoy share makes the channel singular",
                "the decoy's poll is too small",
            )
        low, high = np.quantile(draws, [(1 - level) / 2, (1 + level) / 2])
        return float(low), float(high)


def _draws(quantity: Quantity, replicates: int, rng: np.random.Generator) -> Floats:
    n, line = round(quantity.size), quantity.line
    if line is not None:
        again = rng.binomial(n, line.successes / line.trials, size=replicates) / n
        return np.asarray(line.intercept + line.slope * again, dtype=np.float64)
    frequencies = rng.multinomial(n, quantity.counts / quantity.size, size=replicates) / n
    if quantity.decoy is not None:
        return quantity.decoy.redraw(frequencies, quantity.weights, rng)
    return np.asarray(frequencies @ quantity.weights, dtype=np.float64)
