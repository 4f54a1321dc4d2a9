"""Blocks on the server: collected, sealed and reported; on the command line; written in the editor."""

from __future__ import annotations

import html
import json
import re
import secrets
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from flask import Flask
from flask.testing import FlaskClient
from hushpoll_analysis.simulation.respondents import simulate_survey
from hushpoll_client import Report, Survey, read_answers
from hushpoll_client.delivery.memory import Memory
from hushpoll_server.collect.seal import seal_due
from hushpoll_server.store.surveys import Store
from hushpoll_server.workspace.drafts import documents

from tests.command import run_command, run_line
from tests.server.accounts_kit import OR_POLL, again, make_draft, shown_error, submit
from tests.serving import post_batch
from tests.vectors.surveys import blocks_draft

TRUTH = {
    "first": [0.5, 0.5], "a": [0.7, 0.3], "b": [0.2, 0.3, 0.5], "c": [0.1, 0.2, 0.3, 0.2, 0.2],
    "d": [0.6, 0.4], "e": [0.9, 0.1], "last": [0.8, 0.2],
}  # fmt: skip
ASKED = [
    {"id": f"q{number}", "kind": "yes_no", "text": f"Question {number}?", "mechanism": {"epsilon": "1"}}
    for number in "123456"
]


# Collected and reported -----------------------------------------------------------------------------------------


def test_from_devices_to_results(site: tuple[Flask, Store], owner: FlaskClient, site_store: Store) -> None:
    """Reports of a block are checked, stored as one field, sealed, counted and shown question by question."""
    survey = Survey.from_draft(blocks_draft())
    site_store.publish(survey, "owner")
    columns = [codes.tolist() for _, codes in simulate_survey(survey, 400, TRUTH, 3)]
    rows = np.array(columns).T.tolist()
    body = "\n".join(json.dumps({"id": secrets.token_hex(16), "reports": row}) for row in rows).encode()
    assert post_batch(owner, survey, body).status_code == 201
    address = f"/api/surveys/{survey.hash}/reports"
    wrong = owner.post(address, json={"id": "0" * 32, "reports": [1, 45, 0, 0]})
    assert wrong.status_code == 422
    assert 'reports[1] ("block1")' in wrong.json["detail"]
    assert owner.post(address, json={"id": "0" * 32, "reports": [1] * 7}).status_code == 422
    answers = read_answers(
        survey, {"first": "Yes", "a": "No", "b": "y", "c": 5, "d": "No", "e": "Yes", "last": "No"}
    )
    body = Report.new(survey, answers).to_bytes()
    assert owner.post(address, data=body, content_type="application/json").status_code == 201
    seal_due(site_store)
    results = owner.get(f"/api/surveys/{survey.hash}/results").json
    assert [question["id"] for question in results["questions"]] == list(TRUTH)
    assert results["questions"][1]["n"] < results["n"]
    page = owner.get(f"/surveys/{survey.hash}/report")
    assert page.status_code == 200
    assert "people were asked this" in page.text
    inside = owner.get(f"/surveys/{survey.hash}/report?by=a")
    assert inside.status_code == 200, inside.text
    assert "randomized together" in inside.text
    apart = owner.get(f"/surveys/{survey.hash}/report?by=d")
    assert "ask two or more questions of the block" in html.unescape(apart.text)


def test_the_paper_page_explains_that_a_block_needs_a_device(site: tuple[Flask, Store]) -> None:
    survey = Survey.from_draft(blocks_draft() | {"title": "On paper"})
    site[1].publish(survey, "owner")
    page = site[0].test_client().get(f"/s/{survey.hash}/paper")
    assert "cannot be answered on paper" in page.text


# The command line -----------------------------------------------------------------------------------------------


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DATA", str(tmp_path / "data"))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.delenv("DATABASE_URL", raising=False)
    (tmp_path / "survey.json").write_text(json.dumps(blocks_draft()))
    (tmp_path / "truth.json").write_text(json.dumps(TRUTH))
    return tmp_path


def test_check_simulate_report_and_audit(
    folder: Path, capsys: pytest.CaptureFixture[str], seeded_coins: None
) -> None:
    status, out, _ = run_command(capsys, "survey", "check", "survey.json", "--json", "--profile")
    checked = json.loads(out)
    assert status == 0
    assert [block["epsilon"] for block in checked["blocks"]] == [pytest.approx(2), pytest.approx(0.5)]
    assert checked["blocks"][0]["questions"] == ["a", "b", "c"]
    assert checked["epsilon_total"] == pytest.approx(4.5)
    assert checked["profile"][-1] == [pytest.approx(4.5), 0.0]
    status, out, _ = run_command(capsys, "survey", "check", "survey.json")
    assert "block1: asks each person 2 of 3 questions, answered jointly, epsilon 2" in out
    arguments = ["simulate", "survey.json", "-n", "3000", "--truth", "truth.json", "--out", "reports.csv"]
    assert run_command(capsys, *arguments, "--seed", "1")[0] == 0
    header = (folder / "reports.csv").read_text().splitlines()[0]
    assert header.replace(chr(34), "") == "first_reported,block1_reported,block2_reported,last_reported"
    status, out, err = run_line(capsys, "report survey.json --data reports.csv --format json")
    assert status == 0, err
    for question in json.loads(out)["questions"]:
        for entry, true in zip(question["estimates"][-1:], TRUTH[question["id"]][-1:], strict=True):
            assert abs(entry["estimate"] - true) < 4.5 * entry["se"]
    status, out, err = run_line(capsys, "report survey.json --data reports.csv --by a")
    assert status == 0, err
    status, out, err = run_command(capsys, "audit", "survey.json", "--draws", "1000", "--json")
    assert status == 0, err
    assert {"block1", "block2"} <= {audited["id"] for audited in json.loads(out)["questions"]}


