"""The tables that migrations make are the tables that the program uses; migrating again changes nothing."""

from __future__ import annotations

import threading
from pathlib import Path

import hushpoll_server
import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from hushpoll_server.config import Config
from hushpoll_server.store import schema, workspace_schema
from hushpoll_server.store.migrations import upgrade
from hushpoll_server.store.surveys import Store, open_store
from sqlalchemy import inspect

from tests.serving import make_survey


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
    folder = Path(hushpoll_server.__file__).parent / "store" / "migrations" / "versions"
    names = sorted(path.stem for path in folder.glob("[0-9]*.py"))
    assert names[0] == "0001_collect"
    store = Store(config)
    upgrade(store.database, names[0])
    assert {"surveys", "inbox", "sealed", "seen", "invitations"} <= set(
        inspect(store.engine).get_table_names()
    )
    upgrade(store.database)
    assert set(workspace_schema.metadata.tables) <= set(inspect(store.engine).get_table_names())
    store.close()
