"""Numbers as people read them, rounded against us: a bound ("at most") up, a promise ("at least") down."""

from __future__ import annotations

import math
from collections.abc import Callable

from .messages import Message, constant, msg

__all__ = [
    "about_of_100",
    "at_least",
    "at_most",
    "brief_text",
    "epsilon_text",
    "factor_text",
    "number_text",
    "size_text",
]

# A double that stands for a number with few digits may miss it by this share of the last digit printed.
_DUST = 1e-9


def at_most(value: float, digits: int = 3) -> str:
    """Write a positive bound with `digits` significant digits, never below its value."""
    return _written(value, digits, math.ceil, -_DUST)


def at_least(value: float, digits: int = 3) -> str:
    """Write a positive promise with `digits` significant digits, never above its value."""
    return _written(value, digits, math.floor, _DUST)


def about_of_100(share: float) -> int:
    """Return a share as a number of 100, as the respondent page does: never 0 or 100 for what is neither."""
    if share in (0, 1):
        return int(100 * share)
    return min(99, max(1, math.floor(100 * share + 0.5)))


def factor_text(epsilon: float) -> str:
    """Write e^epsilon, by which a report multiplies anybody's odds at most."""
    if math.isfinite(epsilon):
        return at_most(math.exp(epsilon))
    return msg("without limit")


def epsilon_text(epsilon: float, decimals: int = 4) -> str:
    """Write an epsilon, itself a bound, with at most `decimals` decimals."""
    if math.isinf(epsilon):
        return msg("unbounded")
    scale = 10**decimals
    # However small it is, it is not 0.
    units = max(math.ceil(epsilon * scale - 1e-5), int(epsilon > 0.0))
    return _without_zeros(units / scale, "", decimals)


def brief_text(value: float, decimals: int = 1) -> Message:
    """Write a number rounded to `decimals` decimals, without zeros at its end: 10 points, 9.5 points.

    A small one has as many decimals as its first digit needs: .01 points, not 0.
    """
    first = 0
    if value:
        first = -math.floor(math.log10(abs(value)))
    return _without_zeros(value, "", max(decimals, first))


def size_text(value: float, digits: int = 3) -> Message:
    """Write a size with `digits` significant digits, from 100 on as a whole number with thousands: 7.5, 181,000."""
    places = 0
    if value:
        places = digits - 1 - math.floor(math.log10(value))
    if value >= 100:
        return msg("{value:,.0f}", value=round(value, places))
    return _without_zeros(value, "", max(places, 0))


def number_text(value: float, form: str, plain_zero: bool = False) -> Message:
    """Write a number in a form such as ".1f", with a true minus sign; `plain_zero` leaves it out before a zero."""
    text = format(value, form)
    if "e-" in text:
        return constant(text.replace("-", "−"))
    if not text.startswith("-"):
        return msg(f"{{value:{form}}}", value=value)
    sign = "−"
    if plain_zero and not any(digit in text for digit in "123456789"):
        sign = ""
    return msg(f"{sign}{{value:{form.lstrip('+')}}}", value=abs(value))


def _written(value: float, digits: int, to_whole: Callable[[float], int], dust: float) -> str:
    if value == 0:
        return "0"
    decimals = digits - 1 - math.floor(math.log10(value))
    scale = 10.0**decimals
    rounded = to_whole(value * scale + dust) / scale
    return _without_zeros(rounded, ",", max(decimals, 0))


def _without_zeros(value: float, grouped: str, decimals: int) -> Message:
    """Write a number without the zeros at its end, and so that another language can write it its own way."""
    shown_decimals = len(f"{value:.{decimals}f}".partition(".")[2].rstrip("0"))
    return msg(f"{{value:{grouped}.{shown_decimals}f}}", value=value)
