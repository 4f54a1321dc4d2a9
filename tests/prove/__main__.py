"""Run the long harnesses one after the other, with progress: `python -m tests.prove [NAME ...] [--size .1]`."""

from __future__ import annotations

import argparse
import sys
import time
from importlib import import_module

from tests.serving import Postgres

HARNESSES = (
    "kills",
    "faults",
    "proxy",
    "nodes",
    "upgrade",
    "restore",
    "trace",
    "machine",
    "requests",
    "linkage",
    "timing",
    "flood",
    "container",
    "newcomer",
)


class Progress:
    """One line that changes on a terminal; in a file, one line now and then."""

    def __init__(self, name: str) -> None:
        self.name, self.start, self.last = name, time.monotonic(), 0.0

    def __call__(self, state: str) -> None:
        now = time.monotonic()
        if sys.stderr.isatty():
            print(
                f"\r\x1b[K{self.name}: {now - self.start:.0f} s, {state}", end="", file=sys.stderr, flush=True
            )
        elif now - self.last > 30:
            print(f"{self.name}: {now - self.start:.0f} s, {state}", file=sys.stderr, flush=True)
            self.last = now

    def clear(self) -> None:
        """Make room for the result."""
        if sys.stderr.isatty():
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)


def main() -> int:
    """Run what was asked for; status 1 where a promise did not hold."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(HARNESSES)}; all by default")
    parser.add_argument("--size", type=float, default=1.0, help="1 is the whole, .1 a tenth of it")
    options = parser.parse_args()
    if unknown := set(options.names) - set(HARNESSES):
        parser.error(f"there is no harness {', '.join(sorted(unknown))}; choose from {', '.join(HARNESSES)}")
    cluster = Postgres()
    failed, start = 0, time.monotonic()
    try:
        for name in options.names or HARNESSES:
            failed += not _run(name, options.size, cluster)
    finally:
        cluster.close()
    print(f"{(time.monotonic() - start) / 60:.0f} minutes in all", flush=True)
    return 1 if failed else 0


def _run(name: str, size: float, cluster: Postgres) -> bool:
    progress = Progress(name)
    harness = import_module(f"tests.prove.{name}")
    try:
        result = harness.prove(size, cluster, progress)
    except AssertionError as error:
        progress.clear()
        print(f"FAILED  {name}: {error}", flush=True)
        return False
    progress.clear()
    print(f"holds   {name} ({time.monotonic() - progress.start:.0f} s): {result}", flush=True)
    return True


if __name__ == "__main__":
    sys.exit(main())
