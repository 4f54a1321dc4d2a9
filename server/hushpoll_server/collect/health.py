"""Whether the server can store: found out by storing something, soon, however the database behaves."""

from __future__ import annotations

import secrets
import threading
import time

from sqlalchemy import insert, text, update
from sqlalchemy.exc import SQLAlchemyError

from hushpoll_server.store.clock import MOST_DIFFERENCE, difference
from hushpoll_server.store.surveys import Store
from hushpoll_server.store.workspace_schema import server_state

# Whoever asks more often gets the last answer: looking costs a commit.
FRESH_SECONDS = 1.0
LONGEST_SECONDS = 3.0
_ROW = "health"


class Readiness:
    """Checks the store in a separate thread, on behalf of all probes.

    A frozen database answers nothing, not even a timeout set in it; only a thread that does not wait for it notices.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._lock = threading.Lock()
        self._look: _Look | None = None

    def ready(self) -> bool:
        """Return whether something could be stored, just now or a moment ago."""
        with self._lock:
            if self._look is None or self._look.is_stale():
                self._look = _Look(self._store)
            look = self._look
        return look.result()


class _Look:
    """One try to write, on the disk when it succeeds."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._began = time.monotonic()
        self._over = threading.Event()
        self._succeeded = False
        threading.Thread(target=self._run, name="hushpoll-health", daemon=True).start()

    def is_stale(self) -> bool:
        """Return whether the last check failed or is too old. A check that hangs is not started a second time."""
        is_old = time.monotonic() - self._began > FRESH_SECONDS
        return self._over.is_set() and (is_old or not self._succeeded)

    def result(self) -> bool:
        """Wait for it, but not for long."""
        left = self._began + LONGEST_SECONDS - time.monotonic()
        return self._over.wait(max(left, 0.0)) and self._succeeded

    def _run(self) -> None:
        try:
            with self._store.write() as tx:
                if not self._store.database.is_sqlite:
                    tx.execute(text(f"SET LOCAL statement_timeout = '{LONGEST_SECONDS:.0f}s'"))
                    # A node that stands still while it seals keeps reports out of this table, and of no other.
                    tx.execute(text("LOCK TABLE inbox IN ROW EXCLUSIVE MODE"))
                has_right_clock = abs(difference(tx)) <= MOST_DIFFERENCE
                # Something else each time, so that it really is written, and nothing that tells when.
                mark = {"value": secrets.token_hex(8)}
                if not tx.execute(
                    update(server_state).where(server_state.c.name == _ROW).values(mark)
                ).rowcount:
                    tx.execute(insert(server_state).values(name=_ROW, **mark))
            self._succeeded = has_right_clock
        except (SQLAlchemyError, OSError):
            self._succeeded = False
        finally:
            self._over.set()
