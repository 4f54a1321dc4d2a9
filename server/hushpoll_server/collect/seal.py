"""Sealing: reports leave the inbox in random order under fresh keys, many at a time.

Afterwards nothing in the database says which report came when, or with which id or invitation. What remains of the
ids is a set of keyed hashes without content, so that a report that is sent again is recognised.
"""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Iterator, Sequence
from itertools import pairwise
from threading import Event
from typing import Any, NamedTuple

from sqlalchemy import Connection, delete, func, select, text, update
from sqlalchemy.exc import OperationalError

from hushpoll_server.store.counts import add_counts
from hushpoll_server.store.schema import PLACES, binary, inbox, sealed, spent, surveys, whole
from hushpoll_server.store.surveys import SURVEY_STATE, Store, SurveyState, today

from .scrubbing import COMPANIONS, INBOX, has_open_readers, lock_inbox, mark, scrub, write_again
from .sealing_state import sealing_state
from .spent_invitations import marked

log = logging.getLogger(__name__)

_KEY_BYTES = 16
# Many rows in one statement: keys and records are each one string of bytes, cut in the database.
_INSERT_SEALED = text(
    f"INSERT INTO sealed (survey, key, record) {PLACES} SELECT :survey, substr(:keys, i * 16 + 1, 16),"  # noqa: S608
    " substr(:records, i * :width + 1, :width) FROM place"
).bindparams(*binary("keys", "records"), *whole("n", "survey", "width"))
_INSERT_SEEN = text(
    f"INSERT INTO seen (survey, digest) {PLACES} SELECT :survey, substr(:digests, i * 16 + 1, 16) FROM place"  # noqa: S608
).bindparams(*binary("digests"), *whole("n", "survey"))
_TAKE_OUT = text(
    "DELETE FROM inbox WHERE survey = :survey AND digest IN"  # noqa: S608
    f" ({PLACES} SELECT substr(:digests, i * 16 + 1, 16) FROM place)"
).bindparams(*binary("digests"), *whole("n", "survey"))
# Reports in one transaction, of which everybody who sends one waits for the end; and the seconds between two.
_LARGEST_PART = 5_000
_PAUSE = 0.1


_PATIENCE = 1.0
"""Seconds that somebody who need not wait for a sealing of this process waits for it all the same."""
_PUT_OFF = 10.0
"""Seconds until the next attempt, where somebody read the inbox for long."""


def seal_due(store: Store, wait: bool = True, over: Event | None = None, by_day: bool = True) -> int:
    """Seal every survey that has twice the minimum waiting in a group, or was closed; return the number sealed.

    Reports are opened and drawn before any sender has to wait, then sealed in parts: a report that arrives meanwhile
    waits for one part, not for all. With `wait`, wait some seconds for a backup or for another node that is sealing;
    otherwise, and if that takes longer, leave it to the server, which looks again. Stop after the present part if
    `over` is set. Without `by_day`, release nothing that is released once a day: the day is not certain.
    """
    # What waits is opened once, however many people open a page of results at that moment.
    state = sealing_state(store)
    if not state.lock.acquire(timeout=-1 if wait else _PATIENCE):
        return 0
    try:
        moved = _seal_all(store, wait, over or Event(), by_day)
        scrub(store)
        return moved
    finally:
        state.lock.release()


def _seal_all(store: Store, wait: bool, over: Event, by_day: bool) -> int:
    moved = 0
    if not wait and time.monotonic() < sealing_state(store).retry_at:
        return moved
    while batches := _ready(store, by_day):
        try:
            done = sum(_seal_parts(store, batches, wait, over))
        except OperationalError as error:
            if not has_open_readers(error):
                raise
            sealing_state(store).retry_at = time.monotonic() + _PUT_OFF
            break
        moved += done
        if not wait or over.is_set() or done == sum(len(batch.reports) for batch in batches):
            break
    return moved


def _seal_parts(store: Store, batches: list[_Part], wait: bool, over: Event) -> Iterator[int]:
    """Seal part by part, until another node was faster or the survey has changed; give the number in each."""
    states: dict[int, SurveyState | None] = {}
    for index, batch in enumerate(batches):
        if index:
            time.sleep(_PAUSE)
        if over.is_set():
            return
        number = batch.state.number
        with store.database.turn(), store.engine.begin() as tx:
            if not lock_inbox(store, tx, wait) or _state(tx, number) != states.get(number, batch.state):
                return
            if not _take_out(tx, batch):
                tx.rollback()
                return
            _seal_part(store, tx, batch)
            states[number] = _state(tx, number)
            mark(tx, INBOX)
            if batch.state.was_closed:
                mark(tx, COMPANIONS)
            sealing_state(store).log_holds_order = store.database.is_sqlite
        yield len(batch.reports)


