"""Backup and restore: either kind of database, under load, private, resumable, and nobody's invitation is burnt."""

from __future__ import annotations

import contextlib
import sqlite3
import stat
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from flask.testing import FlaskClient
from hushpoll_client import HushpollError, Report, Survey
from hushpoll_server import create_app
from hushpoll_server.cli import main
from hushpoll_server.collect import closing, invitations
from hushpoll_server.collect.seal import seal_due
from hushpoll_server.config import Config
from hushpoll_server.people import accounts
from hushpoll_server.store import backup
from hushpoll_server.store.surveys import Store, open_store

from tests.serving import make_survey, new_report, post, sealed_records, waiting_records


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.postgres)])
def target(request: pytest.FixtureRequest, config: Config, tmp_path: Path) -> Iterator[Config]:
    """An empty database of either kind, with the key of the first one."""
    url = ""
    if request.param == "postgresql":
        cluster = request.getfixturevalue("postgres")
        name = f"restored_{tmp_path.name.replace('-', '_').lower()[-40:]}"
        url = cluster.create(name)
    new = replace(config, data=tmp_path / "restored", database_url=url, secret_key_file=str(config.key_path))
    yield new
    if url:
        cluster.drop(name)


def life(client: FlaskClient, store: Store) -> tuple[Survey, list[str], list[Report]]:
    """A survey by invitation in the middle of its life: 60 reports sealed, 60 waiting, 80 codes unused."""
    survey = make_survey(invitation=True)
    store.publish(survey, minimum_batch=60)
    accounts.add_user(store, "ada", "designer")
    codes = invitations.invite(store, survey.hash, 200)
    reports = [new_report(survey) for _ in range(120)]
    for report, code in zip(reports, codes, strict=False):
        assert post(client, survey, report.to_bytes(code)).status_code == 201
    assert len(sealed_records(store, survey.hash)) == 60 * store.record_format(survey.hash).size
    return survey, codes, reports


def test_a_restored_database_goes_on_as_if_nothing_had_happened(
    client: FlaskClient, store: Store, target: Config, tmp_path: Path
) -> None:
    survey, codes, reports = life(client, store)
    file = tmp_path / "backup"
    copied = backup.write_backup(store.database, file)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert sorted(path.name for path in tmp_path.iterdir() if "backup" in path.name) == ["backup"]
    assert backup.restore_backup(target, file).rows == copied.rows - _state_rows(file)
    open_store(target).close()
    app = create_app(target)
    again = app.extensions["hushpoll"]
    try:
        assert (again.count(survey.hash), again.sealed_count(survey.hash)) == (120, 60)
        assert waiting_records(again, survey.hash) == waiting_records(store, survey.hash)
        assert invitations.counts(again, survey.hash) == (200, 120)
        # Every device that sends again is recognised, with its own code; the unused codes are good.
        for report, code in zip(reports, codes, strict=False):
            assert post(app.test_client(), survey, report.to_bytes(code)).status_code == 200
        assert post(app.test_client(), survey, new_report(survey).to_bytes(codes[0])).status_code == 403
        assert post(app.test_client(), survey, new_report(survey).to_bytes(codes[150])).status_code == 201
        assert [user.name for user in accounts.all_users(again)] == ["ada"]
        # Numbers go on where they were.
        assert again.publish(make_survey("Another one"))
        closing.close(again, survey.hash)
        assert again.sealed_count(survey.hash) == 121
    finally:
        again.close()


def _state_rows(file: Path) -> int:
    with sqlite3.connect(file) as connection:
        found: int = connection.execute("SELECT rows FROM backup_of WHERE name = 'server_state'").fetchone()[
            0
        ]
    connection.close()
    return found


def test_a_backup_under_load_is_of_one_moment_and_restores(
    client: FlaskClient, store: Store, target: Config, tmp_path: Path
) -> None:
    """Whatever is sealed meanwhile: each report is in the copy once, and what was acknowledged before it is known."""
    survey = make_survey()
    store.publish(survey, minimum_batch=5)
    over = threading.Event()
    acknowledged: list[Report] = []
    problems: list[str] = []

    def send() -> None:
        sender = client.application.test_client()
        while not over.is_set():
            report = new_report(survey)
            status = post(sender, survey, report.to_bytes()).status_code
            if status == 201:
                acknowledged.append(report)
            else:
                problems.append(f"status {status}")

    def seal() -> None:
        while not over.is_set():
            seal_due(store, wait=False)

    threads = [threading.Thread(target=work) for work in (send, send, seal)]
    for thread in threads:
        thread.start()
    try:
        for number in range(4):
            before = len(acknowledged)
            backup.write_backup(store.database, tmp_path / f"{number}")
            copied = _reports_in(tmp_path / f"{number}")
            assert before <= copied <= len(acknowledged) + 2
    finally:
        over.set()
        for thread in threads:
            thread.join()
    assert not problems
    assert before > 20
    backup.restore_backup(target, tmp_path / "3")
    open_store(target).close()
    app = create_app(target)
    again = app.extensions["hushpoll"]
    try:
        assert again.count(survey.hash) == copied
        sender = app.test_client()
        statuses = [post(sender, survey, report.to_bytes()).status_code for report in acknowledged]
        assert set(statuses[:before]) == {200}
        # Whoever came later sends again and is counted once.
        assert set(statuses[before:]) <= {200, 201}
        assert again.count(survey.hash) == len(acknowledged)
    finally:
        again.close()


