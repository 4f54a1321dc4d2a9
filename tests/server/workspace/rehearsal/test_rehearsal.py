"""The rehearsal of every kind: a made-up truth, with the report's figures next to it."""

from __future__ import annotations

import html
import re
from typing import Any

import pytest
from flask.testing import FlaskClient
from hushpoll_server.store.surveys import Store
from hushpoll_server.workspace.kinds.rehearsing import quantile, sets_with_shares

from tests.server.accounts_kit import make_draft, submit

FOUR = {"epsilon": "4"}
YES = {"id": "y", "kind": "yes_no", "text": "Y?", "mechanism": FOUR}
WHY = {
    "id": "w",
    "kind": "choice",
    "text": "W?",
    "options": ["x", "y"],
    "after": {"question": "y", "answers": ["Yes"]},
    "mechanism": FOUR,
}
SCALE = {"id": "s", "kind": "scale", "text": "S?", "points": 3, "mechanism": {**FOUR, "target": "cumulative"}}
MEAN = {**SCALE, "id": "m", "mechanism": {**FOUR, "target": "mean"}}
SHARES = {**SCALE, "id": "h", "mechanism": {**FOUR, "target": "shares"}}
NUMBER = {
    "id": "n",
    "kind": "number",
    "text": "N?",
    "min": "10",
    "max": "50",
    "step": "0.5",
    "unit": "hours",
    "mechanism": {**FOUR, "target": "mean"},
}
BINS = {**NUMBER, "id": "b", "mechanism": {**FOUR, "target": "distribution", "bins": 8}}
TICKS = {"id": "t", "kind": "multiple", "text": "T?", "options": ["a", "b", "c"], "mechanism": FOUR}
LIMITED = {**TICKS, "id": "l", "at_most": 2}
LONG = {
    "id": "o",
    "kind": "choice",
    "text": "O?",
    "options": [f"o{number}" for number in range(100)],
    "mechanism": FOUR,
}


SETTINGS = {"epsilon_cap": "20"}


def rows(page: str) -> dict[str, tuple[float, float, float, float]]:
    """Each figure of the tables: truth, estimate, and the ends of its interval."""
    tables = page.partition("The report as it will look")[0]
    matches = re.findall(
        r'<tr><th scope="row">([^<]+)</th>\s*<td class="number">([^<]+)</td>\s*<td class="number"><strong>([^<]+)'
        r'</strong></td>\s*<td class="number">([^<]+)</td>',
        tables,
    )
    number = lambda text: float(text.replace("%", "").replace(",", ""))  # noqa: E731
    return {
        html.unescape(label): (number(truth), number(estimate), *map(number, interval.split(" to ")))  # type: ignore[misc]
        for label, truth, estimate, interval in matches
    }


@pytest.mark.parametrize(
    ("question", "typed", "truth", "within"),
    [
        (SCALE, {"0": "20", "1": "30", "2": "50"}, {"2 or more": 80, "3": 50}, 2),
        (MEAN, {"0": "20", "1": "30", "2": "50"}, {"Average": 2.3}, 0.05),
        (SHARES, {"0": "20", "1": "30", "2": "50"}, {"1": 20, "2": 30, "3": 50}, 2),
        (NUMBER, {"shape": "even"}, {"Average, in hours": 30}, 0.6),
        (NUMBER, {"shape": "bell"}, {"Average, in hours": 30}, 0.6),
        (BINS, {"shape": "even"}, {"Median, in hours": 30, "First quartile, in hours": 20}, 5.5),
        (TICKS, {"0": "10", "1": "60", "2": "90"}, {"a": 10, "b": 60, "c": 90}, 3),
        (LIMITED, {"0": "10", "1": "60", "2": "90"}, {"a": 10, "b": 60, "c": 90}, 3),
    ],
    ids=["cumulative", "mean", "shares", "even", "bell", "distribution", "ticks", "limited"],
)
def test_the_report_s_figures_stand_beside_the_truth(
    owner: FlaskClient,
    store: Store,
    question: dict[str, Any],
    typed: dict[str, str],
    truth: dict[str, float],
    within: float,
) -> None:
    draft = make_draft(store, "owner", question)
    fields = {f"truth_0_{index}": text for index, text in typed.items()}
    answer = submit(owner, f"/drafts/{draft.id}/rehearsal", n="50000", **fields)
    assert answer.status_code == 200, answer.text
    table_rows = rows(answer.text)
    for label, expected in truth.items():
        true, estimate, low, high = table_rows[label]
        assert true == pytest.approx(expected, abs=0.3)
        # Five standard errors and more at 50,000 answers and epsilon 4.
        assert estimate == pytest.approx(expected, abs=within), label
        assert low <= estimate <= high
    body = answer.text.partition("The report as it will look")[2]
    assert 'class="report-card' in body, "the results page's own pieces"