def read_sealed(store: Store, survey_hash: str, wait: bool = True) -> Iterator[bytes]:
    """Seal what is due, once, then give the survey's sealed records in parts; a page does not `wait` for a backup."""
    seal_due(store, wait)
    return store.record_parts(survey_hash)


def _state(tx: Connection, number: int) -> SurveyState | None:
    row = tx.execute(select(*SURVEY_STATE).where(surveys.c.number == number)).one_or_none()
    if row is None:
        return None
    return SurveyState.of(row)


def _due(tx: Connection, by_day: bool) -> list[SurveyState]:
    """List the surveys that may be sealed now, as far as is visible without opening the waiting reports."""
    waiting = select(inbox.c.survey, func.count().label("n")).group_by(inbox.c.survey).subquery()
    query = select(*SURVEY_STATE, waiting.c.n).join(waiting, waiting.c.survey == surveys.c.number)
    waiting_surveys = [(SurveyState.of(row), row.n) for row in tx.execute(query.order_by(surveys.c.number))]
    return [
        state
        for state, n in waiting_surveys
        if state.was_closed or (n >= 2 * state.minimum_batch and may_release(state, by_day))
    ]


def _ready(store: Store, by_day: bool) -> list[_Part]:
    """Open and draw the reports to seal, in parts, while other threads and nodes keep storing.

    Reports that arrive from here on stay for the next time. Nothing but sealing and deleting takes reports out of the
    inbox, and both change their survey's state.
    """
    with store.read() as tx:
        due = _due(tx, by_day)
        rows = {
            state.number: tx.execute(
                select(inbox.c.digest, inbox.c.box).where(inbox.c.survey == state.number)
            ).all()
            for state in due
        }
    batches = []
    for state in due:
        width = _group_width(store, state)
        groups = _drawn(state, _open_all(store, state, rows.pop(state.number)), width)
        batches += [_Part(state, width, some) for some in _in_parts(groups, state.minimum_batch)]
    return batches


