"""Time the start: `hushpoll --help` beside `import flask`, and `hushpoll serve` until it answers.

    .venv/bin/python bench/start.py [--rounds 7] [--out docs/data/scale.json]

In turns, the best of several rounds, each in a fresh process with bytecode cached. Printed too: what the packages of
this environment that hushpoll itself needs take on the disk. Exit status 1 where --help takes more than 1.5 times
`import flask`, or a start (of a data folder that exists) more than 1.5 s.
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

MOST_HELP, MOST_START = 1.5, 1.5
_HELP = "from hushpoll_server.cli import main; main(['--help'])"


def seconds_of(code: str) -> float:
    """Give the seconds of a fresh interpreter that runs this."""
    start = time.perf_counter()
    subprocess.run([sys.executable, "-c", code], check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - start


def start_server(folder: str) -> float:
    """Give the seconds until `hushpoll serve` answers; end it again."""
    environment = {**os.environ, "DATA": folder, "PORT": "0", "HOST": "127.0.0.1", "WORKERS": "1"}
    code = "from hushpoll_server.cli import main; main(['serve'])"
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
    """Give what hushpoll's own requirements, and theirs, take on the disk."""
    found: dict[str, int] = {}
    waiting = ["hushpoll"]
    while waiting:
        name = waiting.pop()
        if name in found:
            continue
        try:
            one = distribution(name)
        except PackageNotFoundError:
            continue
        files = one.files or []
        found[name] = sum(
            Path(str(file.locate())).stat().st_size for file in files if Path(str(file.locate())).is_file()
        )
        for text in one.requires or []:
            # Extras are not of the plain install, but for those that a requirement names itself.
            if "extra ==" not in text or name == "psycopg":
                waiting.append(re.split(r"[^A-Za-z0-9._-]", text, maxsplit=1)[0].lower())
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
    print(f"installed, with all that it needs: {size:.0f} MB")
    keep(given.out, "start", {"help_ratio": ratio, "start_seconds": min(starts), "installed_mb": size})
    problems = []
    if ratio > MOST_HELP:
        problems.append(f"--help takes {ratio:.2f} of import flask, more than {MOST_HELP}")
    if min(starts) > MOST_START:
        problems.append(f"a start takes {min(starts):.2f} s, more than {MOST_START} s")
    for problem in problems:
        print(problem, file=sys.stderr)
    return 1 if problems else 0


if __name__ == "__main__":
    raise SystemExit(main())
