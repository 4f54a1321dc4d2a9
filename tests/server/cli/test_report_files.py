"""`hushpoll report` of many Parquet files: the same answer as of one file with the same rows."""

from __future__ import annotations

import json
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hushpoll_analysis.simulation.respondents import simulate_survey
from hushpoll_client import Survey

from tests.command import run_command
from tests.server.every_form import EVERY_FORM, TRUTH

N = 600
FORMS: dict[str, Any] = json.loads(json.dumps(EVERY_FORM))
FORMS["questions"][1]["options"] = [f"b{number}" for number in range(4)]
FORMS["questions"][2] |= {
    "options": [f"c{number}" for number in range(5)],
    "mechanism": {"name": "subset", "epsilon": 1, "size": 2},
}
KINDS: dict[str, Any] = {
    "hushpoll": 1,
    "title": "Kinds",
    "questions": [
        {
            "id": "used",
            "kind": "multiple",
            "text": "Which?",
            "options": [*"abc"],
            "mechanism": {"name": "sampled", "epsilon": 2, "ask": 2},
        },
        {
            "id": "hours",
            "kind": "number",
            "text": "Hours?",
            "min": 0,
            "max": 80,
            "step": 1,
            "mechanism": {"name": "krr", "epsilon": 2},
        },
        {"id": "cheated", "kind": "yes_no", "text": "Did you?", "mechanism": {"epsilon": 1}},
        {
            "id": "why",
            "kind": "choice",
            "text": "Why?",
            "options": ["Time", "Fear"],
            "after": {"question": "cheated", "answers": ["Yes"]},
            "mechanism": {"epsilon": 1},
        },
    ],
}
HOURS = {"values": [10, 37, 80], "shares": [0.5, 0.25, 0.25]}
SURVEYS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "forms": (FORMS, TRUTH | {"b": [0.25] * 4, "c": [0.2] * 5}),
    "kinds": (KINDS, {"used": [0.2, 0.5, 0.8], "hours": HOURS, "cheated": [0.7, 0.3], "why": [0.4, 0.6]}),
}


@pytest.fixture(scope="module")
def survey_files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two surveys with their reports in one file and in three, and columns of a sample design."""
    folder = tmp_path_factory.mktemp("parts")
    rng = np.random.default_rng(4)
    for name, (draft, truth) in SURVEYS.items():
        survey = Survey.from_draft(draft)
        (folder / f"{name}.json").write_bytes(survey.canonical)
        frame = pd.DataFrame(
            {
                f"{question_id}_reported": codes
                for question_id, codes in simulate_survey(survey, N, truth, seed=8)
            }
        )
        if survey.groups:
            frame["group"] = rng.choice(["Science", "Arts", "Law"], N)
        frame["w"], frame["site"] = rng.uniform(0.5, 2, N), rng.choice(["u", "v"], N)
        # Classes differ between sites: clusters lie within strata.
        frame["class"] = rng.integers(0, 30, N) + np.where(frame["site"] == "u", 0, 30)
        frame["size"] = np.where(frame["site"] == "u", 5000, 4000)
        for number in range(4):
            frame[f"rep{number}"] = frame["w"] * rng.choice([0.0, 2.0], N)
        frame["gap"] = np.where(np.arange(N) % 100 == 0, np.nan, frame["w"])
        frame.to_parquet(folder / f"{name}.parquet", index=False)
        (folder / name).mkdir()
        for start in range(0, N, 250):
            file = folder / name / f"part-{start:05d}.parquet"
            frame[start : start + 250].to_parquet(file, index=False)
    return folder


SIZES = "--group-size Science=900 --group-size Arts=900 --group-size Law=900"
CASES = {
    "forms": [
        "", "--by c[c3]", "--by group", "--anchor a=0", "--population 9000 --by h", SIZES,
        "--weights w --strata site --by group", "--clusters class", "--weights w --strata site --population size",
        "--weights gap --na-action omit", "--weights w --replicates rep",
    ],
    "kinds": ["", "--by used", "--weights w --by used[a]", "--population size --strata site --by cheated"],
}  # fmt: skip
# Each of their options is in one of the cases above as well.
MORE_CASES = {
    "forms": [
        "--by g", "--by d", "--by site", "--population 9000", "--weights w", "--weights w --by g[q]",
    ],
    "kinds": ["--by why", "--weights w --strata site", "--clusters class --strata site"],
}  # fmt: skip


@pytest.mark.parametrize(
    ("name", "options"),
    [(name, options) for name, cases in CASES.items() for options in cases]
    + [
        pytest.param(name, options, marks=pytest.mark.long)
        for name, cases in MORE_CASES.items()
        for options in cases
    ],
    ids=str,
)
def test_parts_give_what_one_file_gives(
    survey_files: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    name: str,
    options: str,
) -> None:
    monkeypatch.chdir(survey_files)
    reports = []
    for source in (f"{name}.parquet", name if "--by" in options else f"{name}/part-*.parquet"):
        command = ["report", f"{name}.json", "--data", source, "--json", *options.split()]
        status, out, err = run_command(capsys, *command)
        assert status == 0, err
        reports.append(json.loads(out))
    assert reports[0]["n"] == N - (6 if "gap" in options else 0)
    assert reports[1] == reports[0]


def test_replicate_weights_of_more_than_memory_should_hold_are_refused_with_a_way_out(
    survey_files: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(survey_files)
    monkeypatch.setattr("hushpoll_analysis.results.respondents.MOST_READ", 500)
    command = ["report", "kinds.json", "--data", "kinds", "--weights", "w"]
    assert run_command(capsys, *command)[0] == 0
    status, _, err = run_command(capsys, *command, "--replicates", "rep")
    assert status == 2
    assert "replicate weights need a row for each respondent" in err
    assert "at most 1,000,000 reports" in err
    status, _, err = run_command(capsys, *command, "--replicates", "rep", "--engine", "spark")
    assert status == 2
    assert "--replicates needs a row for each respondent" in err


@pytest.mark.parametrize("options", ["--weights w --strata site", "--weights gap --na-action omit --by used"])
def test_one_large_file_is_not_read_as_one_table_either(
    survey_files: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], options: str
) -> None:
    monkeypatch.chdir(survey_files)
    command = ["report", "kinds.json", "--data", "kinds.parquet", "--format", "csv", *options.split()]
    _, expected, _ = run_command(capsys, *command)
    monkeypatch.setattr("hushpoll_analysis.results.respondents.MOST_READ", 500)
    monkeypatch.setattr("pandas.read_parquet", None)
    status, out, err = run_command(capsys, *command)
    assert status == 0, err
    mine, theirs = (pd.read_csv(StringIO(text)) for text in (out, expected))
    pd.testing.assert_frame_equal(mine, theirs, rtol=1e-9)
