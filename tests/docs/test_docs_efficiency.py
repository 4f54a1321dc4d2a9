"""The comparison with other packages: what the page shows is what was measured, and we never need more."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import pytest

from tests.docs.blocks import ROOT

ROWS: list[dict[str, Any]] = json.loads((ROOT / "docs/data/efficiency.json").read_text("utf-8"))["rows"]
PEERS = {"pure-ldp", "multi-freq-ldpy", "OpenDP"}
QUESTIONS = {"scale-5", "scale-11", "bins-20", "choice-1000", "mean-11", "number", "ticks-8"}
# Where both draw from the same channel the true ratio is 1, and a measured one may be above it by chance.
SIGMAS = 3.0
# A report of OpenDP takes a tenth of a millisecond: it was repeated less often, and its figures are rougher.
ROUGHEST = {"pure-ldp": 0.03, "multi-freq-ldpy": 0.03, "OpenDP": 0.055}


def test_every_question_epsilon_and_package_was_measured() -> None:
    assert {(row["case"], row["epsilon"]) for row in ROWS} == {
        (case, epsilon) for case in QUESTIONS for epsilon in (0.5, 1.0, 2.0, 4.0)
    }
    assert all({peer["peer"] for peer in row["peers"]} == PEERS for row in ROWS)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row['case']}-{row['epsilon']:g}")
def test_we_never_need_more_respondents(row: dict[str, Any]) -> None:
    for peer in row["peers"]:
        assert peer["ratio"] == pytest.approx(row["ours"]["n_mse"] / peer["n_mse"], abs=2e-4)
        assert peer["ratio_se"] <= ROUGHEST[peer["peer"]], "measured too roughly to say anything"
        assert peer["ratio"] <= 1.0 + SIGMAS * peer["ratio_se"], peer


def test_the_table_and_the_figure_are_current() -> None:
    done = subprocess.run(
        [sys.executable, "docs/tools/efficiency.py", "--check"], cwd=ROOT, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
