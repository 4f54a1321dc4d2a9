"""Commands that read the store: open it, find a survey by the beginning of its hash."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import click
from hushpoll_client import HushpollError
from sqlalchemy import inspect, make_url
from sqlalchemy.exc import DBAPIError

from hushpoll_server.config import Config
from hushpoll_server.store.database import Database
from hushpoll_server.store.schema import surveys
from hushpoll_server.store.surveys import Store, open_store

SHORTEST_PREFIX = 6


@contextmanager
def opened_store() -> Iterator[Store]:
    """Open the store that DATA and DATABASE_URL name, for the time of a command; only `serve` makes one."""
    config = Config.from_environment()
    refuse_missing(config)
    store = open_store(config)
    try:
        yield store
    finally:
        store.close()


def refuse_missing(config: Config) -> None:
    """Raise HushpollError where there is no database, or one without our tables, and name it."""
    url = make_url(config.url)
    if url.get_backend_name() == "sqlite":
        path = Path(url.database or "")
        name = str(path)
        is_there = path.exists() and not (path.is_file() and not _has_tables_in_file(path))
    else:
        name = url.set(drivername="postgresql").render_as_string(hide_password=True)
        is_there = _has_tables(config, name)
    if not is_there:
        raise HushpollError(
            f"{name}: there is no database of hushpoll",
            "name the server's folder in DATA, or its DATABASE_URL; `hushpoll serve` makes a new one",
        )


def _has_tables_in_file(path: Path) -> bool:
    """Look without changing the file. A file that cannot be read is left to the code that opens it, which says why."""
    try:
        with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as connection:
            names = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
    except sqlite3.Error:
        return True
    return (surveys.name,) in names


def _has_tables(config: Config, name: str) -> bool:
    database = Database(config.url)
    try:
        with database.read() as connection:
            return inspect(connection).has_table(surveys.name)
    except DBAPIError as error:
        why = type(error.orig).__name__
        raise HushpollError(
            f"DATABASE_URL={name}: the database cannot be opened ({why})",
            "check that it runs and may be read",
        ) from None
    finally:
        database.close()


def find_survey(store: Store, text: str) -> str:
    """Return the whole hash for its first signs."""
    hashes = [state.hash for state in store.list_surveys() if state.hash.startswith(text)]
    if len(text) < SHORTEST_PREFIX or len(hashes) != 1:
        problem = "is not known here"
        if len(text) >= SHORTEST_PREFIX and hashes:
            problem = "fits several surveys"
        raise HushpollError(f"survey {text[:64]!r} {problem}", "see `hushpoll survey list`")
    return hashes[0]


def print_left_over(store: Store, survey_hash: str) -> None:
    """Warn that reports of a closed survey still wait, where a backup or another node was in the way."""
    state = store.state(survey_hash)
    waiting = 0
    if state and state.was_closed:
        waiting = store.count(survey_hash) - state.sealed_n
    if waiting > 0:
        click.echo(
            f"{waiting:,} more waiting to be counted: something else, a backup perhaps, keeps them;"
            " the server counts them afterwards.",
            err=True,
        )
