"""The method that serves where the caller leaves the choice."""

from __future__ import annotations

from collections.abc import Sequence

from .adaptive import CHOSEN, EXACT, WILSON, scarce
from .base import IntervalMethod, Limits, Resampling
from .quantity import Quantity


class Automatic(IntervalMethod):
    """Wilson's interval, or the exact one where a normal approximation is not good enough."""

    name = "auto"
    label = "automatic choice"
    description = CHOSEN

    def fits(self, quantity: Quantity) -> bool:
        """Return whether one report frequency carries the estimate."""
        return quantity.line is not None

    def limits(self, quantity: Quantity, level: float, resampling: Resampling) -> Limits:
        """Return the limits of the method that serves this quantity."""
        return self.resolved([quantity], False).limits(quantity, level, resampling)

    def resolved(self, quantities: Sequence[Quantity], together: bool) -> IntervalMethod:
        """Return the exact method where a report is scarce or all intervals shall hold together, else Wilson's.

        A Bonferroni level reaches into tails that no normal approximation knows. The exact method is Blaker's.
        """
        lines = [quantity.line for quantity in quantities]
        if together or any(line is not None and scarce(*line.reports) for line in lines):
            return EXACT
        return WILSON
