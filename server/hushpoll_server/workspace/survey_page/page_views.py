"""How often respondents opened a survey's page: counted by day, at most, and without any address.

Counts wait in memory for some seconds, so that a busy survey does not write to the disk for every visitor; a process
that is killed forgets the last few.
"""

from __future__ import annotations

import threading
import time
from collections import Counter
from contextlib import suppress

from flask import Flask, Response, g, request
from sqlalchemy import insert, select, update
from sqlalchemy.exc import SQLAlchemyError

from hushpoll_server.current_store import get_store
from hushpoll_server.store.surveys import Store, is_hash, today
from hushpoll_server.store.workspace_schema import opens

PAUSE = 10.0
# Endpoints that show the questions to respondents, each with its argument that holds the survey's hash.
COUNTED = {"respond.page": "survey_hash"}


class OpenCounter:
    """The counts of one process that are not on the disk yet."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._waiting: Counter[tuple[str, str]] = Counter()
        self._written = 0.0

    def count(self, store: Store, survey_hash: str) -> None:
        """Count one view; write to the database at intervals."""
        with self._lock:
            self._waiting[survey_hash, today().isoformat()] += 1
            due = time.monotonic() - self._written > PAUSE
        if due:
            # A page for a respondent is worth more than a count: a disk that is full loses the count.
            with suppress(SQLAlchemyError):
                self.flush(store)

    def flush(self, store: Store) -> None:
        """Write the counts in memory to the database."""
        with self._lock:
            waiting, self._waiting = self._waiting, Counter()
            self._written = time.monotonic()
        if not waiting:
            return
        with store.write() as tx:
            for (survey_hash, day), more in waiting.items():
                row = (opens.c.hash == survey_hash) & (opens.c.day == day)
                if not tx.execute(update(opens).where(row).values(opened=opens.c.opened + more)).rowcount:
                    tx.execute(insert(opens).values(hash=survey_hash, day=day, opened=more))


def init_app(app: Flask) -> None:
    """Count views of respondents' pages."""
    counter = app.extensions["hushpoll_opens"] = OpenCounter()

    @app.after_request
    def count(response: Response) -> Response:
        argument = COUNTED.get(request.endpoint or "")
        if argument and response.status_code == 200 and request.method == "GET":
            survey_hash = (request.view_args or {}).get(argument, "")
            # A short address has only the first digits: the page knows whose they are.
            if is_hash(survey_hash):
                full_hash = survey_hash
            else:
                full_hash = g.get("survey_hash", "")
            if is_hash(full_hash):
                counter.count(get_store(), full_hash)
        return response


def by_day(store: Store, counter: OpenCounter, survey_hash: str, days: int = 14) -> list[tuple[str, int]]:
    """List the openings of the last days that had any, the newest first."""
    counter.flush(store)
    query = select(opens.c.day, opens.c.opened).where(opens.c.hash == survey_hash)
    with store.read() as tx:
        return [(day, opened) for day, opened in tx.execute(query.order_by(opens.c.day.desc()).limit(days))]
