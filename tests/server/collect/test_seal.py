"""Sealing: afterwards the whole database does not show when a report came or from which invitation."""

from __future__ import annotations

import threading
import time
from itertools import pairwise
from pathlib import Path

import pytest
from flask.testing import FlaskClient
from hushpoll_client import Report, Survey
from hushpoll_server.collect import closing, invitations
from hushpoll_server.collect.scrubbing import COMPANIONS, is_left
from hushpoll_server.collect.seal import seal_due
from hushpoll_server.collect.sealing_state import sealing_state
from hushpoll_server.store.counts import read_counts
from hushpoll_server.store.schema import inbox, sealed, seen, surveys
from hushpoll_server.store.surveys import Store
from sqlalchemy import func, insert, select, text, update

from tests.serving import (
    DRAFT,
    ON_ONE_DATABASE,
    make_survey,
    new_report,
    post,
    sealed_records,
    waiting_records,
)

# Two questions with 256 outcomes: a report can carry its own number, so that the attacker's success can be counted.
MARKED = Survey.from_draft(
    {
        **DRAFT,
        "questions": [
            {
                "id": name,
                "kind": "choice",
                "text": "?",
                "options": [str(number) for number in range(256)],
                "mechanism": {"name": "krr", "epsilon": "1"},
            }
            for name in ("high", "low")
        ],
        "settings": {"invitation": True},
    }
)


def number_of(record: bytes) -> int:
    return record[0] * 256 + record[1]


def arrive(client: FlaskClient, store: Store, codes: list[str], start: int = 0) -> list[Report]:
    """Send one report per code; report number i carries i."""
    reports = [Report.new(MARKED, [0, 0]) for _ in codes]
    reports = [Report(report.id, divmod(start + i, 256)) for i, report in enumerate(reports)]
    for report, code in zip(reports, codes, strict=True):
        assert post(client, MARKED, report.to_bytes(code)).status_code == 201
    return reports


def rank_correlation(order: list[int]) -> float:
    """Spearman's correlation between places and numbers: 1 where the order of arrival shows."""
    n = len(order)
    ranks = {number: rank for rank, number in enumerate(sorted(order))}
    squares = sum((rank - ranks[number]) ** 2 for rank, number in enumerate(order))
    return 1 - 6 * squares / (n * (n * n - 1))


def at_chance(order: list[int]) -> bool:
    """Return whether the correlation is within six standard deviations (1/sqrt(n-1)) of 0; a visible order has ten."""
    return abs(rank_correlation(order)) < 6 / (len(order) - 1) ** 0.5


def orders_in_postgresql(store: Store) -> dict[str, list[int]]:
    """Return every physical order that PostgreSQL stores."""
    with store.read() as tx:
        queries = {
            "ctid": "SELECT record FROM sealed ORDER BY ctid",
            "xmin": "SELECT record FROM sealed ORDER BY xmin::text::bigint, ctid",
            "scan": "SELECT record FROM sealed",
        }
        return {
            name: [number_of(bytes(row[0])) for row in tx.execute(text(sql))] for name, sql in queries.items()
        }


def test_the_order_of_arrival_is_gone(client: FlaskClient, store: Store, backend: str) -> None:
    store.publish(MARKED, minimum_batch=200)
    arrive(client, store, invitations.invite(store, MARKED.hash, 200))
    if backend == "postgresql":
        # With the key, the order shows before sealing.
        with store.read() as tx:
            rows = tx.execute(text("SELECT survey, digest, box FROM inbox ORDER BY ctid")).all()
        opened = [store.waiting.open(row[0], bytes(row[1]), bytes(row[2])) for row in rows]
        assert rank_correlation([number_of(record[0]) for record in opened if record]) > 0.99
    closing.close(store, MARKED.hash)
    with store.read() as tx:
        by_key = [number_of(bytes(row.record)) for row in tx.execute(select(sealed).order_by(sealed.c.key))]
        assert tx.execute(select(func.count()).select_from(inbox)).scalar() == 0
    assert sorted(by_key) == list(range(200))
    assert at_chance(by_key)
    if backend == "sqlite":
        assert Path(f"{store.database.path}-wal").stat().st_size == 0
    else:
        for name, order in orders_in_postgresql(store).items():
            assert sorted(order) == list(range(200))
            assert at_chance(order), name
        with store.read() as tx:
            assert tx.execute(text("SELECT count(DISTINCT xmin::text) FROM sealed")).scalar() == 1


