"""Sealing in parts: a client waits for one part only, and every part has all properties of sealing."""

from __future__ import annotations

import itertools
import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from flask.testing import FlaskClient
from hushpoll_client import Report, Survey
from hushpoll_server.collect import closing, invitations, scrubbing, seal
from hushpoll_server.collect.scrubbing import INBOX, is_left, lock_inbox, mark
from hushpoll_server.collect.sealing_state import sealing_state
from hushpoll_server.store.counts import Recount, read_counts
from hushpoll_server.store.schema import inbox, surveys
from hushpoll_server.store.surveys import Store
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import select, text

from tests.serving import make_survey, new_report, post, sealed_records, used_codes, waiting_records


@given(
    sizes=st.lists(st.one_of(st.integers(1, 9), st.integers(1, 9_000)), max_size=8),
    minimum=st.sampled_from([2, 50, 700, 5_000]),
)
def test_no_part_has_fewer_than_the_minimum_nor_of_a_group_unless_that_is_all(
    sizes: list[int], minimum: int
) -> None:
    reports = [
        [seal._Opened(b"%d %d" % (group, number), b"", group) for number in range(size)]
        for group, size in enumerate(sizes)
    ]
    parts = seal._in_parts(reports, minimum)
    assert sorted(itertools.chain(*parts)) == sorted(itertools.chain(*reports))
    for batch in parts:
        assert batch
        assert len(parts) == 1 or len(batch) >= minimum
        assert len(batch) < 4 * max(seal._LARGEST_PART, minimum)
        for group, n in Counter(opened.position for opened in batch).items():
            assert group is not None
            assert n >= min(minimum, sizes[group])


@pytest.fixture
def survey(store: Store, monkeypatch: pytest.MonkeyPatch) -> Survey:
    """A survey whose reports are sealed 20 at a time, without a pause."""
    monkeypatch.setattr(seal, "_LARGEST_PART", 20)
    monkeypatch.setattr(seal, "_PAUSE", 0)
    invitation_survey = make_survey(invitation=True)
    store.publish(invitation_survey, minimum_batch=10)
    return invitation_survey


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
    stored = sorted(records[start : start + form.size] for start in range(0, len(records), form.size))
    assert stored == sorted(form.pack(report.reports) for report in reports)
    recount = Recount(survey)
    recount.add(records)
    with store.read() as tx:
        state = store.state(survey.hash)
        assert state is not None
        assert read_counts(tx, state.number) == (recount.cells, len(reports))
    invited, spent_codes = used_codes(store, survey.hash)
    assert invited == spent_codes == len(reports)


