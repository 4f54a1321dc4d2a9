"""What the build machine runs, and what compares two trees."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

ROOT = Path(__file__).parent.parent


def commands(text: str) -> list[str]:
    return [line.strip() for line in text.splitlines() if line.strip() and not line.strip().startswith("#")]


def recipe(target: str) -> list[str]:
    """The lines of one target of the Makefile."""
    match = re.search(rf"^{target}:.*\n((?:\t.*\n)+)", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert match is not None, target
    return commands(match[1])


def test_the_build_machine_runs_the_docs_tests_once() -> None:
    """`make test` runs all of tests/, the docs' among them, so nothing else may run them again."""
    called = [
        word
        for line in commands((ROOT / ".ci/run").read_text())
        for word in re.findall(r"make ([\w-]+)", line)
    ]
    assert "test" in called
    running = [target for target in called if any("pytest" in line for line in recipe(target))]
    assert running == ["test"]
    # A test that failed fails the build: nothing is run again.
    assert not [line for line in commands((ROOT / ".ci/run").read_text()) if "pytest" in line]
    assert any("pytest" in line and "tests/docs" in line for line in recipe("docs-check"))
    assert 'testpaths = ["tests"]' in (ROOT / "pyproject.toml").read_text()


def test_two_trees_are_compared_by_what_their_benches_print() -> None:
    against = runpy.run_path(str(ROOT / "bench" / "against.py"))
    submitted = (
        "round 1  sqlite         1800 requests/s  p99   30.1 ms\n\n"
        "bare          2500 requests/s = 1.00 of bare  p99   20.0 ms = 1.00 x bare  worker  60.0 MB\n"
        "sqlite        1900 requests/s = 0.76 of bare  p99   30.1 ms = 1.50 x bare  worker  84.0 MB\n"
        "sqlite      batch  90000 reports/s = 0.55 of executemany\n"
    )
    reported = (
        " respondents      bare    report   ratio\n   1,000,000    0.50 s    0.60 s   1.20x       210 MB\n"
    )
    assert against["number"](against["SUBMITTED"], submitted) == 1900
    assert against["number"](against["BATCHED"], submitted) == 90000
    assert against["number"](against["REPORTED"], reported) == 0.6
    older = against["Tree"]("older", ROOT, {"submit": [100.0, 300.0, 200.0]})
    this = against["Tree"]("this", ROOT, {"submit": [150.0, 190.0, 180.0]})
    assert against["summary"]((older, this)) == [("submit", 200.0, 180.0, 0.9)]
