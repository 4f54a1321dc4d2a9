"""A flood of sign-ins with random names: how long reports take meanwhile, and how many passwords are looked at."""

from __future__ import annotations

import http.client
import re
import secrets
import threading
import time
from collections import Counter
from collections.abc import Callable
from typing import NamedTuple
from urllib.parse import urlencode

from hushpoll_client import Survey

from tests.serving import LONGEST, LiveServer, Postgres

from .crowd import fresh_report, send
from .places import live_server, signed_survey

CLIENTS = 40
# At least this many reports are sent during a flood, however slow the machine is.
FEWEST_REPORTS = 6
# What a flood cost while each of its passwords was looked at. What is left is the price of refusing so many.
LARGEST_MEDIAN = 0.49
_TOKEN = re.compile(r'name="csrf_token"[^>]*value="([^"]+)"')


class Pace(NamedTuple):
    """How long reports took, in seconds, and how many there were."""

    median: float
    p99: float
    reports: int


class Flood:
    """Clients that sign in with names that do not exist, as fast as they are answered."""

    def __init__(self, server: LiveServer, clients: int = CLIENTS) -> None:
        self.server = server
        self.over = threading.Event()
        self.statuses: Counter[int] = Counter()
        self.problems: list[str] = []
        self.threads = [threading.Thread(target=self._guarded) for _ in range(clients)]

    def __enter__(self) -> Flood:
        for thread in self.threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.over.set()
        for thread in self.threads:
            thread.join(2 * LONGEST)

    def wait_until_under_way(self) -> None:
        """Wait until a password was looked at and others were turned away: all clients are signing in by then."""
        end = time.monotonic() + LONGEST
        while (
            not (self.statuses[422] and self.statuses[503]) and not self.problems and time.monotonic() < end
        ):
            time.sleep(0.05)

    def _guarded(self) -> None:
        try:
            self._sign_in()
        except (OSError, http.client.HTTPException, AssertionError) as error:
            self.problems.append(repr(error))

    def _sign_in(self) -> None:
        connection = http.client.HTTPConnection("127.0.0.1", self.server.port, timeout=LONGEST)
        connection.request("GET", "/sign-in")
        answer = connection.getresponse()
        token = _TOKEN.search(answer.read().decode())
        assert token, f"the sign-in page has no form (status {answer.status})"
        cookie = "; ".join(
            line.split(";")[0] for name, line in answer.getheaders() if name.lower() == "set-cookie"
        )
        headers = {"Cookie": cookie, "Content-Type": "application/x-www-form-urlencoded"}
        while not self.over.is_set():
            form = {"csrf_token": token[1], "name": secrets.token_hex(8), "password": secrets.token_hex(8)}
            connection.request("POST", "/sign-in", urlencode(form), headers)
            answer = connection.getresponse()
            answer.read()
            self.statuses[answer.status] += 1
        connection.close()


def paced(server: LiveServer, survey: Survey, seconds: float) -> Pace:
    """Send reports one after the other, a few at least; return how long they took."""
    durations: list[float] = []
    end = time.monotonic() + seconds
    while time.monotonic() < end or len(durations) < FEWEST_REPORTS:
        report, start = fresh_report(survey), time.perf_counter()
        status, _ = send(server, survey, report)
        durations.append(time.perf_counter() - start)
        assert status == 201, f"status {status}"
        time.sleep(0.01)
    durations.sort()
    return Pace(durations[len(durations) // 2], durations[int(0.99 * len(durations))], len(durations))


def during_a_flood(server: LiveServer, seconds: float) -> tuple[Pace, Pace, Counter[int]]:
    """Return how long reports take alone and during a flood, and the statuses that the flood got."""
    survey = signed_survey(f"Flooded {secrets.token_hex(4)}")
    server.store.publish(survey)
    paced(server, survey, min(1.0, seconds))
    alone = paced(server, survey, seconds)
    with Flood(server) as flood:
        flood.wait_until_under_way()
        during = paced(server, survey, seconds)
    assert not flood.problems, flood.problems[:3]
    # 422: looked at and wrong; 503: the line was too long.
    assert flood.statuses[422] > 0, flood.statuses
    assert set(flood.statuses) <= {422, 503}, flood.statuses
    return alone, during, flood.statuses


def prove(size: float, cluster: Postgres, tell: Callable[[str], None]) -> str:
    """Flood a server of one process and one of two; reports must go on."""
    results = []
    for workers in ("1", "2"):
        with live_server("sqlite", None, WORKERS=workers, REPORTS_PER_MINUTE="0") as server:
            alone, during, statuses = during_a_flood(server, max(2.0, 30 * size))
        results.append(
            f"{workers} processes: median {1000 * alone.median:.0f} ms and p99 {1000 * alone.p99:.0f} ms alone,"
            f" {1000 * during.median:.0f} ms and {1000 * during.p99:.0f} ms during {statuses.total():,} sign-ins"
            f" ({statuses[422]:,} looked at)"
        )
        tell(results[-1])
        assert during.median < LARGEST_MEDIAN, results[-1]
    return "; ".join(results)
