"""What an interval method is: its names, whether it fits a quantity, and its two limits."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from hushpoll_analysis.arguments import seed_of
from hushpoll_analysis.channel.base import Floats

from .quantity import Quantity

Limits = tuple[float, float]
ManyLimits = Callable[[Floats, Floats], tuple[Floats, Floats]]
"""Lower and upper limits of many quantities, from a level for each, and the factor by which z becomes t."""


class NamedMethod:
    """What every interval method says of itself. Other folders ask these, and know no method by its name."""

    name: str
    """The name that callers choose it by and results carry."""
    label: str
    """The method in words, for a note."""
    description: str
    """Its intervals in words, for the section on methods of a report."""
    exact: bool = False
    """Whether it covers at least its level at every true value."""
    normal: bool = False
    """Whether limits are estimate -+ z se, so that a difference of two estimates has such limits too."""
    bounded: bool = False
    """Whether limits are never outside the possible values, where an estimate may be."""


@dataclass(frozen=True)
class Interval:
    """Lower and upper limit, and the method that gave them."""

    low: float
    high: float
    method: NamedMethod


@dataclass(frozen=True)
class Resampling:
    """How a bootstrap draws; every other method ignores it."""

    replicates: int = 2000
    seed: int = 1

    def __post_init__(self) -> None:
        seed_of(self.seed)


class IntervalMethod(NamedMethod, ABC):
    """One way from a quantity to its interval. A method has no state: all its instances are alike."""

    @abstractmethod
    def fits(self, quantity: Quantity) -> bool:
        """Return whether the method is valid for this quantity."""

    @abstractmethod
    def limits(self, quantity: Quantity, level: float, resampling: Resampling) -> Limits:
        """Return the unclipped limits of a quantity that fits."""

    def batches(self, quantities: Sequence[Quantity]) -> Iterator[tuple[list[int], ManyLimits | None]]:
        """Yield positions of quantities whose limits are computed together; None where each is computed alone."""
        yield list(range(len(quantities))), None

    def resolved(self, quantities: Sequence[Quantity], together: bool) -> IntervalMethod:
        """Return the method that this choice stands for: itself, unless it is an automatic choice."""
        return self
