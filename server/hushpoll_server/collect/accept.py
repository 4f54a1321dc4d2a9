"""What happens to reports inside the transaction that stores them: known? open? invited? then one insert.

Reports come in jobs; a job is stored as a whole or not at all. Many jobs share one transaction.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any, NamedTuple

from sqlalchemy import (
    Connection,
    Date,
    bindparam,
    func,
    insert,
    literal_column,
    select,
    text,
    update,
)
from sqlalchemy.dialects.postgresql import insert as postgresql_insert
from sqlalchemy.exc import IntegrityError

from hushpoll_server.store.inbox_cipher import InboxCipher
from hushpoll_server.store.schema import PLACES, binary, inbox, seen, surveys, whole
from hushpoll_server.store.surveys import SURVEY_STATE, SurveyState, today

from .spent_invitations import among, unspent


class Outcome(Enum):
    """What became of a report; the value is the HTTP status."""

    NEW = 201
    KNOWN = 200
    OTHER_CONTENT = 409
    CLOSED = 410
    NOT_INVITED = 403


_STORED = (Outcome.NEW, Outcome.KNOWN)


class Incoming(NamedTuple):
    """A report that was checked and waits to be stored."""

    survey: int
    # Keyed hash of the id, under which it waits and is remembered.
    digest: bytes
    record: bytes
    # None where the survey asks for no invitation; empty where it does and none was given.
    invitation: bytes | None


class Raced(Exception):
    """Another node stored the same id meanwhile: look again."""


@dataclass
class _Snapshot:
    """What the tables say about the reports at hand, with what this transaction adds."""

    states: dict[int, SurveyState]
    # None for a box that cannot be opened.
    waiting: dict[tuple[int, bytes], bytes | None]
    seen: set[tuple[int, bytes]]
    # How many more reports a survey takes, where it closes at a number.
    room: dict[int, int]
    # The places of the invitations that are good.
    unspent: dict[tuple[int, bytes], int]


class _New(NamedTuple):
    """A report to store, with the place of the invitation that it spends."""

    report: Incoming
    position: int | None


# All reports of one survey in one statement, whatever their number: digests and boxes are each one string of bytes, cut
# here. All or nothing: nothing is stored where the survey is not open or one of the ids is known, and an id
# that another node stores at the same moment breaks the primary key, which takes the whole statement back.
_STORE_NEW = text(
    f"""
    INSERT INTO inbox (survey, digest, box)
    {PLACES}
    SELECT :survey, substr(:digests, i * 16 + 1, 16), substr(:boxes, i * :width + 1, :width)
    FROM place
    WHERE EXISTS (
        SELECT 1 FROM surveys WHERE number = :survey AND closed_on IS NULL AND closes_at IS NULL
        AND (closes_on IS NULL OR closes_on >= :today)
    )
    AND NOT EXISTS (
        SELECT 1 FROM place AS p, seen
        WHERE seen.survey = :survey AND seen.digest = substr(:digests, p.i * 16 + 1, 16)
    )
    """  # noqa: S608
).bindparams(*binary("digests", "boxes"), *whole("n", "survey", "width"), bindparam("today", type_=Date))
_WAIT_FOR_SEALING = text("LOCK TABLE inbox IN ROW EXCLUSIVE MODE")
_WAIT_FOR_STORING = text("LOCK TABLE inbox IN SHARE MODE")


def wait_for_storing(tx: Connection) -> None:
    """Wait for reports that are being stored, and make new ones wait until this transaction ends.

    Closing a survey calls it first. On PostgreSQL a report whose statement began before the closing could otherwise
    reach the inbox after its last reading, and be released alone. Reports that waited take their snapshot afterwards
    and find the survey closed. A dump only reads and blocks nothing.
    """
    if tx.dialect.name == "postgresql":
        tx.execute(_WAIT_FOR_STORING)


def store_new(connection: Connection, cipher: InboxCipher, reports: list[Incoming]) -> bool:
    """Store reports of one survey that are all new, where it is open and asks for no invitation: the usual case.

    One statement on a connection that commits by itself: one round trip, and one wait for the disk. On PostgreSQL the
    insert waits for a sealing that is under way and then sees what it wrote, because the table is locked before the
    statement's snapshot is taken. False where a report needs a closer look: nothing is stored then; ask `accept`.
    """
    if any(report.invitation is not None for report in reports):
        return False
    reports.sort()
    survey = reports[0].survey
    boxes = cipher.lock_all(survey, [(report.digest, report.record) for report in reports])
    values = {
        "n": len(reports),
        "survey": survey,
        "width": len(boxes) // len(reports),
        "boxes": boxes,
        "digests": b"".join([report.digest for report in reports]),
        "today": today(),
    }
    try:
        return connection.execute(_STORE_NEW, values).rowcount == len(reports)
    except IntegrityError:
        return False
    finally:
        # Nothing is open: this only tells SQLAlchemy so.
        connection.rollback()


def accept(tx: Connection, cipher: InboxCipher, jobs: Sequence[Sequence[Incoming]]) -> list[list[Outcome]]:
    """Store what can be stored; give each job's outcomes in its order."""
    snapshot = _look_up(tx, cipher, [report for job in jobs for report in job])
    new_reports: list[_New] = []
    outcomes = [_decide(job, snapshot, new_reports) for job in jobs]
    _insert(tx, cipher, new_reports)
    full = [
        number
        for number, room in snapshot.room.items()
        if room <= 0 and snapshot.states[number].closed_on is None
    ]
    if full:
        tx.execute(update(surveys).where(surveys.c.number.in_(full)).values(closed_on=today()))
    return outcomes


