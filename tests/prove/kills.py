"""kill -9 under load, at every moment of a commit or a sealing: nothing acknowledged is lost, nothing is doubled."""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from hushpoll_server.collect import closing

from tests.serving import LiveServer, Postgres

from .crowd import Crowd
from .places import BACKENDS, live_server, signed_survey


def survive(server: LiveServer, kills: int, tell: Callable[[int], None] = lambda _: None) -> int:
    """Kill a server this many times while twelve clients send; return the number of reports, all stored once."""
    survey = signed_survey("Killed")
    server.store.publish(survey, minimum_batch=50)
    crowd = Crowd(server, survey)
    for kill in range(kills):
        crowd.wait_for_more(11)
        time.sleep(0.25 + 0.037 * (kill % 11))
        server.kill()
        server.start()
        tell(kill + 1)
    crowd.wait_for_more(1)
    crowd.stop()
    server.kill()
    reports = crowd.check()
    assert reports > 10 * kills
    closing.close(server.store, survey.hash)
    assert server.store.sealed_count(survey.hash) == reports == crowd.check()
    return reports


def prove(size: float, cluster: Postgres, tell: Callable[[str], None]) -> str:
    """Kill each kind of database's server 200 times, both at once: a server that starts leaves a core idle."""
    kills = max(2, round(200 * size))
    so_far = dict.fromkeys(BACKENDS, 0)

    def survived(backend: str) -> int:
        def count(kill: int) -> None:
            so_far[backend] = kill
            tell(", ".join(f"{name} {n}/{kills}" for name, n in so_far.items()))

        with live_server(backend, cluster, SEAL_EVERY="1") as server:
            return survive(server, kills, count)

    with ThreadPoolExecutor() as pool:
        counts = dict(zip(BACKENDS, pool.map(survived, BACKENDS), strict=True))
    reports = ", ".join(f"{n:,} reports on {backend}" for backend, n in counts.items())
    return f"{kills} kills per database, {reports}: 0 lost, 0 doubled"
