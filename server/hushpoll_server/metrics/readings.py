"""Exact readings of a server, which never leave the process that publishes them: see exposition.py."""

from __future__ import annotations

import os
import shutil
import threading
from collections.abc import Mapping
from contextlib import closing, suppress
from dataclasses import dataclass, field
from pathlib import Path

from prometheus_client import CollectorRegistry
from prometheus_client.multiprocess import MultiProcessCollector
from sqlalchemy import func, select
from sqlalchemy.exc import SQLAlchemyError

from hushpoll_server.config import Config
from hushpoll_server.store.database import Database
from hushpoll_server.store.schema import inbox

from . import counting

_PATIENCE = 10.0
"""Seconds that a database may take to count the inbox."""


@dataclass(frozen=True)
class Readings:
    """The state of a server at one moment."""

    stored: int = 0
    refused: Mapping[str, int] = field(default_factory=dict)
    # Number of answers by the upper bound of their seconds, each bucket for itself.
    answers: Mapping[str, int] = field(default_factory=dict)
    errors: int = 0
    # Seconds since 1970 when sealing was last looked after; 0 means not yet.
    looked: float = 0.0
    waiting: int | None = None
    disk_free: int = 0
    disk_total: int = 0
    memory: int = 0


class Meter:
    """Takes readings: of the workers' files, the database, the disk and the processes."""

    def __init__(self, config: Config, folder: Path, master: int) -> None:
        self._config = config
        self._folder = folder
        self._master = master
        self._inbox = InboxCount(config)

    def read(self) -> Readings:
        """Return the state of the server now."""
        disk = shutil.disk_usage(self._config.data)
        counts = read_counts(self._folder)
        return Readings(
            stored=int(counts.get((counting.STORED, ""), 0)),
            refused={
                label: int(value) for (name, label), value in counts.items() if name == counting.REFUSED
            },
            answers=_separate(
                {label: int(value) for (name, label), value in counts.items() if name == counting.SECONDS}
            ),
            errors=int(counts.get((counting.ERRORS, ""), 0)),
            looked=counts.get((counting.LOOKED, ""), 0.0),
            waiting=self._inbox.read(),
            disk_free=disk.free,
            disk_total=disk.total,
            memory=_memory(self._master),
        )


class InboxCount:
    """Counts the inbox in a separate thread: a frozen database answers nothing, not even a timeout."""

    def __init__(self, config: Config) -> None:
        self._config = config
        self._thread: threading.Thread | None = None
        self._count: int | None = None

    def read(self) -> int | None:
        """Return the number of reports that wait, None where the database does not tell."""
        if self._thread is None or not self._thread.is_alive():
            self._count = None
            self._thread = threading.Thread(target=self._look, daemon=True)
            self._thread.start()
        self._thread.join(_PATIENCE)
        if self._thread.is_alive():
            return None
        return self._count

    def _look(self) -> None:
        # Opened for each look, once a minute: nothing is kept open to a database that went away.
        with (
            suppress(SQLAlchemyError, OSError),
            closing(Database(self._config.url, pool_size=1)) as database,
            database.read() as tx,
        ):
            self._count = int(tx.execute(select(func.count()).select_from(inbox)).scalar_one())


def read_counts(folder: Path) -> dict[tuple[str, str], float]:
    """Return what all workers have counted, by name and by the value of the only label."""
    counts: dict[tuple[str, str], float] = {}
    collector = MultiProcessCollector(CollectorRegistry(), str(folder))  # type: ignore[no-untyped-call]
    for metric in collector.collect():  # type: ignore[no-untyped-call]
        for sample in metric.samples:
            if not sample.name.endswith(("_sum", "_count")):
                label = next((value for name, value in sample.labels.items() if name != "pid"), "")
                counts[metric.name, label] = sample.value
    return counts


def _separate(cumulative: Mapping[str, int]) -> dict[str, int]:
    """Return the count of each bucket alone, of counts that include all buckets below."""
    below, separate = 0, {}
    for bound in sorted(cumulative, key=float):
        separate[bound] = cumulative[bound] - below
        below = cumulative[bound]
    return separate


def _memory(master: int) -> int:
    """Return the bytes that the server's processes hold in memory, this one left out."""
    with suppress(OSError):
        children = Path(f"/proc/{master}/task/{master}/children").read_text().split()
        pids = [master, *(int(pid) for pid in children if int(pid) != os.getpid())]
        return sum(_resident(pid) for pid in pids)
    return 0


def _resident(pid: int) -> int:
    with suppress(OSError, ValueError, IndexError):
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    return 0
