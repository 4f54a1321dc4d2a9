"""Durable submission against a bare Flask route: ratios inside one run, interleaved rounds, wrk with 32 connections.

    .venv/bin/python bench/submit.py [--rounds 5] [--seconds 4] [--no-postgres] [--out docs/data/scale.json]

Prints for SQLite and PostgreSQL the throughput and the 99th percentile beside those of the bare route, the batch
ingest beside a plain executemany, and the memory of a worker that only collects. Needs wrk. Exit status 1 where SQLite
stays below .90 of bare or PostgreSQL below .80, or a 99th percentile above 1.0 and 1.2 times bare's.
"""

from __future__ import annotations

import argparse
import os
import re
import secrets
import shutil
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from hushpoll_client import Report  # noqa: E402
from hushpoll_server.collect import closing  # noqa: E402
from kept import keep  # noqa: E402

from tests.serving import LiveServer, Postgres, bearer, make_survey  # noqa: E402

CONNECTIONS = 32
# At least so much of the bare route's throughput, and at most so many times its 99th percentile.
LIMITS = {"sqlite": (0.90, 1.0), "postgresql": (0.80, 1.2)}
SURVEY = make_survey()


class Bare(LiveServer):
    """The bare route under the same gunicorn settings."""

    def __init__(self, folder: Path, **environment: str) -> None:
        super().__init__(
            folder, BARE_DATABASE=str(folder / "plain.sqlite3"), PYTHONPATH=str(HERE), **environment
        )

    def command(self) -> list[str]:
        return [*super().command(), "bare:create_app()"]


def wrk(url: str, seconds: int) -> tuple[float, float]:
    """Requests per second and the 99th percentile in milliseconds; any failed request ends the bench."""
    command = ["wrk", "-t2", f"-c{CONNECTIONS}", f"-d{seconds}s", "--latency", "-s", str(HERE / "submit.lua")]
    path = f"{url}/api/surveys/{SURVEY.hash}/reports"
    text = subprocess.run([*command, path], capture_output=True, text=True, check=True).stdout
    found = re.search(r"RESULT (\d+) (\d+) ([\d.]+) (\d+)", text)
    assert found, text
    requests, microseconds, p99, errors = map(float, found.groups())
    assert not errors, text
    return requests / microseconds * 1e6, p99


def batch(server: LiveServer, query: str = "", reports: int = 10_000) -> float:
    """Reports per second of one batch."""
    blank = Report.new(SURVEY, [0, 0, 0]).reports
    lines = [Report(secrets.token_hex(16), blank).to_bytes() for _ in range(reports)]
    request = urllib.request.Request(
        f"{server.url}/api/surveys/{SURVEY.hash}/reports/batch{query}",
        b"\n".join(lines),
        {"Content-Type": "application/x-ndjson", **bearer(server.store)},
    )
    start = time.perf_counter()
    urllib.request.urlopen(request, timeout=60).close()
    return reports / (time.perf_counter() - start)


def memory(server: LiveServer) -> float:
    """Resident memory of the largest worker in MB."""
    sizes = []
    for worker in server.workers:
        status = Path(f"/proc/{worker}/status").read_text()
        sizes.append(int(re.search(r"VmRSS:\s+(\d+)", status)[1]) / 1024)  # type: ignore[index]
    return max(sizes)


