"""What sealing and deleting leave behind in the files, and its removal.

The transaction that leaves something behind marks it in the database, and the next process removes it: also when a
command sealed while another connection read the table, and the command has ended.
"""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Callable
from functools import partial
from itertools import groupby
from typing import Any

from sqlalchemy import Connection, Table, delete, insert, select, text
from sqlalchemy.exc import OperationalError

from hushpoll_server.store.database import SEAL_LOCK
from hushpoll_server.store.schema import PLACES, binary, counts, inbox, invitations, sealed, spent, whole
from hushpoll_server.store.surveys import Store
from hushpoll_server.store.workspace_schema import mailings, server_state

from .sealing_state import sealing_state

__all__ = [
    "ADDRESSES",
    "COMPANIONS",
    "DELETED",
    "INBOX",
    "has_open_readers",
    "is_left",
    "lock_inbox",
    "mark",
    "scrub",
    "write_again",
]

log = logging.getLogger(__name__)

INBOX, COMPANIONS = "inbox is worn", "companions are dead"
DELETED, ADDRESSES = "deleted reports are dead", "addresses are dead"
_LOG = "log holds the order"
# Which tables hold dead rows of each.
_DEAD_IN = {
    COMPANIONS: (sealed, counts),
    DELETED: (sealed, counts, invitations, spent, mailings),
    ADDRESSES: (mailings,),
}
# Seconds between two attempts to remove what could not be removed, because somebody still read it.
PAUSES = {INBOX: 10.0, COMPANIONS: 60.0, DELETED: 60.0, ADDRESSES: 60.0, _LOG: 5.0}
# Before the second attempt: PostgreSQL's own vacuum may have held the table, or dead rows were counted late.
SOON = 5.0
_LOCK_NOT_AVAILABLE = "55P03"

# A value of its own each time: what is marked again while it is being removed stays marked.
_MARK = text(
    "INSERT INTO server_state (name, value) VALUES (:name, :value) ON CONFLICT (name) DO UPDATE SET value = :value"
)
_INSERT_WAITING = {
    with_invitations: text(
        f"INSERT INTO inbox (survey, digest, tag, box) {PLACES} SELECT :survey, substr(:digests, i * 16 + 1, 16),"  # noqa: S608
        f" {tag}, substr(:boxes, i * :width + 1, :width) FROM place"
    ).bindparams(
        *binary("digests", "boxes", *(["tags"] if with_invitations else [])), *whole("n", "survey", "width")
    )
    for with_invitations, tag in ((False, "NULL"), (True, "substr(:tags, i * 16 + 1, 16)"))
}


def mark(tx: Connection, what: str) -> None:
    """Note in a transaction that it leaves something behind."""
    tx.execute(_MARK, {"name": what, "value": os.urandom(16).hex()})


def is_left(store: Store, what: str) -> bool:
    """Return whether something is marked and not removed yet."""
    return what in _left(store)


def _left(store: Store) -> dict[str, str]:
    query = select(server_state).where(server_state.c.name.in_([INBOX, *_DEAD_IN]))
    with store.read() as tx:
        return {row.name: row.value for row in tx.execute(query)}


def has_open_readers(error: OperationalError) -> bool:
    """Return whether a table could not be locked because another session, perhaps a dump, reads it for long."""
    return getattr(error.orig, "sqlstate", None) == _LOCK_NOT_AVAILABLE


