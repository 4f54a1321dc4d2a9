"""Counts that a page has computed and that are worth storing; the maintenance thread writes them.

Reading a page writes nothing. A table of two questions that no counts exist for is made by a scan of every report; it
waits here until the next round of maintenance.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from weakref import WeakKeyDictionary

from sqlalchemy import select

from hushpoll_server.store.counts import Place, write_counts
from hushpoll_server.store.schema import surveys
from hushpoll_server.store.surveys import Store

MAX_PENDING = 16
"""Tables that wait at a time; further ones are counted again when they are read."""


@dataclass(frozen=True)
class PendingCounts:
    """Counts of one survey, and how many reports were sealed when they were made."""

    sealed_n: int
    cells: Mapping[Place, Sequence[int]]


@dataclass
class _Queue:
    lock: threading.Lock = field(default_factory=threading.Lock)
    counts: dict[tuple[int, str], PendingCounts] = field(default_factory=dict)


_queues: WeakKeyDictionary[Store, _Queue] = WeakKeyDictionary()
_queues_lock = threading.Lock()


def _queue_of(store: Store) -> _Queue:
    with _queues_lock:
        return _queues.setdefault(store, _Queue())


def add_pending(store: Store, number: int, by: str, pending: PendingCounts) -> None:
    """Hand over the counts of a survey by a question, to be stored soon."""
    queue = _queue_of(store)
    with queue.lock:
        if len(queue.counts) < MAX_PENDING or (number, by) in queue.counts:
            queue.counts[number, by] = pending


def store_pending(store: Store) -> None:
    """Store the counts that wait, except where more reports were sealed since they were made."""
    queue = _queue_of(store)
    with queue.lock:
        pending = dict(queue.counts)
        queue.counts.clear()
    for (number, _), counted in pending.items():
        query = select(surveys.c.sealed_n).where(surveys.c.number == number).with_for_update()
        with store.write() as tx:
            if counted.sealed_n and tx.execute(query).scalar() == counted.sealed_n:
                write_counts(tx, number, counted.cells)
