"""Mechanisms of sets, items and joint answers: what they recommend and what they need."""

from __future__ import annotations

import pytest
from hushpoll_client import (
    MechanismError,
    mechanisms,
)
from hushpoll_client.kind import KINDS
from hushpoll_client.mechanism.sampled import best_ask, unit_variance
from hushpoll_client.mechanism.subset import best_size


def test_the_best_set_size_is_the_known_one() -> None:
    assert [best_size(1000, epsilon) for epsilon in (1, 2, 4)] == [269, 119, 18]
    assert [best_size(10, epsilon) for epsilon in (1, 4)] == [3, 1]
    assert best_size(3, 1) == 1


def test_the_best_number_of_items_is_the_known_one() -> None:
    assert [best_ask(8, epsilon) for epsilon in (0.5, 1, 2, 4)] == [1, 1, 2, 3]
    variances = [unit_variance(8, best_ask(8, epsilon), epsilon) for epsilon in (0.5, 1, 2, 4)]
    assert variances == pytest.approx([32.6, 8.65, 2.28, 0.64], rel=0.005)
    halves = [min(unit_variance(5, s, epsilon, 0.5) for s in range(1, 6)) for epsilon in (0.5, 1, 2, 4)]
    assert halves == pytest.approx([20.8, 5.9, 1.65, 0.53], rel=0.01)


def test_constructors_name_missing_parameters() -> None:
    for make, problem in (
        (lambda: mechanisms.subset(2, 1), "at least three"),
        (lambda: mechanisms.subset(5, 1, 1), "from 2 to 4"),
        (lambda: mechanisms.subset(5, 1, 5), "from 2 to 4"),
        (lambda: mechanisms.sampled([2] * 40, 1, 20), "ask"),
        (lambda: mechanisms.padded(5, 1, 6), "from 1 to 5"),
        (lambda: mechanisms.sampled([2], 1, 1), "members"),
    ):
        with pytest.raises(MechanismError, match=problem):
            make()


def test_sets_are_no_answers_even_where_there_are_as_many_of_them() -> None:
    """Sets of two of three options are three reports: a table of one's own may be such a channel."""
    channel = mechanisms.subset(3, "1", 2).device
    mechanism = mechanisms.resolve(
        KINDS["choice"].mechanisms, "a choice", 3, {"name": "matrix", "epsilon": "1"}, channel
    )
    assert channel.outcomes == mechanism.options
    assert not mechanism.reports_are_answers
    assert mechanism.recorded_as_chosen is None


@pytest.mark.parametrize(
    ("kind", "name", "missing"), [("choice", "subset", "size"), ("multiple", "sampled", "ask")]
)
def test_a_published_choice_of_the_designer_is_never_guessed(kind: str, name: str, missing: str) -> None:
    fitting = KINDS[kind].mechanisms
    mechanism = mechanisms.resolve(fitting, "a question", 8, {"name": name, "epsilon": "1"})
    document = {"name": name, **mechanism.parameters}
    assert mechanisms.resolve(fitting, "a question", 8, document, mechanism.device) == mechanism
    with pytest.raises(MechanismError) as refused:
        mechanisms.resolve(fitting, "a question", 8, {"name": name, "epsilon": "1"}, mechanism.device)
    assert refused.value.field == missing