def test_every_kind_is_rehearsed_at_first_with_its_own_defaults(owner: FlaskClient, store: Store) -> None:
    every = [YES, WHY, SCALE, MEAN, NUMBER, BINS, TICKS, LIMITED]
    draft = make_draft(
        store,
        "owner",
        *[{**question, "mechanism": {**question["mechanism"], "epsilon": "1"}} for question in every],
    )  # type: ignore[dict-item]
    page = owner.get(f"/drafts/{draft.id}/rehearsal")
    assert page.status_code == 200
    tables = len(every) + 1  # a follow-up question has one of those asked and one of everybody
    assert page.text.count('class="table rehearsal-table"') == tables
    assert page.text.count('class="axis-ends"') == tables, "no figure without the ends of its axis"
    assert "<span>0 %</span><span>100 %</span>" in page.text
    assert "Suppose that the numbers are" in page.text


def test_a_question_asked_of_some_shows_the_shares_of_everybody(owner: FlaskClient, store: Store) -> None:
    draft = make_draft(store, "owner", YES, WHY)
    page = submit(
        owner, f"/drafts/{draft.id}/rehearsal", n="50000", truth_0_1="40", truth_1_0="25", truth_1_1="75"
    ).text
    table_rows = rows(page)
    assert [table_rows[label][0] for label in ("x", "y", "does not apply")] == [10, 30, 60]
    for label in ("x", "y", "does not apply"):
        assert table_rows[label][1] == pytest.approx(table_rows[label][0], abs=2)
    assert "Among those who are asked." in page
    page_of_asked, _, everybody = page.partition("Of everybody")
    among = rows(page_of_asked.partition("Among those asked this question")[2])
    assert [among[label][0] for label in ("x", "y")] == [25, 75], "the share among those asked comes first"
    assert among["x"][1] == pytest.approx(25, abs=5)
    assert list(rows(everybody))[:3] == ["x", "y", "does not apply"]


def test_of_a_long_list_a_shape_is_asked_for_and_the_largest_are_shown(
    owner: FlaskClient, store: Store
) -> None:
    draft = make_draft(store, "owner", LONG)
    page = submit(owner, f"/drafts/{draft.id}/rehearsal", n="20000", truth_0_shape="falling").text
    table_rows = rows(page)
    assert list(table_rows) == [f"o{number}" for number in range(12)]
    assert table_rows["o0"][0] == pytest.approx(100 / sum(1 / rank for rank in range(1, 101)), abs=0.1)


def test_ticks_that_cannot_be_are_balanced(owner: FlaskClient, store: Store) -> None:
    draft = make_draft(store, "owner", LIMITED)
    page = submit(
        owner, f"/drafts/{draft.id}/rehearsal", n="1000", truth_0_0="90", truth_0_1="90", truth_0_2="90"
    )
    assert page.status_code == 200
    assert page.text.count('value="66.7"') == 3, "at most 2 may be ticked"


@pytest.mark.parametrize("shares", [[0.1, 0.6, 0.9], [0, 1, 1, 0.5], [0.3] * 5, [0.05, 0.05], [0, 0]])
def test_sets_keep_every_option_s_share_and_are_as_small_as_can_be(shares: list[float]) -> None:
    sets, weights = sets_with_shares(shares)
    assert sum(weights) == pytest.approx(1)
    for option, share in enumerate(shares):
        held = sum(weight for chosen, weight in zip(sets, weights, strict=True) if option in chosen)
        assert held == pytest.approx(share)
    assert max(map(len, sets)) <= -(-sum(shares) // 1)


def test_quantiles_of_a_made_up_truth() -> None:
    values, shares = [1.0, 2.0, 3.0], [0.25, 0.5, 0.25]
    assert [quantile(values, shares, p) for p in (0.25, 0.5, 0.75, 1.0)] == [1, 2, 2, 3]
