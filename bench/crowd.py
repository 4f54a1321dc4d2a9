"""A crowd of phones: all open a survey's page, read, and send within a minute; against static files and a bare route.

    .venv/bin/python bench/crowd.py [--phones 1000] [--seconds 60] [--only hushpoll] [--out docs/data/scale.json]

Each phone comes at a moment of its own, opens six connections as a browser does, loads the page with everything that
it asks for, reads for up to a quarter of the time, and sends one report. The same crowd then meets a server with the
same gunicorn settings that serves the same bytes from files and answers a report with 204, stored nowhere. Printed:
median, 95th percentile and slowest of "page usable" (all requests answered) and of "Sent", the number that failed, and
the processor's seconds of the server. Exit status 1 where a 95th percentile of hushpoll is above 1 s, where anybody
failed, or where a report is missing from the database afterwards.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import re
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from hushpoll_client import Report  # noqa: E402
from kept import keep  # noqa: E402

from tests.serving import LiveServer, make_survey  # noqa: E402

CONNECTIONS = 6
LONGEST = 30.0
MOST_SECONDS = 1.0
SURVEY = make_survey()
PAGE = f"/s/{SURVEY.hash}"
REPORTS = f"/api/surveys/{SURVEY.hash}/reports"
_HEAD = "{} {} HTTP/1.1\r\nHost: 127.0.0.1\r\nAccept: */*\r\nAccept-Encoding: gzip\r\n{}\r\n"
_LINKS = re.compile(r'<(?:link|script)[^>]+(?:src|href)="(/[^"]+)"')

Stream = tuple[asyncio.StreamReader, asyncio.StreamWriter]


@dataclass
class Seen:
    """What the crowd met."""

    usable: list[float] = field(default_factory=list)
    sent: list[float] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)


class Bare(LiveServer):
    """Files and a bare route under the same gunicorn settings."""

    def __init__(self, folder: Path, files: Path, **environment: str) -> None:
        super().__init__(folder, BARE_FILES=str(files), PYTHONPATH=str(HERE), **environment)

    def command(self) -> list[str]:
        return [*super().command(), "bare:create_app()"]


async def ask(stream: Stream, path: str, body: bytes | None = None) -> tuple[bytes, bytes]:
    """Ask for one thing or send a report; give head and body. Anything but success counts as failed."""
    reader, writer = stream
    extra = "" if body is None else f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n"
    writer.write(_HEAD.format("GET" if body is None else "POST", path, extra).encode() + (body or b""))
    head = await reader.readuntil(b"\r\n\r\n")
    if not head.startswith((b"HTTP/1.1 200", b"HTTP/1.1 201", b"HTTP/1.1 204")):
        raise OSError(head.split(b"\r\n")[0].decode())
    length = re.search(rb"(?i)content-length: (\d+)", head)
    return head, await reader.readexactly(int(length[1]) if length else 0)


async def phone(port: int, wanted: list[str], begin: float, read: float, seen: Seen) -> None:
    """Open the page, read, send."""
    await asyncio.sleep(begin)
    streams: list[Stream] = []
    try:
        start = time.perf_counter()
        streams.append(await asyncio.open_connection("127.0.0.1", port))
        await asyncio.wait_for(ask(streams[0], wanted[0]), LONGEST)
        streams += [await asyncio.open_connection("127.0.0.1", port) for _ in range(CONNECTIONS - 1)]
        left = list(wanted[1:])

        async def fetch(stream: Stream) -> None:
            while left:
                await ask(stream, left.pop(0))

        await asyncio.wait_for(asyncio.gather(*(fetch(stream) for stream in streams)), LONGEST)
        seen.usable.append(time.perf_counter() - start)
        await asyncio.sleep(read)
        body = Report.new(SURVEY, [0, 0, 0]).to_bytes()
        start = time.perf_counter()
        try:
            await asyncio.wait_for(ask(streams[0], REPORTS, body), LONGEST)
        except (asyncio.IncompleteReadError, ConnectionError):
            # The server let an idle connection go; a browser opens another.
            streams.append(await asyncio.open_connection("127.0.0.1", port))
            await asyncio.wait_for(ask(streams[-1], REPORTS, body), LONGEST)
        seen.sent.append(time.perf_counter() - start)
    except (OSError, EOFError, TimeoutError) as error:
        seen.failed.append(f"{type(error).__name__} {error}")
    finally:
        for _, writer in streams:
            writer.close()


async def crowd(port: int, wanted: list[str], phones: int, seconds: float) -> Seen:
    """Let the phones come, each at its own moment; the last one has time to read."""
    generator, seen = np.random.default_rng(1), Seen()
    reading = seconds / 4
    moments = zip(
        generator.uniform(0, seconds - reading, phones), generator.uniform(1, reading, phones), strict=True
    )
    tasks = [phone(port, wanted, begin, read, seen) for begin, read in moments]
    await asyncio.wait_for(asyncio.gather(*tasks), seconds + 4 * LONGEST)
    return seen


async def discover(port: int, folder: Path) -> list[str]:
    """Load the page once; give all that it asks for, and keep the very bytes for the bare server."""
    stream = await asyncio.open_connection("127.0.0.1", port)
    reader, writer = stream
    writer.write(_HEAD.replace("gzip", "identity").format("GET", PAGE, "").encode())
    head = await reader.readuntil(b"\r\n\r\n")
    length = re.search(rb"(?i)content-length: (\d+)", head)
    assert length is not None
    page = (await reader.readexactly(int(length[1]))).decode()
    wanted = [PAGE, *dict.fromkeys(_LINKS.findall(page))]
    assert f"/api/surveys/{SURVEY.hash}" in wanted, "the page does not name its document"
    index = {}
    for number, path in enumerate(wanted):
        head, body = await ask(stream, path)
        (folder / str(number)).write_bytes(body)
        fields = dict(re.findall(r"(?im)^(content-type|content-encoding): ([^\r]+)", head.decode()))
        index[path] = [str(number), {name.lower(): value for name, value in fields.items()}]
    (folder / "index.json").write_text(json.dumps(index))
    writer.close()
    return wanted


def processor_seconds(server: LiveServer) -> float:
    """What the server's processes have used so far."""
    assert server.process is not None
    ticks = 0
    for pid in (server.process.pid, *server.workers):
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        ticks += int(fields[11]) + int(fields[12])
    return ticks / os.sysconf("SC_CLK_TCK")


