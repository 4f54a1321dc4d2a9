"""Time a report from SQLite against the bare read-and-count of the same bytes, in one run.

    python bench/report.py [--sizes 1000000,10000000]

For each number of respondents a database with 10 questions is filled with random reports. Then, in turns, several
times, of which the best counts:

bare   sqlite3 reads the records, numpy counts each column (nothing is checked, nothing estimated)
report hushpoll reads them through its store, checks every code, and makes the whole report

Memory is the peak of a fresh process that makes one report. Exit status 1 when a bound does not hold: report at most
1.3x bare and at most 300 MB at the first size, and time per respondent within 1.3x from the first size to the last.
"""

from __future__ import annotations

import argparse
import os
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from hushpoll_client import Survey
from hushpoll_server.config import Config
from hushpoll_server.store.surveys import Store, open_store

ROUNDS, ROUNDS_LARGE = 9, 4
QUESTIONS = 10
OPTIONS = 4
MOST_RATIO, MOST_MEGABYTES, MOST_GROWTH = 1.3, 300, 1.3


def ten_questions(title: str = "Ten questions") -> Survey:
    """A survey of ten questions, half of them yes/no."""
    labels = [f"Option {number}" for number in range(OPTIONS)]
    questions = []
    for number in range(QUESTIONS):
        question: dict[str, object] = {"id": f"q{number}", "text": f"Question {number}?"}
        if number % 2:
            question |= {"kind": "choice", "options": labels, "mechanism": {"name": "krr", "epsilon": 1}}
        else:
            question |= {"kind": "yes_no", "mechanism": {"name": "warner", "epsilon": 1}}
        questions.append(question)
    return Survey.from_draft({"hushpoll": 1, "title": title, "questions": questions})


def fill(folder: Path, n: int) -> None:
    """Publish the survey and put n sealed records under random keys, as sealing leaves them."""
    store = open_store(Config(data=folder))
    survey = ten_questions()
    store.publish(survey)
    path = store.database.path
    store.close()
    outcomes = np.array([question.channel.outcomes for question in survey.questions])
    generator = np.random.default_rng(1)
    with sqlite3.connect(path) as connection:
        number = connection.execute("SELECT number FROM surveys").fetchone()[0]
        connection.executemany(
            "INSERT INTO sealed (survey, key, record) VALUES (?, ?, ?)", rows(number, n, outcomes, generator)
        )
        connection.execute("UPDATE surveys SET sealed_n = ?", (n,))
    connection.close()


def rows(
    number: int, n: int, outcomes: np.ndarray, generator: np.random.Generator
) -> Iterator[tuple[int, bytes, bytes]]:
    """Rows of `sealed` in the order of their keys, which is the order on disk and makes filling quick."""
    keys = np.sort(generator.integers(0, 2**63, n, dtype=np.uint64)).astype(">u8")
    for start in range(0, n, 100_000):
        block = keys[start : start + 100_000]
        records = (generator.integers(0, 2**16, (len(block), len(outcomes))) % outcomes).astype(np.uint8)
        for key, record in zip(block, records, strict=True):
            yield number, key.tobytes() + bytes(8), record.tobytes()


def bare(path: Path) -> int:
    """The least that any program must do: read the records and count every column."""
    connection = sqlite3.connect(path)
    cursor = connection.execute("SELECT record FROM sealed WHERE survey = 1")
    counts = np.zeros((QUESTIONS, 256), dtype=np.int64)
    while block := cursor.fetchmany(50_000):
        table = np.frombuffer(b"".join(row[0] for row in block), dtype=np.uint8).reshape(-1, QUESTIONS)
        for place in range(QUESTIONS):
            counts[place] += np.bincount(table[:, place], minlength=256)
    connection.close()
    return int(counts[0].sum())


def whole_report(store: Store, survey: Survey) -> int:
    """The report as the command and the page make it."""
    from hushpoll_analysis import report

    made = report(survey, store.record_parts(survey.hash))
    assert len(made.to_dict()["questions"]) == QUESTIONS
    return made.n


def measure(folder: Path, n: int) -> tuple[float, float]:
    """Give the best times of bare and report, taken in turns."""
    store = Store(Config(data=folder))
    survey = ten_questions()
    path = store.database.path
    whole_report(store, survey)  # imports, caches
    best = [float("inf"), float("inf")]
    for _ in range(ROUNDS if n <= 1_000_000 else ROUNDS_LARGE):
        for place, run in enumerate((lambda: bare(path), lambda: whole_report(store, survey))):
            start = time.perf_counter()
            assert run() == n
            best[place] = min(best[place], time.perf_counter() - start)
    store.close()
    return best[0], best[1]


def peak_megabytes(folder: Path) -> float:
    """Make one report in a fresh process and give its peak memory."""
    command = [sys.executable, __file__, "--one", str(folder)]
    return float(
        subprocess.run(command, check=True, capture_output=True, text=True, env={**os.environ}).stdout
    )


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sizes", default="1000000", help="numbers of respondents (default 1000000)")
    parser.add_argument("--one", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        whole_report(Store(Config(data=options.one)), ten_questions())
        # Not getrusage: its peak is inherited from the process that started this one.
        status = Path("/proc/self/status").read_text()
        print(int(status.split("VmHWM:")[1].split()[0]) / 1024)
        return 0
    failed, per_person = [], []
    print(f"{'respondents':>12} {'bare':>9} {'report':>9} {'ratio':>7} {'peak memory':>12}")
    for text in options.sizes.split(","):
        n = int(text)
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            fill(folder, n)
            least, ours = measure(folder, n)
            peak = peak_megabytes(folder)
        per_person.append(ours / n)
        print(f"{n:>12,} {least:>7.2f} s {ours:>7.2f} s {ours / least:>6.2f}x {peak:>9.0f} MB", flush=True)
        if ours > MOST_RATIO * least:
            failed.append(f"{n:,}: {ours / least:.2f}x the bare count, more than {MOST_RATIO}x")
        if peak > MOST_MEGABYTES:
            failed.append(f"{n:,}: {peak:.0f} MB, more than {MOST_MEGABYTES} MB")
    if len(per_person) > 1:
        growth = per_person[-1] / per_person[0]
        print(f"time per respondent at the last size over the first: {growth:.2f}")
        if growth > MOST_GROWTH:
            failed.append(f"time grows faster than the number of respondents: {growth:.2f}")
    for problem in failed:
        print(problem, file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    raise SystemExit(main())
