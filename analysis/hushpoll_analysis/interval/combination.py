"""Intervals of b.f that hold where many are held together: exact limits of the frequencies, joined by MOVER."""

from __future__ import annotations

import numpy as np
from scipy.special import betaincinv

from hushpoll_analysis.channel.base import Floats

CLOSE = 1e-9  # weights nearer than this, relative to the largest, are one


def exact_limits(weights: Floats, frequencies: Floats, n: Floats, level: float) -> tuple[Floats, Floats]:
    """Return limits of b.p, one quantity a row, from Clopper and Pearson's limits of each frequency that carries it.

    Reports with the same weight are one frequency. The distances to the limits are joined with the multinomial
    correlation of the frequencies. At a small tail, where a report is hardly ever expected, a score test's normal
    quantile is far too short; an exact limit is not.

    References
    ----------
    Clopper, Pearson (1934), Biometrika 26, 404-413; Zou, Huang, Zhang (2009), Comput. Stat. Data Anal. 53, 1080-1085.
    """
    limits = [_limits(*row, level) for row in zip(weights, frequencies, n, strict=True)]
    low, high = zip(*limits, strict=True)
    return np.array(low), np.array(high)


def _limits(weights: Floats, frequencies: Floats, n: float, level: float) -> tuple[float, float]:
    scale = max(float(np.max(np.abs(weights))), 1e-300)
    _, first, group = np.unique(np.round(weights / (scale * CLOSE)), return_index=True, return_inverse=True)
    values = weights[first]
    shares = np.clip(np.bincount(group.reshape(-1), frequencies), 0.0, 1.0)
    tail, yes = (1.0 - level) / 2.0, shares * n
    no = np.maximum(n - yes, 0.0)
    seen, unseen = yes > 0.0, no > 0.0
    low = np.where(seen, betaincinv(np.where(seen, yes, 1.0), no + 1.0, tail), 0.0)
    high = np.where(unseen, 1.0 - betaincinv(np.where(unseen, no, 1.0), yes + 1.0, tail), 1.0)
    odds = np.sqrt(shares / np.maximum(1.0 - shares, 1e-300))
    correlation = -np.minimum(np.outer(odds, odds), 1.0)
    np.fill_diagonal(correlation, 1.0)
    estimate = float(values @ shares)
    down = np.where(values > 0.0, values * (shares - low), values * (high - shares))
    up = np.where(values > 0.0, values * (high - shares), values * (shares - low))
    below, above = (max(float(side @ correlation @ side), 0.0) ** 0.5 for side in (down, up))
    return estimate - below, estimate + above
