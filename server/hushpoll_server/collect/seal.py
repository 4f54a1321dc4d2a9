"""Sealing: reports leave the inbox in random order under fresh keys, many at a time, in one transaction.

Afterwards nothing in the database says which report came when, or with which id or invitation. What remains of the
ids is a set of keyed hashes without content, so that a report that is sent again is recognised.
"""

from __future__ import annotations

import logging
import os
import time
from collections import Counter
from collections.abc import Iterator
from typing import Any, NamedTuple

from sqlalchemy import Connection, Table, delete, func, insert, select, text, update

from hushpoll_server.store.counts import add_counts
from hushpoll_server.store.database import SEAL_LOCK
from hushpoll_server.store.schema import binary, counts, inbox, sealed, spent, surveys, whole
from hushpoll_server.store.surveys import SURVEY_STATE, Store, SurveyState, today

from .codes import marked

log = logging.getLogger(__name__)

_KEY_BYTES = 16
# Between two attempts to remove the old copies of companions.
VACUUM_SECONDS = 60.0


# Many rows in one statement: keys and records are each one string of bytes, cut in the database (see accept.py).
_PLACES = "WITH RECURSIVE place(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM place WHERE i + 1 < :n)"
_INSERT_SEALED = text(
    f"INSERT INTO sealed (survey, key, record) {_PLACES} SELECT :survey, substr(:keys, i * 16 + 1, 16),"  # noqa: S608
    " substr(:records, i * :width + 1, :width) FROM place"
).bindparams(*binary("keys", "records"), *whole("n", "survey", "width"))
_INSERT_SEEN = text(
    f"INSERT INTO seen (survey, digest) {_PLACES} SELECT :survey, substr(:digests, i * 16 + 1, 16) FROM place"  # noqa: S608
).bindparams(*binary("digests"), *whole("n", "survey"))
_PART = 20_000


def seal_due(store: Store, wait: bool = True) -> int:
    """Seal every survey that has twice the minimum waiting in a group, or is closed; give the number sealed.

    `wait` for another node that is sealing just now; otherwise leave it to that one.
    """
    database = store.database
    with store.read() as tx:
        due = _due(store, tx)
    if not due:
        _tidy(store)
        return 0
    with database.turn():
        with store.engine.begin() as tx:
            if not database.is_sqlite and not _lock(tx, wait):
                return 0
            due = _due(store, tx)
            if not due:
                return 0
            moved = _seal_all(store, tx, due)
        store.wal_holds_order = database.is_sqlite
    store.wal_holds_order = not database.empty_log()
    if not database.is_sqlite and any(not state.is_open for state in due):
        store.dead_companions, store.vacuum_at = True, 0.0
        _tidy(store)
    return moved


def read_sealed(store: Store, survey_hash: str) -> Iterator[bytes]:
    """Seal what is due, once, then give the survey's sealed records in parts."""
    seal_due(store)
    return store.record_parts(survey_hash)