def _in_parts(groups: list[list[_Opened]], minimum: int) -> list[list[_Opened]]:
    """Cut what was drawn of each group into parts that are soon sealed.

    No group has fewer than the minimum in a part, unless that is all of it; no part has fewer, unless it is the only
    one: PostgreSQL tells which ids were remembered together.
    """
    batches: list[list[_Opened]] = [[]]
    for group in groups:
        pieces = max(1, len(group) // max(_LARGEST_PART, minimum))
        ends = [len(group) * piece // pieces for piece in range(pieces + 1)]
        for start, end in pairwise(ends):
            if len(batches[-1]) >= _LARGEST_PART:
                batches.append([])
            batches[-1] += group[start:end]
    if len(batches) > 1 and len(batches[-1]) < minimum:
        last = batches.pop()
        batches[-1] += last
    return [batch for batch in batches if batch]


def _group_width(store: Store, state: SurveyState) -> int:
    published = store.published(state.hash)
    assert published is not None
    return published.format.group_width


class _Opened(NamedTuple):
    """A waiting report, unlocked."""

    digest: bytes
    record: bytes
    position: int | None


class _Part(NamedTuple):
    """Reports of one survey that are sealed in one transaction."""

    state: SurveyState
    group_width: int
    reports: list[_Opened]


def may_release(state: SurveyState, by_day: bool) -> bool:
    """Return whether an open survey's reports may be added today: once a day if its results are public."""
    return not state.results_live or (by_day and state.released_on != today())


def _take_out(tx: Connection, batch: _Part) -> bool:
    """Move what is remembered of reports from the inbox to `seen`; False where some are no longer in the inbox."""
    digests = b"".join(sorted(report.digest for report in batch.reports))
    values = {"survey": batch.state.number, "n": len(batch.reports), "digests": digests}
    if tx.execute(_TAKE_OUT, values).rowcount != len(batch.reports):
        return False
    tx.execute(_INSERT_SEEN, values)
    return True


def _seal_part(store: Store, tx: Connection, batch: _Part) -> None:
    """Write reports to where nothing tells when they came, count them, and mark their invitations as spent."""
    number = batch.state.number
    _seal(tx, batch)
    published = store.published(batch.state.hash)
    assert published is not None
    # Companions are counted already.
    add_counts(tx, number, published.survey, [report.record for report in batch.reports])
    positions = [report.position for report in batch.reports if report.position is not None]
    if positions:
        bits = {row.survey: bytes(row.bits) for row in tx.execute(select(spent))}
        bits[number] = marked(bits.get(number, b""), positions)
        write_again(tx, spent, [{"survey": key, "bits": value} for key, value in sorted(bits.items())])


def _open_all(store: Store, state: SurveyState, rows: Sequence[Any]) -> list[_Opened]:
    """Open a survey's boxes. Rows that do not open or fit stay where they are; nothing is thrown away."""
    published = store.published(state.hash)
    assert published is not None
    boxes = [(bytes(digest), bytes(box)) for digest, box in rows]
    reports: list[_Opened] = []
    unreadable = foreign = 0
    # Reports that say the same are checked once.
    fits: dict[bytes, bool] = {}
    for (digest, _), opened in zip(boxes, store.waiting.open_all(state.number, boxes), strict=True):
        if opened is None:
            unreadable += 1
            continue
        if opened[0] not in fits:
            fits[opened[0]] = published.format.fits(opened[0])
        if fits[opened[0]]:
            reports.append(_Opened(digest, *opened))
        else:
            foreign += 1
    if unreadable:
        log.error("%d waiting reports were locked with another key or altered", unreadable)
    if foreign:
        # Nobody outside can make one: a box that opens was locked here, from a report that was checked.
        log.error(
            "%d waiting reports do not fit their survey; they stay aside and are counted nowhere", foreign
        )
    return reports


def _drawn(state: SurveyState, reports: list[_Opened], width: int) -> list[list[_Opened]]:
    """Draw those that are sealed now, group by group: of an open survey's all but the minimum, which one being chance.

    A person who sends 49 reports does not learn the fiftieth, and closing never releases fewer than the minimum
    (the rule of Janus). Reports name their group openly, so the rule holds within each group.
    """
    drawn_groups: list[list[_Opened]] = []
    for group in _by_group(reports, width).values():
        shuffled = [report for _, report in sorted(zip(_keys(len(group)), group, strict=True))]
        if state.was_closed:
            drawn_groups.append(shuffled)
        elif len(shuffled) >= 2 * state.minimum_batch:
            drawn_groups.append(shuffled[state.minimum_batch :])
    return drawn_groups


def _by_group(reports: list[_Opened], width: int) -> dict[bytes, list[_Opened]]:
    """Put reports together by the group that their records begin with."""
    if not width:
        if reports:
            return {b"": reports}
        return {}
    groups: dict[bytes, list[_Opened]] = {}
    for report in reports:
        groups.setdefault(report.record[:width], []).append(report)
    return groups


def _seal(tx: Connection, batch: _Part) -> None:
    """Write a survey's reports to `sealed`, in the order of random keys."""
    state = batch.state
    records = [report.record for report in batch.reports]
    for group, group_reports in _by_group(batch.reports, batch.group_width).items():
        records += _companions(tx, state, group, len(group_reports))
    pairs = sorted(zip(_keys(len(records)), records, strict=True))
    values = {
        "survey": state.number,
        "n": len(pairs),
        "width": len(records[0]),
        "keys": b"".join([key for key, _ in pairs]),
        "records": b"".join([record for _, record in pairs]),
    }
    tx.execute(_INSERT_SEALED, values)
    counted = {"sealed_n": surveys.c.sealed_n + len(batch.reports), "released_on": today()}
    tx.execute(update(surveys).where(surveys.c.number == state.number).values(**counted))


def _keys(n: int) -> list[bytes]:
    """Draw as many random keys, by one call: a key each would cost as much as the sealing."""
    pool = os.urandom(_KEY_BYTES * n)
    return [pool[start : start + _KEY_BYTES] for start in range(0, len(pool), _KEY_BYTES)]


def _companions(tx: Connection, state: SurveyState, group: bytes, waiting: int) -> list[bytes]:
    """Take sealed reports of a group back out to be sealed again with a remainder that is too small to hide in.

    Only a survey that was opened again, or that an older version sealed, has fewer left at closing. PostgreSQL's `xmin`
    tells which rows were written together, so the last few would be known as the last ones. Keys are random: the next
    ones after a random key are a random choice.
    """
    missing = min(state.minimum_batch - waiting, state.sealed_n)
    if missing <= 0:
        return []
    mine = sealed.c.survey == state.number
    if group:
        mine &= func.substr(sealed.c.record, 1, len(group)) == group
    start = os.urandom(_KEY_BYTES)
    query = select(sealed.c.key, sealed.c.record).where(mine).order_by(sealed.c.key).limit(missing)
    rows = list(tx.execute(query.where(sealed.c.key >= start)))
    if len(rows) < missing:
        rows += tx.execute(query.where(sealed.c.key < start).limit(missing - len(rows))).all()
    for row in rows:
        tx.execute(delete(sealed).where(sealed.c.survey == state.number, sealed.c.key == row.key))
    return [bytes(row.record) for row in rows]
