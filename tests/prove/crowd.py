"""Clients that send and repeat as browsers do, and a model of every report that was acknowledged to them."""

from __future__ import annotations

import http.client
import os
import threading
import time
from collections.abc import Callable

from hushpoll_client import Report, Survey
from hushpoll_server.store.schema import inbox, sealed, seen
from hushpoll_server.store.surveys import Store
from sqlalchemy import select

from tests.serving import LONGEST, LiveServer, waiting_records


def send(
    server: LiveServer,
    survey: Survey,
    report: Report,
    timeout: float = LONGEST,
    port: int | None = None,
    persistent: http.client.HTTPConnection | None = None,
) -> tuple[int, dict[str, str]]:
    """Send a report, over a new connection unless a persistent one is given, which reopens by itself."""
    connection = persistent or http.client.HTTPConnection("127.0.0.1", port or server.port, timeout=timeout)
    try:
        headers = {"Content-Type": "application/json"}
        connection.request("POST", f"/api/surveys/{survey.hash}/reports", report.to_bytes(), headers)
        response = connection.getresponse()
        response.read()
        if not persistent:
            connection.close()
        return response.status, dict(response.getheaders())
    except BaseException:
        connection.close()
        raise


def stored(store: Store, survey: Survey) -> list[bytes]:
    """Every record in the store, waiting or sealed; looked at again where a sealing came in between."""
    published = store.published(survey.hash)
    assert published is not None
    for _ in range(20):
        before = store.sealed_count(survey.hash)
        rows = list(waiting_records(store, survey.hash).values())
        with store.read() as tx:
            rows += (
                tx.execute(select(sealed.c.record).where(sealed.c.survey == published.number)).scalars().all()
            )
        if store.sealed_count(survey.hash) == before:
            break
    return sorted(bytes(row) for row in rows)


def recognised(store: Store, survey: Survey) -> list[bytes]:
    """What the store keeps of the ids, of those that wait and of those that are sealed."""
    published = store.published(survey.hash)
    assert published is not None
    with store.read() as tx:
        rows = [
            bytes(digest)
            for table in (inbox, seen)
            for digest in tx.execute(
                select(table.c.digest).where(table.c.survey == published.number)
            ).scalars()
        ]
    return sorted(rows)


def fresh_report(survey: Survey) -> Report:
    """A report that no other equals, where the survey leaves room for that."""
    sizes = [question.channel.outcomes for question in survey.questions]
    return Report(os.urandom(16).hex(), tuple(int.from_bytes(os.urandom(4)) % size for size in sizes))


class Crowd:
    """Clients that send fresh reports and repeat each until it is acknowledged.

    Every other one keeps its connection from report to report, as browsers and proxies do.
    """

    again: tuple[int, ...] = (503,)
    """What a client takes for "later"."""

    def __init__(
        self,
        server: LiveServer,
        survey: Survey,
        clients: int = 12,
        ports: tuple[int, ...] = (),
        pause: float = 0,
        allowed: Callable[[Exception], bool] = lambda error: True,
    ) -> None:
        self.server, self.survey, self.pause = server, survey, pause
        self.ports = ports or (server.port,)
        # Which broken connections belong to what is tried out; any other one is a problem.
        self.allowed = allowed
        self.over = threading.Event()
        self.acknowledged: list[Report] = []
        self.statuses: list[int] = []
        self.problems: list[str] = []
        self.connections = {
            (number, port): http.client.HTTPConnection("127.0.0.1", port, timeout=LONGEST)
            for number in range(1, clients, 2)
            for port in self.ports
        }
        self.threads = [threading.Thread(target=self._guarded, args=(number,)) for number in range(clients)]
        for thread in self.threads:
            thread.start()

    def _guarded(self, number: int) -> None:
        """Send; note what goes wrong in this thread for `stop` to raise."""
        try:
            self._send(number)
        except Exception as error:
            self.problems.append(f"client {number}: {error!r}")

    def post(self, report: Report, port: int, number: int) -> int:
        """Send a report of a client once; return the status."""
        return send(
            self.server, self.survey, report, port=port, persistent=self.connections.get((number, port))
        )[0]

    def _send(self, number: int) -> None:
        attempts = number
        while not self.over.is_set():
            report = fresh_report(self.survey)
            while True:
                attempts += 1
                try:
                    # With several nodes, an attempt goes to another one than the last.
                    status = self.post(report, self.ports[attempts % len(self.ports)], number)
                except (OSError, http.client.HTTPException) as error:
                    if not self.allowed(error):
                        self.problems.append(f"client {number}: {error!r}")
                    time.sleep(0.02)
                    continue
                self.statuses.append(status)
                if status in (200, 201):
                    self.acknowledged.append(report)
                    break
                assert status in self.again, f"status {status}"
                time.sleep(0.05)
            time.sleep(self.pause)

    def wait_until(self, reached: Callable[[], object]) -> None:
        """Wait for what the clients are to reach, however slow the machine is; `stop` raises what goes wrong."""
        end = time.monotonic() + LONGEST
        while not reached() and not self.problems:
            assert time.monotonic() < end, f"{len(self.acknowledged)} reports within {LONGEST} seconds"
            time.sleep(0.02)

    def wait_for_more(self, reports: int) -> None:
        """Wait until this many more reports have arrived."""
        target = len(self.acknowledged) + reports
        self.wait_until(lambda: len(self.acknowledged) >= target)

    def stop(self) -> None:
        """Let each client finish its last report; raise what went wrong."""
        self.over.set()
        for thread in self.threads:
            thread.join(2 * LONGEST)
            assert not thread.is_alive()
        for connection in self.connections.values():
            connection.close()
        assert not self.problems, f"{len(self.problems)} requests went wrong: {self.problems[:3]}"

    def check(self) -> int:
        """Compare the store with the model: every acknowledged report once, its id recognised, and nothing else."""
        store, form = self.server.store, self.server.store.record_format(self.survey.hash)
        expected = sorted(form.pack(report.reports) for report in self.acknowledged)
        records = stored(store, self.survey)
        lost, doubled = len(set(expected) - set(records)), len(records) - len(set(records) & set(expected))
        assert records == expected, (
            f"{lost} of {len(expected)} reports are lost, {doubled} are there too often"
        )
        ids = sorted(
            store.id_digest(self.survey.hash, bytes.fromhex(report.id)) for report in self.acknowledged
        )
        # A sealing in between shows an id twice.
        assert sorted(set(recognised(store, self.survey))) == ids
        return len(records)
