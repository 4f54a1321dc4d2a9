"""Background work: close surveys when their day is over, seal reports, keep SQLite's log short."""

from __future__ import annotations

import logging
import sqlite3
import threading
import time

from sqlalchemy.exc import SQLAlchemyError

from hushpoll_server.metrics.counting import count_database_error, note_sealing
from hushpoll_server.store.clock import MOST_DIFFERENCE, difference
from hushpoll_server.store.surveys import Store

from .closing import Steadiness, close_due
from .pending_counts import store_pending
from .retention import delete_due, is_day_believed, may_delete
from .seal import seal_due
from .sealing_state import sealing_state

__all__ = ["Maintenance"]

KEEP_SECONDS = 1.0
# SQLite's log holds the order in which locked reports came; it is emptied this often while they wait.
LOG_SECONDS = 5.0
WAIT_SECONDS = 30

log = logging.getLogger(__name__)


class Maintenance:
    """The thread that closes surveys when their day is over, seals reports, and empties SQLite's log meanwhile.

    None of this may run in the writer's thread: every report that arrives would wait for it.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._over = threading.Event()
        self._told = False
        self._told_of_clock = False
        self._thread = threading.Thread(target=self._run, name="hushpoll-maintenance", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """End after what is being done; of a sealing, after the part at hand."""
        self._over.set()
        self._thread.join(WAIT_SECONDS)

    def _run(self) -> None:
        tidied = emptied = time.monotonic()
        clock = Steadiness()
        while not self._over.wait(min(KEEP_SECONDS, self._store.config.seal_every or KEEP_SECONDS)):
            try:
                self._store.database.checkpoint()
                if time.monotonic() - emptied >= LOG_SECONDS:
                    emptied = time.monotonic()
                    self._store.database.empty_log()
                if time.monotonic() - tidied >= self._store.config.seal_every:
                    tidied = time.monotonic()
                    self._tidy(clock)
            except (SQLAlchemyError, OSError, sqlite3.Error) as error:
                # Tried again later; nothing is lost.
                count_database_error()
                log.error("reports were not sealed yet: %s", type(error).__name__)

    def _tidy(self, clock: Steadiness) -> None:
        """Close, delete and release by the day only where the clock is steady; seal by number whatever it says."""
        # First, because it takes over the database's clock: a jump of that one is noticed before anything is done.
        is_right = self._is_clock_right()
        is_steady = clock.is_steady()
        if is_right and is_steady:
            self._keep_to_dates(clock)
        seal_due(self._store, wait=False, over=self._over, by_day=is_steady)
        if time.monotonic() >= sealing_state(self._store).retry_at:
            note_sealing()
        store_pending(self._store)

    def _keep_to_dates(self, clock: Steadiness) -> None:
        """Close and delete what is due, where the day can be believed."""
        believed = is_day_believed(self._store, clock.seconds())
        if believed:
            close_due(self._store)
        elif not self._told:
            log.warning(
                "the clock is more than a week beyond the last day that this server ran; check it:"
                " surveys whose last day is over are closed, and reports that are due are deleted,"
                " after a day of running"
            )
        self._told = not believed
        delete_due(self._store, reports=believed and may_delete(self._store, clock.seconds()))

    def _is_clock_right(self) -> bool:
        """Return whether this machine and the database agree about the time; say so once where they do not."""
        with self._store.read() as tx:
            ahead = difference(tx)
        is_right = abs(ahead) <= MOST_DIFFERENCE
        if not is_right and not self._told_of_clock:
            log.error(
                "this machine's clock differs from the database's by %.0f seconds: nothing is closed or deleted by its"
                " date, and requests are answered 503, until both agree",
                abs(ahead),
            )
        self._told_of_clock = not is_right
        return is_right
