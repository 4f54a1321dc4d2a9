"""Commands that read the store: open it, find a survey by the beginning of its hash."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import click
from hushpoll_client import HushpollError

from hushpoll_server.config import SQLITE_FILE, Config
from hushpoll_server.store.surveys import Store, open_store

SHORTEST_PREFIX = 6


@contextmanager
def opened_store(must_exist: bool = False) -> Iterator[Store]:
    """Open the store that DATA and DATABASE_URL name, for the time of a command; a new one, unless it must exist."""
    config = Config.from_environment()
    if must_exist and not config.database_url and not (config.data / SQLITE_FILE).exists():
        raise HushpollError(
            f"DATA={config.data}: there is no database",
            "name the server's folder in DATA, or its DATABASE_URL",
        )
    store = open_store(config)
    try:
        yield store
    finally:
        store.close()


def find_survey(store: Store, text: str) -> str:
    """Give the whole hash for its first signs."""
    found = [state.hash for state in store.list_surveys() if state.hash.startswith(text)]
    if len(text) < SHORTEST_PREFIX or len(found) != 1:
        problem = "fits several surveys" if len(text) >= SHORTEST_PREFIX and found else "is not known here"
        raise HushpollError(f"survey {text[:64]!r} {problem}", "see `hushpoll survey list`")
    return found[0]


def say_what_is_left(store: Store, survey_hash: str) -> None:
    """Tell that reports of a closed survey still wait, where a backup or another node was in the way."""
    state = store.state(survey_hash)
    waiting = store.count(survey_hash) - state.sealed_n if state and state.was_closed else 0
    if waiting > 0:
        click.echo(
            f"{waiting:,} more waiting to be counted: something else, a backup perhaps, keeps them;"
            " the server counts them afterwards.",
            err=True,
        )
