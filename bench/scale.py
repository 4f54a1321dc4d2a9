"""Count many Parquet parts through our table of questions, against DuckDB's own GROUP BY on the same files, in one run.

    python bench/scale.py [--sizes 1000000,10000000] [--rounds 5] [--folder DIR]

For each number of respondents, parts with 10 questions are written as `hushpoll export --parts` writes them (codes at
random). Then, in turns, of which the best counts:

bare    DuckDB counts each column by SQL (nothing is checked, nothing is looked up)
report  hushpoll finds the parts, checks that they are of this survey, counts through Ibis on DuckDB, checks every code

Printed: seconds, the ratio, the peak of memory of a process that counts once, bytes on disk for a report, and the time
for a respondent from size to size. Exit status 1 when the ratio at the last size is above 1.2.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import duckdb
import numpy as np
from hushpoll_analysis.sample.parts import ROWS, tally_parts, write_parts
from hushpoll_client import Survey
from kept import keep
from report import ten_questions
from tqdm import tqdm

MOST_RATIO = 1.2
BLOCK = 1_000_000


def write(survey: Survey, n: int, folder: Path) -> int:
    """Write the parts from made-up records, in constant memory, unless they are there; give the bytes they take."""
    there = list(folder.glob("part-*.parquet"))
    if there and len(there) == -(-n // ROWS):
        return sum(path.stat().st_size for path in there)
    outcomes = np.array([question.channel.outcomes for question in survey.questions])
    generator = np.random.default_rng(1)

    def records():  # type: ignore[no-untyped-def]
        for start in range(0, n, BLOCK):
            rows = min(BLOCK, n - start)
            yield (generator.integers(0, 2**16, (rows, len(outcomes))) % outcomes).astype(np.uint8).tobytes()

    with tqdm(total=n, unit=" reports", unit_scale=True, disable=None, leave=False) as bar:
        paths = write_parts(survey, records(), folder, progress=bar.update)
    return sum(path.stat().st_size for path in paths)


def bare(survey: Survey, folder: Path) -> int:
    """Count each column by DuckDB alone."""
    one = "SELECT '{0}', {0}, count(*) FROM read_parquet('{1}/*.parquet') GROUP BY 2"
    parts = [one.format(f"{question.id}_reported", folder) for question in survey.questions]
    with duckdb.connect() as connection:
        return len(connection.execute(" UNION ALL ".join(parts)).fetchall())


def best(action, rounds: int) -> float:  # type: ignore[no-untyped-def]
    """Give the shortest of several times."""
    found = []
    for _ in range(rounds):
        start = time.perf_counter()
        action()
        found.append(time.perf_counter() - start)
    return min(found)


def measure(survey: Survey, n: int, folder: Path, rounds: int) -> tuple[float, float]:
    """Time both in turns."""
    tally_parts(survey, folder)
    ours, theirs = [], []
    for _ in range(rounds):
        theirs.append(best(lambda: bare(survey, folder), 1))
        ours.append(best(lambda: tally_parts(survey, folder), 1))
    assert tally_parts(survey, folder).n == n
    return min(ours), min(theirs)


def peak(folder: Path) -> float:
    """Give the megabytes of a fresh process that counts once."""
    command = [sys.executable, __file__, "--count", str(folder)]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    return float(subprocess.run(command, check=True, capture_output=True, text=True, env=environment).stdout)


def main() -> None:
    """Measure every size."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sizes", default="1000000,10000000")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--folder", type=Path, help="where the parts go; kept, and used again")
    parser.add_argument("--out", type=Path, help="write the figures into this file of measurements")
    parser.add_argument("--count", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    survey = ten_questions()
    if given.count:
        tally_parts(survey, given.count)
        # Not getrusage: its peak is inherited from the process that started this one.
        print(int(Path("/proc/self/status").read_text().split("VmHWM:")[1].split()[0]) / 1024)
        return
    print("respondents     bare   report  ratio  peak MB  bytes each  ns each")
    growth: dict[str, float] = {}
    with tempfile.TemporaryDirectory() as temporary:
        for n in (int(text) for text in given.sizes.split(",")):
            folder = (given.folder or Path(temporary)) / str(n)
            folder.mkdir(parents=True, exist_ok=True)
            size = write(survey, n, folder)
            ours, theirs = measure(survey, n, folder, given.rounds)
            most = peak(folder)
            print(
                f"{n:>11,} {theirs:>7.2f}s {ours:>7.2f}s {ours / theirs:>6.2f} {most:>8.0f} {size / n:>11.1f}"
                f" {1e9 * ours / n:>8.0f}",
                flush=True,
            )
            growth |= {f"{n}_seconds": ours, f"{n}_of_duckdb": ours / theirs, f"{n}_peak_mb": most}
    figures = {
        "ns_each": 1e9 * ours / n,
        "bytes_each": size / n,
        "of_duckdb": ours / theirs,
        "respondents": n,
    }
    keep(given.out, "scale", figures)
    keep(given.out, "growth", growth | {"load": os.getloadavg()[1]})
    sys.exit(ours / theirs > MOST_RATIO)


if __name__ == "__main__":
    main()
