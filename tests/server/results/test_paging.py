"""Long reports come in pages: a hundred questions of 300 options would be one page of 28 MB."""

from __future__ import annotations

import gzip
import os
import re
from collections.abc import Callable

import numpy as np
import pytest
from flask import Flask
from flask.testing import FlaskClient
from hushpoll_analysis.results import survey as survey_results
from hushpoll_analysis.results.formats import RESULTS_FORMATS
from hushpoll_client import Report, Survey
from hushpoll_server.collect import closing
from hushpoll_server.collect.retention import set_embeddable
from hushpoll_server.results import paging
from hushpoll_server.results.public_files import PublicFiles
from hushpoll_server.store.surveys import Store
from hushpoll_server.workspace.drafts import documents, storage

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
    question = {
        "kind": "choice",
        "text": "Where?",
        "options": listed,
        "mechanism": {"name": "krr", "epsilon": "1"},
    }
    return {
        "hushpoll": 1,
        "title": "Long",
        "questions": [{"id": f"q{number}", **question} for number in range(1, questions + 1)],
    }


def closed_survey(
    store: Store, client: FlaskClient, questions: int = QUESTIONS, options: int = OPTIONS
) -> Survey:
    """A survey with 60 reports, closed."""
    survey = Survey.from_draft(document(questions, options))
    store.publish(survey, "ada")
    dice = np.random.default_rng(1)
    reports = [
        Report(dice.bytes(16).hex(), tuple(map(int, dice.integers(options, size=questions))))
        for _ in range(60)
    ]
    post_batch(client, survey, b"\n".join(report.to_bytes() for report in reports))
    closing.close(store, survey.hash)
    return survey


@pytest.fixture
def survey(store: Store, client: FlaskClient) -> Survey:
    """A long one."""
    return closed_survey(store, client)


def question_ids(text: str) -> list[str]:
    return re.findall(r'id="question-(q\d+)"', text)


def test_a_long_report_comes_in_pages_of_a_bounded_size(ada: FlaskClient, survey: Survey) -> None:
    address = f"/surveys/{survey.hash}/report"
    ids = []
    for page, (first, last) in enumerate([(1, 3), (4, 6), (7, 7)], 1):
        answer = ada.get(address, query_string={"page": page})
        assert f"Questions {first} to {last} of {QUESTIONS}" in answer.text
        assert len(answer.data) < 2_000_000  # three questions of 300 options, each with a figure
        assert '<strong aria-current="page">' in answer.text
        ids += question_ids(answer.text)
    assert ids == [f"q{number}" for number in range(1, QUESTIONS + 1)]
    assert question_ids(ada.get(address).text) == ids[:3]
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
    assert (question_ids(first), question_ids(last)) == (["q1", "q2", "q3"], ["q7"])
    # A file is whole: it is kept, not scrolled.
    csv = ada.get(f"/surveys/{survey.hash}/report.csv").text
    assert {line.split(",")[0] for line in csv.splitlines()[1:]} == {f"q{n}" for n in range(1, QUESTIONS + 1)}


def test_embedded_results_come_in_pages_that_stay_in_their_frame(
    client: FlaskClient, store: Store, survey: Survey
) -> None:
    store.set_results_public(survey.hash, True)
    set_embeddable(store, survey.hash, True, "ada")
    address = f"/results/{survey.hash}/embed"
    ids = [question_ids(client.get(address, query_string={"page": page}).text) for page in (1, 2, 3)]
    assert ids == [["q1", "q2", "q3"], ["q4", "q5", "q6"], ["q7"]]
    first = client.get(address)
    assert len(first.data) < 2_000_000
    assert re.search(rf'href="{address}\?page=2&amp;lang=en" target="_self"', first.text)
    assert client.get(address, query_string={"page": "4"}).status_code == 422


PUBLIC_FILES = [f"/results/{{}}/report.{results_format.ending}" for results_format in RESULTS_FORMATS] + [
    "/api/surveys/{}/results",
    "/results/{}/q1.svg",
    "/results/{}/q1.png",
]


