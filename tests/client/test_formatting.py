"""A bound is never printed below its value, a promise never above."""

from __future__ import annotations

import math

import pytest
from hushpoll_client import mechanisms
from hushpoll_client.formatting import about_of_100, at_least, at_most, brief_text, epsilon_text, factor_text
from hypothesis import given
from hypothesis import strategies as st


def number(text: str) -> float:
    return float(text.replace(",", ""))


@given(st.floats(1e-6, 1e9))
def test_printed_bounds_hold(value: float) -> None:
    assert value <= number(at_most(value)) * (1 + 1e-11)
    assert number(at_most(value)) <= value * 1.0101
    assert number(at_least(value)) <= value * (1 + 1e-11)
    assert value <= number(at_least(value)) * 1.0102


@given(st.floats(0.001, 20))
def test_an_epsilon_and_its_factor_are_bounds(epsilon: float) -> None:
    assert epsilon <= number(epsilon_text(epsilon)) + 1e-8
    assert epsilon <= number(epsilon_text(epsilon, 2)) + 1e-6
    assert math.exp(epsilon) <= number(factor_text(epsilon)) * (1 + 1e-9)


def test_the_factor_that_was_printed_too_low() -> None:
    assert factor_text(1.1) == "3.01"
    assert factor_text(mechanisms.warner(epsilon="1.1").epsilon) == "3.01"


@pytest.mark.parametrize(
    ("epsilon", "factor", "text"),
    [
        (math.log(3), "3", "1.0987"),
        (1.0, "2.72", "1"),
        (20.0, "486,000,000", "20"),
        (math.inf, "without limit", "unbounded"),
    ],
)
def test_round_numbers_stay_round(epsilon: float, factor: str, text: str) -> None:
    assert (factor_text(epsilon), epsilon_text(epsilon)) == (factor, text)
    assert at_most(0) == at_least(0) == "0"


def test_the_epsilon_of_a_mechanism_is_printed_as_requested() -> None:
    for epsilon in ("0.01", "0.5", "1", "2.5", "14"):
        assert epsilon_text(mechanisms.krr(10, epsilon).epsilon) == epsilon


@pytest.mark.parametrize("epsilon", [1e-9, 1e-15, 5e-324])
def test_an_epsilon_above_0_is_never_written_as_0(epsilon: float) -> None:
    assert (epsilon_text(epsilon), epsilon_text(epsilon, 2)) == ("0.0001", "0.01")
    assert epsilon_text(0.0) == "0"


@pytest.mark.parametrize(
    ("value", "text"),
    [(10.0, "10"), (9.54, "9.5"), (0.01, "0.01"), (0.0034, "0.003"), (0.0, "0"), (1.0, "1")],
)
def test_a_small_margin_is_not_written_as_0(value: float, text: str) -> None:
    assert brief_text(value) == text


@pytest.mark.parametrize(
    ("share", "number"), [(0, 0), (0.001, 1), (0.444, 44), (0.446, 45), (0.505, 51), (0.999, 99), (1, 100)]
)
def test_a_share_is_rounded_to_people_of_100(share: float, number: int) -> None:
    assert about_of_100(share) == number