def test_waiting_reports_are_encrypted_and_unreadable_ones_are_preserved(
    client: FlaskClient, store: Store, caplog: pytest.LogCaptureFixture
) -> None:
    """A row that was altered, or put in another's place, is not counted; it stays, and the others are sealed."""
    survey = make_survey()
    store.publish(survey)
    reports = [new_report(survey) for _ in range(52)]
    for report in reports:
        assert post(client, survey, report.to_bytes()).status_code == 201
    digests = [store.id_digest(survey.hash, bytes.fromhex(report.id)) for report in reports[:2]]
    with store.write() as tx:
        boxes = [
            tx.execute(select(inbox.c.box).where(inbox.c.digest == digest)).scalar_one() for digest in digests
        ]
        for digest, box in zip(digests, reversed(boxes), strict=True):
            tx.execute(update(inbox).where(inbox.c.digest == digest).values(box=box))
    assert post(client, survey, reports[0].to_bytes()).status_code == 409
    closing.close(store, survey.hash)
    assert (store.sealed_count(survey.hash), store.count(survey.hash)) == (50, 52)
    assert "2 waiting reports were locked with another key or altered" in caplog.text


def test_a_record_that_does_not_fit_its_survey_stops_no_sealing(
    client: FlaskClient, store: Store, caplog: pytest.LogCaptureFixture
) -> None:
    """Clients cannot send one; one of another version or a fault must not stop the sealing of the others."""
    survey = make_survey()
    store.publish(survey)
    reports = [new_report(survey) for _ in range(52)]
    for report in reports:
        assert post(client, survey, report.to_bytes()).status_code == 201
    published = store.published(survey.hash)
    assert published is not None
    for report, record in zip(reports, (b"\xff" * published.format.size, b""), strict=False):
        digest = store.id_digest(survey.hash, bytes.fromhex(report.id))
        with store.write() as tx:
            number = tx.execute(select(inbox.c.survey).where(inbox.c.digest == digest)).scalar_one()
            box = store.waiting.lock(number, digest, record, None)
            tx.execute(update(inbox).where(inbox.c.digest == digest).values(box=box))
    closing.close(store, survey.hash)
    assert (store.sealed_count(survey.hash), store.count(survey.hash)) == (50, 52)
    assert "2 waiting reports do not fit their survey" in caplog.text
    with store.read() as tx:
        cells, n = read_counts(tx, number)
    assert n == 50
    assert {sum(cell_counts) for cell_counts in cells.values()} == {50}


def test_the_same_report_is_locked_differently_each_time(store: Store) -> None:
    boxes = {store.waiting.lock(1, bytes(16), b"record", 7) for _ in range(100)}
    assert len(boxes) == 100
    assert {store.waiting.open(1, bytes(16), box) for box in boxes} == {(b"record", 7)}
    for survey, digest in ((2, bytes(16)), (1, b"x" * 16)):
        assert {store.waiting.open(survey, digest, box) for box in boxes} == {None}


