"""Sealing in parts: whoever sends a report waits for one part only, and every part keeps all that sealing promises."""

from __future__ import annotations

import threading

import pytest
from flask.testing import FlaskClient
from hushpoll_client import Report, Survey
from hushpoll_server.collect import closing, invitations, seal
from hushpoll_server.store.counts import Recount, read_counts
from hushpoll_server.store.schema import inbox, surveys
from hushpoll_server.store.surveys import Store
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import select, text

from tests.serving import make_survey, new_report, post, sealed_records, waiting_records


@given(
    groups=st.lists(st.integers(min_value=0, max_value=9_000), max_size=8),
    minimum=st.sampled_from([2, 50, 700, 5_000]),
)
def test_no_part_has_fewer_of_a_group_than_the_minimum(groups: list[int], minimum: int) -> None:
    sizes = [size for size in groups if size >= minimum]
    reports = [
        [seal._Opened(b"%d %d" % (group, place), b"", group) for place in range(size)]
        for group, size in enumerate(sizes)
    ]
    parts = list(seal._in_parts(reports, minimum))
    assert sorted(one for part in parts for one in part) == sorted(one for group in reports for one in group)
    for part in parts:
        assert part
        assert len(part) < 3 * max(seal._LARGEST_PART, minimum)
        for group in {one.place for one in part}:
            assert sum(one.place == group for one in part) >= minimum


@pytest.fixture
def survey(store: Store, monkeypatch: pytest.MonkeyPatch) -> Survey:
    """A survey whose reports are sealed 20 at a time, without a pause."""
    monkeypatch.setattr(seal, "_LARGEST_PART", 20)
    monkeypatch.setattr(seal, "_PAUSE", 0)
    made = make_survey(invitation=True)
    store.publish(made, minimum_batch=10)
    return made


def arrive(client: FlaskClient, store: Store, survey: Survey, n: int) -> list[Report]:
    reports = []
    for code in invitations.invite(store, survey.hash, n):
        reports.append(new_report(survey))
        assert post(client, survey, reports[-1].to_bytes(code)).status_code == 201
    return reports


def check_all_sealed(store: Store, survey: Survey, reports: list[Report]) -> None:
    """Every report is sealed once, counted once, and its invitation is spent."""
    form = store.record_format(survey.hash)
    records = sealed_records(store, survey.hash)
    stored = sorted(records[place : place + form.size] for place in range(0, len(records), form.size))
    assert stored == sorted(form.pack(report.reports) for report in reports)
    recount = Recount(survey)
    recount.add(records)
    with store.read() as tx:
        state = store.state(survey.hash)
        assert state is not None
        assert read_counts(tx, state.number) == (recount.cells, len(reports))
    made, spent = invitations.counts(store, survey.hash)
    assert made == spent == len(reports)


def test_each_part_is_a_transaction_of_its_own(
    client: FlaskClient, store: Store, survey: Survey, backend: str
) -> None:
    reports = arrive(client, store, survey, 75)
    assert seal.seal_due(store) == 65
    if backend == "postgresql":
        with store.read() as tx:
            for table in ("sealed", "seen"):
                sizes = text(f"SELECT count(*) FROM {table} GROUP BY xmin::text")
                assert sorted(tx.execute(sizes).scalars()) == [21, 22, 22]
            # What still waits was written again as a whole.
            assert tx.execute(text("SELECT count(DISTINCT xmin::text) FROM inbox")).scalar_one() == 1
    closing.close(store, survey.hash)
    check_all_sealed(store, survey, reports)


def test_a_survey_that_changes_between_two_parts_keeps_the_rest(
    client: FlaskClient, store: Store, survey: Survey, monkeypatch: pytest.MonkeyPatch
) -> None:
    reports = arrive(client, store, survey, 75)

    def change(_: float) -> None:
        with store.write() as tx:
            tx.execute(surveys.update().values(target_n=500))

    monkeypatch.setattr(seal.time, "sleep", change)
    assert seal.seal_due(store, wait=False) == 21
    assert len(waiting_records(store, survey.hash)) == 54
    monkeypatch.undo()
    closing.close(store, survey.hash)
    check_all_sealed(store, survey, reports)


def test_reports_deleted_between_two_parts_are_sealed_no_more(
    client: FlaskClient, store: Store, survey: Survey, monkeypatch: pytest.MonkeyPatch
) -> None:
    arrive(client, store, survey, 75)

    def delete(_: float) -> None:
        with store.write() as tx:
            tx.execute(inbox.delete())

    monkeypatch.setattr(seal.time, "sleep", delete)
    assert seal.seal_due(store) == 21
    assert store.sealed_count(survey.hash) == 21
    with store.read() as tx:
        assert tx.execute(select(inbox)).all() == []


def test_two_that_seal_at_once_seal_each_report_once(
    client: FlaskClient, store: Store, survey: Survey
) -> None:
    reports = arrive(client, store, survey, 120)
    moved: list[int] = []
    threads = [threading.Thread(target=lambda: moved.append(seal.seal_due(store))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    # One after the other may still find twice the minimum waiting, but never takes the last ten.
    assert sum(moved) == store.sealed_count(survey.hash) == 110
    closing.close(store, survey.hash)
    check_all_sealed(store, survey, reports)


def test_a_process_that_died_between_two_parts_leaves_no_trace_of_the_order(
    client: FlaskClient, store: Store, survey: Survey, backend: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    reports = arrive(client, store, survey, 75)

    def die(_: float) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(seal.time, "sleep", die)
    with pytest.raises(KeyboardInterrupt):
        seal.seal_due(store)
    monkeypatch.setattr(seal.time, "sleep", lambda _: None)
    again = Store(store.config)
    assert again.inbox_is_worn == (backend == "postgresql")
    monkeypatch.setattr(seal, "_due", lambda _tx: [])  # nothing is due when it comes up again
    assert seal.seal_due(again) == 0
    assert not again.inbox_is_worn
    if backend == "postgresql":
        with again.read() as tx:
            assert tx.execute(text("SELECT count(DISTINCT xmin::text) FROM inbox")).scalar_one() == 1
            left = tx.execute(text("SELECT pg_relation_size('inbox')")).scalar_one()
            assert left == 8192, (
                "one page holds the 54 that wait; rows that were taken out are gone with their file"
            )
    monkeypatch.undo()
    closing.close(again, survey.hash)
    check_all_sealed(again, survey, reports)
    again.close()


@pytest.mark.postgres
@pytest.mark.parametrize("backend", ["postgresql"])
def test_a_dump_that_reads_the_inbox_stops_nobody_who_reads_results(
    client: FlaskClient, store: Store, survey: Survey
) -> None:
    arrive(client, store, survey, 5)
    store.inbox_is_worn = True
    with store.engine.begin() as dump:
        dump.execute(text("LOCK TABLE inbox IN ACCESS SHARE MODE"))
        assert list(seal.read_sealed(store, survey.hash)) == []
        assert store.inbox_is_worn
    assert list(seal.read_sealed(store, survey.hash)) == []
    assert not store.inbox_is_worn
