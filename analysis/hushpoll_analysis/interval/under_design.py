"""Intervals of a share under a sample design: what a method is there, and the methods of simple samples as such."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace

from hushpoll_client.messages import msg

from .base import Interval, IntervalMethod, NamedMethod
from .effective import effective_interval
from .quantity import Quantity

_AT_EFFECTIVE_SIZE = msg(
    "Wilson score intervals at the effective sample size with t in place of z, mapped through the randomization "
    "where one report frequency carries the estimate; from the limits of both polls (MOVER) where a decoy's share "
    "was counted, and score or t intervals otherwise"
)
_T = msg("t intervals")


@dataclass(frozen=True, eq=False)
class SampledShare:
    """A share under a sample design, with what its intervals need of the design."""

    quantity: Quantity
    n: int
    degrees_of_freedom: int
    reported_share: Callable[[], tuple[float, float]]
    """Return the weighted share of the reports of the second kind, and its variance."""


class DesignMethod(NamedMethod, ABC):
    """One way from a share under a sample design to its interval."""

    allows_for_heavy_weights: bool
    """Whether the interval is made at the effective size; elsewhere heavy weights make it too narrow."""

    @abstractmethod
    def interval(self, share: SampledShare, level: float) -> tuple[Interval, Quantity]:
        """Return the interval, and the quantity at the size that the interval used."""

    def check(self, question: str, outcomes: int, *, counted_decoy: bool, all_alike: bool) -> None:
        """Raise AnalysisError if the method does not exist for the reports of a question."""


class AtEffectiveSize(DesignMethod):
    """A method of simple samples at the effective size, with t in place of z."""

    def __init__(self, method: IntervalMethod) -> None:
        self.method = method
        self.label = method.label
        self.normal = method.normal
        self.allows_for_heavy_weights = not method.normal
        self.name = "t" if method.normal else method.name
        if method.normal:
            self.description = _T
        else:
            self.description = _AT_EFFECTIVE_SIZE

    def interval(self, share: SampledShare, level: float) -> tuple[Interval, Quantity]:
        """Return the interval at the effective size."""
        interval, scaled = effective_interval(
            share.quantity, self.method.name, level, share.degrees_of_freedom
        )
        return replace(interval, method=self), scaled
