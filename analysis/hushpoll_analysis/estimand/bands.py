"""Simultaneous bands: how many standard errors hold for several estimates at once."""

from __future__ import annotations

import numpy as np
from scipy.special import ndtr, ndtri

from hushpoll_analysis.channel.base import Floats
from hushpoll_analysis.interval.student import critical

DRAWS = 40_000
"""Normal vectors behind a critical value: they leave it uncertain by about 0.008, or 0.1 % of coverage."""


def critical_value(covariance: Floats, level: float, seed: int = 1) -> float:
    """Return the quantile of max |Z| for normal Z with this covariance, by simulation; one seed gives one value.

    Estimates that cannot vary are left out. The value never exceeds Bonferroni's, which holds for every correlation.

    References
    ----------
    Hothorn, Bretz, Westfall (2008), Biometrical J. 50, 346-363.
    """
    spread = np.sqrt(np.maximum(np.diag(covariance), 0.0))
    vary = spread > 1e-9 * max(float(spread.max(initial=0.0)), 1e-300)
    number = int(vary.sum())
    if number <= 1:
        return critical(level)
    correlation = covariance[np.ix_(vary, vary)] / np.outer(spread[vary], spread[vary])
    values, vectors = np.linalg.eigh(correlation)
    positive = values > 1e-10 * values[-1]
    root = vectors[:, positive] * np.sqrt(values[positive])
    draws = np.random.default_rng(seed).standard_normal((DRAWS, root.shape[1])) @ root.T
    simulated = float(np.quantile(np.abs(draws).max(axis=1), level))
    return min(simulated, -float(ndtri((1.0 - level) / (2.0 * number))))


def level_of(critical: float) -> float:
    """Return the level of one interval that is this many standard errors wide on either side."""
    return 1.0 - 2.0 * float(ndtr(-critical))
