"""A backup made under load on one host is restored on another, in its own network.

Every report that was acknowledged before the backup is known there; those that came after it are taken when their
devices send them again. Needs root and network namespaces.
"""

from __future__ import annotations

import contextlib
import ctypes
import http.client
import os
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from hushpoll_client import Report

from tests.serving import LONGEST, LiveServer, Postgres

from .crowd import Crowd
from .places import BACKENDS, live_server, signed_survey

PORT = 8000
_CLONE_NEWNET = 0x40000000
_PROGRAM = "import sys; from hushpoll_client.cli import main; main(sys.argv[1:])"


class Host:
    """Another host: its network has its own loopback, which the first host's servers cannot be reached on."""

    def __init__(self, folder: Path) -> None:
        self.data = folder / "data"
        self.data.mkdir(parents=True, mode=0o700)
        self.network = f"restore-{secrets.token_hex(3)}"
        self.environment = {name: value for name, value in os.environ.items() if name != "DATABASE_URL"}
        self.environment |= {"DATA": str(self.data), "PORT": str(PORT)}
        subprocess.run(["ip", "netns", "add", self.network], check=True)
        subprocess.run(["ip", "netns", "exec", self.network, "ip", "link", "set", "lo", "up"], check=True)

    def start(self, *arguments: str) -> subprocess.Popen[str]:
        """Start a command there."""
        return subprocess.Popen(
            ["ip", "netns", "exec", self.network, sys.executable, "-c", _PROGRAM, *arguments],
            env=self.environment,
            cwd=self.data.parent,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def run(self, *arguments: str) -> str:
        """Run a command there."""
        process = self.start(*arguments)
        output = process.communicate(timeout=LONGEST)[0]
        assert process.returncode == 0, output
        return output

    def connect(self) -> socket.socket:
        """Return a connection to its server; a socket belongs to the network of the thread that makes it."""
        connections: list[socket.socket | OSError] = []

        def work() -> None:
            libc = ctypes.CDLL(None, use_errno=True)
            with open(f"/run/netns/{self.network}") as namespace:
                assert libc.setns(namespace.fileno(), _CLONE_NEWNET) == 0, os.strerror(ctypes.get_errno())
            try:
                connections.append(socket.create_connection(("127.0.0.1", PORT), LONGEST))
            except OSError as error:
                connections.append(error)

        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
        if isinstance(connections[0], OSError):
            raise connections[0]
        return connections[0]

    def request(self, method: str, path: str, body: bytes | None = None) -> int:
        """Ask its server; return the status."""
        connection = http.client.HTTPConnection("127.0.0.1", PORT, timeout=LONGEST)
        connection.sock = self.connect()
        try:
            connection.request(method, path, body, {"Content-Type": "application/json"})
            answer = connection.getresponse()
            answer.read()
            return answer.status
        finally:
            connection.close()

    def close(self) -> None:
        listed = subprocess.run(["ip", "netns", "pids", self.network], capture_output=True, text=True)
        for pid in listed.stdout.split():
            with contextlib.suppress(ProcessLookupError):
                os.kill(int(pid), signal.SIGKILL)
        subprocess.run(["ip", "netns", "delete", self.network], check=False)


@contextlib.contextmanager
def another_host(folder: Path) -> Iterator[Host]:
    """Have another host until the end of the block."""
    host = Host(folder)
    try:
        yield host
    finally:
        host.close()


@contextlib.contextmanager
def serving(host: Host) -> Iterator[None]:
    """Let the host serve until the end of the block."""
    process = host.start("serve")
    try:
        deadline = time.monotonic() + LONGEST
        while True:
            with contextlib.suppress(OSError):
                if host.request("GET", "/readyz") == 200:
                    break
            assert process.poll() is None, process.communicate()[0]
            assert time.monotonic() < deadline, "the other host is never ready"
            time.sleep(0.1)
        yield
    finally:
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=LONGEST)


def move(server: LiveServer, folder: Path, reports: int) -> str:
    """Back a server up under load, restore on another host, and let every device send its report again."""
    survey = signed_survey("Moved to another host")
    server.store.publish(survey, minimum_batch=50)
    crowd = Crowd(server, survey, clients=6, pause=0.01)
    crowd.wait_for_more(reports)
    before = list(crowd.acknowledged)
    file = folder / "backup"
    environment = {**server.environment, "LANG": "C.UTF-8"}
    backup = subprocess.run(
        [sys.executable, "-c", _PROGRAM, "backup", str(file)], env=environment, capture_output=True, text=True
    )
    assert backup.returncode == 0, backup.stderr
    crowd.wait_for_more(reports)
    crowd.stop()
    after = [report for report in crowd.acknowledged if report not in before]
    with another_host(folder / "host") as host:
        shutil.copy(server.config.key_path, host.data / "secret.key")
        host.run("restore", str(file))
        with serving(host):
            sent = [_send(host, survey.hash, report) for report in before]
            assert set(sent) == {200}, f"{len(sent) - sent.count(200)} reports are lost in the backup"
            again = [_send(host, survey.hash, report) for report in after]
            assert set(again) <= {200, 201}, set(again)
            twice = {_send(host, survey.hash, report) for report in after}
            assert twice == {200}, twice
    return f"{len(before):,} reports before the backup, {len(after):,} after it"


def _send(host: Host, survey_hash: str, report: Report) -> int:
    return host.request("POST", f"/api/surveys/{survey_hash}/reports", report.to_bytes())


def prove(size: float, cluster: Postgres, tell: Callable[[str], None]) -> str:
    """Move from each kind of database to SQLite."""
    assert os.getuid() == 0, "a network namespace needs root"
    moved = []
    for backend in BACKENDS:
        tell(backend)
        with (
            tempfile.TemporaryDirectory(prefix="prove") as folder,
            live_server(backend, cluster, SEAL_EVERY="1") as server,
        ):
            moved.append(f"{backend}: {move(server, Path(folder), max(60, round(400 * size)))}")
    return "restored on another host, 0 lost, 0 doubled; " + "; ".join(moved)
