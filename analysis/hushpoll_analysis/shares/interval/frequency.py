"""Intervals of one binomial frequency, mapped through the line that leads from the frequency to the quantity."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

import numpy as np

from hushpoll_analysis.channel.view import Floats
from hushpoll_analysis.shares.quantities import Quantity

from .base import Limits, ManyLimits, Resampling

__all__ = ["FrequencyMethod"]


class FrequencyMethod(ABC):
    """A binomial interval: valid where the estimate depends on one report frequency."""

    name: str
    words: str

    @abstractmethod
    def of_each(self, successes: Floats, trials: Floats, levels: Floats) -> tuple[Floats, Floats]:
        """Give the limits of frequencies themselves; effective sizes need not be whole."""

    def of(self, successes: float, trials: float, level: float) -> Limits:
        """Give the limits of one frequency."""
        low, high = self.of_each(*(np.array([one], dtype=np.float64) for one in (successes, trials, level)))
        return float(low[0]), float(high[0])

    def fits(self, quantity: Quantity) -> bool:
        """Say whether one report frequency carries the estimate."""
        return quantity.line is not None

    def limits(self, quantity: Quantity, level: float, resampling: Resampling) -> Limits:
        """Map both limits through the line, which may fall."""
        line = quantity.line
        assert line is not None
        ends = [line.at(end) for end in self.of(line.successes, line.trials, level)]
        return min(ends), max(ends)

    def together(self, wanted: Sequence[Quantity]) -> ManyLimits:
        """Give the limits of many quantities at once; effective answers are fewer by the factor's square."""
        lines = [one.line for one in wanted if one.line is not None]
        table = np.array([(one.successes, one.trials, one.intercept, one.slope) for one in lines])
        successes, trials, intercept, slope = table.reshape(-1, 4).T

        def at(levels: Floats, shrink: Floats) -> tuple[Floats, Floats]:
            ends = [
                intercept + slope * end
                for end in self.of_each(successes * shrink**2, trials * shrink**2, levels)
            ]
            return np.minimum(*ends), np.maximum(*ends)

        return at
