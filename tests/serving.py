"""Databases and live servers for tests: the same test runs on SQLite and on PostgreSQL.

A conftest imports the fixtures it wants: `from tests.serving import backend, config, ...`.
"""

from __future__ import annotations

import contextlib
import datetime
import os
import secrets
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
import weakref
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from flask import Flask
from flask.testing import FlaskClient
from hushpoll_client import Report, Survey
from hushpoll_server import create_app
from hushpoll_server.collect import invitations
from hushpoll_server.collect.seal import read_sealed
from hushpoll_server.config import Config
from hushpoll_server.current_store import get_store
from hushpoll_server.people import accounts, tokens
from hushpoll_server.store import key
from hushpoll_server.store.schema import inbox
from hushpoll_server.store.surveys import Store, open_store
from sqlalchemy import QueuePool, func, select

from tests.app_cache import share_compiled_code
from tests.client.documents import exam
from tests.environment import LONGEST, MEMORY
from tests.postgres import Postgres

DRAFT = exam()

share_compiled_code()


def make_survey(title: str = "Exam honesty", **settings: bool) -> Survey:
    """Return a survey with the three basic mechanisms."""
    return Survey.from_draft({**DRAFT, "title": title, "settings": settings})


def reserve() -> socket.socket:
    """Hold a free port for a server that starts later, or again: no other process gets it until this is closed.

    It is bound and does not listen, so that connections are refused, and has the option that servers set as well, so
    that they may share it. Without it the port of a server that is killed could become that of a client.
    """
    held = socket.socket()
    held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    held.bind(("127.0.0.1", 0))
    return held


@cache
def migrated_file() -> bytes:
    """A SQLite database with all tables, which belongs to no key yet: migrated once, and every test gets a copy."""
    with tempfile.TemporaryDirectory(dir=MEMORY) as folder:
        store = open_store(Config(data=Path(folder)))
        key.forget(store.database)
        store.close()
        assert not list(Path(folder).glob("*-wal")), "all of it is in the file"
        return store.database.path.read_bytes()


def make_ready(config: Config) -> None:
    """Make the tables and the key of a new store, as `open_store` does but without running every migration."""
    config.make_folder()
    store = Store(config)
    if store.database.is_sqlite:
        path = store.database.path
        assert not path.stat().st_size, "a database that has something in it is opened by `open_store`"
        path.write_bytes(migrated_file())
    key.check(config, store.secret, store.database)
    store.close()


def close_store(store: Store) -> None:
    """Close a store once no thread has a connection of it.

    One that came back later would stay open until it is collected, and psycopg's warning would fail another test.
    """
    if "writer" in store.__dict__:
        store.writer.stop()
    pool = store.engine.pool
    assert isinstance(pool, QueuePool)
    deadline = time.monotonic() + LONGEST
    while pool.checkedout():
        assert time.monotonic() < deadline, pool.status()
        time.sleep(0.01)
    store.close()


# For a test that proves the same on either database: on PostgreSQL it runs with --long.
ON_ONE_DATABASE = ["sqlite", pytest.param("postgresql", marks=[pytest.mark.postgres, pytest.mark.long])]


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.postgres)])
def backend(request: pytest.FixtureRequest) -> str:
    """Runs a test once for each kind of database."""
    return str(request.param)


@pytest.fixture
def database_url(backend: str, request: pytest.FixtureRequest) -> Iterator[str]:
    """An empty database with all tables; the empty string means SQLite in the data folder."""
    if backend == "sqlite":
        yield ""
        return
    cluster: Postgres = request.getfixturevalue("postgres")
    name = f"test_{secrets.token_hex(8)}"
    yield cluster.create(name, "migrated")
    cluster.drop(name)


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder in memory where there is one: tests kill processes, not machines, and need not wait for a disk."""
    with tempfile.TemporaryDirectory(prefix="hushpoll", dir=MEMORY) as name:
        yield Path(name)


@pytest.fixture
def config(folder: Path, database_url: str) -> Config:
    """Settings for a test: seals only on request, at 50."""
    return Config(data=folder / "data", database_url=database_url, seal_every=86_400, testing=True)


@pytest.fixture
def app(config: Config) -> Iterator[Flask]:
    """The application on an empty store."""
    make_ready(config)
    application = create_app(config)
    yield application
    with application.app_context():
        close_store(get_store())


@pytest.fixture
def store(app: Flask) -> Store:
    """The application's store."""
    with app.app_context():
        return get_store()


@pytest.fixture
def client(app: Flask) -> FlaskClient:
    """A client without a cookie."""
    return app.test_client()


@pytest.fixture
def survey(store: Store) -> Survey:
    """A published survey."""
    published = make_survey()
    store.publish(published)
    return published


@pytest.fixture
def one_day() -> None:
    """Let a test that compares days begin and end on the same one: in its last minute, wait for the next."""
    now = datetime.datetime.now(datetime.UTC)
    left = 86_400 - (now - now.replace(hour=0, minute=0, second=0, microsecond=0)).total_seconds()
    if left < 60:
        time.sleep(left + 1)


def new_report(survey: Survey) -> Report:
    """A report as a device makes it, of the first answers."""
    return Report.new(survey, [0] * len(survey.questions))


def post(client: FlaskClient, survey: Survey, data: bytes, **options: object):  # type: ignore[no-untyped-def]
    """Send a report's bytes."""
    options.setdefault("content_type", "application/json")
    return client.post(f"/api/surveys/{survey.hash}/reports", data=data, **options)