def test_neither_ids_nor_invitations_lead_to_reports(client: FlaskClient, store: Store, backend: str) -> None:
    store.publish(MARKED)
    codes = invitations.invite(store, MARKED.hash, 100)
    reports = arrive(client, store, codes)
    closing.close(store, MARKED.hash)
    digest_of = {
        store.id_digest(MARKED.hash, bytes.fromhex(report.id)): i for i, report in enumerate(reports)
    }
    code_of = {invitations.digest(MARKED.hash, code): i for i, code in enumerate(codes)}
    order = "" if backend == "sqlite" else " ORDER BY ctid"
    with store.read() as tx:
        id_order = [digest_of[bytes(row[0])] for row in tx.execute(text(f"SELECT digest FROM seen{order}"))]
        code_order = [
            code_of[bytes(row[0])] for row in tx.execute(text(f"SELECT digest FROM invitations{order}"))
        ]
        rows = [number_of(bytes(row[0])) for row in tx.execute(text(f"SELECT record FROM sealed{order}"))]
    assert sorted(id_order) == sorted(code_order) == sorted(rows) == list(range(100))
    place_of_row = {number: position for position, number in enumerate(rows)}
    # Matching by place: the n-th id or invitation with the n-th report.
    for guesses in (id_order, code_order):
        assert at_chance([place_of_row[number] for number in guesses])
        assert sum(a == b for a, b in zip(guesses, rows, strict=True)) < 10


def test_an_id_is_not_a_key_to_its_digest_without_the_secret(client: FlaskClient, store: Store) -> None:
    survey = make_survey()
    store.publish(survey)
    reports = [new_report(survey) for _ in range(50)]
    for report in reports:
        post(client, survey, report.to_bytes())
    closing.close(store, survey.hash)
    with store.read() as tx:
        digests = {bytes(row.digest) for row in tx.execute(select(seen))}
    assert digests == {store.id_digest(survey.hash, bytes.fromhex(report.id)) for report in reports}
    store.secret = bytes(32)
    assert not digests & {store.id_digest(survey.hash, bytes.fromhex(report.id)) for report in reports}


def test_a_survey_with_too_few_reports_waits_while_another_is_sealed(
    client: FlaskClient, store: Store
) -> None:
    busy, quiet = make_survey("busy"), make_survey("quiet")
    store.publish(busy)
    store.publish(quiet)
    few = [new_report(quiet) for _ in range(3)]
    for report in [*few, *(new_report(busy) for _ in range(100))]:
        survey = quiet if report in few else busy
        assert post(client, survey, report.to_bytes()).status_code == 201
    assert seal_due(store) == 50
    assert (store.sealed_count(busy.hash), store.sealed_count(quiet.hash)) == (50, 0)
    assert store.count(quiet.hash) == 3
    # What waits is intact: the same bytes are known, other content is refused, the rest is sealed at closing.
    for report in few:
        assert post(client, quiet, report.to_bytes()).status_code == 200
    other = Report(few[0].id, (1 - few[0].reports[0], *few[0].reports[1:]))
    assert post(client, quiet, other.to_bytes()).status_code == 409
    closing.close(store, quiet.hash)
    assert store.sealed_count(quiet.hash) == 3
    form = store.record_format(quiet.hash)
    assert sorted(sealed_records(store, quiet.hash)) == sorted(
        b"".join(form.pack(report.reports) for report in few)
    )


def test_the_last_few_hide_among_sealed_reports(client: FlaskClient, store: Store, backend: str) -> None:
    store.publish(MARKED)
    arrive(client, store, invitations.invite(store, MARKED.hash, 60))
    closing.close(store, MARKED.hash)
    with store.read() as tx:
        before = {bytes(row.key) for row in tx.execute(select(sealed))}
    # As a survey is that an older version sealed, or that was opened again.
    with store.write() as tx:
        tx.execute(update(surveys).values(closed_on=None))
    arrive(client, store, invitations.invite(store, MARKED.hash, 5), start=60)
    closing.close(store, MARKED.hash)
    with store.read() as tx:
        rows = {bytes(row.key): number_of(bytes(row.record)) for row in tx.execute(select(sealed))}
        assert sorted(rows.values()) == list(range(65))
        new_numbers = [number for key, number in rows.items() if key not in before]
        assert len(new_numbers) == 50
        assert set(range(60, 65)) <= set(new_numbers)
        if backend == "postgresql":
            sizes = tx.execute(text("SELECT count(*) FROM sealed GROUP BY xmin::text")).scalars().all()
            assert sorted(sizes) == [15, 50]


