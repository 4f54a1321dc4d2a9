"""What the protocol page says to those who write a third client is what the first client does."""

from __future__ import annotations

import re
from fractions import Fraction

import pytest
from hushpoll_client import HushpollError, Survey, mechanisms
from hushpoll_client.kind import KINDS

from tests.docs.blocks import ROOT

PAGE = (ROOT / "docs" / "protocol.md").read_text("utf-8")
D = 2**53


def rounded(rows: list[list[Fraction]]) -> list[list[int]]:
    """The page's rule for rounding a general table."""

    def largest(table: list[list[Fraction]]) -> Fraction | None:
        columns = list(zip(*table, strict=True))
        if any(min(column) == 0 < max(column) for column in columns):
            return None
        return max(Fraction(max(column)) / min(column) for column in columns if max(column))

    def integers(row: list[Fraction]) -> list[int]:
        down = [int(share * D) for share in row]
        order = sorted(range(len(row)), key=lambda index: (down[index] - row[index] * D, index))
        for index in order[: D - sum(down)]:
            down[index] += 1
        return down

    bound = largest(rows)
    mean = [sum(column) / len(rows) for column in zip(*rows, strict=True)]
    for share in [Fraction(0), *(Fraction(1, 2**power) for power in range(53, 9, -1))]:
        mixed = [[(1 - share) * p + share * m for p, m in zip(row, mean, strict=True)] for row in rows]
        table = [integers(row) for row in (rows if bound is None else mixed)]
        ratio = largest([[Fraction(weight) for weight in row] for row in table])
        same_zeros = all(
            (a == 0) == (b == 0) for x, y in zip(table, rows, strict=True) for a, b in zip(x, y, strict=True)
        )
        if same_zeros and (bound is None or (ratio is not None and ratio <= bound)):
            return table
    raise AssertionError("no share is small enough")


@pytest.mark.parametrize("theta", ["0.7", "1/3", "0.123456789"])
@pytest.mark.parametrize("epsilon", ["0.5", "1", "3.7"])
def test_unrelated_with_epsilon_is_rounded_before_and_after_the_flip(theta: str, epsilon: str) -> None:
    t = Fraction(theta)
    first = rounded([[Fraction(1), Fraction(0)], [t, 1 - t], [1 - t, t], [Fraction(0), Fraction(1)]])
    flip = [list(row) for row in mechanisms.warner(epsilon=epsilon).device.rows]
    product = [
        [sum(Fraction(row[k], D) * Fraction(flip[k][z], D) for k in (0, 1)) for z in (0, 1)] for row in first
    ]
    mechanism = mechanisms.unrelated(truth=theta, decoy_share="0.4", epsilon=epsilon)
    assert [list(row) for row in mechanism.device.rows] == rounded(product)


def test_the_table_of_kinds_names_the_mechanisms_of_each() -> None:
    rows = re.findall(r"^\| (`(?:yes_no|choice|scale`, `number|multiple)`) \| (.*) \|$", PAGE, re.M)
    lines = {kinds: re.findall(r"`(\w+)`", text) for kinds, text in rows}
    lines["`scale`, `number`"] += lines["`choice`"]  # "the same, and"
    lines["`multiple`"].remove("at_most")
    listed = {kind: set(names) for kinds, names in lines.items() for kind in re.findall(r"\w+", kinds)}
    assert listed == {name: {mechanism.name for mechanism in kind.mechanisms} for name, kind in KINDS.items()}


def test_epsilon_is_no_fraction_and_answers_of_a_rule_are_texts() -> None:
    first = {"id": "a", "kind": "yes_no", "text": "A?", "mechanism": {"name": "krr", "epsilon": "1/3"}}
    with pytest.raises(HushpollError):
        Survey.from_draft({"hushpoll": 1, "title": "T", "questions": [first]})
    first["mechanism"] = {"name": "krr", "epsilon": "1"}
    second = {**first, "id": "b", "after": {"question": "a", "answers": ["Yes"]}}
    survey = Survey.from_draft({"hushpoll": 1, "title": "T", "questions": [first, second]})
    assert b'"after":{"answers":["Yes"],"question":"a"}' in survey.canonical
    second["after"] = {"question": "a", "answers": [1]}
    with pytest.raises(HushpollError):
        Survey.from_draft({"hushpoll": 1, "title": "T", "questions": [first, second]})
