"""Blaker's interval of a frequency: exact, and never longer than Clopper and Pearson's."""

from __future__ import annotations

import numpy as np
from hushpoll_client.messages import msg
from scipy.special import betainc

from hushpoll_analysis.channel.base import Floats

from .clopper_pearson import ClopperPearson
from .frequency import MAPPED, FrequencyMethod, Population
from .roots import roots

CLOSE = 1e-13
EXACT = ClopperPearson()


class Blaker(FrequencyMethod):
    """All frequencies p with acceptability above 1 - level (Blaker 2000), without gaps.

    The acceptability of p is the smaller tail probability of the count at p, plus that of the other tail as far as it
    is no larger. Where the other tail has no count that is as rare, the whole error goes to one tail; Clopper and
    Pearson's interval keeps half of it for nothing.

    References
    ----------
    Blaker (2000), Can. J. Statist. 28, 783-798.
    """

    name = "blaker"
    label = msg("exact (Blaker) interval")
    description = msg("Blaker's exact intervals {mapped}", mapped=MAPPED)
    exact = True

    def of_each(self, successes: Floats, trials: Floats, levels: Floats) -> tuple[Floats, Floats]:
        """Return the ends of the frequencies that are accepted; the upper one is the lower one of the failures."""
        return _lower(successes, trials, levels), 1.0 - _lower(trials - successes, trials, levels)

    def of_population(
        self, successes: Floats, trials: Floats, levels: Floats, population: Population
    ) -> tuple[Floats, Floats]:
        """Return Clopper and Pearson's limits in the population, but none beyond those of an endless one."""
        low, high = EXACT.of_population(successes, trials, levels, population)
        first, last = self.of_each(successes, trials, levels)
        return np.maximum(low, first), np.minimum(high, last)


def _lower(successes: Floats, trials: Floats, levels: Floats) -> Floats:
    """Return the least accepted frequency.

    From Clopper and Pearson's limit upwards the upper tail P(X >= k) grows from half the error. The other tail,
    P(X <= j) with the largest fitting j, falls until j + 1 fits too. There both tails are as large, and together larger
    than the error: the limit is there, or before, where the tails with j are as large as the error.
    """
    error, share = 1.0 - levels, successes / trials
    start = EXACT.of_each(successes, trials, levels)[0]
    other = _largest_fitting(trials, start, error / 2.0)

    def gap(p: Floats) -> Floats:
        return _at_least(successes, trials, p) - _at_most(other + 1.0, trials, p)

    def excess(p: Floats) -> Floats:
        return _at_least(successes, trials, p) + _at_most(other, trials, p) - error

    some = successes > 0.0
    end = np.where(some & (gap(share) > 0.0), roots(gap, start, share, CLOSE), share)
    earlier = some & (excess(end) > 0.0)
    end = np.where(earlier, roots(excess, start, np.where(earlier, end, start), CLOSE), end)
    return np.where(some, end, 0.0)


def _largest_fitting(trials: Floats, p: Floats, most: Floats) -> Floats:
    """Return the largest count j with P(X <= j) <= most; -1 where 0 is too likely already."""
    low, high = np.full(len(p), -1.0), np.floor(trials)
    while np.any(high - low > 1.0):
        middle = np.floor((low + high) / 2.0)
        fits = _at_most(middle, trials, p) <= most
        low, high = np.where(fits, middle, low), np.where(fits, high, middle)
    return low


def _at_least(count: Floats, trials: Floats, p: Floats) -> Floats:
    """P(X >= count), for counts above 0."""
    return np.asarray(betainc(np.maximum(count, 1e-300), trials - count + 1.0, p), dtype=np.float64)


def _at_most(count: Floats, trials: Floats, p: Floats) -> Floats:
    """P(X <= count)."""
    none, every = count < 0.0, count >= trials
    tail = betainc(np.where(none | every, 1.0, trials - count), np.maximum(count, 0.0) + 1.0, 1.0 - p)
    return np.where(none, 0.0, np.where(every, 1.0, tail))