def test_a_broken_block_ends_with_one_line(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    draft = blocks_draft()
    draft["blocks"][0]["ask"] = 4
    (folder / "survey.json").write_text(json.dumps(draft))
    status, out, err = run_command(capsys, "survey", "check", "survey.json")
    assert (status, out) == (2, "")
    assert err.strip().endswith(
        "blocks.0.ask: 4 is not a number of its 3 questions; ask each person 1 to 3 of them"
    )


def test_the_terminal_asks_what_was_drawn(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from click.testing import CliRunner
    from hushpoll_client.cli import answer as command
    from hushpoll_client.cli import hushpoll

    survey = Survey.from_draft(blocks_draft())
    sent: list[Report] = []
    monkeypatch.setattr(command, "fetch_survey", lambda link: survey)
    monkeypatch.setattr(command, "submit", lambda link, survey, report: sent.append(report) or 201)
    ranks = Memory().ranks(survey)
    single_questions = [question for question in survey.questions if question.block is None]
    drawn_ids = [name for block in survey.blocks for name in block.questions_at(ranks[block.number])]
    url = f"http://127.0.0.1/s/{survey.hash}#{survey.hash}"
    result = CliRunner().invoke(
        hushpoll, ["answer", url], input="1\n" * (len(single_questions) + len(drawn_ids))
    )
    assert result.exit_code == 0, result.output
    assert "Question 5 of 5." in result.output
    assert "This machine draws 2 of 3 questions by chance" in result.output
    for question in survey.questions:
        assert (question.text in result.output) == (question in single_questions or question.id in drawn_ids)
    channel: Any = survey.blocks[0].channel
    assert sent[0].reports[1] // channel.largest == ranks[0]


def test_the_terminal_numbers_weak_questions_as_it_asks_them() -> None:
    from hushpoll_client.cli.interview import lead

    draft = blocks_draft()
    draft["blocks"][0]["epsilon"] = 4
    assert lead(Survey.from_draft(draft)).startswith("Question 2, 3: what is sent can be up to ")


# The editor -----------------------------------------------------------------------------------------------------


def test_a_block_is_created_compared_changed_and_dissolved(owner: FlaskClient, site_store: Store) -> None:
    draft = make_draft(site_store, "owner", *ASKED)
    path = f"/drafts/{draft.id}/blocks/new"
    chosen = ["q2", "q3", "q4", "q5", "q6"]
    compared = submit(owner, path, questions=chosen, epsilon="2", ask="", compare="yes")
    assert compared.status_code == 200
    assert "Ask each person 2 of the 5 questions." in compared.text
    assert "blocks" not in again(site_store, draft).document
    assert submit(owner, path, questions=chosen, epsilon="2", ask="").status_code == 302
    written = again(site_store, draft)
    assert written.document["blocks"] == [{"questions": chosen, "ask": 2, "epsilon": "2"}]
    assert "mechanism" not in written.questions[1]
    assert "mechanism" in written.questions[0]
    page = owner.get(f"/drafts/{draft.id}").text
    assert "Each person is asked 2 of the 5 questions 2 to 6" in page
    privacy = owner.get(f"/drafts/{draft.id}/privacy").text
    assert privacy.count("2, the block") == 1
    assert privacy.count(">in the block<") == 4
    assert re.search(r'data-readout="total">3<', privacy)
    change = f"/drafts/{draft.id}/blocks/0"
    tables = submit(owner, change, questions=chosen, epsilon="1", ask="", cross_tables="y")
    assert tables.status_code == 302
    assert again(site_store, draft).document["blocks"][0] == {"questions": chosen, "ask": 2, "epsilon": "1"}
    assert re.search(r'<input[^>]*checked[^>]*name="cross_tables"', owner.get(change).text), (
        "the tick is kept"
    )
    assert submit(owner, change, questions=chosen, epsilon="1", ask="2").status_code == 302
    assert not re.search(r'<input[^>]*checked[^>]*name="cross_tables"', owner.get(change).text)
    assert submit(owner, change, questions=chosen, epsilon="1", ask="2", cross_tables="y").status_code == 302
    refused = submit(owner, change, questions=chosen, epsilon="1", ask="1", cross_tables="y")
    assert shown_error(refused.text, "ask").endswith(
        "Cross-tables need at least two questions per person: ask 2 or more."
    )
    assert owner.get(f"/drafts/{draft.id}/rehearsal").status_code == 200
    assert "Each person is asked 2 of questions 2 to 6" in owner.get(f"/drafts/{draft.id}/publish").text
    submit(owner, f"{change}/dissolve", page=change)
    assert "blocks" not in again(site_store, draft).document
    assert all(question["mechanism"] == {"epsilon": "1"} for question in again(site_store, draft).questions)


@pytest.mark.parametrize(
    ("fields", "field", "message"),
    [
        ({"questions": ["q1"], "ask": "1"}, "questions", "A block needs at least two questions, has 1"),
        ({"questions": ["q1", "q2"], "ask": "3"}, "ask", "3 is not a number of its 2 questions"),
        ({"questions": ["q1", "q2"], "ask": "two"}, "ask", "is not a number of its 2 questions"),
        ({"questions": ["q1", "q3"], "ask": "1"}, "questions", "Are not neighbours in the survey"),
        ({"questions": ["q6", "o"], "ask": "1"}, "questions", "A question of a block has no decoy"),
        ({"questions": ["q1", "q2"], "ask": "1", "epsilon": "0"}, "epsilon", "Must be greater than 0"),
        ({"questions": ["q1", "q2"], "ask": "1", "epsilon": "much"}, "epsilon", "Must be a number"),
    ],
)
def test_what_a_block_cannot_hold_is_an_error_of_the_field(
    owner: FlaskClient, site_store: Store, fields: dict[str, Any], field: str, message: str
) -> None:
    draft = make_draft(site_store, "owner", *ASKED, OR_POLL)
    refused = submit(owner, f"/drafts/{draft.id}/blocks/new", **{"epsilon": "2", **fields})
    assert refused.status_code == 422
    assert message.lower() in shown_error(refused.text, field).lower()
    assert "blocks" not in again(site_store, draft).document


def test_a_question_belongs_to_one_block_only(owner: FlaskClient, site_store: Store) -> None:
    draft = make_draft(site_store, "owner", *ASKED)
    path = f"/drafts/{draft.id}/blocks/new"
    assert submit(owner, path, questions=["q1", "q2"], epsilon="1", ask="1").status_code == 302
    assert 'value="q1"' not in owner.get(path).text
    refused = submit(owner, path, questions=["q2", "q3"], epsilon="1", ask="1")
    assert '"q2" stands in a block already' in shown_error(refused.text, "questions")


def test_questions_of_a_block_are_edited_moved_copied_and_deleted(
    owner: FlaskClient, site_store: Store
) -> None:
    draft = make_draft(site_store, "owner", *ASKED)
    home = f"/drafts/{draft.id}"
    submit(owner, f"{home}/blocks/new", questions=["q2", "q3", "q4"], epsilon="1", ask="3")

    def order() -> list[str]:
        return [question["id"] for question in again(site_store, draft).questions]

    def block() -> dict[str, Any]:
        return dict(again(site_store, draft).document["blocks"][0])

    edited = {"kind": "yes_no", "text": "Changed?", "id": "second", "mechanism": ""}
    assert submit(owner, f"{home}/questions/q2", **edited).status_code == 302
    assert block()["questions"] == ["second", "q3", "q4"]
    assert "mechanism" not in again(site_store, draft).questions[1]
    refused = submit(owner, f"{home}/questions/second", **edited | {"mechanism": "warner", "epsilon": "1"})
    assert "has none of its own" in shown_error(refused.text, "mechanism")
    other = {"kind": "multiple", "text": "Which?", "options": "a\nb", "id": "second", "mechanism": ""}
    assert "cannot be in a block" in shown_error(
        submit(owner, f"{home}/questions/second", **other).text, "kind"
    )
    # Others jump over a block; its own questions stay inside.
    submit(owner, f"{home}/questions/q1/move", page=home, direction="down")
    assert order() == ["second", "q3", "q4", "q1", "q5", "q6"]
    submit(owner, f"{home}/questions/q3/move", page=home, direction="up")
    assert block()["questions"] == ["q3", "second", "q4"]
    submit(owner, f"{home}/questions/q4/move", page=home, direction="down")
    assert "stay together" in html.unescape(owner.get(home).text)
    submit(owner, f"{home}/questions/q4/duplicate", page=home)
    assert len(block()["questions"]) == 4
    for name in list(block()["questions"])[:2]:
        submit(owner, f"{home}/questions/{name}/delete", home)
    assert block()["ask"] == 2
    submit(owner, f"{home}/questions/{block()['questions'][0]}/delete", home)
    assert "blocks" not in again(site_store, draft).document
    assert again(site_store, draft).compiled().blocks == ()


def test_a_published_block_becomes_the_same_draft_again(site_store: Store) -> None:
    survey = Survey.from_draft(blocks_draft())
    document, _ = documents.imported(survey)
    assert document["blocks"] == survey.as_document(published=False)["blocks"]
    assert documents.compiled(document).hash == survey.hash