def main() -> None:
    """Run the rounds and print the ratios."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=int, default=4)
    parser.add_argument("--no-postgres", action="store_true")
    parser.add_argument("--out", type=Path, help="write the figures into this file of measurements")
    options = parser.parse_args()
    if shutil.which("wrk") is None:
        sys.exit("bench/submit.py: wrk is missing; install it (Debian: apt-get install wrk)")
    folder = Path(tempfile.mkdtemp(prefix="bench"))
    cluster = None if options.no_postgres else Postgres(fsync=True)
    # As `hushpoll serve` sets them, for all alike.
    common = {key: os.environ[key] for key in ("WORKERS", "THREADS") if key in os.environ} or {
        "THREADS": "32"
    }
    servers: dict[str, LiveServer] = {}
    try:
        for name in ("bare", "sqlite", "postgresql"):
            (folder / name).mkdir()
        plain = {} if cluster is None else {"BARE_POSTGRES": cluster.dsn("postgres")}
        servers["bare"] = Bare(folder / "bare", **plain, **common)
        servers["sqlite"] = LiveServer(folder / "sqlite", **common)
        if cluster is not None:
            url = cluster.create("bench", "migrated")
            servers["postgresql"] = LiveServer(folder / "postgresql", url, **common)
        for server in servers.values():
            server.store.publish(SURVEY)
            server.start()
            wrk(server.url, 1)
        problems, figures = run(servers, options.rounds, options.seconds)
        keep(options.out, "submit", figures)
    finally:
        for server in servers.values():
            server.close()
        if cluster is not None:
            cluster.close()
        shutil.rmtree(folder)
    for problem in problems:
        print(problem, file=sys.stderr)
    sys.exit(bool(problems))


def bytes_each(server: LiveServer) -> float:
    """Close the survey, so that all is sealed; give the database's bytes for a report."""
    closing.close(server.store, SURVEY.hash)
    server.store.database.truncate_wal()
    with sqlite3.connect(server.store.database.path) as connection:
        connection.execute("VACUUM")
    connection.close()
    return server.store.database.path.stat().st_size / server.store.sealed_count(SURVEY.hash)


def used(server: LiveServer) -> float:
    """Give the processor's seconds of a server's processes so far."""
    assert server.process is not None
    ticks = 0
    for pid in (server.process.pid, *server.workers):
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        ticks += int(fields[11]) + int(fields[12])
    return ticks / os.sysconf("SC_CLK_TCK")


def run(servers: dict[str, LiveServer], rounds: int, seconds: int) -> tuple[list[str], dict[str, float]]:
    """Let all take turns, so that a noisy machine is noisy for all of them; give what falls short, and figures."""
    cost: dict[str, list[float]] = {name: [] for name in servers}
    speed: dict[str, list[float]] = {name: [] for name in servers}
    p99: dict[str, list[float]] = {name: [] for name in servers}
    batches: dict[str, list[tuple[float, float]]] = {name: [] for name in servers}
    for number in range(rounds):
        for name, server in servers.items():
            before = used(server)
            requests, slow = wrk(server.url, seconds)
            cost[name].append(1e6 * (used(server) - before) / (requests * seconds))
            speed[name].append(requests)
            p99[name].append(slow)
            print(
                f"round {number + 1}  {name:10}  {requests:7.0f} requests/s  p99 {slow:6.1f} ms", flush=True
            )
        for name in servers:
            if name != "bare":
                plain = batch(servers["bare"], f"?{name}")
                batches[name].append((batch(servers[name]), plain))
    print()
    problems, figures = [], {}
    for name in servers:
        ratio = statistics.median(a / b for a, b in zip(speed[name], speed["bare"], strict=True))
        slower = statistics.median(a / b for a, b in zip(p99[name], p99["bare"], strict=True))
        print(
            f"{name:10}  {statistics.median(speed[name]):6.0f} requests/s = {ratio:4.2f} of bare"
            f"  p99 {statistics.median(p99[name]):6.1f} ms = {slower:4.2f} x bare"
            f"  {statistics.median(cost[name]):4.0f} us of the processor each"
            f"  worker {memory(servers[name]):5.1f} MB"
        )
        figures |= {
            f"{name}_per_second": statistics.median(speed[name]),
            f"{name}_of_bare": ratio,
            f"{name}_p99_of_bare": slower,
            f"{name}_processor_us": statistics.median(cost[name]),
        }
        least, most = LIMITS.get(name, (0.0, float("inf")))
        if ratio < least:
            problems.append(f"{name}: {ratio:.2f} of bare, less than {least:.2f}")
        if slower > most:
            problems.append(f"{name}: a 99th percentile of {slower:.2f} x bare, more than {most:.1f}")
    for name, pairs in batches.items():
        if pairs:
            ingest = statistics.median(a / b for a, b in pairs)
            print(
                f"{name:10}  batch {statistics.median(a for a, _ in pairs):6.0f} reports/s"
                f" = {ingest:4.2f} of executemany"
            )
    figures["sqlite_bytes_each"] = bytes_each(servers["sqlite"])
    print(
        f"sqlite      {figures['sqlite_bytes_each']:.0f} bytes on the disk for a sealed report of three questions"
    )
    return problems, figures


if __name__ == "__main__":
    main()
