"""What to show where an interval lies outside the possible values, and how unlikely that is."""

from __future__ import annotations

from scipy.special import betainc, ndtr

from hushpoll_analysis.shares.quantities import Quantity

from .base import Interval, Resampling
from .likelihood import Likelihood

__all__ = ["fallback", "misfit", "outside"]


def outside(quantity: Quantity, found: Interval) -> bool:
    """Whether an interval lies wholly outside the possible values."""
    low, high = quantity.bounds
    slack = 1e-12 * max(1.0, high - low)
    return found.high < low - slack or found.low > high + slack


def fallback(quantity: Quantity, found: Interval, level: float) -> Interval | None:
    """Give the likelihood interval inside the bounds, where the interval found cannot be shown.

    That is where it lies wholly outside the bounds, or has no width because all reports are in one cell.
    """
    if found.high > found.low and not outside(quantity, found):
        return None
    return Interval(*Likelihood().limits(quantity, level, Resampling()), Likelihood.name)


def misfit(quantity: Quantity) -> float:
    """One-sided p-value of an estimate this far outside the possible values, if the design were right.

    Exact binomial where the estimate depends on one frequency, normal elsewhere.
    """
    low, high = quantity.bounds
    below = quantity.estimate < low
    edge = low if below else high
    line = quantity.line
    if line is not None:
        less = below == (line.slope > 0)
        return _tail(line.successes, line.trials, line.probability(edge), less)
    if quantity.se == 0:
        return 0.0
    return float(ndtr(-abs(quantity.estimate - edge) / quantity.se))


def _tail(successes: float, trials: float, probability: float, less: bool) -> float:
    """P(X <= k), or P(X >= k) as the lower tail of the failures, so that small values keep their digits."""
    if not less:
        successes, probability = trials - successes, 1.0 - probability
    failures = trials - successes
    return float(betainc(failures, successes + 1.0, 1.0 - probability)) if failures > 0 else 1.0
