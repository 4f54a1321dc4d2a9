"""Intervals of one binomial frequency, mapped through the line that leads from the frequency to the quantity."""

from __future__ import annotations

from abc import ABC, abstractmethod

from hushpoll_analysis.shares.quantities import Quantity

from .base import Limits, Resampling

__all__ = ["FrequencyMethod"]


class FrequencyMethod(ABC):
    """A binomial interval: valid where the estimate depends on one report frequency."""

    name: str
    words: str

    @abstractmethod
    def of(self, successes: float, trials: float, level: float) -> Limits:
        """Give the limits of the frequency itself; effective sizes need not be whole."""

    def fits(self, quantity: Quantity) -> bool:
        """Say whether one report frequency carries the estimate."""
        return quantity.line is not None

    def limits(self, quantity: Quantity, level: float, resampling: Resampling) -> Limits:
        """Map both limits through the line, which may fall."""
        line = quantity.line
        assert line is not None
        ends = [line.at(end) for end in self.of(line.successes, line.trials, level)]
        return min(ends), max(ends)