@pytest.mark.postgres
@pytest.mark.parametrize("backend", ["postgresql"])
def test_no_dead_companion_survives_a_long_reader(client: FlaskClient, store: Store) -> None:
    """PostgreSQL keeps what an older reader may look at; a vacuum at that time does not help, one later does."""
    store.publish(MARKED)
    arrive(client, store, invitations.invite(store, MARKED.hash, 60))
    closing.close(store, MARKED.hash)
    assert dead_rows(store) == 0
    closing.reopen(store, MARKED.hash)
    arrive(client, store, invitations.invite(store, MARKED.hash, 5), start=60)
    with store.engine.connect().execution_options(isolation_level="REPEATABLE READ") as reader:
        assert reader.execute(select(func.count()).select_from(sealed)).scalar_one() == 60
        closing.close(store, MARKED.hash)
        assert (
            dead_rows(store) >= 45
        )  # those that a session reports late are counted twice until the next vacuum
        assert is_left(store, COMPANIONS)
    seal_due(store)
    assert dead_rows(store) >= 45  # not at every look: a vacuum costs
    sealing_state(store).scrub_at.clear()
    seal_due(store)
    assert dead_rows(store) == 0
    assert not is_left(store, COMPANIONS)


def dead_rows(store: Store) -> int:
    """Return how many old rows are still in the file, as PostgreSQL counts them."""
    with store.read() as tx:
        dead: int = tx.execute(text("SELECT pg_stat_get_dead_tuples('sealed'::regclass)")).scalar_one()
    return dead


def test_a_release_leaves_the_minimum_behind_and_closing_has_as_many(
    client: FlaskClient, store: Store
) -> None:
    """Sending 49 reports around another one isolates nothing: which reports are counted is random."""
    survey = make_survey()
    store.publish(survey)
    for _ in range(99):
        post(client, survey, new_report(survey).to_bytes())
    assert seal_due(store) == 0
    sizes = []
    for more in (1, 7, 49, 60, 3):
        for _ in range(more):
            post(client, survey, new_report(survey).to_bytes())
        sizes.append(seal_due(store))
    assert sizes == [50, 0, 56, 60, 0]
    waiting = waiting_records(store, survey.hash)
    assert len(waiting) == 53
    closing.close(store, survey.hash)
    assert (store.sealed_count(survey.hash), waiting_records(store, survey.hash)) == (219, {})


@pytest.mark.parametrize("backend", ON_ONE_DATABASE)
def test_the_victim_among_49_fakes_is_released_as_often_as_not(client: FlaskClient, store: Store) -> None:
    """Fifty honest reports wait; the attacker adds 49 to one victim's. One release tells nothing about the victim's."""
    released = 0
    for number in range(40):
        survey = make_survey(f"Round {number}")
        store.publish(survey, minimum_batch=10)
        victim = new_report(survey)
        post(client, survey, victim.to_bytes())
        for _ in range(19):
            post(client, survey, new_report(survey).to_bytes())
        assert seal_due(store) == 10
        digest = store.id_digest(survey.hash, bytes.fromhex(victim.id))
        released += digest not in waiting_records(store, survey.hash)
    # Half of 40; chance is outside of this once in 50 millions, and a victim who is always or never released is too.
    assert 4 <= released <= 36