def test_each_part_is_one_transaction(
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
    assert is_left(again, INBOX)
    monkeypatch.setattr(seal, "_due", lambda _tx, _by_day: [])  # nothing is due when it comes up again
    assert seal.seal_due(again) == 0
    assert not is_left(again, INBOX)
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
def test_a_dump_that_reads_the_inbox_does_not_block_reading_results(
    client: FlaskClient, store: Store, survey: Survey
) -> None:
    arrive(client, store, survey, 5)
    with store.write() as tx:
        mark(tx, INBOX)
    with store.engine.begin() as dump:
        dump.execute(text("LOCK TABLE inbox IN ACCESS SHARE MODE"))
        assert list(seal.read_sealed(store, survey.hash)) == []
        assert is_left(store, INBOX)
    sealing_state(store).scrub_at.clear()
    assert list(seal.read_sealed(store, survey.hash)) == []
    assert not is_left(store, INBOX)


@pytest.mark.postgres
@pytest.mark.parametrize("backend", ["postgresql"])
def test_readers_of_results_do_not_stop_those_who_send_while_a_dump_runs(
    client: FlaskClient, store: Store, survey: Survey, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each attempt to lock the inbox blocks all clients that send: one is enough for ten seconds."""
    reports = arrive(client, store, survey, 75)
    attempts = []

    def counted(store: Store, tx: Any, wait: bool) -> bool:
        attempts.append(1)
        return lock_inbox(store, tx, wait)

    for module in (seal, scrubbing):
        monkeypatch.setattr(module, "lock_inbox", counted)
    for worn in (False, True):
        sealing_state(store).retry_at = 0.0
        with store.engine.begin() as dump:
            dump.execute(text("LOCK TABLE inbox IN ACCESS SHARE MODE"))
            if worn:
                with store.write() as tx:
                    mark(tx, INBOX)
            attempts.clear()
            for _ in range(5):
                assert seal.seal_due(store, wait=False) == 0
        assert len(attempts) == 1 + worn
    sealing_state(store).retry_at = 0.0
    sealing_state(store).scrub_at.clear()
    assert seal.seal_due(store, wait=False) == 65
    closing.close(store, survey.hash)
    check_all_sealed(store, survey, reports)


def test_what_one_process_leaves_behind_another_removes(
    client: FlaskClient, store: Store, survey: Survey, backend: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A command seals while a backup holds the lock that tidying asks for, and is over."""
    arrive(client, store, survey, 75)
    server = Store(store.config)
    sealing_state(server).log_holds_order = False
    seal.seal_due(server)
    with monkeypatch.context() as patch:
        patch.setattr(scrubbing, "_write_inbox_again", lambda _store: False)
        arrive(client, store, survey, 20)
        closing.close(store, survey.hash)
    assert is_left(server, INBOX)
    assert seal.seal_due(server, wait=False) == 0
    assert not is_left(server, INBOX)
    if backend == "postgresql":
        with server.read() as tx:
            assert tx.execute(text("SELECT pg_relation_size('inbox')")).scalar_one() == 0
    server.close()


def test_what_is_left_behind_meanwhile_stays_marked(
    store: Store, survey: Survey, monkeypatch: pytest.MonkeyPatch
) -> None:
    def meanwhile(_: Store) -> bool:
        with store.write() as tx:
            mark(tx, INBOX)
        return True

    meanwhile(store)
    with monkeypatch.context() as patch:
        patch.setattr(scrubbing, "_write_inbox_again", meanwhile)
        scrubbing.scrub(store)
    assert is_left(store, INBOX)
    scrubbing.scrub(store)
    assert not is_left(store, INBOX)


def test_many_readers_open_what_waits_once(
    client: FlaskClient, store: Store, survey: Survey, monkeypatch: pytest.MonkeyPatch
) -> None:
    arrive(client, store, survey, 75)
    opened, open_all = [], store.waiting.open_all
    monkeypatch.setattr(
        store.waiting, "open_all", lambda number, boxes: opened.append(len(boxes)) or open_all(number, boxes)
    )
    with ThreadPoolExecutor(8) as pool:
        moved = list(pool.map(lambda _: seal.seal_due(store, wait=False), range(8)))
    assert sum(moved) == 65
    assert sum(opened) == 75


def test_sealing_ends_after_the_part_at_hand(
    client: FlaskClient, store: Store, survey: Survey, monkeypatch: pytest.MonkeyPatch
) -> None:
    reports = arrive(client, store, survey, 75)
    over = threading.Event()
    monkeypatch.setattr(seal.time, "sleep", lambda _: over.set())
    assert seal.seal_due(store, wait=False, over=over) == 21
    monkeypatch.undo()
    closing.close(store, survey.hash)
    check_all_sealed(store, survey, reports)


def test_what_waits_is_written_again_as_it_was(
    client: FlaskClient, store: Store, survey: Survey, backend: str
) -> None:
    """With codes and without, of several surveys: only the position of the rows changes."""
    open_to_all = make_survey("Open to all")
    store.publish(open_to_all, minimum_batch=10)
    arrive(client, store, survey, 7)
    for _ in range(9):
        assert post(client, open_to_all, new_report(open_to_all).to_bytes()).status_code == 201
    query = select(inbox).order_by(*inbox.primary_key.columns)
    with store.read() as tx:
        before = [tuple(row) for row in tx.execute(query)]
    assert scrubbing._write_inbox_again(store)
    with store.read() as tx:
        assert [tuple(row) for row in tx.execute(query)] == before
        if backend == "postgresql":
            assert tx.execute(text("SELECT count(DISTINCT xmin::text) FROM inbox")).scalar_one() == 1
