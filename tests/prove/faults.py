"""Bad days of a machine under load: a full disk, a disk that fails, a database that freezes or restarts, two nodes."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import time
from collections.abc import Callable
from contextlib import ExitStack

from tests.serving import LONGEST, LiveServer, Postgres

from .crowd import Crowd
from .places import BACKENDS, live_server, signed_survey


def trouble(
    server: LiveServer,
    begin: Callable[[], object],
    end: Callable[[], object],
    seconds: float,
    refuses: bool = False,
) -> tuple[int, int]:
    """Cause a fault on a server under load and end it; return the numbers of reports and of refusals.

    With `refuses`, the fault lasts until a report was refused.
    """
    survey = signed_survey(f"Troubled {os.urandom(4).hex()}")
    server.store.publish(survey, minimum_batch=50)
    crowd = Crowd(server, survey, clients=6, pause=0.01)
    crowd.wait_for_more(1)
    time.sleep(seconds)
    begin()
    try:
        if refuses:
            crowd.wait_until(lambda: 503 in crowd.statuses)
        time.sleep(seconds)
    finally:
        end()
    # The server recovers without a restart.
    crowd.wait_for_more(20)
    crowd.stop()
    return crowd.check(), crowd.statuses.count(503)


def full_disk(server: LiveServer, seconds: float) -> tuple[int, int]:
    """No file may grow any more, as on a full disk."""
    (worker,) = server.workers
    unlimited = resource.prlimit(worker, resource.RLIMIT_FSIZE)
    return trouble(
        server,
        lambda: resource.prlimit(worker, resource.RLIMIT_FSIZE, (0, resource.RLIM_INFINITY)),
        lambda: resource.prlimit(worker, resource.RLIMIT_FSIZE, unlimited),
        seconds,
        refuses=True,
    )


def broken_disk(server: LiveServer, seconds: float) -> tuple[int, int]:
    """Every write to a file and every fsync of the server fails with EIO for a while, as on a disk that breaks."""
    (worker,) = server.workers
    calls = "fsync,fdatasync,pwrite64"
    failing: list[subprocess.Popen[bytes]] = []

    def begin() -> None:
        command = ["strace", "-qq", "-f", "-o", os.devnull, "-p", str(worker)]
        failing.append(
            subprocess.Popen([*command, "-e", f"trace={calls}", "-e", f"inject={calls}:error=EIO"])
        )

    def end() -> None:
        failing[0].send_signal(signal.SIGINT)
        failing[0].wait(LONGEST)

    return trouble(server, begin, end, seconds, refuses=True)


def frozen(server: LiveServer, cluster: Postgres, seconds: float) -> tuple[int, int]:
    """PostgreSQL's processes stand still for a while."""
    with ExitStack() as ice:
        return trouble(server, lambda: ice.enter_context(cluster.frozen()), ice.close, seconds)


def restarted(server: LiveServer, cluster: Postgres, seconds: float) -> tuple[int, int]:
    """PostgreSQL is killed and comes back after a while."""
    return trouble(server, cluster.stop, cluster.start, seconds)


def two_nodes(first: LiveServer, seconds: float) -> tuple[int, int]:
    """Another node on the same database and key: clients repeat at the other one, and each is killed in turn."""
    home = first.folder / "second"
    home.mkdir()
    second = LiveServer(
        home,
        first.config.database_url,
        SECRET_KEY_FILE=str(first.config.key_path),
        SEAL_EVERY="1",
    )
    second.start()
    survey = signed_survey("Two nodes")
    first.store.publish(survey, minimum_batch=50)
    try:
        crowd = Crowd(first, survey, clients=6, ports=(first.port, second.port))
        for node in (second, first, second):
            crowd.wait_for_more(6)
            time.sleep(seconds)
            node.kill()
            node.start()
        crowd.wait_for_more(6)
        time.sleep(seconds)
        crowd.stop()
        return crowd.check(), crowd.statuses.count(503)
    finally:
        second.close()


def connection_refused(error: Exception) -> bool:
    """Whether a connection was refused, not broken."""
    return isinstance(error, ConnectionRefusedError)


def terminated(server: LiveServer, seconds: float) -> tuple[int, int]:
    """Send SIGTERM under load and start again; every request that was accepted is answered.

    Only new connections are refused, until the server listens again.
    """
    survey = signed_survey("Terminated")
    server.store.publish(survey, minimum_batch=50)
    crowd = Crowd(server, survey, clients=6, allowed=connection_refused)
    crowd.wait_for_more(10)
    time.sleep(seconds)
    server.terminate()
    server.start()
    crowd.wait_for_more(11)
    time.sleep(seconds)
    crowd.stop()
    assert set(crowd.statuses) <= {200, 201}, set(crowd.statuses)
    return crowd.check(), 0


def prove(size: float, cluster: Postgres, tell: Callable[[str], None]) -> str:
    """Go through all of them, on each kind of database where it makes sense."""
    seconds, results = max(0.5, 10 * size), []

    def note(name: str, result: tuple[int, int]) -> None:
        results.append(f"{name} {result[0]:,} reports, {result[1]:,} times 503")
        tell(results[-1])

    with live_server("sqlite", None) as server:
        note("full disk", full_disk(server, seconds))
    with live_server("sqlite", None) as server:
        note("EIO", broken_disk(server, seconds))
    with live_server("postgresql", cluster) as server:
        note("frozen", frozen(server, cluster, seconds))
        note("restarted", restarted(server, cluster, seconds))
        note("two nodes", two_nodes(server, seconds))
    for backend in BACKENDS:
        with live_server(backend, cluster) as server:
            note(f"SIGTERM ({backend})", terminated(server, seconds))
    return "0 lost, 0 doubled, healed alone: " + "; ".join(results)
