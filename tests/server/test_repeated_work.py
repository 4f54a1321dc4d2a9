"""No work is done twice: compiled once, read without writing, published in one transaction, rehearsed by `report`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from flask import Flask
from hushpoll_analysis import report
from hushpoll_analysis.results.rendering import as_body
from hushpoll_client import Report, Survey
from hushpoll_client.survey import question as question_module
from hushpoll_server.people import audit_log, tokens
from hushpoll_server.store.surveys import Store
from hushpoll_server.workspace.drafts import storage
from hushpoll_server.workspace.rehearsal import simulation
from sqlalchemy import Engine, event, select

from tests.client.documents import exam
from tests.server.accounts_kit import make_draft, make_published, signed_in, submit


class Counted:
    """A function that also counts its calls."""

    def __init__(self, work: Callable[..., Any]) -> None:
        self.work, self.calls = work, 0

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        self.calls += 1
        return self.work(*arguments, **named)


def test_a_survey_is_compiled_once_when_it_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    published = Survey.from_draft(exam()).canonical
    compiled = Counted(question_module.compile_mechanism)
    monkeypatch.setattr(question_module, "compile_mechanism", compiled)
    survey = Survey.from_published(published)
    assert compiled.calls == len(survey.questions) == 3
    new = Report.new(survey, [1, 3, 1])
    assert Report.parse(survey, new.to_bytes()) == (new, None)
    assert survey.epsilon_total > 0
    assert survey.canonical == published
    assert compiled.calls == 3


def test_reading_results_writes_nothing(site: tuple[Flask, Store]) -> None:
    owner, survey = signed_in(*site, "owner"), make_published(site[1])
    statements: list[str] = []

    def note(connection: object, cursor: object, statement: str, *rest: object) -> None:
        statements.append(statement)

    event.listen(Engine, "before_cursor_execute", note)
    try:
        for path in (f"/surveys/{survey.hash}/report", f"/api/surveys/{survey.hash}/results"):
            assert owner.get(path).status_code == 200, path
    finally:
        event.remove(Engine, "before_cursor_execute", note)
    assert any(statement.startswith("SELECT") for statement in statements)
    assert [s for s in statements if s.startswith(("INSERT", "UPDATE", "DELETE"))] == []


class Full(Exception):
    """The disk is full when the line of the log is written."""


def test_publishing_is_one_transaction_with_its_draft_and_its_log_entry(
    site: tuple[Flask, Store], monkeypatch: pytest.MonkeyPatch
) -> None:
    store, draft = site[1], make_draft(site[1])

    def fail(*arguments: Any, **named: Any) -> None:
        raise Full

    with monkeypatch.context() as broken:
        broken.setattr(storage, "note", fail)
        with pytest.raises(Full):
            storage.publish(store, draft, draft.survey("20"), "owner")
    assert store.state(draft.survey("20").hash) is None
    stored = storage.find(store, draft.id)
    assert stored is not None
    assert stored.published_hash is None
    assert submit(signed_in(*site, "owner"), f"/drafts/{draft.id}/publish", frozen="y").status_code == 302
    assert store.state(draft.survey("20").hash) is not None


def test_publishing_by_a_program_does_too(site: tuple[Flask, Store], monkeypatch: pytest.MonkeyPatch) -> None:
    app, store = site
    survey = Survey.from_draft(exam(title="By a program"))
    token = tokens.make(store, "owner", "publish", ["publish"], actor="owner")
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
    send = {"data": survey.canonical, "headers": headers}
    with monkeypatch.context() as broken:
        broken.setattr(audit_log, "insert", lambda table: select(table))  # writes nothing, and refuses values
        assert app.test_client().post("/api/surveys", **send).status_code == 500
    assert store.state(survey.hash) is None
    response = app.test_client().post("/api/surveys", **send)
    assert response.status_code == 201
    assert response.get_json()["url"].endswith(f"/s/{survey.hash[:12]}#{survey.hash}")
    newest = audit_log.audit_entries(store, 1)[0]
    assert (newest.action, newest.subject) == ("published", survey.hash)
    assert newest.values is not None
    assert newest.values["token"] == "publish"


def test_the_rehearsal_shows_the_same_as_the_report(monkeypatch: pytest.MonkeyPatch) -> None:
    survey = Survey.from_draft(exam())
    truth = {"cheated": [0.7, 0.3], "reason": [0.4, 0.3, 0.2, 0.1], "tax": [0.9, 0.1]}
    seen: list[Any] = []

    def recorded(*arguments: Any, **named: Any) -> Any:
        seen.append(report(*arguments, **named))
        return seen[-1]

    monkeypatch.setattr("hushpoll_analysis.report", recorded)
    rehearsal = simulation.simulated(survey, 500, truth)
    (result,) = seen
    assert rehearsal.body == as_body(result, heading=3, method=False)
    for section, question in zip(rehearsal.parts, result.questions, strict=True):
        expected = [line.to_dict()["shown"]["estimate"] for line in question.shares]
        ((_, rows),) = section["tables"]
        assert [row.estimate for row in rows] == expected
