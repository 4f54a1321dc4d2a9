"""Numbers as people read them, rounded against us: a bound ("at most") up, a promise ("at least") down."""

from __future__ import annotations

import math
from collections.abc import Callable

__all__ = ["at_least", "at_most", "epsilon_text", "factor_text"]

# A double that stands for a number with few digits may miss it by this share of the last digit printed.
_DUST = 1e-9


def at_most(value: float, digits: int = 3) -> str:
    """Write a positive bound with so many significant digits, never below its value."""
    return _written(value, digits, math.ceil, -_DUST)


def at_least(value: float, digits: int = 3) -> str:
    """Write a positive promise with so many significant digits, never above its value."""
    return _written(value, digits, math.floor, _DUST)


def factor_text(epsilon: float) -> str:
    """Write e^epsilon, by which a report multiplies anybody's odds at most."""
    return at_most(math.exp(epsilon)) if math.isfinite(epsilon) else "without limit"


def epsilon_text(epsilon: float, decimals: int = 4) -> str:
    """Write an epsilon, itself a bound, with at most so many decimals."""
    if math.isinf(epsilon):
        return "unbounded"
    scale = 10**decimals
    return f"{math.ceil(epsilon * scale - 1e-5) / scale:.{decimals}f}".rstrip("0").rstrip(".")


def _written(value: float, digits: int, to_whole: Callable[[float], int], dust: float) -> str:
    if value == 0:
        return "0"
    places = digits - 1 - math.floor(math.log10(value))
    scale = 10.0**places
    rounded = to_whole(value * scale + dust) / scale
    return f"{rounded:,.{max(places, 0)}f}".rstrip("0").rstrip(".") if places > 0 else f"{rounded:,.0f}"
