"""Channels whose reports are sets, items or joint answers: exact epsilons and their draws."""

from __future__ import annotations

import os
from fractions import Fraction
from itertools import combinations, product
from typing import Any

import pytest
from hushpoll_client import (
    SCALE,
    Channel,
    mechanisms,
)
from hushpoll_client.channel.base import below
from hushpoll_client.exact import exp_below


def worst_ratio(channel: Channel, answers: list[Any]) -> Fraction:
    """The largest ratio over all reports, by listing every one of them."""
    tables = [channel.chances(answer) for answer in answers]
    assert all(sum(table.values()) == 1 for table in tables)
    assert all(channel.wire.legal(report) for report in tables[0])
    return max(max(t[z] for t in tables) / min(t[z] for t in tables) for z in tables[0])


def ticked(options: int, at_most: int) -> list[tuple[int, ...]]:
    return [chosen for size in range(at_most + 1) for chosen in combinations(range(options), size)]


@pytest.mark.parametrize("epsilon", ["0.1", "1", "3"])
@pytest.mark.parametrize(("options", "size"), [(3, 2), (6, 2), (7, 5)])
def test_a_set_of_options_keeps_its_epsilon_exactly(epsilon: str, options: int, size: int) -> None:
    channel = mechanisms.subset(options, epsilon, size).device
    assert worst_ratio(channel, list(range(options))) == channel.ratio <= exp_below(Fraction(epsilon))
    assert channel.epsilon > float(epsilon) - 1e-9


@pytest.mark.parametrize("epsilon", ["0.1", "1", "3"])
@pytest.mark.parametrize(("sizes", "ask"), [([2] * 4, 2), ([2, 3, 4], 2), ([5, 2], 1), ([2] * 3, 3)])
def test_openly_sampled_answers_keep_their_epsilon_exactly(epsilon: str, sizes: list[int], ask: int) -> None:
    channel = mechanisms.sampled(sizes, epsilon, ask).device
    answers = list(product(*(range(size) for size in sizes)))
    assert worst_ratio(channel, answers) == channel.ratio <= exp_below(Fraction(epsilon))
    assert channel.epsilon > float(epsilon) - 1e-9


@pytest.mark.parametrize("epsilon", ["0.1", "1", "3"])
@pytest.mark.parametrize(("options", "at_most"), [(2, 1), (5, 2), (4, 4)])
def test_one_of_the_ticked_items_keeps_its_epsilon_exactly(epsilon: str, options: int, at_most: int) -> None:
    channel = mechanisms.padded(options, epsilon, at_most).device
    assert worst_ratio(channel, ticked(options, at_most)) == channel.ratio <= exp_below(Fraction(epsilon))
    assert channel.epsilon > float(epsilon) - 1e-9


def draws_used(channel: Channel, answer: Any, first: int) -> int:
    used = 0

    def draws() -> int:
        nonlocal used
        used += 1
        return first if used == 1 else int.from_bytes(os.urandom(6), "big")

    channel.pick(answer, draws)
    return used


@pytest.mark.parametrize("first", [0, SCALE // 2, SCALE - 1 - SCALE % 28])
def test_the_number_of_draws_does_not_depend_on_the_answer(first: int) -> None:
    subset = mechanisms.subset(10, 1, 3).device
    assert {draws_used(subset, answer, first) for answer in range(10)} == {4}
    sampled = mechanisms.sampled([2] * 8, 1, 2).device
    assert {draws_used(sampled, answer, first) for answer in product((0, 1), repeat=8)} == {2}
    padded = mechanisms.padded(6, 1, 2).device
    assert {draws_used(padded, answer, first) for answer in ticked(6, 2)} == {2}


def test_a_uniform_integer_is_drawn_again_in_the_last_round_only() -> None:
    edge = SCALE - SCALE % 7
    for draw, value in ((0, 0), (6, 6), (7, 0), (edge - 1, 6)):
        assert below(7, iter([draw]).__next__) == value
    assert below(7, iter([edge, SCALE - 1, 3]).__next__) == 3
    assert below(1, iter([SCALE - 1]).__next__) == 0


@pytest.mark.parametrize("below_weight", [True, False])
def test_a_set_holds_the_answer_for_exactly_its_weight_of_draws(below_weight: bool) -> None:
    """The first draw that leaves the answer out is the weight itself: one more would exceed epsilon."""
    channel = mechanisms.subset(5, "1", 2).device
    draws = iter([channel.weight - below_weight, *[0] * 10])
    chosen = int(str(channel.pick(3, lambda: next(draws))), 16)
    assert bool(chosen >> 3 & 1) is below_weight


@pytest.mark.parametrize("below_weight", [True, False])
def test_a_ticked_item_is_reported_for_exactly_its_weight_of_draws(below_weight: bool) -> None:
    channel = mechanisms.padded(4, "1", 1).device
    draws = iter([channel.weight - below_weight, *[0] * 10])
    assert (channel.pick((2,), lambda: next(draws)) == 2) is below_weight
