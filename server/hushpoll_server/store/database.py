"""Connections: SQLite by default, PostgreSQL by URL; durable on both, and one writing process at a time on SQLite."""

from __future__ import annotations

import fcntl
import os
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Engine, create_engine, event, make_url
from sqlalchemy.engine import URL

from .clock import clock

BUSY_SECONDS = 15
# A session that does nothing inside a transaction belongs to a node that stands still. PostgreSQL ends it after so many
# seconds, so that its locks keep no other node from storing.
IDLE_SECONDS = 5
# Whoever reads very much works between two parts of it, and holds no lock that stores wait for.
PAUSE_SECONDS = 600
# A report waits for a lock a little longer than such a session lasts: it is stored at once when the lock is free.
REPORT_LOCK_SECONDS = 8
# No statement of a page or a report takes as long; commands that read everything have no limit (see `allow_pauses`).
LONGEST_STATEMENT_SECONDS = 120
# Both ends notice that the other machine is gone, or that its process reads nothing.
_CLIENT_KEEPALIVES = {
    "keepalives": 1,
    "keepalives_idle": 10,
    "keepalives_interval": 5,
    "keepalives_count": 3,
    "tcp_user_timeout": 20_000,
}
SERVER_LIMITS = {
    "idle_in_transaction_session_timeout": f"{IDLE_SECONDS}s",
    "statement_timeout": f"{LONGEST_STATEMENT_SECONDS}s",
    "tcp_keepalives_idle": "10",
    "tcp_keepalives_interval": "5",
    "tcp_keepalives_count": "3",
    # Also where a frozen process leaves the results of a statement unread: PostgreSQL would wait for it for good.
    "tcp_user_timeout": f"{IDLE_SECONDS}s",
}
# Any fixed number: one node of PostgreSQL seals at a time, and none while a backup is made.
SEAL_LOCK = 0x7365616C
# Beyond this size the keeper copies SQLite's log into the database (see writer.py). Were it left to SQLite, every
# thousandth page would make one commit, and all requests that wait for it, wait for two more syncs of the disk.
_LOG_BYTES = 1 << 20
_LOG_PAGES = 50_000


