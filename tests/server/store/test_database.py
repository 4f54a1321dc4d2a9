"""Limits of PostgreSQL's sessions: a node that stands still inside a transaction keeps no other node waiting."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest
from hushpoll_server.collect.health import Readiness
from hushpoll_server.store.database import IDLE_SECONDS, LONGEST_STATEMENT_SECONDS, Database
from hushpoll_server.store.surveys import Store
from sqlalchemy import text

from tests.serving import LONGEST, LiveServer, Postgres

pytestmark = pytest.mark.postgres
GOAL_SECONDS = 10
"""Other nodes store again so soon after one has frozen in the middle of sealing."""


@pytest.fixture
def backend() -> str:
    return "postgresql"


@pytest.fixture(scope="module", autouse=True)
def patient_sessions() -> None:
    """Nothing: here sessions have the limits that they have in use."""


def settings(store: Store) -> dict[str, int]:
    """Return the limits of a session, in milliseconds."""
    query = text("SELECT name, setting::int FROM pg_settings WHERE name LIKE '%_timeout'")
    with store.read() as tx:
        return {row.name: row.setting for row in tx.execute(query)}


def test_a_session_that_idles_in_a_transaction_is_ended_soon(store: Store) -> None:
    timeouts = settings(store)
    assert 0 < timeouts["idle_in_transaction_session_timeout"] == 1000 * IDLE_SECONDS
    assert 0 < timeouts["lock_timeout"] <= 15_000
    assert 0 < timeouts["statement_timeout"] == 1000 * LONGEST_STATEMENT_SECONDS
    assert IDLE_SECONDS < GOAL_SECONDS


def test_reports_wait_for_a_lock_longer_than_a_frozen_session_lasts_and_no_longer_than_the_goal(
    store: Store,
) -> None:
    with store.database.autocommit() as connection:
        limit = connection.execute(
            text("SELECT setting::int FROM pg_settings WHERE name = 'lock_timeout'")
        ).scalar_one()
    assert 1000 * IDLE_SECONDS < limit < 1000 * GOAL_SECONDS


def test_a_long_reader_may_pause_between_two_parts(store: Store) -> None:
    with store.read() as tx:
        store.database.allow_pauses(tx)
        query = text("SELECT current_setting('idle_in_transaction_session_timeout')")
        assert tx.execute(query).scalar_one() not in ("0", f"{IDLE_SECONDS}s")
    assert settings(store)["idle_in_transaction_session_timeout"] == 1000 * IDLE_SECONDS


def test_connections_notice_that_the_other_machine_is_gone(postgres: Postgres) -> None:
    database = Database(postgres.url("migrated"))
    arguments = database.engine.dialect.create_connect_args(database.url)[1] | database.connect_arguments
    assert arguments["keepalives"] == 1
    assert (
        arguments["keepalives_idle"] + arguments["keepalives_interval"] * arguments["keepalives_count"] <= 30
    )
    assert 0 < arguments["tcp_user_timeout"] <= 30_000
    database.close()


def test_health_tries_what_reports_need(live: Callable[..., LiveServer]) -> None:
    """With the inbox locked by a frozen node reports wait, though other tables can be written."""
    server = live()
    server.wait_for("/healthz", 200)
    with server.store.engine.begin() as frozen:
        server.store.database.allow_pauses(frozen)
        frozen.execute(text("LOCK TABLE inbox IN ACCESS EXCLUSIVE MODE"))
        server.wait_for("/healthz", 503)
        assert server.status("/livez") == 200
    server.wait_for("/healthz", 200)


def test_readiness_is_false_while_the_inbox_is_locked(store: Store) -> None:
    readiness = Readiness(store)
    with store.engine.begin() as frozen:
        store.database.allow_pauses(frozen)
        frozen.execute(text("LOCK TABLE inbox IN ACCESS EXCLUSIVE MODE"))
        assert not readiness.ready()
    deadline = time.monotonic() + LONGEST
    # Its next look begins when the one before has ended, so that none outlives the store and leaves a connection open.
    while not readiness.ready():
        assert time.monotonic() < deadline, "never ready again"
