"""The tables that migrations make are the tables that the program uses; migrating again changes nothing."""

from __future__ import annotations

import datetime
import secrets
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import hushpoll_server
import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from hushpoll_client import HushpollError, Report, Survey
from hushpoll_server import create_app
from hushpoll_server.collect import closing, invitations
from hushpoll_server.collect.spent_invitations import marked
from hushpoll_server.config import Config
from hushpoll_server.store import database, key, schema, workspace_schema
from hushpoll_server.store.migrations import _LOCK, _settings, current_revision, newest, upgrade
from hushpoll_server.store.surveys import Store, open_store, today
from sqlalchemy import Column, MetaData, inspect, text

from tests.serving import make_survey, new_report, post, used_codes, waiting_records

VERSIONS = Path(hushpoll_server.__file__).parent / "store" / "migrations" / "versions"
REVISIONS = sorted(path.stem for path in VERSIONS.glob("[0-9]*.py"))
# Where reports waited in plain sight, and each invitation was a row that changed.
BEFORE_LOCKS = ["0001_collect", "0002_workspace", "0003_server_state", "0004_second_factor", "0005_tokens"]
SINCE_LOCKS = [revision for revision in REVISIONS if revision not in BEFORE_LOCKS]
# Tables whose rows have a meaning that migrations may change; the tests above and below look at them.
COLLECTED = {"alembic_version", "surveys", "inbox", "invitations", "spent", "sealed", "seen"}


def test_migrations_make_the_schema(config: Config) -> None:
    store = open_store(config)
    # Both rooms' tables stand in one list, once both modules are loaded.
    assert {"inbox", "sealed"} <= set(workspace_schema.metadata.tables) == set(schema.metadata.tables)
    with store.read() as tx:
        differences = compare_metadata(MigrationContext.configure(tx), schema.metadata)
    store.close()
    assert differences == []


def test_migrating_again_keeps_the_data(config: Config) -> None:
    store = open_store(config)
    store.publish(make_survey())
    upgrade(store.database)
    assert len(store.list_surveys()) == 1
    store.close()
    again = open_store(config)
    assert len(again.list_surveys()) == 1
    again.close()


@pytest.mark.parametrize("backend", ["sqlite"])
def test_the_newest_file_is_the_version_that_a_start_asks_for(config: Config) -> None:
    assert newest() == REVISIONS[-1] == ScriptDirectory.from_config(_settings()).get_current_head()
    store = open_store(config)
    with store.read() as tx:
        assert current_revision(tx) == newest() == MigrationContext.configure(tx).get_current_revision()
    store.close()


def test_two_that_start_together(config: Config) -> None:
    errors: list[Exception] = []

    def start() -> None:
        try:
            open_store(config).close()
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=start) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []


@pytest.mark.parametrize("backend", ["sqlite"])
def test_migrations_are_in_the_package_and_in_one_line(config: Config) -> None:
    assert REVISIONS[0] == "0001_collect"
    assert REVISIONS[: len(BEFORE_LOCKS)] == BEFORE_LOCKS
    store = Store(config)
    upgrade(store.database, REVISIONS[0])
    assert {"surveys", "inbox", "sealed", "seen", "invitations"} <= set(
        inspect(store.engine).get_table_names()
    )
    upgrade(store.database)
    assert set(workspace_schema.metadata.tables) <= set(inspect(store.engine).get_table_names())
    store.close()


@pytest.fixture
def empty_url(backend: str, request: pytest.FixtureRequest) -> Iterator[str]:
    """A database without tables; the empty string means SQLite."""
    if backend == "sqlite":
        yield ""
        return
    cluster = request.getfixturevalue("postgres")
    name = f"old_{secrets.token_hex(8)}"
    yield cluster.create(name)
    cluster.drop(name)


