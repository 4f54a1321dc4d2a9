"""Two nodes on PostgreSQL behind the documented nginx: killed, frozen inside a sealing, and given another clock.

Nothing that was acknowledged is lost or counted twice, no report takes longer than ten seconds from its first attempt,
and no clock closes or deletes anything.
"""

from __future__ import annotations

import datetime
import http.client
import os
import signal
import struct
import time
from collections.abc import Callable
from pathlib import Path

import psycopg
from hushpoll_client import Report
from hushpoll_server.collect import closing, retention
from hushpoll_server.store.surveys import today

from tests.serving import LiveServer, Postgres

from .places import database, signed_survey
from .proxy import BEHIND_A_PROXY, SecureCrowd, proxy

LONGEST_STALL = 10.0
FROZEN_SECONDS = 7.0
"""Longer than PostgreSQL lets a session idle inside a transaction."""
JUMPS = (3 * 86_400.0, -3 * 86_400.0, 7_200.0, 400 * 86_400.0, -120.0)

# Python runs a module of this name at its start: the clock of a node is the machine's and what a file says.
CLOCK = """
import mmap, os, struct, time
with open(os.environ["PROVE_CLOCK"], "r+b") as file:
    shift = mmap.mmap(file.fileno(), 8)
machine = time.time
time.time = lambda: machine() + struct.unpack("d", shift[:8])[0]
"""


class Node(LiveServer):
    """A node whose clock can be set, and which can be frozen."""

    def __init__(self, folder: Path, url: str, name: str, **environment: str) -> None:
        folder.mkdir()
        self.name, self.clock = name, folder / "clock"
        self.clock.write_bytes(struct.pack("d", 0.0))
        (folder / "path").mkdir()
        (folder / "path" / "sitecustomize.py").write_text(CLOCK)
        path = {
            "PYTHONPATH": os.pathsep.join([str(folder / "path"), *os.environ.get("PYTHONPATH", "").split()])
        }
        super().__init__(
            folder,
            f"{url}&application_name={name}",
            **environment,
            **path,
            PROVE_CLOCK=str(self.clock),
        )

    def set_clock(self, seconds: float) -> None:
        """Set the node's clock ahead by this many seconds."""
        with self.clock.open("r+b") as file:
            file.write(struct.pack("d", seconds))

    def signal_all(self, number: int) -> None:
        """Send a signal to all of its processes."""
        assert self.process is not None
        os.killpg(self.process.pid, number)


class TimedCrowd(SecureCrowd):
    """Clients that note how long each report took, from its first attempt to its acknowledgement."""

    def __init__(self, *arguments: object, **options: object) -> None:
        self.begun: dict[str, float] = {}
        self.longest = 0.0
        super().__init__(*arguments, **options)  # type: ignore[arg-type]

    def post(self, report: Report, port: int, number: int) -> int:
        begun = self.begun.setdefault(report.id, time.monotonic())
        status = super().post(report, port, number)
        if status in (200, 201):
            self.longest = max(self.longest, time.monotonic() - begun)
            del self.begun[report.id]
        return status


