"""The server's clock: on PostgreSQL that of the database, so that no node's own clock decides for all nodes."""

from __future__ import annotations

import datetime
import threading
import time

from hushpoll_client import HushpollError
from sqlalchemy import Connection, text

MOST_DIFFERENCE = 60
"""Seconds by which the clock of a node may differ from the database's."""
_EPOCH = text("SELECT extract(epoch FROM clock_timestamp())::float8")


class Clock:
    """Seconds since 1970: the machine's own until it was set, then carried on by the counter that never jumps."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._offset: float | None = None

    def set(self, epoch: float) -> None:
        """Take over what a database's clock says now."""
        with self._lock:
            self._offset = epoch - time.monotonic()

    def forget(self) -> None:
        """Go by the machine's own clock again."""
        with self._lock:
            self._offset = None

    def now(self) -> float:
        """Return seconds since 1970."""
        with self._lock:
            if self._offset is None:
                return time.time()
            return time.monotonic() + self._offset

    @property
    def is_wrong(self) -> bool:
        """Whether the machine's own clock differs too much from the database's."""
        return abs(time.time() - self.now()) > MOST_DIFFERENCE


clock = Clock()
"""The clock of this process."""


def today() -> datetime.date:
    """Return the date in Greenwich: one calendar for all nodes."""
    return datetime.datetime.fromtimestamp(clock.now(), datetime.UTC).date()


def difference(tx: Connection) -> float:
    """Return by how many seconds this machine's clock is ahead of the database's, and set the server's clock by it."""
    if tx.dialect.name != "postgresql":
        return 0.0
    epoch = float(tx.execute(_EPOCH).scalar_one())
    clock.set(epoch)
    return time.time() - epoch


def refuse_wrong_clock(tx: Connection) -> None:
    """Raise HushpollError where this machine's clock and the database's differ too much to serve."""
    ahead = difference(tx)
    if abs(ahead) > MOST_DIFFERENCE:
        direction = "ahead of" if ahead > 0 else "behind"
        raise HushpollError(
            f"the clock of this machine is {abs(ahead):,.0f} seconds {direction} the database's",
            "set the wrong one, by NTP for example, then start again",
        )
