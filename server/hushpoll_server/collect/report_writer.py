"""Durable and once: reports that wait together share one commit, and each is answered after it is on the disk."""

from __future__ import annotations

import logging
import queue
import threading
from collections.abc import Sequence
from contextlib import suppress

from sqlalchemy import Connection
from sqlalchemy.exc import DBAPIError

from hushpoll_server.metrics.counting import count_stored
from hushpoll_server.problems import passes, unavailable
from hushpoll_server.store.surveys import Store

from .accept import Incoming, Outcome, Raced, accept, store_new
from .maintenance import Maintenance

WAIT_SECONDS = 30
# Jobs in the queue of one process beyond which clients are asked to come back.
LONGEST_QUEUE = 2_000
# Jobs in one commit: enough to share its cost, few enough not to make the first ones wait.
LARGEST_COMMIT = 256
_ATTEMPTS = 3

log = logging.getLogger(__name__)


class _Job:
    """Reports that stand or fall together, and the request that waits for them."""

    __slots__ = ("done", "error", "outcomes", "reports")

    def __init__(self, reports: Sequence[Incoming]) -> None:
        self.reports = reports
        self.outcomes: list[Outcome] = []
        self.error: Exception | None = None
        # A bare lock is the cheapest thing that one thread can wait on and another release.
        self.done = threading.Lock()
        self.done.acquire()


class Writer:
    """The one thread of a process that writes reports, and the maintenance thread that it starts."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._queue: queue.SimpleQueue[_Job | None] = queue.SimpleQueue()
        self._connection: Connection | None = None
        self._thread = threading.Thread(target=self._run, name="hushpoll-writer", daemon=True)
        self._thread.start()
        self._keeper = Maintenance(store)

    def submit(self, reports: Sequence[Incoming]) -> list[Outcome]:
        """Store reports of one survey, all or none; returns when the commit is on the disk."""
        if self._queue.qsize() > LONGEST_QUEUE or not self._thread.is_alive():
            raise unavailable("the server is busy; send the same report again in a few seconds")
        job = _Job(reports)
        self._queue.put(job)
        if not job.done.acquire(timeout=WAIT_SECONDS):
            # It may still be stored later: the same id sent again gets the same answer.
            raise unavailable()
        if job.error is not None:
            raise unavailable() if _heals(job.error) else job.error
        if not set(job.outcomes) - {Outcome.NEW, Outcome.KNOWN}:
            count_stored(job.outcomes.count(Outcome.NEW))
        return job.outcomes

    def stop(self) -> None:
        """Store what waits, then end."""
        self._queue.put(None)
        self._thread.join(WAIT_SECONDS)
        self._keeper.stop()

    def _run(self) -> None:
        going = True
        while going and (first := self._queue.get()) is not None:
            jobs = [first]
            try:
                with self._store.database.turn():
                    # Whoever came while this process waited for its turn comes along.
                    going = self._drain(jobs)
                    self._store_jobs(jobs)
            except OSError as error:
                # No turn, for want of a file, say. This thread must outlive it: nobody else stores reports.
                self._refuse(jobs, error)
            for job in jobs:
                job.done.release()
        if self._connection is not None:
            self._connection.close()

    def _drain(self, jobs: list[_Job]) -> bool:
        while len(jobs) < LARGEST_COMMIT:
            try:
                job = self._queue.get_nowait()
            except queue.Empty:
                return True
            if job is None:
                return False
            jobs.append(job)
        return True

    def _store_jobs(self, jobs: list[_Job]) -> None:
        try:
            outcomes = self._store_reports([job.reports for job in jobs])
        except Exception as error:
            self._refuse(jobs, error)
            return
        for job, outcome in zip(jobs, outcomes, strict=True):
            job.outcomes = outcome

    @staticmethod
    def _refuse(jobs: list[_Job], error: Exception) -> None:
        log.error("%d requests were not stored: %s", len(jobs), type(error).__name__, exc_info=error)
        for job in jobs:
            job.error = error

    def _store_reports(self, jobs: Sequence[Sequence[Incoming]]) -> list[list[Outcome]]:
        """Store jobs survey by survey; each survey's reports are on the disk when its turn is over."""
        outcomes: list[list[Outcome]] = [[] for _ in jobs]
        by_survey: dict[int, list[int]] = {}
        for index, job in enumerate(jobs):
            by_survey.setdefault(job[0].survey, []).append(index)
        for indices in by_survey.values():
            group = [jobs[index] for index in indices]
            for index, outcome in zip(indices, self._store_group(group), strict=True):
                outcomes[index] = outcome
        return outcomes

    def _store_group(self, jobs: list[Sequence[Incoming]]) -> list[list[Outcome]]:
        # One connection for good: fetching one from the pool costs as much as a commit.
        if self._connection is None or self._connection.closed:
            self._connection = self._store.database.autocommit()
        try:
            if store_new(self._connection, self._store.waiting, [report for job in jobs for report in job]):
                return [[Outcome.NEW] * len(job) for job in jobs]
        except Exception:
            self._connection.close()
            raise
        for _ in range(_ATTEMPTS):
            with suppress(Raced), self._store.engine.begin() as tx:
                return accept(tx, self._store.waiting, jobs)
        raise Raced


def _heals(error: Exception) -> bool:
    return isinstance(error, (Raced, OSError)) or (isinstance(error, DBAPIError) and passes(error))