def _decide(job: Sequence[Incoming], snapshot: _Snapshot, new_reports: list[_New]) -> list[Outcome]:
    """Decide a job's reports one after the other; forget all of them again if one cannot be stored."""
    outcomes: list[Outcome] = []
    added: list[_New] = []
    for report in job:
        outcome = _judge(report, snapshot)
        outcomes.append(outcome)
        if outcome is Outcome.NEW:
            added.append(_note(report, snapshot))
        elif outcome not in _STORED:
            _forget(added, snapshot)
            return outcomes
    new_reports += added
    return outcomes


def _judge(report: Incoming, snapshot: _Snapshot) -> Outcome:
    # The contract's order: a known id comes before closing and before a spent invitation.
    name = (report.survey, report.digest)
    if name in snapshot.waiting:
        if snapshot.waiting[name] == report.record:
            return Outcome.KNOWN
        return Outcome.OTHER_CONTENT
    if name in snapshot.seen:
        return Outcome.KNOWN
    if not snapshot.states[report.survey].is_open or snapshot.room.get(report.survey, 1) <= 0:
        return Outcome.CLOSED
    if report.invitation is not None and (report.survey, report.invitation) not in snapshot.unspent:
        return Outcome.NOT_INVITED
    return Outcome.NEW


def _note(report: Incoming, snapshot: _Snapshot) -> _New:
    snapshot.waiting[report.survey, report.digest] = report.record
    if report.survey in snapshot.room:
        snapshot.room[report.survey] -= 1
    position = None
    if report.invitation is not None:
        position = snapshot.unspent.pop((report.survey, report.invitation))
    return _New(report, position)


def _forget(added: list[_New], snapshot: _Snapshot) -> None:
    for report, position in added:
        del snapshot.waiting[report.survey, report.digest]
        if report.survey in snapshot.room:
            snapshot.room[report.survey] += 1
        if report.invitation is not None and position is not None:
            snapshot.unspent[report.survey, report.invitation] = position


def _look_up(tx: Connection, cipher: InboxCipher, reports: list[Incoming]) -> _Snapshot:
    """Read what is known, on PostgreSQL under locks that two nodes take in the same order.

    The locks come first: a transaction that waited for another node's must then see what that one stored.
    """
    if tx.dialect.name == "postgresql":
        # Waits while reports are being sealed: the sealing transaction truncates this table.
        tx.execute(_WAIT_FOR_SEALING)
    by_survey: dict[int, list[Incoming]] = {}
    for report in reports:
        by_survey.setdefault(report.survey, []).append(report)
    states = _states(tx, sorted(by_survey))
    room = {number: _room(tx, state) for number, state in states.items() if state.closes_at is not None}
    snapshot = _Snapshot(states, {}, set(), room, {})
    for number, group in by_survey.items():
        codes = {report.invitation for report in group if report.invitation}
        if codes:
            positions = unspent(tx, cipher, number, codes)
            snapshot.unspent.update({(number, code): position for code, position in positions.items()})
        digests = {report.digest for report in group}
        query = select(inbox.c.digest, inbox.c.box).where(inbox.c.survey == number)
        for digest, box in among(tx, query, inbox.c.digest, digests):
            opened = cipher.open(number, bytes(digest), bytes(box))
            snapshot.waiting[number, bytes(digest)] = opened and opened[0]
        query = select(seen.c.digest).where(seen.c.survey == number)
        snapshot.seen.update((number, bytes(row.digest)) for row in among(tx, query, seen.c.digest, digests))
    return snapshot


def _states(tx: Connection, numbers: list[int]) -> dict[int, SurveyState]:
    query = select(*SURVEY_STATE).where(surveys.c.number.in_(numbers)).order_by(surveys.c.number)
    states = {row.number: SurveyState.of(row) for row in tx.execute(query)}
    counted = [number for number, state in states.items() if state.closes_at is not None]
    if counted and tx.dialect.name == "postgresql":
        # Only a survey that closes at a number makes its nodes store one after the other.
        locked = select(*SURVEY_STATE).where(surveys.c.number.in_(counted)).order_by(surveys.c.number)
        states.update({row.number: SurveyState.of(row) for row in tx.execute(locked.with_for_update())})
    return states


def _room(tx: Connection, state: SurveyState) -> int:
    waiting = tx.execute(select(func.count()).where(inbox.c.survey == state.number)).scalar_one()
    return (state.closes_at or 0) - state.sealed_n - waiting


def _insert(tx: Connection, cipher: InboxCipher, new_reports: list[_New]) -> None:
    rows = [
        {
            "survey": report.survey,
            "digest": report.digest,
            "tag": None if position is None else cipher.tag(report.survey, report.invitation or b""),
            "box": cipher.lock(report.survey, report.digest, report.record, position),
        }
        for report, position in sorted(new_reports)
    ]
    if not rows:
        return
    if tx.dialect.name != "postgresql":
        tx.execute(insert(inbox), rows)
        return
    statement: Any = postgresql_insert(inbox).on_conflict_do_nothing().returning(literal_column("1"))
    if len(tx.execute(statement, rows).all()) != len(rows):
        raise Raced
