"""Every test of the server runs on SQLite and on PostgreSQL unless it asks for neither."""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
import pytest
from argon2 import PasswordHasher
from flask import Flask
from flask.testing import FlaskClient
from hushpoll_analysis.simulation import epsilon_audit, whole_report_audit
from hushpoll_analysis.simulation.epsilon_audit import buffered
from hushpoll_server.config import Config
from hushpoll_server.people import accounts, passwords
from hushpoll_server.store import database
from hushpoll_server.store.surveys import Store

from tests.command import run_command
from tests.environment import LONGEST
from tests.postgres import postgres
from tests.server.accounts_kit import add_people, open_site, signed_in
from tests.server.documented import undescribed
from tests.serving import (
    app,
    backend,
    client,
    config,
    database_url,
    folder,
    live,
    make_ready,
    one_day,
    store,
    survey,
)

__all__ = [
    "app",
    "backend",
    "client",
    "config",
    "database_url",
    "folder",
    "live",
    "one_day",
    "postgres",
    "store",
    "survey",
]


@pytest.fixture(scope="session", autouse=True)
def described_statuses() -> Iterator[None]:
    """Fail any test to which the API answers with a status that openapi.yaml does not describe."""
    original = FlaskClient.open

    def open_and_check(self: FlaskClient, *arguments: Any, **options: Any) -> Any:
        response = original(self, *arguments, **options)
        method, path = response.request.method, response.request.path
        assert not undescribed(method, path, response.status_code), (method, path, response.status_code)
        return response

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(FlaskClient, "open", open_and_check)
        yield


@pytest.fixture
def seeded_coins(monkeypatch: pytest.MonkeyPatch) -> None:
    """Seed the draws of `hushpoll audit`: an honest survey fails an audit once in some 10,000 runs."""
    for module in (epsilon_audit, whole_report_audit):
        monkeypatch.setattr(module, "buffered", lambda: buffered(np.random.default_rng(1).bytes))


@pytest.fixture(scope="module", autouse=True)
def patient_sessions() -> Iterator[None]:
    """Let a session of PostgreSQL idle in a transaction for as long as a test may take, not for the server's seconds.

    A busy machine may stop a test between two statements. `store/test_database.py` tests the server's own limit.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(database.SERVER_LIMITS, "idle_in_transaction_session_timeout", f"{LONGEST}s")
        yield


@pytest.fixture(scope="module", autouse=True)
def cheap_passwords() -> Iterator[None]:
    """Hash passwords by argon2id at its lowest cost; `people/test_passwords.py` tests the cost that the server uses.

    Refused sign-ins take a whole number of milliseconds instead of quarters of a second.
    """
    cheap = PasswordHasher(time_cost=1, memory_cost=8, parallelism=1)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(passwords, "EVEN_SECONDS", 0.001)
        patch.setattr(passwords, "_hasher", cheap)
        patch.setattr(passwords, "needs_rehash", cheap.check_needs_rehash)
        patch.setattr(passwords, "NOBODY", cheap.hash("nobody"))
        for module in (passwords, accounts):
            patch.setattr(module, "hash_of", cheap.hash)
        yield


@pytest.fixture(scope="module")
def site(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Flask, Store]]:
    """One server with all the people for a whole module, with that module's SETTINGS."""
    settings = getattr(request.module, "SETTINGS", {})
    with open_site(tmp_path_factory.mktemp("site"), **settings) as site:
        yield site


@pytest.fixture(scope="module")
def site_store(site: tuple[Flask, Store]) -> Store:
    """The store of that server."""
    return site[1]


@pytest.fixture
def owner(site: tuple[Flask, Store]) -> FlaskClient:
    """A designer who is signed in there."""
    return signed_in(*site, "owner")


@pytest.fixture
def people(store: Store) -> Store:
    """The store of the test's own server, with accounts."""
    add_people(store)
    return store


@pytest.fixture
def run(
    request: pytest.FixtureRequest,
    config: Config,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> Callable[..., tuple[int, str, str]]:
    """Call `hushpoll` in this process, on the test's own store; return exit status, stdout and stderr."""
    monkeypatch.setenv("DATA", str(config.data))
    monkeypatch.setenv("DATABASE_URL", config.database_url)
    monkeypatch.setenv("PORT", "8123")
    if "app" in request.fixturenames:
        request.getfixturevalue("app")
    elif not config.database_url:
        make_ready(config)  # as `serve` leaves it

    return partial(run_command, capsys)