def _lock(tx: Connection, wait: bool) -> bool:
    if wait:
        tx.execute(text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": SEAL_LOCK})
    elif not tx.execute(text("SELECT pg_try_advisory_xact_lock(:lock)"), {"lock": SEAL_LOCK}).scalar():
        return False
    else:
        # Whoever sends a report waits behind this; a dump that reads the table may last.
        tx.execute(text("SET LOCAL lock_timeout = '1s'"))
    # From here on nobody stores: a report that arrived between reading and truncating would be lost.
    tx.execute(text("LOCK TABLE inbox IN ACCESS EXCLUSIVE MODE"))
    return True


def _due(store: Store, tx: Connection) -> list[SurveyState]:
    waiting = select(inbox.c.survey, func.count().label("n")).group_by(inbox.c.survey).subquery()
    query = select(*SURVEY_STATE, waiting.c.n).join(waiting, waiting.c.survey == surveys.c.number)
    found = [(SurveyState.of(row), row.n) for row in tx.execute(query.order_by(surveys.c.number))]
    return [
        state
        for state, n in found
        if not state.is_open
        or (n >= 2 * state.minimum_batch and may_release(state) and _is_ripe(store, tx, state))
    ]


def _is_ripe(store: Store, tx: Connection, state: SurveyState) -> bool:
    """Tell whether one of the groups has twice the minimum waiting; a survey without groups is one group."""
    width = _group_width(store, state)
    if not width:
        return True
    rows = tx.execute(select(inbox.c.digest, inbox.c.box).where(inbox.c.survey == state.number))
    opened = (store.waiting.open(state.number, bytes(row.digest), bytes(row.box)) for row in rows)
    counted = Counter(one[0][:width] for one in opened if one is not None)
    return max(counted.values(), default=0) >= 2 * state.minimum_batch


def _group_width(store: Store, state: SurveyState) -> int:
    known = store.published(state.hash)
    assert known is not None
    return known.format.group_width


class _Opened(NamedTuple):
    """A waiting report, unlocked."""

    digest: bytes
    tag: bytes | None
    record: bytes
    place: int | None


def may_release(state: SurveyState) -> bool:
    """Tell whether an open survey's results may change today: where everybody reads them meanwhile, once a day."""
    return not state.results_live or state.released_on != today()


def _seal_all(store: Store, tx: Connection, due: list[SurveyState]) -> int:
    """Seal what is due; write what stays, and which invitations are spent, again as a whole and in no order.

    On PostgreSQL deleted rows would stay in the file, in order of arrival, until a vacuum; TRUNCATE gives the file back
    at once.
    """
    rows = [row._asdict() for row in tx.execute(select(inbox))]
    values = {row.survey: bytes(row.bits) for row in tx.execute(select(spent))}
    numbers = {state.number for state in due}
    stays = [row for row in rows if row["survey"] not in numbers]
    moved = 0
    for state in due:
        mine = [row for row in rows if row["survey"] == state.number]
        reports, unreadable = _open_all(store, state, mine)
        width = _group_width(store, state)
        go, wait = _drawn(state, reports, width)
        stays += unreadable + [_locked(store, state, report) for report in wait]
        if not go:
            continue
        _seal(tx, state, go, width)
        known = store.published(state.hash)
        assert known is not None
        # Companions are counted already.
        add_counts(tx, state.number, known.survey, [report.record for report in go])
        places = [report.place for report in go if report.place is not None]
        if places:
            values[state.number] = marked(values.get(state.number, b""), places)
        moved += len(go)
    if moved:
        stays.sort(key=lambda row: (row["survey"], row["digest"]))
        _write_again(tx, inbox, stays)
        _write_again(tx, spent, [{"survey": key, "bits": bits} for key, bits in sorted(values.items())])
    return moved


def _open_all(
    store: Store, state: SurveyState, rows: list[dict[str, Any]]
) -> tuple[list[_Opened], list[dict[str, Any]]]:
    """Open a survey's boxes; give also the rows that do not open, which nobody throws away."""
    reports, unreadable = [], []
    for row in rows:
        digest = bytes(row["digest"])
        opened = store.waiting.open(state.number, digest, bytes(row["box"]))
        if opened is None:
            unreadable.append(row)
        else:
            reports.append(_Opened(digest, row["tag"], *opened))
    if unreadable:
        log.error("%d waiting reports were locked with another key or altered", len(unreadable))
    return reports, unreadable


def _drawn(state: SurveyState, reports: list[_Opened], width: int) -> tuple[list[_Opened], list[_Opened]]:
    """Draw those that are sealed now: of an open survey's groups all but the minimum, which one being chance.

    Whoever sends 49 reports of his own does not learn the fiftieth, and closing never releases fewer than the minimum
    (the rule of Janus). Everybody can tell groups apart, so the rule holds within each.
    """
    go: list[_Opened] = []
    stay: list[_Opened] = []
    for group in _by_group(reports, width).values():
        drawn = sorted(group, key=lambda _: os.urandom(_KEY_BYTES))
        kept = 0
        if state.is_open:
            kept = state.minimum_batch if len(drawn) >= 2 * state.minimum_batch else len(drawn)
        go, stay = go + drawn[kept:], stay + drawn[:kept]
    return go, stay


def _by_group(reports: list[_Opened], width: int) -> dict[bytes, list[_Opened]]:
    """Put reports together by the group that their records begin with."""
    found: dict[bytes, list[_Opened]] = {}
    for report in reports:
        found.setdefault(report.record[:width], []).append(report)
    return found


def _locked(store: Store, state: SurveyState, report: _Opened) -> dict[str, Any]:
    box = store.waiting.lock(state.number, report.digest, report.record, report.place)
    return {"survey": state.number, "digest": report.digest, "tag": report.tag, "box": box}


def _write_again(tx: Connection, table: Table, rows: list[dict[str, Any]]) -> None:
    tx.execute(delete(table) if tx.dialect.name == "sqlite" else text(f"TRUNCATE TABLE {table.name}"))
    if rows:
        tx.execute(insert(table), rows)


def _seal(tx: Connection, state: SurveyState, reports: list[_Opened], width: int) -> None:
    """Write a survey's reports to `sealed` and `seen`, each in the order of its own random keys."""
    records = [report.record for report in reports]
    for group, mine in _by_group(reports, width).items():
        records += _companions(tx, state, group, len(mine))
    pool = os.urandom(_KEY_BYTES * len(records))
    keys = [pool[place : place + _KEY_BYTES] for place in range(0, len(pool), _KEY_BYTES)]
    pairs = sorted(zip(keys, records, strict=True))
    digests = sorted(report.digest for report in reports)
    values = {"survey": state.number, "width": len(records[0])}
    for place in range(0, len(pairs), _PART):
        part = pairs[place : place + _PART]
        joined = {
            "keys": b"".join([key for key, _ in part]),
            "records": b"".join([record for _, record in part]),
        }
        tx.execute(_INSERT_SEALED, {**values, **joined, "n": len(part)})
    for place in range(0, len(digests), _PART):
        some = digests[place : place + _PART]
        tx.execute(_INSERT_SEEN, {"survey": state.number, "n": len(some), "digests": b"".join(some)})
    counted = {"sealed_n": surveys.c.sealed_n + len(reports), "released_on": today()}
    tx.execute(update(surveys).where(surveys.c.number == state.number).values(**counted))


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


def _tidy(store: Store) -> None:
    """Remove what an earlier sealing could not, because somebody still read it."""
    if store.wal_holds_order:
        store.wal_holds_order = not store.database.truncate_wal()
    if store.dead_companions and time.monotonic() >= store.vacuum_at:
        store.vacuum_at = time.monotonic() + VACUUM_SECONDS
        store.dead_companions = not _vacuum(store)


def _vacuum(store: Store) -> bool:
    """Remove the old copies of the companions, which would tell them from the reports they keep company.

    False where some stay: PostgreSQL keeps what an older reader, a backup perhaps, may still look at.
    """
    with store.engine.connect().execution_options(isolation_level="AUTOCOMMIT") as tx:
        left = 0
        # Counts of before and after would tell the last few just as well.
        for table in (sealed, counts):
            tx.execute(text(f"VACUUM {table.name}"))
            dead = text("SELECT pg_stat_get_dead_tuples(cast(:name AS regclass))")
            left += tx.execute(dead, {"name": table.name}).scalar_one()
        return not left
