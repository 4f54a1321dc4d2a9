"""Backup and restore: either kind of database, under load, private, resumable, and no invitation is burnt."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import sqlite3
import stat
import threading
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import psycopg
import pytest
from click.testing import CliRunner
from flask.testing import FlaskClient
from hushpoll_client import HushpollError, Report, Survey
from hushpoll_client.cli import hushpoll, main
from hushpoll_server import create_app
from hushpoll_server.collect import closing, invitations
from hushpoll_server.collect.seal import seal_due
from hushpoll_server.config import Config
from hushpoll_server.people import accounts
from hushpoll_server.store import backup, backup_format
from hushpoll_server.store.restore import give_to_owner, restore_backup
from hushpoll_server.store.surveys import Store, open_store
from sqlalchemy import Engine, MetaData, Table, create_engine, event
from sqlalchemy.exc import OperationalError

from tests.command import run_command
from tests.serving import (
    LONGEST,
    Postgres,
    make_survey,
    new_report,
    post,
    sealed_records,
    used_codes,
    waiting_records,
)


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


def test_a_restored_database_works_like_the_original(
    client: FlaskClient, store: Store, target: Config, tmp_path: Path
) -> None:
    survey, codes, reports = life(client, store)
    file = tmp_path / "backup"
    copied = backup.write_backup(store.database, file)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert sorted(path.name for path in tmp_path.iterdir() if "backup" in path.name) == ["backup"]
    assert restore_backup(target, file) == copied
    open_store(target).close()
    app = create_app(target)
    again = app.extensions["hushpoll"]
    try:
        assert (again.count(survey.hash), again.sealed_count(survey.hash)) == (120, 60)
        assert waiting_records(again, survey.hash) == waiting_records(store, survey.hash)
        assert used_codes(again, survey.hash) == (200, 120)
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


@pytest.mark.long
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
            # However slow the machine is: the last copy is of more than a few.
            end = time.monotonic() + LONGEST
            while number == 3 and len(acknowledged) <= 20 and time.monotonic() < end:
                time.sleep(0.01)
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
    restore_backup(target, tmp_path / "3")
    open_store(target).close()
    app = create_app(target)
    again = app.extensions["hushpoll"]
    try:
        assert again.count(survey.hash) == copied
        sender = app.test_client()
        statuses = [post(sender, survey, report.to_bytes()).status_code for report in acknowledged]
        assert set(statuses[:before]) == {200}
        # Devices that came later send again and are counted once.
        assert set(statuses[before:]) <= {200, 201}
        assert again.count(survey.hash) == len(acknowledged)
    finally:
        again.close()


def test_a_backup_is_of_one_moment_while_reports_are_sent_and_sealed(
    client: FlaskClient, store: Store, tmp_path: Path
) -> None:
    """Between any two tables of the copy another report arrives and others are sealed."""
    survey = make_survey()
    store.publish(survey, minimum_batch=5)
    for _ in range(12):
        assert post(client, survey, new_report(survey).to_bytes()).status_code == 201
    assert seal_due(store) > 0
    tables: list[str] = []

    def meanwhile(table: str, rows: int) -> None:
        tables.append(table)
        assert post(client, survey, new_report(survey).to_bytes()).status_code == 201
        seal_due(store, wait=False)

    backup.write_backup(store.database, tmp_path / "copy", meanwhile)
    assert {"inbox", "sealed", "seen"} <= set(tables)
    assert 12 <= _reports_in(tmp_path / "copy") < store.count(survey.hash)


def _reports_in(file: Path) -> int:
    """Return the number of distinct reports of a backup, waiting or sealed."""
    with contextlib.closing(sqlite3.connect(file)) as connection:
        waiting, sealed, seen = (
            connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0]
            for table in ("inbox", "sealed", "seen")
        )
        assert sealed == seen == connection.execute("SELECT sealed_n FROM surveys").fetchone()[0]
    return int(waiting + sealed)


def test_an_interrupted_backup_resumes_and_is_of_the_new_moment(
    client: FlaskClient, store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What it had written is compared, not written again; what has changed since is brought up to date."""
    monkeypatch.setattr(backup_format, "_PART", 25)
    survey, codes, _ = life(client, store)
    file, draft = tmp_path / "backup", tmp_path / ".backup.partial"

    def stop(name: str, rows: int) -> None:
        if (name, rows) == ("seen", 50):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        backup.write_backup(store.database, file, stop)
    assert stat.S_IMODE(draft.stat().st_mode) == 0o600
    half = tables_of(draft)
    assert (len(half["inbox"]), len(half["seen"])) == (60, 50)
    # Meanwhile everything that waited is sealed, others come, an account is added and another one changes.
    accounts.add_user(store, "ben", "analyst")
    for report, code in zip([new_report(survey) for _ in range(60)], codes[120:], strict=False):
        assert post(client, survey, report.to_bytes(code)).status_code == 201
    closing.close(store, survey.hash)
    accounts.change_account(store, "ada", actor="ada", role="analyst")
    written = Counter[str]()
    changed = backup._changed

    def counting(out: Any, table: Any, *options: Any) -> Any:
        rows = changed(out, table, *options)
        written[table.name] += len(rows)
        return rows

    monkeypatch.setattr(backup, "_changed", counting)
    backup.write_backup(store.database, file)
    assert written["seen"] == 180 - 50
    assert written["sealed"] == 180 - 60
    assert [path.name for path in tmp_path.iterdir() if "backup" in path.name] == ["backup"]
    uninterrupted = tmp_path / "fresh"
    backup.write_backup(store.database, uninterrupted)
    assert tables_of(file) == tables_of(uninterrupted)
    # No box of the earlier moment is left in a free page.
    raw = file.read_bytes()
    assert not [row for row in half["inbox"] if row[-1] in raw]
    assert any(bytes(row[1]) in raw for row in half["seen"])


