"""Closing now, after a day, at a number: late reports get 410, nothing is deleted, what waits is sealed."""

from __future__ import annotations

import datetime
import sys
import threading
import time
from collections.abc import Callable

import pytest
from flask import Flask
from flask.testing import FlaskClient
from hushpoll_client import HushpollError, Survey
from hushpoll_server.collect import closing, seal
from hushpoll_server.collect.accept import Incoming, accept, store_new
from hushpoll_server.people import audit_log
from hushpoll_server.store import surveys as store_module
from hushpoll_server.store.database import SEAL_LOCK
from hushpoll_server.store.surveys import Store, today
from sqlalchemy import text

from tests.server.accounts_kit import submit
from tests.server.reporting import signed_in
from tests.serving import LONGEST, make_survey, new_report, post, post_batch, sealed_records


def send(client: FlaskClient, survey: Survey) -> int:
    return post(client, survey, new_report(survey).to_bytes()).status_code


@pytest.mark.usefixtures("one_day")
def test_now(client: FlaskClient, survey: Survey, store: Store) -> None:
    report = new_report(survey)
    assert post(client, survey, report.to_bytes()).status_code == 201
    assert closing.close(store, survey.hash)
    assert not closing.close(store, survey.hash)
    assert send(client, survey) == 410
    assert post(client, survey, report.to_bytes()).status_code == 200
    # Still available: the document, the report, the count.
    assert client.get(f"/api/surveys/{survey.hash}").data == survey.canonical
    assert sealed_records(store, survey.hash) == store.record_format(survey.hash).pack(report.reports)
    state = store.state(survey.hash)
    assert state is not None
    assert (state.state, state.closed_on, state.sealed_n) == ("closed", today(), 1)


