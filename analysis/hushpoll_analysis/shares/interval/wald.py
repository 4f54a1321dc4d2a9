"""The normal interval."""

from __future__ import annotations

from scipy.special import ndtri

from hushpoll_analysis.shares.quantities import Quantity

from .base import Limits, Resampling

__all__ = ["Wald"]


class Wald:
    """b.f -+ z se by the delta method; the standard error has n - 1."""

    name = "wald"
    words = "normal (delta-method) interval"

    def fits(self, quantity: Quantity) -> bool:
        """Fit every quantity."""
        return True

    def limits(self, quantity: Quantity, level: float, resampling: Resampling) -> Limits:
        """Give estimate minus and plus the margin."""
        margin = -float(ndtri((1.0 - level) / 2.0)) * quantity.se
        return quantity.estimate - margin, quantity.estimate + margin
