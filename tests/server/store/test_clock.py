"""One node's clock decides nothing for others: on PostgreSQL the database's clock counts."""

from __future__ import annotations

import datetime
import threading
import time
from collections.abc import Iterator

import pytest
from flask.testing import FlaskClient
from hushpoll_client import HushpollError, Survey
from hushpoll_server.collect import closing, maintenance, retention
from hushpoll_server.collect.closing import Steadiness
from hushpoll_server.collect.health import Readiness
from hushpoll_server.store import clock as clocks
from hushpoll_server.store.surveys import Store, today
from sqlalchemy import text

from tests.serving import make_survey, new_report, post

DAY = 86_400


@pytest.fixture(autouse=True)
def own_clock() -> Iterator[None]:
    yield
    clocks.clock.forget()


def set_node_clock(monkeypatch: pytest.MonkeyPatch, seconds: float) -> None:
    """Set this machine's clock this far ahead; its counter of seconds continues as before."""
    real = time.time
    monkeypatch.setattr(time, "time", lambda: real() + seconds)


class Looks(maintenance.Maintenance):
    """Maintenance without its thread: a test runs its steps."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._told = self._told_of_clock = False
        self._over = threading.Event()


def planned(store: Store, survey: Survey) -> None:
    """A survey whose reports are deleted the day after tomorrow, and another whose last day is tomorrow."""
    retention.set_day(store, survey.hash, today() + datetime.timedelta(days=2), "ada")
    closing.close(store, survey.hash, on=today() + datetime.timedelta(days=1))
    assert retention.is_day_believed(store, 0)


@pytest.mark.postgres
@pytest.mark.parametrize("backend", ["postgresql"])
@pytest.mark.parametrize("days", [3, -3])
def test_a_node_with_another_clock_closes_and_deletes_nothing(
    store: Store, survey: Survey, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, days: int
) -> None:
    """A clock three days ahead would close a survey due tomorrow and delete its reports."""
    planned(store, survey)
    set_node_clock(monkeypatch, days * DAY)
    monkeypatch.setattr(Steadiness, "seconds", lambda _: 2.0 * DAY)
    looks, steady = Looks(store), Steadiness()
    for _ in range(3):
        looks._tidy(steady)
    state = store.state(survey.hash)
    assert state is not None
    assert state.is_open
    assert state.closed_on is None
    assert retention.keeping_of(store, survey.hash).deleted_on is None
    assert caplog.text.count("the database's") == 1
    assert today() == datetime.datetime.now(datetime.UTC).date()
    assert not Readiness(store).ready(), "the load balancer leaves this node out"


@pytest.mark.postgres
@pytest.mark.parametrize("backend", ["postgresql"])
def test_a_node_whose_clock_is_wrong_does_not_start(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    for seconds, starts in ((59, True), (-59, True), (61, False), (-61, False)):
        with monkeypatch.context() as patch:
            set_node_clock(patch, seconds)
            with store.read() as tx:
                if starts:
                    clocks.refuse_wrong_clock(tx)
                    continue
                with pytest.raises(HushpollError, match=r"seconds (ahead of|behind) the database's"):
                    clocks.refuse_wrong_clock(tx)


@pytest.mark.postgres
@pytest.mark.parametrize("backend", ["postgresql"])
def test_a_node_with_a_wrong_clock_is_not_ready_until_it_is_right(
    client: FlaskClient, store: Store, survey: Survey, monkeypatch: pytest.MonkeyPatch
) -> None:
    report = new_report(survey).to_bytes()
    with store.read() as tx:
        clocks.difference(tx)  # as at each connection, and every few seconds
    with monkeypatch.context() as patch:
        set_node_clock(patch, 61)
        refused = post(client, survey, report)
        assert (refused.status_code, refused.headers["Retry-After"]) == (503, "5")
        assert refused.json is not None
        assert "clock" in refused.json["detail"]
        assert client.get(f"/s/{survey.hash}").status_code == 503
        assert client.get("/livez").status_code == 200
    assert post(client, survey, report).status_code == 201
    assert store.count(survey.hash) == 1


def test_nothing_is_deleted_within_an_hour_of_a_start(
    store: Store, survey: Survey, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A machine that boots with a wrong clock is set right within minutes."""
    retention.set_day(store, survey.hash, today() + datetime.timedelta(days=1), "ada")
    assert retention.is_day_believed(store, 0)
    assert not retention.may_delete(store, 60)
    assert retention.may_delete(store, 3600)
    then = today() + datetime.timedelta(days=1)
    monkeypatch.setattr(retention, "today", lambda: then)
    assert not retention.may_delete(store, 60), "it has just started, and the day is another one"
    assert retention.may_delete(store, 3600)
    much_later = then + datetime.timedelta(days=3)
    monkeypatch.setattr(retention, "today", lambda: much_later)
    assert not retention.may_delete(store, 3600), "it was off for days, or the clock is wrong"
    assert retention.may_delete(store, DAY)
    assert retention.may_delete(store, 0), "what was found to be right stays so for the day"


def test_the_clock_continues_from_the_databases_without_the_machines(monkeypatch: pytest.MonkeyPatch) -> None:
    mine = clocks.Clock()
    assert abs(mine.now() - time.time()) < 60
    mine.set(1_000_000.0)
    set_node_clock(monkeypatch, 400 * DAY)
    assert 1_000_000.0 <= mine.now() < 1_000_000.0 + 3600
    mine.forget()
    assert mine.now() > 400 * DAY


def test_a_survey_is_dated_by_that_clock(store: Store) -> None:
    survey = make_survey("Dated")
    store.publish(survey)
    state = store.state(survey.hash)
    assert state is not None
    assert state.published_on == today()


@pytest.mark.postgres
@pytest.mark.parametrize("backend", ["postgresql"])
def test_a_jump_of_the_databases_clock_closes_and_deletes_nothing(
    store: Store, survey: Survey, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where node and database share a machine both jump: the first look after it already has to notice."""
    planned(store, survey)
    monkeypatch.setattr(Steadiness, "seconds", lambda _: 2.0 * DAY)
    looks, steady = Looks(store), Steadiness()
    looks._tidy(steady)
    ahead = text(f"SELECT extract(epoch FROM clock_timestamp())::float8 + {3 * DAY}")
    monkeypatch.setattr(clocks, "_EPOCH", ahead)
    set_node_clock(monkeypatch, 3 * DAY)
    for _ in range(3):
        looks._tidy(steady)
    state = store.state(survey.hash)
    assert state is not None
    assert state.closed_on is None
    assert retention.keeping_of(store, survey.hash).deleted_on is None