class Database:
    """One database of either kind, with a door for reading and a door for writing."""

    def __init__(self, url: str | URL, pool_size: int = 8) -> None:
        self.url: URL = make_url(url)
        self.is_sqlite = self.url.get_backend_name() == "sqlite"
        self.connect_arguments = {"connect_timeout": 5, **_CLIENT_KEEPALIVES}
        # Parameters never reach a log or an error message: they are reports and digests.
        options: dict[str, Any] = {"hide_parameters": True, "pool_size": pool_size, "max_overflow": 64}
        if self.is_sqlite:
            self.path = Path(self.url.database or "")
            # Made by us, because SQLite would ask the umask; its log and its index take the mode of this file.
            os.close(os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))
            options["connect_args"] = {"timeout": BUSY_SECONDS, "check_same_thread": False}
        else:
            options["pool_pre_ping"] = True
            options["connect_args"] = self.connect_arguments
        self.engine: Engine = create_engine(self.url, **options)
        if self.is_sqlite:
            event.listen(self.engine, "connect", _tune_sqlite)
            event.listen(self.engine, "begin", _begin_sqlite)
        else:
            event.listen(self.engine, "connect", _tune_postgresql)
        self._reader = self.engine.execution_options(read_only=True)

    @contextmanager
    def read(self) -> Iterator[Connection]:
        """Read without waiting for writers."""
        with self._reader.connect() as connection:
            yield connection

    @contextmanager
    def write(self) -> Iterator[Connection]:
        """Write in one transaction, which is on the disk when the block ends."""
        with self.turn(), self.engine.begin() as connection:
            yield connection

    def autocommit(self) -> Connection:
        """Return a connection on which every statement is a separate transaction; for reports."""
        connection = self.engine.connect().execution_options(isolation_level="AUTOCOMMIT")
        if not self.is_sqlite:
            # Its limit ends with it: it never goes back to the others.
            connection.detach()
            connection.exec_driver_sql(f"SET lock_timeout = '{REPORT_LOCK_SECONDS}s'")
        return connection

    def allow_pauses(self, transaction: Connection) -> None:
        """Let a transaction of a command that reads very much pause and take its time, until it ends."""
        if not self.is_sqlite:
            transaction.exec_driver_sql(
                f"SET LOCAL idle_in_transaction_session_timeout = '{PAUSE_SECONDS}s'; SET LOCAL statement_timeout = 0"
            )

    @contextmanager
    def turn(self) -> Iterator[None]:
        """Wait for this process's turn to write.

        SQLite lets one process write at a time and makes the others poll. Waiting on a file lock instead is first
        come, first served, and cut the slowest percentile of several processes seven times.
        """
        if not self.is_sqlite:
            yield
            return
        handle = os.open(f"{self.path}.turn", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX)
            yield
        finally:
            os.close(handle)

    def checkpoint(self) -> None:
        """Copy SQLite's log into the database while others go on writing, once it is worth it."""
        if self.is_sqlite and self._log_size() > _LOG_BYTES:
            self._checkpoint("PASSIVE")

    def truncate_wal(self) -> bool:
        """Empty SQLite's write-ahead log, which keeps the order of arrival; False while another connection reads it."""
        return not self.is_sqlite or not self._log_size() or self._checkpoint("TRUNCATE")

    def empty_log(self) -> bool:
        """Empty SQLite's log: most of it while others write, so that they need not stand still for long."""
        if not self.is_sqlite or not self._log_size():
            return True
        self._checkpoint("PASSIVE")
        with self.turn():
            return self.truncate_wal()

    def _checkpoint(self, mode: str) -> bool:
        # Not from the pool: it must not wait long for a reader while everybody waits for it.
        with closing(sqlite3.connect(self.path, timeout=0.2)) as connection:
            busy = connection.execute(f"PRAGMA wal_checkpoint({mode})").fetchone()[0]
        return not busy

    def _log_size(self) -> int:
        try:
            return os.stat(f"{self.path}-wal").st_size
        except FileNotFoundError:
            return 0

    def close(self) -> None:
        """Return all connections to the pool."""
        self.engine.dispose()


def _tune_sqlite(connection: sqlite3.Connection, _record: object) -> None:
    # SQLAlchemy's events say BEGIN themselves; Python's own rule would start transactions too late.
    connection.isolation_level = None
    _use_write_ahead_log(connection)
    for pragma in (
        "synchronous=FULL",
        "foreign_keys=ON",
        "secure_delete=ON",
        "trusted_schema=OFF",
        "temp_store=MEMORY",
        f"wal_autocheckpoint={_LOG_PAGES}",
    ):
        connection.execute(f"PRAGMA {pragma}").close()


def _use_write_ahead_log(connection: sqlite3.Connection) -> None:
    """Switch the journal mode; wait while another process does the same, because SQLite refuses at once."""
    deadline = time.monotonic() + BUSY_SECONDS
    while True:
        try:
            connection.execute("PRAGMA journal_mode=WAL").close()
            return
        except sqlite3.OperationalError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.02)


def _begin_sqlite(connection: Connection) -> None:
    # Whoever may write takes the lock at once: a reader that turns into a writer half way fails when somebody else
    # wrote in between.
    options = connection.get_execution_options()
    if options.get("isolation_level") != "AUTOCOMMIT":
        connection.exec_driver_sql("BEGIN" if options.get("read_only") else "BEGIN IMMEDIATE")


def _tune_postgresql(connection: Any, _record: object) -> None:
    # A server that was told to acknowledge before the disk has it is overruled: 2xx means stored.
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT set_config('synchronous_commit', 'on', false) WHERE current_setting('synchronous_commit') = 'off'"
        )
        for name, value in {"lock_timeout": f"{BUSY_SECONDS}s", **SERVER_LIMITS}.items():
            cursor.execute("SELECT set_config(%s, %s, false)", (name, value))
        cursor.execute("SELECT extract(epoch FROM clock_timestamp())::float8")
        clock.set(cursor.fetchone()[0])
    connection.commit()