@pytest.mark.parametrize("address", PUBLIC_FILES)
def test_strangers_have_a_file_made_once(
    client: FlaskClient, store: Store, monkeypatch: pytest.MonkeyPatch, address: str
) -> None:
    """One of a hundred questions of 300 options takes about ten seconds; whatever it is made of makes another."""
    survey = closed_survey(store, client, 2, 60)
    store.set_results_public(survey.hash, True)
    address = address.format(survey.hash)
    calls: list[str] = []
    monkeypatch.setattr(survey_results, "report", counting(survey_results.report, calls))
    first = client.get(address)
    again = client.get(address, headers={"Accept-Encoding": "gzip"})
    assert (first.status_code, len(calls)) == (200, 1)
    assert again.headers["Content-Encoding"] == "gzip"
    assert gzip.decompress(again.data) == first.data
    if first.mimetype not in ("application/pdf", "image/png"):  # which are compressed by themselves
        assert len(again.data) < len(first.data) / 3
    for header in ("Content-Disposition", "Cache-Control", "Content-Type"):
        assert first.headers.get(header) == again.headers.get(header), header
    closing.reopen(store, survey.hash)
    post_batch(client, survey, Report("0" * 32, (1, 1)).to_bytes())
    closing.close(store, survey.hash)
    assert client.get(address).data != first.data
    assert len(calls) == 2


def counting(work: Callable[..., object], calls: list[str]) -> Callable[..., object]:
    def counted(*arguments: object, **more: object) -> object:
        calls.append("")
        return work(*arguments, **more)

    return counted


def test_few_threads_make_files_for_strangers(
    app: Flask, ada: FlaskClient, client: FlaskClient, store: Store, survey: Survey
) -> None:
    """While they are all busy others get a Retry-After; accounts and stored files do not wait."""
    store.set_results_public(survey.hash, True)
    address = f"/results/{survey.hash}/report.csv"
    files = app.extensions["hushpoll_public_files"] = PublicFiles(1)
    with files._places:
        answer = client.get(address)
        assert (answer.status_code, answer.headers["Retry-After"]) == (503, "5")
        assert ada.get(f"/surveys/{survey.hash}/report.csv").status_code == 200
        assert ada.get(f"/api/surveys/{survey.hash}/results").status_code == 200
    assert client.get(address).status_code == 200
    with files._places:
        assert client.get(address).status_code == 200


def test_old_files_leave_the_cache_for_new_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hushpoll_server.results.public_files.MOST_BYTES", 250)
    files, calls = PublicFiles(1), []

    def make() -> bytes:
        calls.append("")
        return os.urandom(100)  # does not get smaller

    first = [files.get(key, make) for key in "abab"]
    assert (first[:2], len(calls)) == (first[2:], 2)
    files.get("c", make)  # "a" goes
    assert files.get("b", make) == first[1]
    assert len(calls) == 3
    assert files.get("a", make) != first[0]


def test_a_rehearsal_keeps_its_truth_from_page_to_page(
    ada: FlaskClient, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(paging, "MOST_ROWS", 6)
    long_document = document(4, 3)
    draft = storage.create(store, "ada", {**documents.blank("Long"), "questions": long_document["questions"]})
    page = f"/drafts/{draft.id}/rehearsal"
    text = ada.get(page).text
    assert (question_ids(text), "Questions 1 to 2 of 4" in text) == (["q1", "q2"], True)
    names = re.findall(r'name="(truth_\d+_\d+)"', text)
    assert len(names) >= 8
    fields = {name: "100" if name.endswith("_0") else "0" for name in names}
    token = token_of(ada, page)
    second = ada.post(page, data={"csrf_token": token, "n": "500", "page": "2", **fields})
    assert second.status_code == 200, second.text
    assert question_ids(second.text) == ["q3", "q4"]
    assert re.search(r'name="truth_0_0"[^>]*value="100', second.text)