def tables_of(path: Path) -> dict[str, list[Any]]:
    """Return every row of a backup, by table."""
    with contextlib.closing(sqlite3.connect(path)) as connection:
        names = [row[0] for row in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        columns = {"inbox": "survey, digest, box"}
        return {
            name: sorted(connection.execute(f"SELECT {columns.get(name, '*')} FROM {name}"), key=repr)
            for name in names
        }


@pytest.mark.parametrize("backend", ["sqlite"])
@pytest.mark.parametrize("kind", ["torn", "open to others", "a link"])
def test_a_foreign_file_at_the_path_of_a_partial_backup_is_not_resumed(
    client: FlaskClient, store: Store, tmp_path: Path, kind: str
) -> None:
    life(client, store)
    draft, other = tmp_path / ".backup.partial", tmp_path / "other"
    other.write_bytes(b"somebody's")
    if kind == "a link":
        draft.symlink_to(other)
    else:
        draft.write_bytes(b"half of it")
        draft.chmod(0o644 if kind == "open to others" else 0o600)
    assert backup.write_backup(store.database, tmp_path / "backup").rows > 300
    assert stat.S_IMODE((tmp_path / "backup").lstat().st_mode) == 0o600
    assert other.read_bytes() == b"somebody's"
    assert not draft.exists()


@pytest.mark.parametrize("backend", ["sqlite"])
def test_a_full_disk_leaves_no_half_backup(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def small(address: str) -> Engine:
        engine = create_engine(address)
        event.listen(engine, "connect", lambda raw, _: raw.execute("PRAGMA max_page_count = 20"))
        return engine

    monkeypatch.setattr(backup, "create_engine", small)
    with pytest.raises(HushpollError, match=r"backup: cannot be written \(database or disk is full\)"):
        backup.write_backup(store.database, tmp_path / "backup")
    assert not [path.name for path in tmp_path.iterdir() if "backup" in path.name]


class Cut(Exception):
    """What ends a backup half way."""


def interrupted(store: Store, file: Path, error: Exception) -> None:
    def stop(name: str, rows: int) -> None:
        if name == "seen":
            raise error

    with pytest.raises((Cut, HushpollError)) as caught:
        backup.write_backup(store.database, file, stop)
    if not isinstance(error, Cut):
        assert "the database cannot be read (the server went away); run the same command" in str(caught.value)


@pytest.mark.parametrize("backend", ["sqlite"])
@pytest.mark.parametrize(
    "change",
    [
        "ALTER TABLE surveys DROP COLUMN populations",
        "ALTER TABLE surveys ADD COLUMN older TEXT",
        "CREATE TABLE older (word TEXT)",
    ],
)
def test_a_partial_backup_with_other_tables_is_started_again(
    client: FlaskClient, store: Store, tmp_path: Path, change: str
) -> None:
    life(client, store)
    file = tmp_path / "backup"
    interrupted(store, file, Cut())
    with contextlib.closing(sqlite3.connect(tmp_path / ".backup.partial")) as draft:
        draft.execute(change)
        draft.commit()
    backup.write_backup(store.database, file)
    backup.write_backup(store.database, tmp_path / "fresh")
    assert tables_of(file) == tables_of(tmp_path / "fresh")


@pytest.mark.parametrize("backend", ["sqlite"])
def test_a_database_that_goes_away_leaves_what_was_written(
    client: FlaskClient, store: Store, tmp_path: Path
) -> None:
    life(client, store)
    interrupted(store, tmp_path / "backup", OperationalError("SELECT", {}, Exception("the server went away")))
    assert tables_of(tmp_path / ".backup.partial")["seen"]
    assert backup.write_backup(store.database, tmp_path / "backup").rows > 300


@pytest.mark.parametrize("backend", ["sqlite"])
def test_a_partial_backup_that_cannot_be_verified_is_not_resumed(
    client: FlaskClient, store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    life(client, store)
    with monkeypatch.context() as patched:
        patched.setattr(backup_format, "digest_of", lambda *_: (0, ""))
        with pytest.raises(HushpollError, match="the backup is damaged"):
            backup.write_backup(store.database, tmp_path / "backup")
    assert not [path.name for path in tmp_path.iterdir() if "backup" in path.name]


@pytest.mark.parametrize("backend", ["sqlite"])
def test_two_backups_at_once_do_not_write_into_one_file(
    client: FlaskClient, store: Store, tmp_path: Path
) -> None:
    life(client, store)
    file = tmp_path / "backup"
    outcomes: list[str] = []

    def second() -> None:
        try:
            backup.write_backup(store.database, file)
        except HushpollError as error:
            outcomes.append(str(error))

    other = threading.Thread(target=second)

    def on_progress(name: str, rows: int) -> None:
        if name == "seen" and not other.ident:
            other.start()
            other.join(0.5)

    backup.write_backup(store.database, file, on_progress)
    other.join()
    assert len(outcomes) == 1
    assert "exists already" in outcomes[0]
    backup.write_backup(store.database, tmp_path / "fresh")
    assert tables_of(file) == tables_of(tmp_path / "fresh")


@pytest.mark.postgres
@pytest.mark.parametrize("backend", ["sqlite"])
def test_a_database_that_sorts_texts_by_language_is_backed_up_and_restored(
    postgres: Postgres, config: Config, tmp_path: Path
) -> None:
    """Such a database has ada before Ben; SQLite and the backup's digests go by bytes."""
    name = "sorted_by_language"
    with psycopg.connect(postgres.dsn("postgres"), autocommit=True) as connection:
        connection.execute(
            f"CREATE DATABASE {name} TEMPLATE template0 LOCALE_PROVIDER icu ICU_LOCALE 'en-US' ENCODING 'UTF8'"
        )
    first = replace(config, data=tmp_path / "first", database_url=postgres.url(name))
    store = open_store(first)
    try:
        for user in ("ada", "Ben", "Zoe", "eve"):
            accounts.add_user(store, user, "designer")
        backup.write_backup(store.database, tmp_path / "backup")
    finally:
        store.close()
        postgres.drop(name)
    second = replace(first, data=tmp_path / "second", database_url="", secret_key_file=str(first.key_path))
    restore_backup(second, tmp_path / "backup")
    restored = open_store(second)
    assert sorted(user.name for user in accounts.all_users(restored)) == ["Ben", "Zoe", "ada", "eve"]
    restored.close()


def test_what_root_restores_belongs_to_the_owner_of_the_folder(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The server runs as that user, and would not start on files of root's; what is linked there stays as it is."""
    file, data = tmp_path / "backup", tmp_path / "restored"
    backup.write_backup(store.database, file)
    data.mkdir(0o700)
    shutil.copy(store.config.key_path, data / "secret.key")
    (data / "hushpoll.sqlite3-old").symlink_to(file)
    owners: dict[str, tuple[int, int]] = {}
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setattr(
        os,
        "fchown",
        lambda handle, *owner: owners.update({Path(f"/proc/self/fd/{handle}").readlink().name: owner}),
    )
    monkeypatch.setattr("hushpoll_server.store.restore._owner", lambda folder: (4711, 4712))
    monkeypatch.setenv("DATA", str(data))
    for name in ("DATABASE_URL", "SECRET_KEY_FILE"):
        monkeypatch.delenv(name, raising=False)
    done = CliRunner().invoke(hushpoll, ["restore", str(file)])
    assert done.exit_code == 0, done.output
    assert owners == dict.fromkeys(("hushpoll.sqlite3", "hushpoll.sqlite3.turn", "secret.key"), (4711, 4712))
    assert "hushpoll.sqlite3, hushpoll.sqlite3.turn, secret.key: given to " in done.output
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    owners.clear()
    assert give_to_owner(replace(store.config, data=data, secret_key_file="")) == []
    assert owners == {}


def test_an_interrupted_restore_resumes(
    client: FlaskClient, store: Store, target: Config, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    survey, _, _ = life(client, store)
    file = tmp_path / "backup"
    backup.write_backup(store.database, file)
    monkeypatch.setattr(backup_format, "_PART", 20)
    seen: list[str] = []

    def stop(name: str, rows: int) -> None:
        seen.append(name)
        if name == "invitations" and rows >= 60:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        restore_backup(target, file, stop)
    with pytest.raises(HushpollError, match="half way"):
        open_store(target)
    again: list[tuple[str, int]] = []
    restore_backup(target, file, lambda name, rows: again.append((name, rows)))
    assert ("invitations", 80) in again
    assert ("invitations", 60) not in again
    restored = open_store(target)
    assert waiting_records(restored, survey.hash) == waiting_records(store, survey.hash)
    restored.close()
    with pytest.raises(HushpollError, match="holds surveys"):
        restore_backup(target, file)


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
        return run_command(capsys, *arguments)

    file, new = tmp_path / "backup", {"DATA": str(tmp_path / "new")}
    status, out, _ = run("backup", file)
    assert (status, "read back and found the same" in out, "secret.key" in out) == (0, True, True)
    result = json.loads(run("backup", tmp_path / "second", "--json")[1])
    assert (result["file"], result["key"]) == (str(tmp_path / "second"), str(config.key_path))
    assert f": {result['rows'] - 1:,} rows of {result['tables']} tables" in out, (
        "the first backup is in the audit log"
    )
    assert run("backup", file)[0] == 2
    assert "missing" in run("restore", file, **new)[2]
    (tmp_path / "new").mkdir(mode=0o700, exist_ok=True)
    (tmp_path / "new" / "secret.key").write_text("ab" * 32)
    assert "is not the key" in run("restore", file, **new)[2]
    (tmp_path / "new" / "secret.key").write_bytes(config.key_path.read_bytes())
    (tmp_path / "no").write_bytes(b"no database at all" * 100)
    refused = {"no": "is not a backup", "absent": "no such file"}
    data = bytearray(file.read_bytes())
    record = sealed_records(store, store.list_surveys()[0].hash)
    assert record
    position = data.find(b"Exam honesty")
    data[position : position + 4] = b"Ezam"
    (tmp_path / "damaged").write_bytes(data)
    refused["damaged"] = "damaged"
    with sqlite3.connect(tmp_path / "newer") as connection, sqlite3.connect(file) as complete:
        complete.backup(connection)
        connection.execute("UPDATE backup_of SET digest = '9999_future' WHERE name = 'schema'")
        connection.execute("CREATE TABLE later (number INTEGER)")
    complete.close()
    connection.close()
    newer = create_engine(f"sqlite:///{tmp_path / 'newer'}")
    with newer.begin() as tx:
        later = backup_format.digest_of(tx, Table("later", MetaData(), autoload_with=tx))
        tx.exec_driver_sql("INSERT INTO backup_of (name, rows, digest) VALUES ('later', ?, ?)", later)
    newer.dispose()
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


def test_a_missing_database_is_not_backed_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A new empty database in the current folder must not be created and backed up."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("DATA", raising=False)
    monkeypatch.delenv("DATABASE_URL", raising=False)
    with pytest.raises(SystemExit) as end:
        main(["backup", "copy"])
    assert end.value.code == 2
    assert "there is no database of hushpoll; name the server's folder in DATA" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []
