"""Make tables, models and weighted reports of many reports, each in a fresh process: seconds, and the peak of memory.

    python bench/models.py [--respondents 10000000] [--folder DIR] [--no-database] [--weighted]

Parts of ten questions with a year, a town, a school and a weight beside them, and a database of the same survey, are
filled with reports at random. Each table, model and report reads them by itself: Parquet parts through DuckDB, the
database's records block by block. `bare` is DuckDB's own GROUP BY of the same columns, in a process of its own too:
what starting Python and counting take at least, and what the rows below it are held against. Of a weighted report it is
one a question, with sums of weights and of their squares. Exit status 1 where a peak is above 400 MB.

Then models of 3,000 respondents in memory, with rows that are alike put together and without.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pandas as pd
from kept import keep
from report import fill, ten_questions
from tqdm import tqdm

MOST_MEGABYTES = 400
PART = 1_000_000
FIRST_WEIGHTED = "bare: sums of weights, two questions"
CASES = {
    "bare: GROUP BY q0, year, town": "bare(folder, 'q0_reported, year, town')",
    "crosstab q1, q3": "crosstab(parts, survey, 'q1', 'q3')",
    "crosstab q1, q3, weighted": "crosstab(parts, survey, 'q1', 'q3', weights='weight')",
    "compare q1 by town": "compare(parts, survey, 'q1', 'town')",
    "logit q0 ~ year + town": "logit('q0 ~ year + town', parts, survey)",
    "logit q0 ~ year + town, weighted": "logit('q0 ~ year + town', parts, survey, weights='weight')",
    "logit q0 ~ q1 + year": "logit('q0 ~ q1 + year', parts, survey)",
    "multinomial q1 ~ year + town": "multinomial('q1 ~ year + town', parts, survey)",
    "database: crosstab q1, q3": "crosstab(records(folder), survey, 'q1', 'q3')",
    "database: logit q0 ~ q1": "logit('q0 ~ q1', records(folder), survey)",
    FIRST_WEIGHTED: "sums(folder, 2, 'town')",
    "report of two, weighted in strata": (
        "report(survey, parts, questions=['q0', 'q1'], weights='weight', strata='town')"
    ),
    "bare: sums of weights, ten questions": "sums(folder, 10, 'town')",
    "report, weighted in strata": "report(survey, parts, weights='weight', strata='town')",
    "report, weighted, strata and clusters": (
        "report(survey, parts, weights='weight', strata='town', clusters='school')"
    ),
    "report by year, weighted in strata": "report(survey, parts, by='year', weights='weight', strata='town')",
}
SMALL = {
    "logit": ("logit", "q0 ~ year + town"),
    "logit, a randomized predictor": ("logit", "q0 ~ q1 + year"),
    "logit, a random intercept": ("logit", "q0 ~ year + (1 | town)"),
    "multinomial": ("multinomial", "q1 ~ year"),
    "multinomial, a randomized predictor": ("multinomial", "q1 ~ q0 + year"),
    "ordinal": ("ordinal", "q1 ~ year"),
}


def made_up(n: int, seed: int) -> pd.DataFrame:
    """Reports at random, and exact columns beside them."""
    generator = np.random.default_rng(seed)
    columns: dict[str, object] = {
        f"{one.id}_reported": generator.integers(0, one.channel.outcomes, n, dtype=np.uint8)
        for one in ten_questions().questions
    }
    columns["year"] = generator.integers(1, 9, n, dtype=np.uint8)
    towns = pd.Index([f"town {number}" for number in range(16)])
    town = generator.integers(0, 16, n)
    columns["town"] = pd.Categorical.from_codes(town, categories=towns)
    columns["school"] = (town * 250 + generator.integers(0, 250, n)).astype(np.uint16)
    columns["weight"] = generator.choice([0.5, 1.0, 1.5, 3.0], n)
    return pd.DataFrame(columns)


def write(folder: Path, n: int) -> None:
    """Write the parts that are not there yet."""
    folder.mkdir(parents=True, exist_ok=True)
    for start in tqdm(range(0, n, PART), unit=" parts", disable=None, leave=False):
        path = folder / f"part-{start // PART:05d}.parquet"
        if not path.exists():
            frame = made_up(min(PART, n - start), start)
            frame.astype({"town": str}).to_parquet(path, compression="zstd", index=False)


def bare(folder: Path, columns: str) -> int:
    """Count by DuckDB alone."""
    import duckdb

    with duckdb.connect() as connection:
        query = f"SELECT {columns}, count(*) FROM read_parquet('{folder}/parts/*.parquet') GROUP BY ALL"
        return len(connection.execute(query).fetchall())


def sums(folder: Path, questions: int, strata: str) -> int:
    """Add up weights and their squares by DuckDB alone, one question after the other."""
    import duckdb

    rows = 0
    with duckdb.connect() as connection:
        for one in ten_questions().questions[:questions]:
            query = (
                f"SELECT {one.id}_reported, {strata}, count(*), sum(weight), sum(weight * weight)"
                f" FROM read_parquet('{folder}/parts/*.parquet') GROUP BY ALL"
            )
            rows += len(connection.execute(query).fetchall())
    return rows


def records(folder: Path):  # type: ignore[no-untyped-def]
    """The database's records."""
    from hushpoll_server.config import Config
    from hushpoll_server.store.surveys import Store

    return Store(Config(data=folder / "database")).record_parts(ten_questions().hash)


def run_one(case: str, folder: Path) -> None:
    """Run one case in this process and print its seconds and megabytes."""
    start = time.perf_counter()
    names: dict[str, object] = {"folder": folder, "bare": bare, "sums": sums, "records": records}
    if not case.startswith("bare"):
        from hushpoll_analysis import compare, crosstab, logit, multinomial, report

        names |= {"compare": compare, "crosstab": crosstab, "logit": logit, "multinomial": multinomial}
        names["report"] = report
        names |= {"survey": ten_questions(), "parts": str(folder / "parts" / "*.parquet")}
    found = eval(CASES[case], names)
    if not case.startswith("bare"):
        found.to_frame()
    # Not getrusage: its peak is inherited from the process that started this one.
    peak = int(Path("/proc/self/status").read_text().split("VmHWM:")[1].split()[0]) / 1024
    print(json.dumps([time.perf_counter() - start, time.process_time(), peak]))


def fresh(case: str, folder: Path) -> tuple[float, float, float]:
    """Run one case in a fresh process; give its seconds, those of all processors, and its megabytes."""
    command = [sys.executable, __file__, "--one", case, "--folder", str(folder)]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(command, check=True, capture_output=True, text=True, env=environment)
    seconds, processor, peak = json.loads(done.stdout)
    return seconds, processor, peak


def small() -> None:
    """Models of 3,000 respondents in memory, with and without putting rows together."""
    from hushpoll_analysis.regression import models

    frame, survey = made_up(3000, 7), ten_questions()
    together = models.merge_equal_rows
    print("\n3,000 respondents in memory               rows together   each row  ratio")
    for name, (model, formula) in SMALL.items():
        times = []
        for way in (together, lambda *_: None):
            models.merge_equal_rows = way
            start = time.perf_counter()
            getattr(models, model)(formula, frame, survey)
            times.append(time.perf_counter() - start)
        models.merge_equal_rows = together
        print(f"{name:<42} {times[0]:>11.2f}s {times[1]:>9.2f}s {times[0] / times[1]:>6.2f}", flush=True)


def _cases(weighted: bool, no_database: bool) -> list[str]:
    """Give the cases to measure."""
    chosen = list(CASES)
    if weighted:
        chosen = chosen[chosen.index(FIRST_WEIGHTED) :]
    return [one for one in chosen if not (no_database and one.startswith("database"))]


def _keep(
    out: Path | None, respondents: int, spent: dict[str, tuple[float, float]], peaks: dict[str, float]
) -> None:
    """Write what the documentation says, of tables and models and of weighted reports."""
    weighted = _cases(True, True)
    others = [peak for case, peak in peaks.items() if case not in weighted]
    if others:
        figures = {"logit_seconds": spent["logit q0 ~ year + town"][0], "most_megabytes": max(others)}
        keep(out, "models", figures | {"respondents": respondents})
    figures = {
        "processor_seconds": spent["report, weighted in strata"][1],
        "bare_processor_seconds": spent["bare: sums of weights, ten questions"][1],
        "most_megabytes": max(peaks[case] for case in weighted),
        "respondents": respondents,
    }
    keep(out, "weighted", figures)


def main() -> int:
    """Measure every case."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--respondents", type=int, default=10_000_000)
    parser.add_argument("--folder", type=Path, help="where parts and database go; kept, and used again")
    parser.add_argument("--no-database", action="store_true")
    parser.add_argument("--weighted", action="store_true", help="reports under a sample design only")
    parser.add_argument("--out", type=Path, help="write the figures into this file of measurements")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.one:
        run_one(given.one, given.folder)
        return 0
    least, spent, peaks = 0.0, {}, {}
    with tempfile.TemporaryDirectory() as temporary:
        folder = given.folder or Path(temporary)
        write(folder / "parts", given.respondents)
        cases = _cases(given.weighted, given.no_database)
        if any(one.startswith("database") for one in cases) and not (folder / "database").exists():
            (folder / "database").mkdir()
            fill(folder / "database", given.respondents)
        print(f"{given.respondents:,} respondents                     seconds  of bare  processor  peak MB")
        for case in cases:
            seconds, processor, peaks[case] = fresh(case, folder)
            least = seconds if case.startswith("bare") else least
            spent[case] = (seconds, processor)
            print(
                f"{case:<42} {seconds:>7.2f} {seconds / least:>8.2f} {processor:>10.2f} {peaks[case]:>8.0f}",
                flush=True,
            )
    _keep(given.out, given.respondents, spent, peaks)
    worst = max(peaks.values())
    if not given.weighted:
        small()
    if worst > MOST_MEGABYTES:
        print(f"{worst:.0f} MB, more than {MOST_MEGABYTES} MB", file=sys.stderr)
    return int(worst > MOST_MEGABYTES)


if __name__ == "__main__":
    raise SystemExit(main())