def lock_inbox(store: Store, tx: Connection, wait: bool) -> bool:
    """Block storing and sealing elsewhere until this transaction ends; return False if another node is sealing."""
    if store.database.is_sqlite:
        return True
    if wait:
        tx.execute(text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": SEAL_LOCK})
    elif not tx.execute(text("SELECT pg_try_advisory_xact_lock(:lock)"), {"lock": SEAL_LOCK}).scalar():
        return False
    else:
        # Whoever sends a report waits behind this; a dump that reads the table may last.
        tx.execute(text("SET LOCAL lock_timeout = '300ms'"))
    # From here on nobody stores: a report that arrived between reading and truncating would be lost.
    tx.execute(text("LOCK TABLE inbox IN ACCESS EXCLUSIVE MODE"))
    return True


def scrub(store: Store) -> None:
    """Remove what sealing or deleting left behind: also what an earlier one, or another process, could not."""
    for what, value in _left(store).items():
        remove = _write_inbox_again
        if what != INBOX:
            remove = partial(_remove_dead_rows, tables=_DEAD_IN[what])
        if _try(store, what, partial(remove, store)):
            with store.write() as tx:
                mine = (server_state.c.name == what, server_state.c.value == value)
                tx.execute(delete(server_state).where(*mine))
    state = sealing_state(store)
    if state.log_holds_order:
        state.log_holds_order = not _try(store, _LOG, store.database.empty_log)


def _try(store: Store, what: str, remove: Callable[[], bool]) -> bool:
    """Try to remove a leftover, unless that failed a moment ago: reports that arrive wait meanwhile."""
    scrub_at = sealing_state(store).scrub_at
    if time.monotonic() < scrub_at.get(what, 0.0):
        return False
    has_failed = scrub_at.get(what, 0.0) > 0.0
    if remove():
        scrub_at[what] = 0.0
        return True
    pause = PAUSES[what]
    if not has_failed:
        pause = min(SOON, pause)
    scrub_at[what] = time.monotonic() + pause
    return False


def _write_inbox_again(store: Store) -> bool:
    """Rewrite the waiting reports as a whole and in no order; return False if another node is sealing or reading.

    On PostgreSQL deleted rows would stay in the file, in order of arrival, until a vacuum; TRUNCATE gives the file back
    at once. In SQLite's pages the rows that stay lie in the order in which they came.
    """
    try:
        with store.database.turn(), store.engine.begin() as tx:
            if not lock_inbox(store, tx, wait=False):
                return False
            _write_waiting_again(tx)
            bits = [row._asdict() for row in tx.execute(select(spent).order_by(spent.c.survey))]
            write_again(tx, spent, bits)
    except OperationalError as error:
        if has_open_readers(error):
            return False
        raise
    return True


def _write_waiting_again(tx: Connection) -> None:
    """Rewrite the waiting reports, those of a survey in one statement: reports that arrive wait meanwhile."""
    rows = tx.execute(select(inbox).order_by(*inbox.primary_key.columns)).all()
    _empty(tx, inbox)
    # Boxes of a survey are all as long; an older version's need not be.
    for (survey, width, has_tag), some in groupby(
        rows, key=lambda row: (row.survey, len(row.box), row.tag is not None)
    ):
        group = list(some)
        values = {
            "survey": survey,
            "width": width,
            "n": len(group),
            "digests": b"".join([row.digest for row in group]),
            "boxes": b"".join([row.box for row in group]),
        }
        if has_tag:
            values["tags"] = b"".join([row.tag for row in group])
        tx.execute(_INSERT_WAITING[has_tag], values)


def write_again(tx: Connection, table: Table, rows: list[dict[str, Any]]) -> None:
    """Rewrite a table, so that no row keeps its own history."""
    _empty(tx, table)
    if rows:
        tx.execute(insert(table), rows)


def _empty(tx: Connection, table: Table) -> None:
    tx.execute(delete(table) if tx.dialect.name == "sqlite" else text(f"TRUNCATE TABLE {table.name}"))


def _remove_dead_rows(store: Store, tables: tuple[Table, ...]) -> bool:
    """Rewrite PostgreSQL's tables without the dead rows; return False if some must stay or a reader takes long.

    PostgreSQL keeps what an older reader, a backup perhaps, may still look at, and would copy it: a vacuum first tells
    whether there is such a thing. A vacuum alone gives the room of dead rows away and leaves their bytes in the pages.
    """
    if store.database.is_sqlite:
        return True  # what is deleted there is overwritten
    with store.database.autocommit() as tx:
        # Whoever reads results waits behind this.
        tx.execute(text("SET lock_timeout = '300ms'"))
        tx.execute(text("SET statement_timeout = 0"))
        try:
            if any(_dead_rows(tx, table) for table in tables):
                return False
            for table in tables:
                tx.execute(text(f"VACUUM (FULL) {table.name}"))
        except OperationalError as error:
            if not has_open_readers(error):
                # A full disk perhaps. What asked for this is done all the same, and it is tried again.
                log.error("dead rows were not removed yet: %s", type(error.orig).__name__)
            return False
    return True


def _dead_rows(tx: Connection, table: Table) -> int:
    """Vacuum a table and count the dead rows that PostgreSQL still keeps for another session.

    Its sessions report what they deleted up to some seconds later, and rows that are gone are counted then: a second
    vacuum corrects that.
    """
    query = text("SELECT pg_stat_get_dead_tuples(cast(:name AS regclass))")
    dead_rows = 0
    for _ in range(2):
        tx.execute(text(f"VACUUM {table.name}"))
        dead_rows = tx.execute(query, {"name": table.name}).scalar_one()
        if not dead_rows:
            break
    return dead_rows
