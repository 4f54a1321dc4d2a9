"""Exact numbers: what is read, written and rounded."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction

import pytest
from hushpoll_client import MechanismError
from hushpoll_client.exact import exp_below, log_below, read_decimal, read_share, spell
from hypothesis import given
from hypothesis import strategies as st


@pytest.mark.parametrize(
    ("value", "exact"),
    [
        (1, Fraction(1)),
        (0.1, Fraction(1, 10)),  # the decimal a person sees, not the double behind it
        ("0.1", Fraction(1, 10)),
        (Decimal("0.10"), Fraction(1, 10)),
        ("3/4", Fraction(3, 4)),
        (".25", Fraction(1, 4)),
        ("1e-3", Fraction(1, 1000)),
        (Fraction(1, 6), Fraction(1, 6)),
    ],
)
def test_shares_are_read_exactly(value: object, exact: Fraction) -> None:
    assert read_share(value, "share") == exact  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "value",
    ["", ".", "nan", "inf", "1e999", "1/0", "3/", "0x1", "1_0", "٣", True, None, [], "1" * 61, "--1", "1 2"],
)
def test_other_values_than_numbers_are_refused(value: object) -> None:
    with pytest.raises(MechanismError, match="must be a number"):
        read_share(value, "share")  # type: ignore[arg-type]


def test_epsilon_is_no_fraction() -> None:
    with pytest.raises(MechanismError, match="epsilon must be a number"):
        read_decimal("1/3", "epsilon")


@pytest.mark.parametrize("value", ["-0.1", "1.01", "5/4", 2])
def test_shares_outside_zero_to_one_are_refused(value: object) -> None:
    with pytest.raises(MechanismError, match="between 0 and 1"):
        read_share(value, "share")  # type: ignore[arg-type]


@given(st.fractions(min_value=-1000, max_value=1000, max_denominator=10**6))
def test_spelling_is_read_back_as_the_same_number(value: Fraction) -> None:
    sign = -1 if value < 0 else 1
    text = spell(abs(value))
    assert sign * Fraction(text) == value
    assert "e" not in text


@pytest.mark.parametrize(("value", "text"), [("1.0", "1"), ("0.50", "0.5"), ("3/4", "0.75"), ("2/12", "1/6")])
def test_one_spelling_per_number(value: str, text: str) -> None:
    assert spell(Fraction(value)) == text


def taylor(epsilon: Fraction, terms: int = 160) -> Fraction:
    """A partial sum of e^epsilon: every term is positive, so it lies below."""
    total, term = Fraction(1), Fraction(1)
    for k in range(1, terms):
        term = term * epsilon / k
        total += term
    return total


@pytest.mark.parametrize("epsilon", ["0.01", "0.5", "1", "2.718", "14", "20"])
def test_exp_below_lies_within_two_to_the_minus_64_below(epsilon: str) -> None:
    value, below = exp_below(Fraction(epsilon)), taylor(Fraction(epsilon))
    assert value <= below < value + Fraction(1, 2**64)


@given(st.fractions(min_value=Fraction(1), max_value=Fraction(10**6), max_denominator=10**9))
def test_logarithm_is_the_largest_double_below(ratio: Fraction) -> None:
    value = log_below(ratio)
    assert value == pytest.approx(math.log(ratio.numerator) - math.log(ratio.denominator), abs=1e-9)
    if ratio > 1:
        # e^value <= ratio, exactly: a rational above e^value would still be at most the ratio up to 2^-60.
        assert taylor(Fraction(value)) <= ratio
        following = math.nextafter(value, math.inf)
        assert taylor(Fraction(following)) * (1 + Fraction(1, 10**30)) > ratio
