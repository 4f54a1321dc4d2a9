"""Compare this tree with an older commit: submitting and reporting, in turns on one machine, as ratios.

    .venv/bin/python bench/against.py [COMMIT] [--runs 5] [--seconds 4] [--size 1000000] [--keep FOLDER]

The older commit is checked out as a worktree with a virtual environment of its own, made from its own pinned
requirements. Each run lets both trees run their own bench/submit.py (SQLite) and bench/report.py, the older one first
in every other run. Printed are the medians and their ratio, as speed: above 1 this tree is faster. Exit status 1 when
a ratio is below .90.
"""

from __future__ import annotations

import argparse
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

HERE = Path(__file__).resolve().parent.parent
LEAST = 0.90
BEFORE = "b2bf6e5"  # before forms, mechanisms and kinds became objects

SUBMITTED = re.compile(r"^sqlite\s+([\d.]+) requests/s", re.MULTILINE)
BATCHED = re.compile(r"^sqlite\s+batch\s+([\d.]+) reports/s", re.MULTILINE)
REPORTED = re.compile(r"^\s*[\d,]+\s+[\d.]+ s\s+([\d.]+) s", re.MULTILINE)


@dataclass
class Tree:
    """One checkout with its environment, and what was measured of it."""

    name: str
    folder: Path
    found: dict[str, list[float]] = field(default_factory=dict)

    def bench(self, script: str, *arguments: str) -> str:
        """Run one of the tree's own benches; its bounds are not ours to judge, so its status is not looked at."""
        python = self.folder / ".venv" / "bin" / "python"
        command = [str(python), f"bench/{script}", *arguments]
        made = subprocess.run(command, cwd=self.folder, capture_output=True, text=True, check=False)
        if not made.stdout.strip():
            sys.exit(
                f"bench/against.py: bench/{script} of {self.name} printed nothing; {made.stderr.strip()}"
            )
        return made.stdout

    def measure(self, seconds: int, size: int) -> None:
        """Run both benches once and keep what they print."""
        submitted = self.bench("submit.py", "--rounds", "1", "--seconds", str(seconds), "--no-postgres")
        reported = self.bench("report.py", "--sizes", str(size))
        values = {
            "submit, requests/s": number(SUBMITTED, submitted),
            "batch, reports/s": number(BATCHED, submitted),
            "report, respondents/s": size / number(REPORTED, reported),
        }
        for name, value in values.items():
            self.found.setdefault(name, []).append(value)


def number(pattern: re.Pattern[str], text: str) -> float:
    """Find the figure in what a bench printed."""
    found = pattern.search(text)
    if found is None:
        sys.exit(f"bench/against.py: nothing like {pattern.pattern!r} in what was printed:\n{text}")
    return float(found[1])


def checked_out(commit: str, folder: Path) -> None:
    """Make the worktree and its environment, unless an earlier run left them."""
    if not (folder / "Makefile").exists():
        subprocess.run(
            ["git", "worktree", "add", "--detach", str(folder), commit],
            cwd=HERE,
            check=True,
            capture_output=True,
        )
    subprocess.run(["make", "--silent", ".venv/.test"], cwd=folder, check=True)


def summary(trees: tuple[Tree, Tree]) -> list[tuple[str, float, float, float]]:
    """Give for each figure the medians of the older and of this tree, and how many times faster this one is."""
    older, this = trees
    rows = []
    for name in this.found:
        before, now = (statistics.median(tree.found[name]) for tree in (older, this))
        rows.append((name, before, now, now / before))
    return rows


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("commit", nargs="?", default=BEFORE)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--seconds", type=int, default=4)
    parser.add_argument("--size", type=int, default=1_000_000)
    parser.add_argument("--keep", type=Path, help="where the older tree stays, so that it is not made again")
    options = parser.parse_args()
    if shutil.which("wrk") is None:
        sys.exit("bench/against.py: wrk is missing; install it (Debian: apt-get install wrk)")
    folder = options.keep or Path(tempfile.mkdtemp(prefix="against")) / "older"
    try:
        checked_out(options.commit, folder)
        trees = (Tree(options.commit, folder), Tree("this tree", HERE))
        for run in range(options.runs):
            for tree in trees if run % 2 == 0 else reversed(trees):
                tree.measure(options.seconds, options.size)
                last = ", ".join(f"{name} {values[-1]:,.0f}" for name, values in tree.found.items())
                print(f"run {run + 1}  {tree.name:10}  {last}", flush=True)
    finally:
        if options.keep is None:
            command = ["git", "worktree", "remove", "--force", str(folder)]
            subprocess.run(command, cwd=HERE, check=False, capture_output=True)
            shutil.rmtree(folder.parent, ignore_errors=True)
    rows = summary(trees)
    print(f"\n{'median of ' + str(options.runs):24} {options.commit:>14} {'this tree':>14} {'ratio':>7}")
    for name, before, now, ratio in rows:
        print(f"{name:24} {before:>14,.0f} {now:>14,.0f} {ratio:>7.2f}")
    return 0 if all(ratio >= LEAST for *_, ratio in rows) else 1


if __name__ == "__main__":
    raise SystemExit(main())
