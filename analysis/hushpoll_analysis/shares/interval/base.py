"""What an interval method is: a name, whether it fits a quantity, and its two limits."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from hushpoll_analysis.arguments import seed_of
from hushpoll_analysis.channel.view import Floats
from hushpoll_analysis.shares.quantities import Quantity

__all__ = ["Interval", "Limits", "ManyLimits", "Method", "Resampling"]

Limits = tuple[float, float]
ManyLimits = Callable[[Floats, Floats], tuple[Floats, Floats]]
"""Lower and upper limits of many quantities, from a level for each, and the factor by which z becomes t."""


@dataclass(frozen=True)
class Interval:
    """Lower and upper limit, and the method that gave them."""

    low: float
    high: float
    method: str


@dataclass(frozen=True)
class Resampling:
    """How a bootstrap draws; every other method ignores it."""

    replicates: int = 2000
    seed: int = 1

    def __post_init__(self) -> None:
        seed_of(self.seed)


class Method(Protocol):
    """One way to an interval."""

    @property
    def name(self) -> str:
        """The name that callers choose it by and results print."""

    @property
    def words(self) -> str:
        """The method in words, for a note."""

    def fits(self, quantity: Quantity) -> bool:
        """Say whether the method is valid for this quantity."""

    def limits(self, quantity: Quantity, level: float, resampling: Resampling) -> Limits:
        """Give the unclipped limits of a quantity that fits."""
