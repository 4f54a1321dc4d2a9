"""Time the start: `hushpoll --help` beside `import flask`, and `hushpoll serve` until it answers.

    .venv/bin/python bench/start.py [--rounds 7] [--out docs/data/scale.json]

In turns, the best of several rounds, each in a fresh process with bytecode cached. Printed too: what the packages
that hushpoll itself needs take on the disk, without its extras and whatever else is in this environment. Exit status 1
where --help takes more than 1.5 times `import flask`, a start (of a data folder that exists) more than 1.5 s, a plain
install more than 640 MB.
"""

from __future__ import annotations

import argparse
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

from kept import keep
from packaging.requirements import Requirement

MOST_HELP, MOST_START = 1.5, 1.5
MOST_MEGABYTES = 640
_HELP = "from hushpoll_client.cli import main; main(['--help'])"


def seconds_of(code: str) -> float:
    """Give the seconds of a fresh interpreter that runs this."""
    start = time.perf_counter()
    subprocess.run([sys.executable, "-c", code], check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - start


def start_server(folder: str) -> float:
    """Give the seconds until `hushpoll serve` answers; end it again."""
    environment = {**os.environ, "DATA": folder, "PORT": "0", "HOST": "127.0.0.1", "WORKERS": "1"}
    code = "from hushpoll_client.cli import main; main(['serve'])"
    start = time.perf_counter()
    process = subprocess.Popen(
        [sys.executable, "-c", code],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        start_new_session=True,
    )
    try:
        assert process.stdout is not None
        address = re.search(r"http://[^/]+", process.stdout.readline())
        assert address is not None
        while time.perf_counter() - start < 60:
            with suppress(urllib.error.URLError, OSError):
                urllib.request.urlopen(f"{address[0]}/healthz", timeout=10).close()
                return time.perf_counter() - start
            time.sleep(0.01)
        raise TimeoutError("the server does not answer")
    finally:
        os.killpg(process.pid, signal.SIGTERM)
        process.wait(30)


def installed_megabytes() -> float:
    """Give what hushpoll and its requirements take on the disk: a plain install, whatever else is here."""
    found: dict[str, int] = {}
    waiting: list[tuple[str, set[str]]] = [("hushpoll", set())]
    while waiting:
        name, extras = waiting.pop()
        if name in found:
            continue
        try:
            one = distribution(name)
        except PackageNotFoundError:
            continue
        places = [Path(str(file.locate())) for file in one.files or []]
        found[name] = sum(place.stat().st_size for place in places if place.is_file())
        for wanted in map(Requirement, one.requires or []):
            # Extras are not of the plain install, but for those that a requirement names itself.
            asked = [{"extra": extra} for extra in (extras or {""})]
            if wanted.marker is None or any(map(wanted.marker.evaluate, asked)):
                waiting.append((wanted.name.lower(), set(wanted.extras)))
    return sum(found.values()) / 1e6


def main() -> int:
    """Measure all three."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--out", type=Path, help="write the figures into this file of measurements")
    given = parser.parse_args()
    helps, flasks, starts = [], [], []
    with tempfile.TemporaryDirectory(prefix="start") as folder:
        start_server(folder)  # makes the demo survey and the bytecode
        for _ in range(given.rounds):
            flasks.append(seconds_of("import flask"))
            helps.append(seconds_of(_HELP))
            starts.append(start_server(folder))
    ratio, size = min(helps) / min(flasks), installed_megabytes()
    print(f"import flask {min(flasks):.3f} s   hushpoll --help {min(helps):.3f} s = {ratio:.2f} of it")
    print(f"hushpoll serve answers after {min(starts):.2f} s (slowest {max(starts):.2f} s)")
    print(f"installed, with all that it needs and no extra: {size:.0f} MB of {MOST_MEGABYTES} MB")
    keep(given.out, "start", {"help_ratio": ratio, "start_seconds": min(starts), "installed_mb": size})
    problems = []
    if ratio > MOST_HELP:
        problems.append(f"--help takes {ratio:.2f} of import flask, more than {MOST_HELP}")
    if min(starts) > MOST_START:
        problems.append(f"a start takes {min(starts):.2f} s, more than {MOST_START} s")
    if size > MOST_MEGABYTES:
        problems.append(f"a plain install takes {size:.0f} MB, more than {MOST_MEGABYTES} MB")
    for problem in problems:
        print(problem, file=sys.stderr)
    return 1 if problems else 0


if __name__ == "__main__":
    raise SystemExit(main())