def waiting_records(store: Store, survey_hash: str) -> dict[bytes, bytes]:
    """Return the waiting records, decrypted with the server's key, by the digest of their id."""
    published = store.published(survey_hash)
    assert published is not None
    records = {}
    with store.read() as tx:
        for row in tx.execute(select(inbox).where(inbox.c.survey == published.number)):
            opened = store.waiting.open(published.number, bytes(row.digest), bytes(row.box))
            assert opened is not None
            records[bytes(row.digest)] = opened[0]
    return records


def used_codes(store: Store, survey_hash: str) -> tuple[int, int]:
    """Return how many invitations exist and how many are spent, also by reports that wait (no page shows those)."""
    published = store.published(survey_hash)
    assert published is not None
    invited, counted = invitations.counts(store, survey_hash)
    query = select(func.count()).where(inbox.c.survey == published.number, inbox.c.tag.is_not(None))
    with store.read() as tx:
        return invited, counted + tx.execute(query).scalar_one()


_tokens: weakref.WeakKeyDictionary[Store, str] = weakref.WeakKeyDictionary()


def bearer(store: Store) -> dict[str, str]:
    """The header of a program that may send batches."""
    if store not in _tokens:
        name = f"sender {secrets.token_hex(4)}"
        accounts.add_user(store, name, "designer", actor="test")
        _tokens[store] = tokens.make(store, name, "batches", ["batch"], actor="test")
    return {"Authorization": f"Bearer {_tokens[store]}"}


def post_batch(client: FlaskClient, survey: Survey, data: bytes, **options: Any) -> Any:
    """Send many reports at once, as a program with a token does."""
    options.setdefault("content_type", "application/x-ndjson")
    if "headers" not in options:
        options["headers"] = bearer(client.application.extensions["hushpoll"])
    return client.post(f"/api/surveys/{survey.hash}/reports/batch", data=data, **options)


class LiveServer:
    """gunicorn as `hushpoll serve` runs it, on a free port; can be killed and started again."""

    def __init__(self, folder: Path, database_url: str = "", **environment: str) -> None:
        self.folder = folder
        self.held = reserve()
        self.port = self.held.getsockname()[1]
        self.log = folder / "server.log"
        self.environment = {
            **os.environ,
            "DATA": str(folder / "data"),
            "DATABASE_URL": database_url,
            "PORT": str(self.port),
            "HOST": "127.0.0.1",
            "THREADS": "16",
            **environment,
        }
        self.config = Config.from_environment(self.environment)
        self.store = open_store(self.config)
        self.process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def command(self) -> list[str]:
        """What `hushpoll serve` becomes."""
        return [sys.executable, "-m", "gunicorn", "-c", "python:hushpoll_server.serve.gunicorn_conf"]

    def start(self) -> None:
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                self.command(),
                env=self.environment,
                stdout=log,
                stderr=log,
                cwd=self.folder,
                start_new_session=True,
            )
        deadline = time.monotonic() + LONGEST
        while not self._is_up():
            assert self.process.poll() is None, self.log.read_text()
            assert time.monotonic() < deadline, self.log.read_text()
            time.sleep(0.05)

    def _is_up(self) -> bool:
        """Return whether it answers and has all its workers: the first may answer before the others are there."""
        try:
            with urllib.request.urlopen(f"{self.url}/healthz", timeout=30) as answer:
                answer.read()
        except OSError:
            return False
        return len(self.workers) == self.config.workers

    def status(self, path: str) -> int:
        """The status of an answer, which comes within seconds where the machine is not busy."""
        try:
            with urllib.request.urlopen(self.url + path, timeout=LONGEST) as answer:
                return int(answer.status)
        except urllib.error.HTTPError as error:
            with error:
                return error.code

    def wait_for(self, path: str, status: int) -> None:
        """Request the path until the answer has this status: one about health may be a second old."""
        deadline = time.monotonic() + LONGEST
        while self.status(path) != status:
            assert time.monotonic() < deadline, f"{path} never answered {status}"
            time.sleep(0.2)

    @property
    def workers(self) -> list[int]:
        """Process ids of gunicorn's workers."""
        assert self.process is not None
        children = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text()
        return [int(pid) for pid in children.split()]

    def kill(self) -> None:
        """Kill -9 everything at once."""
        assert self.process is not None
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait(LONGEST)
        self.process = None

    def terminate(self) -> None:
        """Stop it with SIGTERM, as systemd does."""
        assert self.process is not None
        self.process.terminate()
        self.process.wait(LONGEST)
        self.process = None

    def close(self) -> None:
        if self.process is not None:
            self.kill()
        self.store.close()
        self.held.close()


@contextlib.contextmanager
def running_server(folder: Path, database_url: str = "", **environment: str) -> Iterator[LiveServer]:
    """Run a server in this folder until the end of the block."""
    server = LiveServer(folder, database_url, **environment)
    try:
        server.start()
        yield server
    finally:
        server.close()


def first_line(connection: socket.socket) -> bytes:
    """The first line of an answer, in however many pieces it comes."""
    with connection.makefile("rb") as answer:
        return answer.readline()


@pytest.fixture
def live(folder: Path, database_url: str) -> Iterator[Callable[..., LiveServer]]:
    """Start live servers by `live(SEAL_EVERY="1")`; they end with the test."""
    servers: list[LiveServer] = []

    def start(**environment: str) -> LiveServer:
        home = folder / f"live{len(servers)}"
        home.mkdir()
        servers.append(LiveServer(home, database_url, **environment))
        servers[-1].start()
        return servers[-1]

    yield start
    for server in servers:
        server.close()


def sealed_records(store: Store, survey_hash: str) -> bytes:
    """Return all readable records of a survey, one after the other."""
    return b"".join(read_sealed(store, survey_hash))