class Cluster:
    """Two nodes and what is done to them while clients send."""

    def __init__(self, folder: Path, url: str) -> None:
        environment = {**BEHIND_A_PROXY, "SEAL_EVERY": "1"}
        first = Node(folder / "one", url, "node_one", **environment)
        second = Node(
            folder / "two", url, "node_two", **environment, SECRET_KEY_FILE=str(first.config.key_path)
        )
        self.nodes = (first, second)
        self.connection = psycopg.connect(url, autocommit=True, application_name="prove")
        self.frozen_inside = 0

    def start(self) -> None:
        for node in self.nodes:
            node.start()

    def close(self) -> None:
        self.connection.close()
        for node in self.nodes:
            node.close()

    def sealing_node(self, seconds: float) -> Node | None:
        """Return the node that has the inbox for itself at this moment; None where that does not happen soon."""
        query = (
            "SELECT application_name FROM pg_locks JOIN pg_stat_activity USING (pid)"
            " WHERE relation = 'inbox'::regclass AND mode = 'AccessExclusiveLock' AND granted"
        )
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            row = self.connection.execute(query).fetchone()
            if row is not None:
                return next((node for node in self.nodes if node.name == row[0]), None)
        return None

    def freeze(self, turn: int) -> None:
        """Stop a node, while it seals where that can be met, and let it go on after PostgreSQL has given it up."""
        node = self.sealing_node(5.0)
        inside = node is not None
        node = node or self.nodes[turn % 2]
        node.signal_all(signal.SIGSTOP)
        still = self.sealing_node(0.2)
        self.frozen_inside += inside and still is node
        time.sleep(FROZEN_SECONDS)
        node.signal_all(signal.SIGCONT)
        node.wait_for("/healthz", 200)

    def jump(self, turn: int) -> None:
        """Set a node's clock, see that it is left out by its health, and set it right again."""
        node = self.nodes[turn % 2]
        node.set_clock(JUMPS[turn % len(JUMPS)])
        node.wait_for("/healthz", 503)
        time.sleep(2.5)  # two looks of the keeper
        node.set_clock(0.0)
        node.wait_for("/healthz", 200)

    def kill(self, turn: int) -> None:
        node = self.nodes[turn % 2]
        time.sleep(0.2 + 0.037 * (turn % 11))
        node.kill()
        node.start()


def is_cut_answer(error: Exception) -> bool:
    """Return whether an answer broke off: the node was killed after its headers and before its body.

    nginx has passed the headers on by then and cannot ask the other node. Clients treat this as no answer and send the
    same report again; any other broken connection is a problem.
    """
    return isinstance(error, http.client.IncompleteRead)


def survive(folder: Path, url: str, kills: int, freezes: int, jumps: int, tell: Callable[[str], None]) -> str:
    """Kill, freeze and set the clocks of two nodes under load; return what was measured."""
    cluster = Cluster(folder, url)
    try:
        cluster.start()
        first = cluster.nodes[0]
        dated = signed_survey("Due tomorrow")
        first.store.publish(dated)
        closing.close(first.store, dated.hash, on=today() + datetime.timedelta(days=1))
        retention.set_day(first.store, dated.hash, today() + datetime.timedelta(days=2), "prove")
        survey = signed_survey("Two nodes")
        first.store.publish(survey, minimum_batch=50)
        ports = tuple(node.port for node in cluster.nodes)
        with proxy(folder / "nginx", ports) as (secure, _, trust):
            TimedCrowd.trust = trust
            crowd = TimedCrowd(first, survey, clients=6, ports=(secure,), pause=0.01, allowed=is_cut_answer)
            steps = [*[cluster.kill] * kills, *[cluster.freeze] * freezes, *[cluster.jump] * jumps]
            for turn, step in enumerate(steps):
                crowd.wait_for_more(12)
                step(turn)
                tell(f"{turn + 1} of {len(steps)}, longest {crowd.longest:.1f} s")
                assert not crowd.problems, crowd.problems
            crowd.wait_for_more(12)
            crowd.stop()
        reports = crowd.check()
        state = first.store.state(dated.hash)
        assert state is not None
        assert state.is_open, "a clock closed a survey"
        assert retention.keeping_of(first.store, dated.hash).deleted_on is None, "a clock deleted reports"
        assert crowd.longest <= LONGEST_STALL, f"a report took {crowd.longest:.1f} s"
        return (
            f"{kills} kills, {freezes} freezes ({cluster.frozen_inside} inside a sealing), {jumps} clock jumps:"
            f" {reports:,} reports, 0 lost, 0 doubled, longest {crowd.longest:.1f} s"
        )
    finally:
        cluster.close()


def prove(size: float, cluster: Postgres, tell: Callable[[str], None]) -> str:
    """Kill 50 times, freeze 20 times, set a clock 10 times."""
    import tempfile

    counts = [max(1, round(n * size)) for n in (50, 20, 10)]
    with tempfile.TemporaryDirectory(prefix="prove") as folder, database("postgresql", cluster) as url:
        return survive(Path(folder), url, *counts, tell)
