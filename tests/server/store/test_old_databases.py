"""What version 0.1 wrote keeps working: surveys, reports, ids, invitations, accounts, drafts.

tests/fixtures/0.1 holds what `sqlite3 .dump` printed of a database and of a backup of it: one survey with 60 sealed
reports and 7 waiting, one by invitation, one draft.
"""

from __future__ import annotations

import json
import secrets
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from flask import Flask
from hushpoll_analysis import report
from hushpoll_server import create_app
from hushpoll_server.collect import closing as closing_surveys
from hushpoll_server.config import Config
from hushpoll_server.store.restore import restore_backup
from hushpoll_server.store.surveys import Store, open_store
from hushpoll_server.workspace.drafts import storage

from tests.serving import sealed_records

FOLDER = Path(__file__).parents[2] / "fixtures" / "0.1"
FACTS: dict[str, Any] = json.loads((FOLDER / "facts.json").read_text())


def from_dump(name: str, path: Path) -> None:
    """Write the SQLite file from its dump."""
    with closing(sqlite3.connect(path)) as database:
        database.executescript((FOLDER / name).read_text(encoding="utf-8"))


@pytest.fixture(
    params=["database", "backup", pytest.param("backup to postgresql", marks=pytest.mark.postgres)]
)
def old(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Flask]:
    """A server on that database, or on one that the backup was restored to."""
    data, url = tmp_path / "data", ""
    data.mkdir(mode=0o700)
    (data / "secret.key").write_text(FACTS["secret"] + "\n")
    (data / "secret.key").chmod(0o600)
    if "postgresql" in request.param:
        url = request.getfixturevalue("postgres").create(f"restored_{secrets.token_hex(8)}")
    config = Config(data=data, database_url=url)
    if request.param == "database":
        from_dump("database.sql", data / "hushpoll.sqlite3")
    else:
        from_dump("backup.sql", tmp_path / "backup")
        restore_backup(config, tmp_path / "backup")
    open_store(config).close()
    app = create_app(config)
    yield app
    app.extensions["hushpoll"].close()


def store_of(app: Flask) -> Store:
    store = app.extensions["hushpoll"]
    assert isinstance(store, Store)
    return store


def send(app: Flask, survey_hash: str, body: str) -> int:
    address = f"/api/surveys/{survey_hash}/reports"
    return app.test_client().post(address, data=body, content_type="application/json").status_code


def test_its_surveys_have_the_hashes_they_were_published_under(old: Flask) -> None:
    for name in (FACTS["hash"], FACTS["invitation_hash"]):
        survey = store_of(old).get_survey(name)
        assert survey is not None
        assert survey.hash == name
        assert old.test_client().get(f"/api/surveys/{name}").data == survey.canonical


def test_its_reports_are_counted_and_estimated(old: Flask) -> None:
    store, name = store_of(old), FACTS["hash"]
    assert (store.sealed_count(name), store.count(name)) == (
        FACTS["sealed"],
        FACTS["sealed"] + FACTS["waiting"],
    )
    closing_surveys.close(store, name)
    survey = store.get_survey(name)
    assert survey is not None
    results = report(survey, [sealed_records(store, name)])
    assert results.n == FACTS["sealed"] + FACTS["waiting"]
    assert [question.n for question in results.questions] == [results.n] * 3


def test_what_was_sent_before_is_known_again(old: Flask) -> None:
    store, name = store_of(old), FACTS["hash"]
    before = store.count(name)
    assert send(old, name, FACTS["first_sealed"]) == 200
    assert send(old, name, FACTS["first_waiting"]) == 200
    changed = json.loads(FACTS["first_waiting"])
    changed["reports"][0] = 1 - changed["reports"][0]
    assert send(old, name, json.dumps(changed)) == 409
    assert store.count(name) == before


def test_its_invitations_are_still_valid_once(old: Flask) -> None:
    body = json.loads(FACTS["first_waiting"]) | {"invitation": FACTS["code"]}
    assert send(old, FACTS["invitation_hash"], json.dumps(body)) == 201
    body["id"] = "0" * 32
    assert send(old, FACTS["invitation_hash"], json.dumps(body)) == 403


def test_its_draft_is_still_the_same_survey(old: Flask) -> None:
    draft = storage.find(store_of(old), FACTS["draft"])
    assert draft is not None
    assert (draft.title, draft.owner, draft.expected_n) == ("Next year", "ada", 800)
    assert [question.id for question in draft.survey().questions] == ["cheated", "reason", "tax"]
