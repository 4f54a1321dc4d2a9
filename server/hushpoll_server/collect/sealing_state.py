"""What this process remembers of sealing between one time and the next, for each store."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from weakref import WeakKeyDictionary

from hushpoll_server.store.surveys import Store


@dataclass
class SealingState:
    """The lock of sealing, and when to try again what could not be done.

    Attributes
    ----------
    lock : Lock
        Held by the thread that seals: one at a time in a process.
    retry_at : float
        Monotonic time before which sealing is not tried again, because another session was reading the inbox.
    log_holds_order : bool
        Whether SQLite's log may still show the order of arrival. It does until it is truncated, which waits for
        readers; a process that was killed may have left one.
    scrub_at : dict of str to float
        Monotonic time before which each kind of leftover is not scrubbed again. That something is left stands in the
        database.
    """

    log_holds_order: bool
    retry_at: float = 0.0
    lock: threading.Lock = field(default_factory=threading.Lock)
    scrub_at: dict[str, float] = field(default_factory=dict)


_states: WeakKeyDictionary[Store, SealingState] = WeakKeyDictionary()
_states_lock = threading.Lock()


def sealing_state(store: Store) -> SealingState:
    """Return the state of a store's sealing in this process."""
    with _states_lock:
        state = _states.get(store)
        if state is None:
            state = _states[store] = SealingState(log_holds_order=store.database.is_sqlite)
        return state
