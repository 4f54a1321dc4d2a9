"""The worked study: a smaller run of `hushpoll demo`, through a real server, with the truth known."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hushpoll_client import read_answers
from hushpoll_server.cli.demo import _page
from hushpoll_server.serve import demo_study
from hushpoll_server.serve.demo import demo_survey

PEOPLE = 300


@pytest.fixture(scope="module")
def outcome(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What the command prints; DATA and PORT as `make` exports them must not matter."""
    folder = tmp_path_factory.mktemp("demo")
    done = subprocess.run(
        [str(Path(sys.executable).with_name("hushpoll")), "demo", "-n", str(PEOPLE), "--json"],
        cwd=folder,
        env={**os.environ, "DATA": "data", "PORT": "8000", "TMPDIR": str(folder)},
        capture_output=True,
        text=True,
        timeout=180,
    )
    assert done.returncode == 0, done.stderr
    assert not list(folder.iterdir()), "the demo leaves something behind"
    summary: dict[str, Any] = json.loads(done.stdout)
    return summary


def test_every_report_arrives_once(outcome: dict[str, Any]) -> None:
    assert outcome["n"] == PEOPLE
    assert outcome["hash"] == demo_survey().hash


def test_estimates_are_shown_with_the_truth(outcome: dict[str, Any]) -> None:
    truths = {(row["question"], row["option"]): row["truth"] for row in outcome["rows"]}
    assert truths[("cheated", "Yes")] == 0.24
    assert truths[("copied", "Yes")] == 0.2
    assert sum(truth for (question, _), truth in truths.items() if question == "reason") == pytest.approx(1)
    for row in outcome["rows"]:
        # Three times the interval: a chance of one in a hundred million to miss, a wrong sign misses at once.
        reach = row["high"] - row["low"]
        assert row["low"] - reach < row["truth"] < row["high"] + reach, row
        assert row["inside"] == (row["low"] <= row["truth"] <= row["high"])


@pytest.mark.parametrize("n", [50, 999, 2000])
def test_respondents_have_the_groups_shares(n: int) -> None:
    people = demo_study.respondents(n)
    assert len(people) == n
    assert abs(demo_study.true_share(people, "cheated", "Yes") - 0.24) < 4 / n
    survey = demo_survey()
    assert len(read_answers(survey, people[0])) == len(survey.questions)


def test_the_page_marks_the_truth() -> None:
    rows = [demo_study.Comparison("cheated", "<Yes>", 0.24, -0.1, -0.2, 0.6)]
    page = _page(rows, "Exam", 300, "http://127.0.0.1/surveys/0/report")
    assert "&lt;Yes&gt;" in page
    assert 'class="truth" x1="24.00%"' in page
    assert 'cx="0.00%"' in page
