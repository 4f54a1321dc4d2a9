"""The normal interval."""

from __future__ import annotations

from hushpoll_client.messages import msg

from .base import IntervalMethod, Limits, Resampling
from .quantity import Quantity
from .student import critical


class Wald(IntervalMethod):
    """b.f -+ z se by the delta method; the standard error has n - 1."""

    name = "wald"
    label = msg("normal (delta-method) interval")
    description = msg("normal (delta-method) intervals")
    normal = True

    def fits(self, quantity: Quantity) -> bool:
        """Fit every quantity."""
        return True

    def limits(self, quantity: Quantity, level: float, resampling: Resampling) -> Limits:
        """Return estimate minus and plus the margin."""
        margin = critical(level) * quantity.se
        return quantity.estimate - margin, quantity.estimate + margin
