"""The tables that migrations make are the tables that the program uses; migrating again changes nothing."""

from __future__ import annotations

import secrets
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import hushpoll_server
import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from hushpoll_server.config import Config
from hushpoll_server.store import database, schema, workspace_schema
from hushpoll_server.store.migrations import _LOCK, _settings, current_revision, newest, upgrade
from hushpoll_server.store.surveys import Store, open_store
from sqlalchemy import inspect, text

from tests.serving import make_survey

VERSIONS = Path(hushpoll_server.__file__).parent / "store" / "migrations" / "versions"
REVISIONS = sorted(path.stem for path in VERSIONS.glob("[0-9]*.py"))


def test_migrations_make_the_schema(config: Config) -> None:
    store = open_store(config)
    # The tables of both modules are in one list, once both are loaded.
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
    assert REVISIONS[0] == "0017_no_counts", "the initial schema has the last revision before 0.1.0"
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


STATISTICS = text(
    "SELECT count(*) FROM pg_stats WHERE tablename = :table AND attname NOT IN ('survey', 'grp', 'by', 'part')"
)


@pytest.mark.postgres
@pytest.mark.parametrize("backend", ["postgresql"])
@pytest.mark.parametrize("table", ["inbox", "counts"])
def test_the_planner_keeps_nothing_of_what_people_sent(store: Store, table: str) -> None:
    """Its histograms would hold encrypted reports after they were sealed, and old counts."""
    rows = [{"key": secrets.token_bytes(16), "value": secrets.token_bytes(40)} for _ in range(200)]
    added = {
        "inbox": "INSERT INTO inbox (survey, digest, box) VALUES (1, :key, :value)",
        "counts": "INSERT INTO counts (survey, grp, by, part, cells) VALUES (1, 0, encode(:key, 'hex'), '', :value)",
    }[table]
    statistics = STATISTICS.bindparams(table=table)
    with store.database.engine.connect().execution_options(isolation_level="AUTOCOMMIT") as tx:
        tx.execute(text(added), rows)
        tx.execute(text(f"ANALYZE {table}"))
        assert tx.execute(statistics).scalar_one() == 0
        columns = "digest, tag, box" if table == "inbox" else "cells"
        for column in columns.split(", "):
            tx.execute(text(f"ALTER TABLE {table} ALTER COLUMN {column} SET STATISTICS -1"))
        tx.execute(text(f"ANALYZE {table}"))
        assert tx.execute(statistics).scalar_one() > 0, "the query finds what it looks for"
