"""Servers and databases for the harnesses, outside of pytest: an empty store of either kind, a live server on it."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from hushpoll_client import Survey

from tests.serving import LiveServer, Postgres

BACKENDS = ("sqlite", "postgresql")


@contextmanager
def database(backend: str, cluster: Postgres | None, template: str = "migrated") -> Iterator[str]:
    """Yield the address of a new database; the empty string means SQLite in the data folder."""
    if backend == "sqlite":
        yield ""
        return
    assert cluster is not None
    name = f"prove_{os.urandom(6).hex()}"
    yield cluster.create(name, template)
    cluster.drop(name)


@contextmanager
def live_server(
    backend: str, cluster: Postgres | None, kind: type[LiveServer] = LiveServer, **environment: str
) -> Iterator[LiveServer]:
    """Run a server on an empty database of this kind."""
    with tempfile.TemporaryDirectory(prefix="prove") as folder, database(backend, cluster) as url:
        server = kind(Path(folder), url, **environment)
        server.start()
        try:
            yield server
        finally:
            server.close()


def signed_survey(title: str = "Signed", width: int = 8, outcomes: int = 256, **settings: bool) -> Survey:
    """A survey whose reports can be recognised: eight bytes at will, so that each one differs.

    With fewer than 256 outcomes there are records that no report could be.
    """
    options = [str(option) for option in range(outcomes)]
    question = {
        "kind": "choice",
        "text": "?",
        "options": options,
        "mechanism": {"name": "krr", "epsilon": "1"},
    }
    questions = [{"id": f"q{number}", **question} for number in range(width)]
    return Survey.from_draft({"hushpoll": 1, "title": title, "questions": questions, "settings": settings})
