"""Long reports come in pages: a hundred questions of 300 options were one page of 28 MB."""

from __future__ import annotations

import re

import numpy as np
import pytest
from flask import Flask
from flask.testing import FlaskClient
from hushpoll_client import Report, Survey
from hushpoll_server.collect import closing
from hushpoll_server.results import paging
from hushpoll_server.store.surveys import Store
from hushpoll_server.workspace import drafts

from tests.server.accounts_kit import token_of
from tests.server.reporting import signed_in
from tests.serving import post_batch

QUESTIONS, OPTIONS = 7, 300


@pytest.fixture
def backend() -> str:
    """A page is made from counts: one database will do."""
    return "sqlite"


@pytest.fixture
def ada(app: Flask, store: Store) -> FlaskClient:
    return signed_in(app, store, "ada", "designer")


def document(questions: int = QUESTIONS, options: int = OPTIONS) -> dict[str, object]:
    listed = [f"Place {number}" for number in range(options)]
    asked = {
        "kind": "choice",
        "text": "Where?",
        "options": listed,
        "mechanism": {"name": "krr", "epsilon": "1"},
    }
    return {
        "hushpoll": 1,
        "title": "Long",
        "questions": [{"id": f"q{number}", **asked} for number in range(1, questions + 1)],
    }


@pytest.fixture
def survey(store: Store, client: FlaskClient) -> Survey:
    """A long survey with 60 reports, closed."""
    survey = Survey.from_draft(document())
    store.publish(survey, "ada")
    dice = np.random.default_rng(1)
    reports = [
        Report(dice.bytes(16).hex(), tuple(map(int, dice.integers(OPTIONS, size=QUESTIONS))))
        for _ in range(60)
    ]
    post_batch(client, survey, b"\n".join(report.to_bytes() for report in reports))
    closing.close(store, survey.hash)
    return survey


def shown(text: str) -> list[str]:
    return re.findall(r'id="question-(q\d+)"', text)


def test_a_long_report_comes_in_pages_of_a_bounded_size(ada: FlaskClient, survey: Survey) -> None:
    address = f"/surveys/{survey.hash}/report"
    found = []
    for page, (first, last) in enumerate([(1, 3), (4, 6), (7, 7)], 1):
        answer = ada.get(address, query_string={"page": page})
        assert f"Questions {first} to {last} of {QUESTIONS}" in answer.text
        assert len(answer.data) < 2_000_000  # three questions of 300 options, each with a figure
        assert '<strong aria-current="page">' in answer.text
        found += shown(answer.text)
    assert found == [f"q{number}" for number in range(1, QUESTIONS + 1)]
    assert shown(ada.get(address).text) == found[:3]
    assert f"{address}?level=95&amp;page=2" in ada.get(address).text
    for wrong in ("0", "4", "x", "-1", "9" * 30, "²"):
        assert ada.get(address, query_string={"page": wrong}).status_code == 422, wrong


def test_a_short_report_is_one_page(ada: FlaskClient, store: Store) -> None:
    survey = Survey.from_draft(document(3, 4))
    store.publish(survey, "ada")
    text = ada.get(f"/surveys/{survey.hash}/report").text
    assert "Pages of the report" not in text


def test_public_results_and_files(
    ada: FlaskClient, client: FlaskClient, store: Store, survey: Survey
) -> None:
    store.set_results_public(survey.hash, True)
    first, last = (client.get(f"/results/{survey.hash}?page={page}").text for page in (1, 3))
    assert (shown(first), shown(last)) == (["q1", "q2", "q3"], ["q7"])
    # A file is whole: it is kept, not scrolled.
    csv = ada.get(f"/surveys/{survey.hash}/report.csv").text
    assert {line.split(",")[0] for line in csv.splitlines()[1:]} == {f"q{n}" for n in range(1, QUESTIONS + 1)}


def test_a_rehearsal_keeps_its_truth_from_page_to_page(
    ada: FlaskClient, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(paging, "MOST_ROWS", 6)
    made = document(4, 3)
    draft = drafts.create(store, "ada", {**drafts.blank("Long"), "questions": made["questions"]})
    page = f"/drafts/{draft.id}/rehearsal"
    text = ada.get(page).text
    assert (shown(text), "Questions 1 to 2 of 4" in text) == (["q1", "q2"], True)
    names = re.findall(r'name="(truth_\d+_\d+)"', text)
    assert len(names) >= 8
    fields = {name: "100" if name.endswith("_0") else "0" for name in names}
    token = token_of(ada, page)
    second = ada.post(page, data={"csrf_token": token, "n": "500", "page": "2", **fields})
    assert second.status_code == 200, second.text
    assert shown(second.text) == ["q3", "q4"]
    assert re.search(r'name="truth_0_0"[^>]*value="100', second.text)
