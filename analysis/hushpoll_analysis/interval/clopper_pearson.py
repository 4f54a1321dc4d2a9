"""The exact interval of a frequency."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
from hushpoll_client.messages import msg
from scipy.special import betainc, betaincinv

from hushpoll_analysis.channel.base import Floats

from .frequency import MAPPED, FrequencyMethod, Population
from .roots import roots

CLOSE = 1e-13


class ClopperPearson(FrequencyMethod):
    """Clopper and Pearson (1934): two exact one-sided tests, so that it never covers less than its level."""

    name = "clopper-pearson"
    label = msg("exact (Clopper-Pearson) interval")
    description = msg("Clopper–Pearson intervals {mapped}", mapped=MAPPED)
    exact = True

    def of_each(self, successes: Floats, trials: Floats, levels: Floats) -> tuple[Floats, Floats]:
        """Return quantiles of Beta(k, n - k + 1) and Beta(k + 1, n - k)."""
        tail, failures = (1.0 - levels) / 2.0, trials - successes
        some, some_failures = successes > 0.0, failures > 0.0
        low = betaincinv(np.where(some, successes, 1.0), failures + 1.0, tail)
        # Both limits by the lower tail, where a small level keeps its digits.
        high = 1.0 - betaincinv(np.where(some_failures, failures, 1.0), successes + 1.0, tail)
        return np.where(some, low, 0.0), np.where(some_failures, high, 1.0)

    def of_population(
        self, successes: Floats, trials: Floats, levels: Floats, population: Population
    ) -> tuple[Floats, Floats]:
        """Return the probabilities that a test of the number of the scarcer reports does not reject.

        In a finite population it varies less than a binomial number, and still by whole reports. The sum of a fixed
        number and a binomial one has its mean and its variance; at the edges, where all of the variance is the
        randomization's, the fixed number is 0 and the test exact.
        """
        low, high = self.of_each(successes, trials, levels)
        tail, share = (1.0 - levels) / 2.0, successes / trials
        many = successes > trials - successes

        def below(p: Floats) -> Floats:
            return _at_most(np.where(many, trials - successes, successes), trials, *_scarcer(p)) - tail

        def above(p: Floats) -> Floats:
            return _at_least(np.where(many, trials - successes, successes), trials, *_scarcer(p)) - tail

        def _scarcer(p: Floats) -> tuple[Floats, Floats]:
            return np.where(many, 1.0 - p, p), population.variance(p)

        return (
            _first(lambda p: np.where(many, below(p), above(p)), low, share),
            _first(lambda p: np.where(many, above(p), below(p)), high, share),
        )


def _first(test: Callable[[Floats], Floats], end: Floats, share: Floats) -> Floats:
    """Return where a test begins to reject on the way from the end to the share; the end, where it does not there."""
    inside = test(end) < -CLOSE
    return np.where(inside, roots(test, np.where(inside, end, share), share, CLOSE), end)


def _parts(trials: Floats, p: Floats, variance: Floats) -> tuple[Floats, Floats]:
    """Return the fixed number, and the chance of the binomial one, that have this mean and variance together."""
    chance = np.where(p < 1.0, variance / np.maximum(1.0 - p, 1e-300), 1.0)
    rest = np.where(chance < 1.0, (1.0 - p) / np.maximum(1.0 - chance, 1e-300), 1.0)
    return trials * np.maximum(1.0 - rest, 0.0), np.clip(chance, 0.0, 1.0)


def _at_most(count: Floats, trials: Floats, p: Floats, variance: Floats) -> Floats:
    """P(X <= count)."""
    fixed, chance = _parts(trials, p, variance)
    return _upper_beta(trials - count, count - fixed + 1.0, 1.0 - chance)


def _at_least(count: Floats, trials: Floats, p: Floats, variance: Floats) -> Floats:
    """P(X >= count)."""
    fixed, chance = _parts(trials, p, variance)
    sure = count <= fixed
    return np.where(sure, 1.0, betainc(np.where(sure, 1.0, count - fixed), trials - count + 1.0, chance))


def _upper_beta(first: Floats, second: Floats, at: Floats) -> Floats:
    """Return the beta distribution function: 0 where the second parameter is not positive, 1 where the first is not."""
    some: npt.NDArray[np.bool_] = (first > 0.0) & (second > 0.0)
    tail = betainc(np.where(some, first, 1.0), np.where(some, second, 1.0), at)
    return np.where(some, tail, np.where(second > 0.0, 1.0, 0.0))