@pytest.mark.long
def test_sealing_loses_nothing_while_reports_arrive(client: FlaskClient, store: Store) -> None:
    """Several threads send, two seal all the time: in the end every report is there once."""
    survey = make_survey()
    store.publish(survey, minimum_batch=5)
    sent: list[Report] = []
    over = threading.Event()

    def send() -> None:
        for _ in range(60):
            report = new_report(survey)
            assert post(client.application.test_client(), survey, report.to_bytes()).status_code == 201
            assert post(client.application.test_client(), survey, report.to_bytes()).status_code == 200
            sent.append(report)

    def keep_sealing() -> None:
        while not over.is_set():
            seal_due(store)

    threads = [threading.Thread(target=send) for _ in range(4)]
    sealers = [threading.Thread(target=keep_sealing) for _ in range(2)]
    for thread in [*threads, *sealers]:
        thread.start()
    for thread in threads:
        thread.join()
    over.set()
    for thread in sealers:
        thread.join()
    closing.close(store, survey.hash)
    form = store.record_format(survey.hash)
    records = sealed_records(store, survey.hash)
    stored = sorted(records[start : start + form.size] for start in range(0, len(records), form.size))
    assert len(sent) == 240
    assert stored == sorted(form.pack(report.reports) for report in sent)
    assert store.count(survey.hash) == 240


def test_keys_are_fresh_and_sorted_storage_is_random(client: FlaskClient, store: Store) -> None:
    survey = make_survey()
    store.publish(survey)
    for _ in range(50):
        post(client, survey, new_report(survey).to_bytes())
    closing.close(store, survey.hash)
    with store.read() as tx:
        keys = sorted(bytes(row.key) for row in tx.execute(select(sealed)))
    assert len(set(keys)) == 50
    assert all(len(key) == 16 for key in keys)
    # 128 random bits do not come close to each other.
    assert all(int.from_bytes(b) - int.from_bytes(a) > 2**64 for a, b in pairwise(keys))


@pytest.mark.parametrize("backend", ["sqlite"])
def test_a_log_that_could_not_be_truncated_is_truncated_later(client: FlaskClient, store: Store) -> None:
    survey = make_survey()
    store.publish(survey)
    for _ in range(100):
        post(client, survey, new_report(survey).to_bytes())
    wal = Path(f"{store.database.path}-wal")
    with store.read() as reader:
        reader.execute(select(sealed)).all()
        assert seal_due(store) == 50
        assert sealing_state(store).log_holds_order
        assert wal.stat().st_size > 0
    sealing_state(store).scrub_at.clear()
    assert seal_due(store) == 0
    assert not sealing_state(store).log_holds_order
    assert wal.stat().st_size == 0


@pytest.mark.postgres
@pytest.mark.parametrize("backend", ["postgresql"])
@pytest.mark.parametrize("warm", [0, 12])
def test_a_report_that_waits_for_a_sealing_sees_what_it_sealed(
    client: FlaskClient, store: Store, warm: int
) -> None:
    """A resend that arrives while its own report is being sealed must not be stored as a new one.

    Once with a statement that PostgreSQL plans afresh and once with one that it has prepared.
    """
    survey = make_survey()
    store.publish(survey)
    for _ in range(warm):
        assert post(client, survey, new_report(survey).to_bytes()).status_code == 201
    report = new_report(survey)
    published = store.published(survey.hash)
    assert published is not None
    statuses: list[int] = []

    def resend() -> None:
        statuses.append(post(client.application.test_client(), survey, report.to_bytes()).status_code)

    thread = threading.Thread(target=resend)
    with store.engine.begin() as tx:
        tx.execute(text("LOCK TABLE inbox IN ACCESS EXCLUSIVE MODE"))
        thread.start()
        waiting = text("SELECT count(*) FROM pg_locks WHERE NOT granted")
        while not tx.execute(waiting).scalar():
            time.sleep(0.01)
        digest = store.id_digest(survey.hash, bytes.fromhex(report.id))
        tx.execute(insert(seen).values(survey=published.number, digest=digest))
        tx.execute(text("TRUNCATE TABLE inbox"))
    thread.join()
    assert statuses == [200]
    with store.read() as tx:
        assert tx.execute(select(func.count()).select_from(inbox)).scalar() == 0