def _reports_in(file: Path) -> int:
    """Count the reports of a backup: those that wait and those that are sealed, each once."""
    with contextlib.closing(sqlite3.connect(file)) as connection:
        waiting, sealed, seen = (
            connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0]
            for table in ("inbox", "sealed", "seen")
        )
        assert sealed == seen == connection.execute("SELECT sealed_n FROM surveys").fetchone()[0]
    return int(waiting + sealed)


@pytest.mark.parametrize("backend", ["sqlite"])
def test_a_backup_that_was_interrupted_leaves_nothing_and_begins_anew(
    client: FlaskClient, store: Store, tmp_path: Path
) -> None:
    """It is of one moment, and that moment is over: half of an older one is of no use."""
    life(client, store)
    file = tmp_path / "backup"

    def stop(name: str, rows: int) -> None:
        if name == "invitations":
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        backup.write_backup(store.database, file, stop)
    assert not [path.name for path in tmp_path.iterdir() if "backup" in path.name]
    # Killed where nothing could be tidied up.
    (tmp_path / ".backup.partial").write_bytes(b"half of it")
    assert backup.write_backup(store.database, file).rows > 300
    assert [path.name for path in tmp_path.iterdir() if "backup" in path.name] == ["backup"]


def test_a_restore_that_was_interrupted_goes_on(
    client: FlaskClient, store: Store, target: Config, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    survey, _, _ = life(client, store)
    file = tmp_path / "backup"
    backup.write_backup(store.database, file)
    monkeypatch.setattr(backup, "_PART", 20)
    seen: list[str] = []

    def stop(name: str, rows: int) -> None:
        seen.append(name)
        if name == "invitations" and rows >= 60:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        backup.restore_backup(target, file, stop)
    with pytest.raises(HushpollError, match="half way"):
        open_store(target)
    again: list[tuple[str, int]] = []
    backup.restore_backup(target, file, lambda name, rows: again.append((name, rows)))
    assert ("invitations", 80) in again
    assert ("invitations", 60) not in again
    restored = open_store(target)
    assert waiting_records(restored, survey.hash) == waiting_records(store, survey.hash)
    restored.close()
    with pytest.raises(HushpollError, match="holds surveys"):
        backup.restore_backup(target, file)


@pytest.mark.parametrize("backend", ["sqlite"])
def test_what_cannot_be_restored_is_refused_in_one_line(
    client: FlaskClient,
    store: Store,
    config: Config,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    life(client, store)

    def run(*arguments: Any, **environment: str) -> tuple[int, str, str]:
        for name, value in {"DATA": str(config.data), "DATABASE_URL": "", **environment}.items():
            monkeypatch.setenv(name, value)
        with pytest.raises(SystemExit) as end:
            main([str(argument) for argument in arguments])
        return int(end.value.code or 0), *capsys.readouterr()

    file, new = tmp_path / "backup", {"DATA": str(tmp_path / "new")}
    status, out, _ = run("backup", file)
    assert (status, "read back and found the same" in out, "secret.key" in out) == (0, True, True)
    assert run("backup", file)[0] == 2
    assert "missing" in run("restore", file, **new)[2]
    (tmp_path / "new").mkdir(mode=0o700, exist_ok=True)
    (tmp_path / "new" / "secret.key").write_text("ab" * 32)
    assert "is not the key" in run("restore", file, **new)[2]
    (tmp_path / "new" / "secret.key").write_bytes(config.key_path.read_bytes())
    (tmp_path / "no").write_bytes(b"no database at all" * 100)
    refused = {"no": "is no backup", "absent": "no such file"}
    data = bytearray(file.read_bytes())
    record = sealed_records(store, store.list_surveys()[0].hash)
    assert record
    place = data.find(b"Exam honesty")
    data[place : place + 4] = b"Ezam"
    (tmp_path / "damaged").write_bytes(data)
    refused["damaged"] = "damaged"
    with sqlite3.connect(tmp_path / "newer") as connection, sqlite3.connect(file) as whole:
        whole.backup(connection)
        connection.execute("UPDATE backup_of SET digest = '9999_future' WHERE name = 'schema'")
    whole.close()
    connection.close()
    refused["newer"] = "newer hushpoll"
    for name, words in refused.items():
        status, _, err = run("restore", tmp_path / name, **new)
        assert (status, words in err, len(err.splitlines())) == (2, True, 1), (name, err)
    assert run("restore", file, **new)[0] == 0
    assert "holds surveys" in run("restore", file, **new)[2]
    assert "backed up" in [row.action for row in _log(store)]


def _log(store: Store) -> list[Any]:
    from hushpoll_server.store.workspace_schema import audit_log
    from sqlalchemy import select

    with store.read() as tx:
        return list(tx.execute(select(audit_log)).all())
