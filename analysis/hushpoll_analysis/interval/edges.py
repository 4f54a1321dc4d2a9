"""What to show where an interval lies outside the possible values, and how unlikely that is."""

from __future__ import annotations

import math

import numpy as np
from scipy.special import betainc, ndtr

from .base import Interval, Resampling
from .likelihood import LikelihoodRatio
from .quantity import Quantity


def outside(quantity: Quantity, interval: Interval) -> bool:
    """Whether an interval lies wholly outside the possible values."""
    low, high = quantity.bounds
    slack = 1e-12 * max(1.0, high - low)
    return interval.high < low - slack or interval.low > high + slack


def fallback(quantity: Quantity, interval: Interval, level: float) -> Interval | None:
    """Return the likelihood interval inside the bounds, where the interval found cannot be shown.

    That is where it lies wholly outside the bounds, or has no width because all reports are in one cell.
    """
    if quantity.certain or (interval.high > interval.low and not outside(quantity, interval)):
        return None
    method = LikelihoodRatio()
    return Interval(*method.limits(quantity, level, Resampling()), method)


def misfit(quantity: Quantity) -> float:
    """One-sided p-value of an estimate this far outside the possible values, if the design were right.

    Exact binomial where the estimate depends on one frequency; elsewhere normal, with the variance of reports from
    answers at that edge (their own frequencies say too little: all alike have none).
    """
    low, high = quantity.bounds
    below = quantity.estimate < low
    edge = low if below else high
    line = quantity.line
    if line is not None:
        less = below == (line.slope > 0)
        return _tail(line.successes, line.trials, line.probability(edge), less)
    spread = _spread_at(quantity, edge)
    if spread > 0.0:
        return float(ndtr(-abs(quantity.estimate - edge) / spread))
    return 0.0


def is_no_chance(chance: float | None, tests: int, level: float) -> bool:
    """Return whether a p-value is more than chance among this many tests: of many intervals some lie outside
    (Bonferroni).

    None is the p-value of an estimate whose interval does not lie outside.
    """
    return chance is not None and (tests == 1 or tests * chance < (1.0 - level) / 2.0)


def _spread_at(quantity: Quantity, edge: float) -> float:
    """Return the standard error where all true answers lie at the edge; a counted decoy keeps its part."""
    values, weights = quantity.target, quantity.weights
    there = np.abs(values - edge) <= 1e-9 * max(1.0, float(np.abs(values).max()))
    variances = quantity.view.backward(weights**2) - quantity.view.backward(weights) ** 2
    error = math.sqrt(max(float(variances[there].max(initial=0.0)), 0.0) / quantity.size)
    if quantity.decoy is None:
        return error
    return max(error, quantity.se)


def _tail(successes: float, trials: float, probability: float, less: bool) -> float:
    """P(X <= k), or P(X >= k) as the lower tail of the failures, so that small values keep their digits."""
    if not less:
        successes, probability = trials - successes, 1.0 - probability
    failures = trials - successes
    if failures > 0:
        return float(betainc(failures, successes + 1.0, 1.0 - probability))
    return 1.0
