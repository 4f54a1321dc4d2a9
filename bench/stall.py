"""Page loads while others hold connections open: silent ones, dripping ones, preconnected ones.

    .venv/bin/python bench/stall.py [--silent 500] [--dripping 200] [--heavy 200] [--visitors 150] [--seconds 10]

Visitors come evenly over the seconds, once while nobody disturbs and once beside the crowd. Each loads the respondent's
page with everything it asks for, as a browser does: over six connections, and with one more that is never used.
"""

from __future__ import annotations

import argparse
import asyncio
import re
import statistics
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from tests.serving import LiveServer, make_survey

CONNECTIONS = 6
DRIP_SECONDS = 5.0
LONGEST = 60.0
# What visitors beside the crowd must get.
MEDIAN_GOAL, P99_GOAL = 0.5, 2.0
_HEAD = "GET {} HTTP/1.1\r\nHost: 127.0.0.1\r\nAccept: */*\r\nAccept-Encoding: gzip\r\n\r\n"
_LINKS = re.compile(r'(?:src|href)="(/static/[^"]+)"')

Stream = tuple[asyncio.StreamReader, asyncio.StreamWriter]


async def get(stream: Stream, path: str) -> bytes:
    """Ask for one thing; anything but 200 counts as failed."""
    reader, writer = stream
    writer.write(_HEAD.format(path).encode())
    head = await reader.readuntil(b"\r\n\r\n")
    if not head.startswith(b"HTTP/1.1 200"):
        raise OSError(head.split(b"\r\n")[0].decode())
    length = re.search(rb"(?i)content-length: (\d+)", head)
    return await reader.readexactly(int(length[1]) if length else 0)


async def load(port: int, survey_hash: str) -> float:
    """Load the page with all that it asks for; give the seconds."""
    start = time.perf_counter()
    streams = [await asyncio.open_connection("127.0.0.1", port) for _ in range(CONNECTIONS + 1)]
    try:
        # Plain text is easier to look through than what a browser would get.
        reader, writer = streams[0]
        writer.write(_HEAD.replace("gzip", "identity").format(f"/s/{survey_hash}").encode())
        head = await reader.readuntil(b"\r\n\r\n")
        length = re.search(rb"(?i)content-length: (\d+)", head)
        page = (await reader.readexactly(int(length[1]) if length else 0)).decode()
        wanted = [*dict.fromkeys(_LINKS.findall(page)), f"/api/surveys/{survey_hash}"]

        async def fetch(stream: Stream) -> None:
            while wanted:
                await get(stream, wanted.pop(0))

        # The last connection stays unused, like a browser's preconnect.
        await asyncio.gather(*(fetch(stream) for stream in streams[:CONNECTIONS]))
        return time.perf_counter() - start
    finally:
        for _, writer in streams:
            writer.close()


async def visit(port: int, survey_hash: str, visitors: int, seconds: float) -> tuple[list[float], int]:
    """Let visitors come one after the other; give the times of those who succeeded and the number of the others."""

    async def one(number: int) -> float | None:
        await asyncio.sleep(number * seconds / visitors)
        try:
            return await asyncio.wait_for(load(port, survey_hash), LONGEST)
        except (OSError, EOFError, TimeoutError):
            return None

    times = await asyncio.gather(*(one(number) for number in range(visitors)))
    good = sorted(taken for taken in times if taken is not None)
    return good, visitors - len(good)


class Crowd(NamedTuple):
    """What somebody who holds a connection open sends: a beginning at once, then byte after byte with a pause."""

    beginning: bytes
    rest: bytes
    pause: float


_BEGUN = b"POST / HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Slow: "
SILENT = Crowd(b"", b"", DRIP_SECONDS)
DRIPPING = Crowd(b"", _BEGUN + b"a" * 1000, DRIP_SECONDS)
# Headers as long as they may be, and as tedious to read, then a body in single bytes.
_TEDIOUS = b"\r\nContent-Length:" + b" " * 30_000 + b"x"
HEAVY = Crowd(_BEGUN + _TEDIOUS + b"\r\nContent-Length: 5000\r\n\r\n", b"a" * 4000, 0.05)


async def hold(port: int, crowd: Crowd) -> None:
    """Hold a connection open as one of a crowd; come back when thrown out."""
    while True:
        with suppress(OSError):
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            try:
                writer.write(crowd.beginning)
                for byte in crowd.rest or bytes(1000):
                    if crowd.rest:
                        writer.write(bytes([byte]))
                    with suppress(TimeoutError):
                        if not await asyncio.wait_for(reader.read(4096), crowd.pause):
                            break
            finally:
                writer.close()


def say(name: str, times: list[float], failed: int) -> None:
    """Print one line of figures."""
    if not times:
        print(f"{name:44}  nobody got the page, failed {failed}", flush=True)
        return
    p99 = times[min(len(times) - 1, int(0.99 * len(times)))]
    print(
        f"{name:44}  median {statistics.median(times):6.3f} s  p99 {p99:6.3f} s"
        f"  slowest {times[-1]:6.3f} s  failed {failed}",
        flush=True,
    )


def missed(times: list[float], failed: int) -> list[str]:
    """Name what is beyond the goal."""
    if not times:
        return ["nobody got the page"]
    p99 = times[min(len(times) - 1, int(0.99 * len(times)))]
    return [
        words
        for words, is_missed in (
            (f"median over {MEDIAN_GOAL} s", statistics.median(times) > MEDIAN_GOAL),
            (f"p99 over {P99_GOAL} s", p99 > P99_GOAL),
            (f"{failed} failed", failed > 0),
        )
        if is_missed
    ]


async def run(server: LiveServer, survey_hash: str, options: argparse.Namespace) -> list[str]:
    """Measure without and with the crowd; give what was missed of the goal."""
    await load(server.port, survey_hash)
    quiet = await visit(server.port, survey_hash, options.visitors, options.seconds)
    say(f"{options.visitors} visitors alone", *quiet)
    kinds = [SILENT] * options.silent + [DRIPPING] * options.dripping + [HEAVY] * options.heavy
    crowd = [asyncio.create_task(hold(server.port, kind)) for kind in kinds]
    await asyncio.sleep(2)
    beside = await visit(server.port, survey_hash, options.visitors, options.seconds)
    say(f"beside {options.silent} silent, {options.dripping} dripping, {options.heavy} heavy", *beside)
    for task in crowd:
        task.cancel()
    await asyncio.gather(*crowd, return_exceptions=True)
    if quiet[0] and beside[0]:
        print(f"median {statistics.median(beside[0]) / statistics.median(quiet[0]):.2f} x alone")
    return missed(*beside)


def main() -> int:
    """Start a server as `hushpoll serve` does and measure it; status 1 where the goal is missed."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--silent", type=int, default=500)
    parser.add_argument("--dripping", type=int, default=200)
    parser.add_argument("--heavy", type=int, default=200)
    parser.add_argument("--visitors", type=int, default=150)
    parser.add_argument("--seconds", type=float, default=10.0)
    options = parser.parse_args()
    survey = make_survey()
    with tempfile.TemporaryDirectory(prefix="bench") as folder:
        server = LiveServer(Path(folder), THREADS="32")
        try:
            server.store.publish(survey)
            server.start()
            wrong = asyncio.run(run(server, survey.hash, options))
        finally:
            server.close()
    for words in wrong:
        print(f"MISSED: {words}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
