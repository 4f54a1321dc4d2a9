"""Maintenance of a running server: SQLite's log, which holds the order of arrival, is emptied while reports wait."""

from __future__ import annotations

import datetime
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from flask.testing import FlaskClient
from hushpoll_client import Survey
from hushpoll_server.collect import closing, maintenance, retention
from hushpoll_server.collect.closing import Steadiness
from hushpoll_server.collect.seal import seal_due
from hushpoll_server.store.surveys import Store, today
from hushpoll_server.store.workspace_schema import server_state

from tests.prove.crowd import fresh_report, send
from tests.prove.places import signed_survey
from tests.serving import LONGEST, LiveServer, make_survey, new_report, post


@pytest.mark.long
@pytest.mark.parametrize("backend", ["sqlite"])
def test_the_log_is_emptied_soon_while_reports_wait(live: Callable[..., LiveServer]) -> None:
    server = live()
    survey = signed_survey("Waiting")
    server.store.publish(survey, minimum_batch=50)
    log = Path(f"{server.store.database.path}-wal")
    for _ in range(2):
        written = 0
        for _ in range(5):
            assert send(server, survey, fresh_report(survey))[0] == 201
            written += log.stat().st_size  # maintenance may come between a report and this look, not at each
        assert written > 0, "what was stored is in the log first"
        deadline = time.monotonic() + LONGEST
        while log.stat().st_size:
            assert time.monotonic() < deadline, f"the log was not emptied within {LONGEST} s"
            time.sleep(0.1)
    # They wait still: no sealing did it.
    assert (server.store.count(survey.hash), server.store.sealed_count(survey.hash)) == (10, 0)


@pytest.mark.parametrize("backend", ["sqlite"])
def test_maintenance_empties_the_log_while_reports_wait(
    client: FlaskClient, store: Store, survey: Survey, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = Path(f"{store.database.path}-wal")
    for _ in range(5):
        assert post(client, survey, new_report(survey).to_bytes()).status_code == 201
    assert log.stat().st_size > 0
    emptied, empty_log = threading.Event(), store.database.empty_log

    def empty_and_tell() -> None:
        empty_log()
        emptied.set()

    monkeypatch.setattr(store.database, "empty_log", empty_and_tell)
    monkeypatch.setattr(maintenance, "LOG_SECONDS", 0)
    monkeypatch.setattr(maintenance, "KEEP_SECONDS", 0.01)
    running = maintenance.Maintenance(store)
    assert emptied.wait(LONGEST)
    running.stop()
    assert log.stat().st_size == 0
    assert (store.count(survey.hash), store.sealed_count(survey.hash)) == (5, 0)


def ahead(monkeypatch: pytest.MonkeyPatch, days: int) -> None:
    then = today() + datetime.timedelta(days=days)
    for module in (retention, closing):
        monkeypatch.setattr(module, "today", lambda: then)


@pytest.mark.parametrize("has_last_clock", [True, False])
def test_a_server_that_starts_with_a_clock_that_is_ahead_deletes_and_closes_nothing_for_a_day(
    store: Store,
    survey: Survey,
    has_last_clock: bool,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Otherwise a clock 400 days ahead would delete reports and close surveys within seconds."""
    retention.set_day(store, survey.hash, today() + datetime.timedelta(days=300), "ada")
    dated = make_survey("Dated")
    store.publish(dated)
    closing.close(store, dated.hash, on=today() + datetime.timedelta(days=300))

    def is_closed() -> bool:
        state = store.state(dated.hash)
        assert state is not None
        return state.was_closed

    if has_last_clock:  # otherwise an older version ran here
        assert retention.is_day_believed(store, 0)
    ahead(monkeypatch, 400)
    passes: list[bool] = []

    def counted(mine: Store, reports: bool = True) -> None:
        retention.delete_due(mine, reports)
        passes.append(reports)

    monkeypatch.setattr(maintenance, "delete_due", counted)
    again = Store(replace(store.config, seal_every=0.01))

    def look() -> None:
        passes.clear()
        running = maintenance.Maintenance(again)
        end = time.monotonic() + LONGEST
        while len(passes) < 3 and time.monotonic() < end:
            time.sleep(0.01)
        running.stop()
        assert len(set(passes)) == 1

    look()
    assert retention.keeping_of(store, survey.hash).deleted_on is None
    assert not is_closed()
    assert caplog.text.count("after a day of running") == 1
    monkeypatch.setattr(Steadiness, "seconds", lambda _: 24 * 3600.0)
    look()
    assert retention.keeping_of(store, survey.hash).deleted_on is not None
    assert is_closed()
    again.close()


def test_a_day_is_believed_while_a_server_runs_and_after_a_week_without_it(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert retention.is_day_believed(store, 0)
    for days in (7, 1, -400, 3):  # each from the day before; a clock that was behind is no harm
        ahead(monkeypatch, 0)
        with store.write() as tx:
            tx.execute(server_state.delete().where(server_state.c.name == retention._DAY))
        assert retention.is_day_believed(store, 0)
        ahead(monkeypatch, days)
        assert retention.is_day_believed(store, 0)
    ahead(monkeypatch, 11)
    assert not retention.is_day_believed(store, 0)


def test_reports_are_sealed_by_number_also_after_the_clock_has_jumped(
    client: FlaskClient, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only what is released by the day waits for an hour."""
    monkeypatch.setattr(Steadiness, "is_steady", lambda _: False)
    plain, live = make_survey("Sealed by number"), make_survey("Released once a day")
    store.publish(plain)
    store.publish(live, results_live=True)
    for survey in (plain, live):
        for _ in range(100):
            assert post(client, survey, new_report(survey).to_bytes()).status_code == 201
    again = Store(replace(store.config, seal_every=0.01))
    running = maintenance.Maintenance(again)
    end = time.monotonic() + LONGEST
    while not store.sealed_count(plain.hash) and time.monotonic() < end:
        time.sleep(0.01)
    running.stop()
    again.close()
    assert (store.sealed_count(plain.hash), store.sealed_count(live.hash)) == (50, 0)
    seal_due(store)
    assert store.sealed_count(live.hash) == 50