@pytest.mark.postgres
@pytest.mark.parametrize("backend", ["postgresql"])
def test_a_start_waits_for_one_that_migrates_however_long_that_takes(
    empty_url: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Any other lock is waited for a few seconds only; large tables are not changed in so few."""
    monkeypatch.setattr(database, "BUSY_SECONDS", 1)
    config = Config(data=folder / "data", database_url=empty_url, testing=True)
    config.make_folder()
    other = Store(config)
    errors: list[Exception] = []

    def start() -> None:
        try:
            open_store(config).close()
        except Exception as error:
            errors.append(error)

    thread = threading.Thread(target=start)
    with other.engine.begin() as tx:
        tx.execute(text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": _LOCK})
        thread.start()
        waiting = text("SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted")
        while not tx.execute(waiting).scalar():
            time.sleep(0.01)
        time.sleep(2)
    thread.join()
    other.close()
    assert errors == []


def old_database(config: Config, revision: str, survey: Survey, codes: list[str]) -> list[Report]:
    """Write what an older version had: 60 reports waiting, by invitation, and 40 codes that nobody used."""
    config.make_folder()
    store = Store(config)
    upgrade(store.database, revision)
    with store.write() as tx:
        values = {"hash": survey.hash, "document": survey.canonical, "title": survey.title, "today": today()}
        tx.execute(
            text(
                "INSERT INTO surveys (number, hash, document, title, published_on, minimum_batch)"
                " VALUES (1, :hash, :document, :title, :today, 50)"
            ),
            values,
        )
    known = store.published(survey.hash)
    assert known is not None
    reports = [new_report(survey) for _ in range(60)]
    for report in reports:
        with store.write() as tx:
            values = {
                "survey": known.number,
                "id": bytes.fromhex(report.id),
                "record": known.format.pack(report.reports),
            }
            tx.execute(text("INSERT INTO inbox (survey, id, record) VALUES (:survey, :id, :record)"), values)
    with store.write() as tx:
        for place, code in enumerate(codes):
            values = {
                "survey": known.number,
                "digest": invitations.digest(survey.hash, code),
                "spent": place < 60,
            }
            tx.execute(text("INSERT INTO invitations VALUES (:survey, :digest, :spent)"), values)
    store.close()
    return reports


@pytest.mark.parametrize("revision", BEFORE_LOCKS)
def test_what_waited_in_an_older_database_is_locked_and_its_codes_stay_spent(
    backend: str, empty_url: str, folder: Path, revision: str
) -> None:
    config = Config(data=folder / "data", database_url=empty_url, seal_every=86_400, testing=True)
    survey = make_survey(invitation=True)
    codes = [secrets.token_hex(10) for _ in range(100)]
    reports = old_database(config, revision, survey, codes)
    open_store(config).close()
    app = create_app(config)
    store, client = app.extensions["hushpoll"], app.test_client()
    assert (store.count(survey.hash), store.sealed_count(survey.hash)) == (60, 0)
    assert used_codes(store, survey.hash) == (100, 60)
    if backend == "sqlite":
        files = b"".join(path.read_bytes() for path in config.data.iterdir())
        assert not [report for report in reports if bytes.fromhex(report.id) in files]
    # What waits is known again, with its own bytes only.
    assert post(client, survey, reports[0].to_bytes(codes[0])).status_code == 200
    other = Report(reports[0].id, (1 - reports[0].reports[0], *reports[0].reports[1:]))
    assert post(client, survey, other.to_bytes(codes[0])).status_code == 409
    assert post(client, survey, new_report(survey).to_bytes(codes[0])).status_code == 403
    assert post(client, survey, new_report(survey).to_bytes(codes[99])).status_code == 201
    closing.close(store, survey.hash)
    assert store.sealed_count(survey.hash) == 61
    assert used_codes(store, survey.hash) == (100, 61)
    store.close()


def locked_database(config: Config, revision: str, survey: Survey, codes: list[str]) -> list[Report]:
    """Write what a version since 0006 had: 20 reports sealed, 60 waiting, by invitation, and 20 codes unused."""
    config.make_folder()
    store = Store(config)
    upgrade(store.database, revision)
    digests = {code: invitations.digest(survey.hash, code) for code in codes}
    places = {code: place for place, code in enumerate(sorted(codes, key=digests.__getitem__))}
    reports = [new_report(survey) for _ in range(80)]
    with store.write() as tx:
        values = {"hash": survey.hash, "document": survey.canonical, "title": survey.title, "today": today()}
        tx.execute(
            text(
                "INSERT INTO surveys (number, hash, document, title, published_on, minimum_batch, sealed_n)"
                " VALUES (1, :hash, :document, :title, :today, 50, 20)"
            ),
            values,
        )
        for code, place in places.items():
            row = {"digest": digests[code], "place": place}
            tx.execute(text("INSERT INTO invitations VALUES (1, :digest, :place)"), row)
        bits = marked(b"", [places[code] for code in codes[:20]])
        tx.execute(text("INSERT INTO spent VALUES (1, :bits)"), {"bits": bits})
    known = store.published(survey.hash)
    assert known is not None
    with store.write() as tx:
        for report, code in zip(reports, codes, strict=False):
            name = store.id_digest(survey.hash, bytes.fromhex(report.id))
            record = known.format.pack(report.reports)
            if code in codes[:20]:
                row = {"key": secrets.token_bytes(16), "record": record}
                tx.execute(text("INSERT INTO sealed (survey, key, record) VALUES (1, :key, :record)"), row)
                tx.execute(text("INSERT INTO seen (survey, digest) VALUES (1, :name)"), {"name": name})
                continue
            row = {
                "digest": name,
                "tag": store.waiting.tag(1, digests[code]),
                "box": store.waiting.lock(1, name, record, places[code]),
            }
            tx.execute(
                text("INSERT INTO inbox (survey, digest, tag, box) VALUES (1, :digest, :tag, :box)"), row
            )
    store.close()
    return reports


@pytest.mark.parametrize("revision", SINCE_LOCKS)
def test_reports_and_codes_of_every_later_database_keep_their_meaning(
    empty_url: str, folder: Path, revision: str
) -> None:
    config = Config(data=folder / "data", database_url=empty_url, seal_every=86_400, testing=True)
    survey = make_survey(invitation=True)
    codes = [secrets.token_hex(10) for _ in range(100)]
    reports = locked_database(config, revision, survey, codes)
    open_store(config).close()
    app = create_app(config)
    store, client = app.extensions["hushpoll"], app.test_client()
    assert (store.count(survey.hash), store.sealed_count(survey.hash)) == (80, 20)
    assert used_codes(store, survey.hash) == (100, 80)
    for place in (0, 19, 20, 79):
        assert post(client, survey, reports[place].to_bytes(codes[place])).status_code == 200
        assert post(client, survey, new_report(survey).to_bytes(codes[place])).status_code == 403
    other = Report(reports[20].id, (1 - reports[20].reports[0], *reports[20].reports[1:]))
    assert post(client, survey, other.to_bytes(codes[20])).status_code == 409
    assert post(client, survey, new_report(survey).to_bytes(codes[99])).status_code == 201
    closing.close(store, survey.hash)
    assert store.sealed_count(survey.hash) == 81
    assert used_codes(store, survey.hash) == (100, 81)
    records = b"".join(store.record_parts(survey.hash))
    form = store.record_format(survey.hash)
    found = [records[at : at + form.size] for at in range(0, len(records), form.size)]
    assert not [report for report in reports if form.pack(report.reports) not in found]
    store.close()


def _value(column: Column[Any]) -> Any:
    """Something of a column's type; the same everywhere, so that references hold."""
    if column.name == "number":
        return 1
    kind = column.type.python_type
    return {str: "kept", int: 7, float: 0.5, bool: True, bytes: b"kept", datetime.date: today()}[kind]


@pytest.mark.parametrize("revision", REVISIONS)
def test_a_row_of_every_other_table_of_every_database_is_kept(
    empty_url: str, folder: Path, revision: str
) -> None:
    """Accounts, sessions, drafts, shares, tokens, the log: whatever a revision had, column by column."""
    config = Config(data=folder / "data", database_url=empty_url, testing=True)
    config.make_folder()
    store = Store(config)
    upgrade(store.database, revision)
    old = MetaData()
    old.reflect(store.engine)
    tables = [table for table in old.sorted_tables if table.name not in COLLECTED]
    with store.write() as tx:
        for table in tables:
            tx.execute(table.insert().values({column.name: _value(column) for column in table.columns}))
        before = {table.name: [tuple(row) for row in tx.execute(table.select())] for table in tables}
    store.close()
    assert revision == REVISIONS[0] or before
    store = open_store(config)
    with store.read() as tx:
        for table in tables:
            kept = [tuple(row) for row in tx.execute(table.select())]
            # What the start adds, such as the key's fingerprint, stands beside it.
            assert set(before[table.name]) <= set(kept), table.name
    store.close()


def test_another_key_locks_nothing_of_an_older_database(empty_url: str, folder: Path) -> None:
    """A wrong key is refused before the reports that wait are locked with it."""
    config = Config(data=folder / "data", database_url=empty_url, testing=True)
    survey = make_survey(invitation=True)
    old_database(config, BEFORE_LOCKS[-1], survey, [secrets.token_hex(10) for _ in range(100)])
    store = Store(config)
    key.check(config, store.secret, store.database)
    store.close()
    right = config.key_path.read_bytes()
    config.key_path.write_text("ab" * 32)
    with pytest.raises(HushpollError, match="not the key"):
        open_store(config)
    config.key_path.write_bytes(right)
    store = open_store(config)
    assert len(waiting_records(store, survey.hash)) == 60
    store.close()


KEPT = text(
    "SELECT count(*) FROM pg_stats WHERE tablename = :table AND attname NOT IN ('survey', 'grp', 'by', 'part')"
)


@pytest.mark.postgres
@pytest.mark.parametrize("backend", ["postgresql"])
@pytest.mark.parametrize(
    ("table", "column", "before"),
    [("inbox", "box", "0015_counts"), ("counts", "cells", "0016_no_statistics")],
)
def test_the_planner_keeps_nothing_of_what_people_sent(
    store: Store, table: str, column: str, before: str
) -> None:
    """Its histograms held the boxes of a hundred reports after they were sealed, and counts of an earlier release."""
    rows = [{"key": secrets.token_bytes(16), "kept": secrets.token_bytes(40)} for _ in range(200)]
    added = {
        "inbox": "INSERT INTO inbox (survey, digest, box) VALUES (1, :key, :kept)",
        "counts": "INSERT INTO counts (survey, grp, by, part, cells) VALUES (1, 0, encode(:key, 'hex'), '', :kept)",
    }[table]
    kept = KEPT.bindparams(table=table)
    with store.database.engine.connect().execution_options(isolation_level="AUTOCOMMIT") as tx:
        tx.execute(
            text(f"ALTER TABLE {table} ALTER COLUMN {column} SET STATISTICS -1")
        )  # as before the change
        tx.execute(text(added), rows)
        tx.execute(text(f"ANALYZE {table}"))
        assert tx.execute(kept).scalar_one() == 1
        tx.execute(text(f"TRUNCATE {table}"))
        assert tx.execute(kept).scalar_one() == 1
        tx.execute(text("DROP TABLE identities, passkeys, passkey_challenges, releases"))
        tx.execute(text("UPDATE alembic_version SET version_num = :before"), {"before": before})
    upgrade(store.database)
    with store.database.engine.connect().execution_options(isolation_level="AUTOCOMMIT") as tx:
        assert tx.execute(kept).scalar_one() == 0
        tx.execute(text(added), rows)
        tx.execute(text("ANALYZE"))
        assert tx.execute(kept).scalar_one() == 0