@pytest.mark.usefixtures("one_day")
def test_after_a_day(
    client: FlaskClient, survey: Survey, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    last = today()
    closing.close(store, survey.hash, on=last)
    assert send(client, survey) == 201
    tomorrow = last + datetime.timedelta(days=1)
    for module in ("store.surveys", "collect.closing", "collect.accept"):
        monkeypatch.setattr(f"hushpoll_server.{module}.today", lambda: tomorrow)
    assert store_module.today() == tomorrow
    assert send(client, survey) == 410
    state = store.state(survey.hash)
    assert state is not None
    assert not state.is_open
    closing.close_due(store)
    assert len(sealed_records(store, survey.hash)) == 3
    state = store.state(survey.hash)
    assert state is not None
    assert state.closed_on == tomorrow


def test_at_a_number(client: FlaskClient, survey: Survey, store: Store) -> None:
    closing.close(store, survey.hash, at=3)
    assert [send(client, survey) for _ in range(5)] == [201, 201, 201, 410, 410]
    assert store.count(survey.hash) == 3
    assert len(sealed_records(store, survey.hash)) == 3 * 3


def test_at_a_number_under_a_rush(client: FlaskClient, survey: Survey, store: Store) -> None:
    closing.close(store, survey.hash, at=20)
    statuses: list[int] = []

    def rush() -> None:
        for _ in range(10):
            statuses.append(send(client.application.test_client(), survey))

    threads = [threading.Thread(target=rush) for _ in range(5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (statuses.count(201), statuses.count(410)) == (20, 30)
    assert store.count(survey.hash) == 20


def test_a_number_that_is_reached_already(client: FlaskClient, survey: Survey, store: Store) -> None:
    for _ in range(2):
        send(client, survey)
    closing.close(store, survey.hash, at=2)
    state = store.state(survey.hash)
    assert state is not None
    assert not state.is_open


def test_a_batch_beyond_the_number_is_refused_as_a_whole(
    client: FlaskClient, survey: Survey, store: Store
) -> None:
    closing.close(store, survey.hash, at=3)
    lines = b"\n".join(new_report(survey).to_bytes() for _ in range(4))
    assert post_batch(client, survey, lines).status_code == 410
    assert store.count(survey.hash) == 0
    assert [send(client, survey) for _ in range(4)] == [201, 201, 201, 410]


def test_a_closing_day_and_number_can_be_withdrawn_while_open(store: Store, survey: Survey) -> None:
    closing.close(store, survey.hash, on=today(), at=10)
    closing.plan(store, survey.hash)
    state = store.state(survey.hash)
    assert state is not None
    assert (state.closes_on, state.closes_at, state.is_open) == (None, None, True)
    closing.close(store, survey.hash)
    with pytest.raises(HushpollError, match="open it again on its page"):
        closing.plan(store, survey.hash)


def test_closing_with_wrong_arguments_is_an_error(store: Store, survey: Survey) -> None:
    with pytest.raises(HushpollError, match="not known"):
        closing.close(store, "0" * 64)
    with pytest.raises(HushpollError, match="whole number from 1"):
        closing.close(store, survey.hash, at=0)
    with pytest.raises(HushpollError, match="is over"):
        closing.close(store, survey.hash, on=today() - datetime.timedelta(days=1))


def test_one_closing_leaves_other_surveys_open(client: FlaskClient, survey: Survey, store: Store) -> None:
    other = make_survey("Other")
    store.publish(other)
    closing.close(store, survey.hash)
    assert send(client, other) == 201


def test_a_survey_that_a_wrong_clock_closed_can_be_opened_again(
    client: FlaskClient, store: Store, survey: Survey, monkeypatch: pytest.MonkeyPatch
) -> None:
    closing.close(store, survey.hash, on=today() + datetime.timedelta(days=3))
    for _ in range(60):
        assert post(client, survey, new_report(survey).to_bytes()).status_code == 201
    years = datetime.timedelta(days=4000)
    with monkeypatch.context() as patch:
        for module in (closing, seal, store_module):
            patch.setattr(module, "today", lambda: datetime.date(2026, 1, 1) + years)
        closing.close_due(store)
        seal.seal_due(store)
    assert post(client, survey, new_report(survey).to_bytes()).status_code == 410
    assert closing.reopen(store, survey.hash)
    assert not closing.reopen(store, survey.hash)
    for _ in range(3):
        assert post(client, survey, new_report(survey).to_bytes()).status_code == 201
    closing.close(store, survey.hash)
    assert store.sealed_count(survey.hash) == 63
    with pytest.raises(HushpollError, match="not known"):
        closing.reopen(store, "0" * 64)


def test_no_survey_is_closed_by_date_for_an_hour_after_the_clock_jumped(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    closing.clock.forget()  # another test's database may have set it
    wall, steady = [1_000_000.0], [50.0]
    monkeypatch.setattr(closing.time, "time", lambda: wall[0])
    monkeypatch.setattr(closing.time, "monotonic", lambda: steady[0])
    clock = closing.Steadiness()

    def later(seconds: float, jump: float = 0) -> bool:
        steady[0] += seconds
        wall[0] += seconds + jump
        return clock.is_steady()

    assert later(10)
    assert later(10, jump=2)
    assert not later(10, jump=86_400 * 4000)
    assert not later(1800)
    assert not later(10, jump=-86_400 * 4000)
    assert not later(3590)
    assert later(20)


def shift(monkeypatch: pytest.MonkeyPatch, days: int) -> None:
    """Set the server's clock this many days ahead."""
    then = datetime.datetime.now(datetime.UTC).date() + datetime.timedelta(days=days)
    for module in list(sys.modules.values()):
        if module.__name__.startswith("hushpoll_server.") and hasattr(module, "today"):
            monkeypatch.setattr(module, "today", lambda: then)


def test_opening_a_page_while_the_clock_is_wrong_closes_and_releases_nothing(
    app: Flask, client: FlaskClient, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Opening a page must not seal the waiting reports early, release more of them, or close the survey."""
    survey = make_survey("Dated")
    store.publish(survey, "ada", results_public=True)
    closing.close(store, survey.hash, on=today() + datetime.timedelta(days=5))
    for _ in range(60):
        assert send(client, survey) == 201
    ada = signed_in(app, store, "ada", "designer")
    with monkeypatch.context() as patch:
        shift(patch, 10)
        assert client.get(f"/results/{survey.hash}").status_code != 200
        for page in ("", "/report", "/export.zip"):
            with ada.get(f"/surveys/{survey.hash}{page}") as answer:
                assert answer.status_code == (422 if page == "/export.zip" else 200)
        assert send(client, survey) == 410
    state = store.state(survey.hash)
    assert state is not None
    assert (state.sealed_n, state.closed_on, state.is_open) == (0, None, True)
    assert send(client, survey) == 201
    # Maintenance closes it, and then every reader sees all of it.
    shift(monkeypatch, 6)
    closing.close_due(store)
    closing.seal_due(store)
    assert client.get(f"/results/{survey.hash}").status_code == 200
    assert store.sealed_count(survey.hash) == 61


def test_a_plan_that_is_refused_changes_nothing(app: Flask, store: Store) -> None:
    """A past day is refused with 422, and the planned day stays."""
    survey, day = make_survey("Planned"), today() + datetime.timedelta(days=5)
    store.publish(survey, "ada")
    closing.close(store, survey.hash, on=day)
    ada, page = signed_in(app, store, "ada", "designer"), f"/surveys/{survey.hash}"
    past = (today() - datetime.timedelta(days=3)).isoformat()
    for fields in ({"when": "date", "on": past}, {"when": "n", "at": "0"}):
        assert submit(ada, f"{page}/closing", page, **fields).status_code == 422
        state = store.state(survey.hash)
        assert state is not None
        assert (state.closes_on, state.closes_at) == (day, None)


def test_a_survey_whose_last_day_is_over_is_not_opened_again_by_its_owner(
    app: Flask, client: FlaskClient, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither “never” nor another day opens it again, also before maintenance has closed it."""
    survey = make_survey("Over")
    store.publish(survey, "ada")
    last = today()
    closing.close(store, survey.hash, on=last)
    ada = signed_in(app, store, "ada", "designer")
    page, later = f"/surveys/{survey.hash}", last + datetime.timedelta(days=9)
    shift(monkeypatch, 1)
    for fields in ({"when": "never"}, {"when": "date", "on": later.isoformat()}, {"when": "n", "at": "500"}):
        assert submit(ada, f"{page}/closing", "/account", **fields).status_code == 422
    assert not closing.close(store, survey.hash, on=later)
    state = store.state(survey.hash)
    assert state is not None
    assert (state.closes_on, state.closes_at, state.is_open) == (last, None, False)
    assert send(client, survey) == 410
    assert closing.close(store, survey.hash)  # by hand at any time
    assert closing.reopen(store, survey.hash)


@pytest.mark.postgres
@pytest.mark.parametrize("backend", ["postgresql"])
def test_closing_in_the_workspace_does_not_wait_for_a_backup(
    app: Flask, client: FlaskClient, store: Store
) -> None:
    """The survey is closed at once, with an entry in the audit log and without a 503."""
    owned = make_survey("Closed during a backup")
    store.publish(owned, "ada")
    for _ in range(60):
        assert send(client, owned) == 201
    ada = signed_in(app, store, "ada", "designer")
    with store.engine.connect() as backup:
        backup.execute(text("SELECT pg_advisory_lock(:lock)"), {"lock": SEAL_LOCK})
        page = f"/surveys/{owned.hash}"
        assert submit(ada, f"{page}/close").status_code == 302
        assert "the last reports will be counted in a moment" in ada.get(page).text
        assert [entry.action for entry in audit_log.audit_entries(store) if entry.subject == owned.hash] == [
            "closed"
        ]
        assert (store.count(owned.hash), store.sealed_count(owned.hash)) == (60, 0)
    seal.seal_due(store, wait=False)  # as maintenance does
    assert store.sealed_count(owned.hash) == 60


def incoming(store: Store, survey: Survey) -> Incoming:
    """Return a report as it is after the checks."""
    published, report = store.published(survey.hash), new_report(survey)
    assert published is not None
    digest = store.id_digest(survey.hash, bytes.fromhex(report.id))
    return Incoming(published.number, digest, published.format.pack(report.values), None)


def wait_until(true: Callable[[], bool]) -> None:
    end = time.monotonic() + LONGEST
    while not true():
        assert time.monotonic() < end
        time.sleep(0.02)


@pytest.mark.postgres
@pytest.mark.parametrize("backend", ["postgresql"])
@pytest.mark.parametrize("dated", [False, True])
def test_closing_waits_for_the_report_that_is_being_stored(
    store: Store, client: FlaskClient, survey: Survey, dated: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Otherwise it would reach the inbox after the closing, and be released alone a second later."""
    for _ in range(60):
        assert send(client, survey) == 201
    if dated:
        closing.close(store, survey.hash, on=today())

    def close() -> None:
        if dated:
            tomorrow = today() + datetime.timedelta(days=1)
            monkeypatch.setattr(closing, "today", lambda: tomorrow)
            closing.close_due(store)
            seal.seal_due(store)
        else:
            closing.close(store, survey.hash)

    def is_waited_for() -> bool:
        with store.read() as tx:
            return bool(tx.execute(text("SELECT count(*) FROM pg_locks WHERE NOT granted")).scalar())

    closer = threading.Thread(target=close)
    with store.engine.begin() as tx:
        accept(tx, store.waiting, [[incoming(store, survey)]])
        closer.start()
        wait_until(lambda: is_waited_for() or not closer.is_alive())
        # A report that comes now waits for the closing and is refused as too late.
        late: list[bool] = []
        with store.database.autocommit() as connection:
            sender = threading.Thread(
                target=lambda: late.append(store_new(connection, store.waiting, [incoming(store, survey)]))
            )
            sender.start()
            time.sleep(0.1)
            tx.commit()
            for thread in (closer, sender):
                thread.join(LONGEST)
    assert late == [False]
    assert (store.sealed_count(survey.hash), store.count(survey.hash)) == (61, 61)
