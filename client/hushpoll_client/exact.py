"""Exact numbers: reading what a person wrote, e^epsilon from below, logarithms rounded down."""

from __future__ import annotations

import math
import re
from decimal import ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from numbers import Integral

from .errors import MechanismError
from .messages import msg

__all__ = [
    "MAX_DECIMALS",
    "MAX_DIGITS",
    "Number",
    "exp_below",
    "is_whole",
    "log_below",
    "read_decimal",
    "read_number",
    "read_share",
    "spell",
]

Number = int | float | str | Decimal | Fraction

# Bounds on length keep a hostile "1e-999999999" from becoming a number of a billion digits.
MAX_DIGITS = 20
"""Digits before the point of a number that can be published."""
MAX_DECIMALS = 40
_DECIMAL = re.compile(rf"[0-9]{{0,{MAX_DIGITS}}}\.?[0-9]{{0,{MAX_DECIMALS}}}(?:[eE][+-]?[0-9]{{1,2}})?")
_FRACTION = re.compile(r"([0-9]{1,18})/([0-9]{1,18})")
_PRECISE = Context(prec=110)


def is_whole(value: object) -> bool:
    """Return whether this is an integer of any type, numpy's too; a bool is none."""
    return type(value) is int or (isinstance(value, Integral) and not isinstance(value, bool))


def _read(value: Number, field: str, fractions: bool) -> Fraction:
    example = msg("0.75 or 3/4") if fractions else msg("{value:.1f}", value=1.0)
    if isinstance(value, Fraction):
        return value
    text = repr(float(value)) if isinstance(value, float) else str(value).strip()
    if not isinstance(value, bool):
        sign = 1
        if text.startswith("-"):
            sign = -1
        bare = text.removeprefix("-")
        if fractions and (match := _FRACTION.fullmatch(bare)) and int(match[2]) > 0:
            return Fraction(sign * int(match[1]), int(match[2]))
        if _DECIMAL.fullmatch(bare) and any(digit in bare for digit in "0123456789"):
            return sign * Fraction(Decimal(bare))
    raise MechanismError.about(
        field, msg("must be a number such as {example}, got {given!r}", example=example, given=text[:40])
    )


def _publishable(value: Fraction, field: str, fractions: bool) -> Fraction:
    # Clients read the published spelling by the same bounds: what they would refuse is refused here.
    spelling = spell(abs(value))
    if _DECIMAL.fullmatch(spelling) or (fractions and _FRACTION.fullmatch(spelling)):
        return value
    raise MechanismError.about(field, msg("has more than {most} decimals", most=MAX_DECIMALS), "round it")


def read_decimal(value: Number, field: str) -> Fraction:
    """Read a decimal number exactly; a float counts as the shortest decimal that prints it."""
    return _publishable(_read(value, field, fractions=False), field, fractions=False)


def read_number(value: Number, field: str) -> Fraction:
    """Read a decimal or a fraction like 3/4 exactly."""
    return _read(value, field, fractions=True)


def read_share(value: Number, field: str) -> Fraction:
    """Read a probability exactly, as a decimal or as a fraction like 3/4; refuse what lies outside 0..1."""
    share = _publishable(_read(value, field, fractions=True), field, fractions=True)
    if not 0 <= share <= 1:
        raise MechanismError.about(field, msg("must lie between 0 and 1, got {share}", share=spell(share)))
    return share


def spell(value: Fraction) -> str:
    """Write a number in its one published spelling: the shortest decimal, or a fraction where no decimal ends soon."""
    twos = fives = 0
    rest = value.denominator
    while rest % 2 == 0:
        rest, twos = rest // 2, twos + 1
    while rest % 5 == 0:
        rest, fives = rest // 5, fives + 1
    decimals = max(twos, fives)
    if rest != 1 or decimals > MAX_DECIMALS:
        return f"{value.numerator}/{value.denominator}"
    digits = str(abs(value.numerator) * 10**decimals // value.denominator).rjust(decimals + 1, "0")
    sign = ""
    if value < 0:
        sign = "-"
    return sign + (f"{digits[:-decimals]}.{digits[-decimals:]}" if decimals else digits)


def exp_below(epsilon: Fraction) -> Fraction:
    """Return floor(2^64 e^epsilon) / 2^64, a rational that never exceeds e^epsilon."""
    if epsilon == 0:
        return Fraction(1)
    exponent = Context(prec=70).divide(Decimal(epsilon.numerator), Decimal(epsilon.denominator))
    power = _PRECISE.multiply(_PRECISE.exp(exponent), Decimal(2**64))
    # e^epsilon is irrational, so at 110 digits the floor is never in doubt; checked all the same.
    slack = power.scaleb(-60, _PRECISE)
    # The operators - and + would round to the 28 digits of the default context.
    edges = _PRECISE.subtract(power, slack), _PRECISE.add(power, slack)
    low, high = (int(edge.to_integral_value(ROUND_FLOOR)) for edge in edges)
    if low != high:
        raise MechanismError.about("epsilon", "is too close to a rounding edge", "change its last digit")
    return Fraction(low, 2**64)


def log_below(ratio: Fraction) -> float:
    """Return the largest double that does not exceed ln(ratio), for ratio >= 1."""
    if ratio == 1:
        return 0.0
    exact = _PRECISE.subtract(_PRECISE.ln(Decimal(ratio.numerator)), _PRECISE.ln(Decimal(ratio.denominator)))
    nearest = float(exact)
    if Decimal(nearest) <= exact:
        return nearest
    return math.nextafter(nearest, 0.0)
