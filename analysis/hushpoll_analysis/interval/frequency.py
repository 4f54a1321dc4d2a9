"""Intervals of one binomial frequency, mapped through the line that leads from the frequency to the quantity."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from hushpoll_client.messages import msg

from hushpoll_analysis.channel.base import Floats

from .base import IntervalMethod, Limits, ManyLimits, Resampling
from .quantity import FinitePopulation, OneFrequency, Quantity, noise_line, population_variance


@dataclass(frozen=True, eq=False)
class Population:
    """The finite populations behind many frequencies, one each; a fraction of 0 where there is none."""

    growth: Floats
    fraction: Floats
    low: Floats
    high: Floats

    @classmethod
    def of(cls, lines: Sequence[OneFrequency]) -> Population | None:
        """Read those of lines; None where no line has one."""
        if all(line.finite is None for line in lines):
            return None
        endless = FinitePopulation(1.0, 0.0, (0.0, 1.0))
        populations = [line.finite or endless for line in lines]
        return cls(
            *np.array(
                [(population.growth, population.fraction, *population.chances) for population in populations]
            ).T
        )

    def line(self) -> tuple[Floats, Floats]:
        """Return u and v: the randomization's variance of one report is u + v p, at a probability p of success."""
        return noise_line(self.low, self.high)

    def variance(self, p: Floats) -> Floats:
        """Return the variance of one report at a probability of success."""
        return population_variance(p, self.fraction, self.low, self.high)


MAPPED = msg(
    "of the report frequency mapped through the estimator where it depends on one frequency, intervals from the limits "
    "of both polls (MOVER) where a decoy's share was counted, and score or normal (delta-method) intervals otherwise"
)


class FrequencyMethod(IntervalMethod):
    """A binomial interval: valid where the estimate depends on one report frequency."""

    @abstractmethod
    def of_each(self, successes: Floats, trials: Floats, levels: Floats) -> tuple[Floats, Floats]:
        """Return the limits of frequencies themselves; effective sizes need not be whole."""

    def of_population(
        self, successes: Floats, trials: Floats, levels: Floats, population: Population
    ) -> tuple[Floats, Floats]:
        """Return the same in a finite population, from the reports that came in; here as many as they are worth."""
        return self.of_each(successes * population.growth, trials * population.growth, levels)

    def of(self, successes: float, trials: float, level: float) -> Limits:
        """Return the limits of one frequency."""
        low, high = self.of_each(
            *(np.array([value], dtype=np.float64) for value in (successes, trials, level))
        )
        return float(low[0]), float(high[0])

    def fits(self, quantity: Quantity) -> bool:
        """Return whether one report frequency carries the estimate."""
        return quantity.line is not None

    def limits(self, quantity: Quantity, level: float, resampling: Resampling) -> Limits:
        """Map both limits through the line, which may fall."""
        low, high = self.together([quantity])(np.array([level]), np.ones(1))
        return float(low[0]), float(high[0])

    def batches(self, quantities: Sequence[Quantity]) -> Iterator[tuple[list[int], ManyLimits | None]]:
        """Yield all quantities at once."""
        yield list(range(len(quantities))), self.together(quantities)

    def together(self, quantities: Sequence[Quantity]) -> ManyLimits:
        """Return the limits of many quantities at once; effective answers are fewer by the factor's square."""
        lines = [quantity.line for quantity in quantities if quantity.line is not None]
        table = np.array([(*line.reports, line.intercept, line.slope) for line in lines])
        successes, trials, intercept, slope = table.reshape(-1, 4).T
        population = Population.of(lines)
        certain = np.array([quantity.certain for quantity in quantities])

        def at(levels: Floats, shrink: Floats) -> tuple[Floats, Floats]:
            yes, of = successes * shrink**2, trials * shrink**2
            if population is None:
                limits = self.of_each(yes, of, levels)
            else:
                limits = self.of_population(yes, of, levels, population)
            ends = [intercept + slope * np.where(certain, yes / of, end) for end in limits]
            return np.minimum(*ends), np.maximum(*ends)

        return at