def say(name: str, seen: Seen, used: float) -> dict[str, float]:
    """Print two lines of figures; give the 95th percentiles."""
    found = {}
    for what, taken in (("page usable", seen.usable), ("Sent", seen.sent)):
        if not taken:
            print(f"{name:9} {what:12} nobody")
            found[what] = float("inf")
            continue
        middle, p95 = np.quantile(taken, [0.5, 0.95])
        found[what] = float(p95)
        print(
            f"{name:9} {what:12} median {middle:6.3f} s  p95 {p95:6.3f} s  slowest {max(taken):6.3f} s"
            f"  failed {len(seen.failed)}",
            flush=True,
        )
    print(f"{name:9} used {used:.1f} s of the processor")
    for problem in sorted(set(seen.failed))[:5]:
        print(f"  {problem}")
    return found


def main() -> int:
    """Let the crowd meet both servers."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--phones", type=int, default=1000)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--out", type=Path, help="write the figures into this file of measurements")
    parser.add_argument("--only", choices=["hushpoll"], help="leave the bare server out")
    given = parser.parse_args()
    problems = []
    with tempfile.TemporaryDirectory(prefix="crowd") as name:
        folder = Path(name)
        for part in ("ours", "bare", "files"):
            (folder / part).mkdir()
        server = LiveServer(folder / "ours", THREADS="32")
        try:
            server.store.publish(SURVEY)
            server.start()
            wanted = asyncio.run(discover(server.port, folder / "files"))
            print(
                f"{given.phones:,} phones, {len(wanted)} requests each and one report, {given.seconds:.0f} s"
            )
            before = processor_seconds(server)
            seen = asyncio.run(crowd(server.port, wanted, given.phones, given.seconds))
            used = processor_seconds(server) - before
            ours = say("hushpoll", seen, used)
            figures = {"visit_processor_ms": 1000 * used / given.phones}
            figures |= {"usable_p95_s": ours["page usable"], "sent_p95_s": ours["Sent"]}
            keep(given.out, "crowd", figures)
            stored = server.store.count(SURVEY.hash)
        finally:
            server.close()
        problems += [
            f"{what}: {p95:.2f} s, more than {MOST_SECONDS} s"
            for what, p95 in ours.items()
            if p95 > MOST_SECONDS
        ]
        if seen.failed:
            problems.append(f"{len(seen.failed)} phones failed")
        if stored != len(seen.sent):
            problems.append(f"{len(seen.sent):,} were told Sent, {stored:,} are stored")
        if given.only is None:
            bare = Bare(folder / "bare", folder / "files", THREADS="32")
            try:
                bare.start()
                used = processor_seconds(bare)
                least = asyncio.run(crowd(bare.port, wanted, given.phones, given.seconds))
                theirs = say("bare", least, processor_seconds(bare) - used)
            finally:
                bare.close()
            for what, p95 in ours.items():
                print(f"{what}: p95 {p95 / theirs[what]:.2f} of bare")
    for problem in problems:
        print(problem, file=sys.stderr)
    return 1 if problems else 0


if __name__ == "__main__":
    raise SystemExit(main())
