"""Health reports soon whether a server can store: full disk, frozen database, every thread waiting."""

from __future__ import annotations

import resource
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.serving import LONGEST, LiveServer, Postgres, make_survey

Live = Callable[..., LiveServer]


@pytest.mark.long
@pytest.mark.parametrize("backend", ["sqlite"])
def test_a_full_disk_is_not_ready_but_alive(live: Live) -> None:
    server = live()
    (worker,) = server.workers
    unlimited = resource.prlimit(worker, resource.RLIMIT_FSIZE, (0, resource.RLIM_INFINITY))
    server.wait_for("/healthz", 503)
    assert server.status("/readyz") == 503
    assert server.status("/livez") == 200
    resource.prlimit(worker, resource.RLIMIT_FSIZE, unlimited)
    server.wait_for("/healthz", 200)


@pytest.mark.long
@pytest.mark.postgres
@pytest.mark.parametrize("backend", ["postgresql"])
def test_a_frozen_database_is_not_ready_but_alive(live: Live, postgres: Postgres) -> None:
    server = live(THREADS="2")
    survey = make_survey()
    server.store.publish(survey)
    with ThreadPoolExecutor(8) as visitors:
        with postgres.frozen():
            # More of them than threads, and all wait for the database.
            pages = [visitors.submit(server.status, f"/s/{survey.hash}") for _ in range(8)]
            time.sleep(0.5)
            server.wait_for("/healthz", 503)
            assert server.status("/livez") == 200
            assert not any(page.done() for page in pages)
        assert [page.result(LONGEST) for page in pages] == [200] * 8
    server.wait_for("/healthz", 200)
