"""Numbers as people read them, rounded against us: a bound ("at most") up, a promise ("at least") down."""

from __future__ import annotations

import math
from collections.abc import Callable

from .said import Said, constant, said

__all__ = ["at_least", "at_most", "brief_text", "epsilon_text", "factor_text", "number_text"]

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
    return at_most(math.exp(epsilon)) if math.isfinite(epsilon) else said("without limit")


def epsilon_text(epsilon: float, decimals: int = 4) -> str:
    """Write an epsilon, itself a bound, with at most so many decimals."""
    if math.isinf(epsilon):
        return said("unbounded")
    scale = 10**decimals
    # However small it is, it is not 0.
    whole = max(math.ceil(epsilon * scale - 1e-5), int(epsilon > 0.0))
    return _without_zeros(whole / scale, "", decimals)


def brief_text(value: float, decimals: int = 1) -> Said:
    """Write a number rounded to so many decimals, without zeros at its end: 10 points, 9.5 points.

    A small one has as many decimals as its first digit needs: .01 points, not 0.
    """
    first = -math.floor(math.log10(abs(value))) if value else 0
    return _without_zeros(value, "", max(decimals, first))


def number_text(value: float, form: str, plain_zero: bool = False) -> Said:
    """Write a number in a form such as ".1f", with a true minus sign; `plain_zero` leaves it out before a zero."""
    text = format(value, form)
    if "e-" in text:
        return constant(text.replace("-", "−"))
    if not text.startswith("-"):
        return said(f"{{value:{form}}}", value=value)
    sign = "" if plain_zero and not any(digit in text for digit in "123456789") else "−"
    return said(f"{sign}{{value:{form.lstrip('+')}}}", value=abs(value))


def _written(value: float, digits: int, to_whole: Callable[[float], int], dust: float) -> str:
    if value == 0:
        return "0"
    places = digits - 1 - math.floor(math.log10(value))
    scale = 10.0**places
    rounded = to_whole(value * scale + dust) / scale
    return _without_zeros(rounded, ",", max(places, 0))


def _without_zeros(value: float, grouped: str, decimals: int) -> Said:
    """Write a number without the zeros at its end, and so that another language can write it its own way."""
    kept = len(f"{value:.{decimals}f}".partition(".")[2].rstrip("0"))
    return said(f"{{value:{grouped}.{kept}f}}", value=value)
