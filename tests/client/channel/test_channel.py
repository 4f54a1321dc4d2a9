"""The channel: integers, exact epsilon, the two drawing rules, composition."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
from hushpoll_client import SCALE, Channel, ChannelError
from hypothesis import given
from hypothesis import strategies as st

HALF = SCALE // 2


@st.composite
def channels(draw: st.DrawFn, zeros: bool = False) -> Channel:
    rows, columns = draw(st.integers(2, 4)), draw(st.integers(2, 4))
    weight = st.integers(0 if zeros else 1, 1000)
    table = draw(
        st.lists(
            st.lists(weight, min_size=columns, max_size=columns).filter(any), min_size=rows, max_size=rows
        )
    )
    return Channel.from_weights(table)


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([[SCALE, 0]], "at least two rows"),
        ([[SCALE], [SCALE]], "at least two columns"),
        ([[SCALE, 0], [SCALE]], "row 2 has 1 weights"),
        ([[SCALE, 1], [0, SCALE]], "row 1 sums to"),
        ([[SCALE + 1, -1], [0, SCALE]], "at least 0"),
        ([[HALF, float(HALF)], [0, SCALE]], "must be an integer"),
        ([[SCALE, False], [0, SCALE]], "must be an integer"),
    ],
)
def test_tables_that_are_no_channel_are_refused(rows: list[list[int]], message: str) -> None:
    with pytest.raises(ChannelError, match=message):
        Channel.matrix(rows)


@pytest.mark.parametrize(("options", "weight"), [(1, 5), (2, 0), (2, SCALE), (3, HALF), (2.0, 5), (2, True)])
def test_k_ary_weights_that_do_not_fit_are_refused(options: int, weight: int) -> None:
    with pytest.raises(ChannelError):
        Channel.krr(options, weight)


def test_k_ary_rule_deals_out_every_draw_once() -> None:
    channel = Channel.krr(4, SCALE // 8)
    truth, weight = channel.truth_weight, SCALE // 8
    edges = [0, truth - 1, truth, truth + weight - 1, truth + weight, truth + 2 * weight, SCALE - 1]
    assert [channel.report(1, r) for r in edges] == [1, 1, 2, 2, 3, 0, 0]


def test_table_rule_follows_cumulative_weights_and_skips_zeros() -> None:
    channel = Channel.matrix([[0, 5, 0, SCALE - 5], [SCALE, 0, 0, 0]])
    assert [channel.report(0, r) for r in (0, 4, 5, SCALE - 1)] == [1, 1, 3, 3]
    assert channel.report(1, SCALE - 1) == 0


@pytest.mark.parametrize(("answer", "r"), [(-1, 0), (2, 0), (True, 0), (0, -1), (0, SCALE), (0, 1.0)])
def test_answers_and_draws_outside_the_channel_are_refused(answer: int, r: int) -> None:
    with pytest.raises(ChannelError):
        Channel.identity(2).report(answer, r)


def test_an_error_about_an_answer_never_repeats_it() -> None:
    with pytest.raises(ChannelError) as caught:
        Channel.identity(2).report(73, 0)
    assert "73" not in str(caught.value)


@given(channels(zeros=True))
def test_both_forms_survive_the_round_trip(channel: Channel) -> None:
    assert Channel.from_json(channel.to_json()) == channel
    assert all(sum(row) == SCALE for row in channel.rows)


@given(st.lists(st.lists(st.integers(1, 10**6), min_size=3, max_size=3), min_size=2, max_size=4))
def test_rounding_never_raises_epsilon(weights: list[list[int]]) -> None:
    exact = [[Fraction(w, sum(row)) for w in row] for row in weights]
    exact_ratio = max(max(column) / min(column) for column in zip(*exact, strict=True))
    ratio = Channel.from_weights(weights).ratio
    assert ratio is not None
    assert ratio <= exact_ratio
    assert math.log(exact_ratio) - math.log(ratio) < 1e-8


def test_rounding_keeps_zeros_and_refuses_probabilities_that_would_vanish() -> None:
    assert Channel.from_probabilities([[1, 0], ["1/3", "2/3"]]).ratio is None
    with pytest.raises(ChannelError, match="too small"):
        Channel.from_probabilities([[Fraction(1, 2**60), 1 - Fraction(1, 2**60)], [0, 1]])


@given(channels(), channels())
def test_composition_cannot_raise_epsilon(first: Channel, second: Channel) -> None:
    if first.outcomes != second.options:
        with pytest.raises(ChannelError, match="do not fit"):
            first.then(second)
        return
    composed = first.then(second).ratio
    assert composed is not None
    assert first.ratio is not None
    assert composed <= first.ratio


def test_epsilon_is_infinite_only_when_a_column_mixes_zero_and_non_zero() -> None:
    assert math.isinf(Channel.identity(3).epsilon)
    assert Channel.matrix([[SCALE, 0], [SCALE, 0]]).epsilon == 0.0
    assert Channel.krr(2, SCALE // 4).ratio == 3


@pytest.mark.parametrize(
    "value",
    [
        None,
        [],
        {"form": "krr", "options": 2},
        {"form": "krr", "options": 2, "weight": 5, "more": 1},
        {"form": "matrix", "rows": "no"},
        {"form": "matrix", "rows": [5, 5]},
        {"form": "matrix", "rows": [[SCALE] + [0] * 64] * 2},
        {"form": "other"},
        {},
    ],
)
def test_unknown_published_forms_are_refused(value: object) -> None:
    with pytest.raises(ChannelError):
        Channel.from_json(value)
