"""`hushpoll fit` prints the fits of the package, and refuses bad input in one line."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hushpoll_analysis import linear, logit, multinomial, ordinal
from hushpoll_analysis.simulation.respondents import simulate_survey
from hushpoll_client import Survey
from scipy import optimize, stats

from tests.command import run_command

KRR = {"name": "krr", "epsilon": 2}
DRAFT: dict[str, Any] = {
    "hushpoll": 1,
    "title": "Exam",
    "questions": [
        {"id": "cheated", "kind": "yes_no", "text": "A?", "mechanism": {"name": "warner", "truth": "3/4"}},
        {"id": "reason", "kind": "choice", "text": "Why?", "options": ["x", "y", "z"], "mechanism": KRR},
        {"id": "stress", "kind": "scale", "text": "How?", "points": 4, "mechanism": KRR},
    ],
}
TRUTH = {"cheated": [0.6, 0.4], "reason": [0.5, 0.3, 0.2], "stress": [0.25] * 4}
N = 800


@pytest.fixture(scope="module")
def survey() -> Survey:
    return Survey.from_draft(DRAFT)


@pytest.fixture(scope="module")
def frame(survey: Survey) -> pd.DataFrame:
    rng = np.random.default_rng(3)
    columns = {f"{name}_reported": codes for name, codes in simulate_survey(survey, N, TRUTH, seed=1)}
    weights = rng.choice([0.5, 1.0, 2.0], N)
    return pd.DataFrame(columns).assign(
        age=rng.integers(20, 30, N), w=weights, town=rng.choice(["u", "v"], N)
    )


@pytest.fixture(scope="module")
def files(survey: Survey, frame: pd.DataFrame, tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    folder = tmp_path_factory.mktemp("fit")
    (folder / "survey.json").write_bytes(survey.canonical)
    frame.to_csv(folder / "reports.csv", index=False)
    return ["--survey", str(folder / "survey.json"), "--data", str(folder / "reports.csv")]


@pytest.mark.parametrize(
    ("family", "formula", "function", "options"),
    [
        ("logit", "cheated ~ age", logit, {}),
        ("probit", "cheated ~ age", logit, {"link": "probit"}),
        ("linear", "stress ~ age", linear, {}),
        ("ordinal", "stress ~ age", ordinal, {}),
        ("multinomial", "reason ~ age", multinomial, {}),
    ],
)
def test_each_family_is_the_function_of_the_package(
    survey: Survey,
    frame: pd.DataFrame,
    files: list[str],
    capsys: pytest.CaptureFixture[str],
    family: str,
    formula: str,
    function: Any,
    options: dict[str, Any],
) -> None:
    status, printed, problem = run_command(capsys, "fit", formula, *files, "--family", family, "--json")
    assert (status, problem) == (0, "")
    assert json.loads(printed) == json.loads(
        json.dumps(function(formula, frame, survey, **options).to_dict())
    )


def test_the_default_is_a_logit_as_a_table(
    survey: Survey, frame: pd.DataFrame, files: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    status, printed, _ = run_command(capsys, "fit", "cheated ~ age", *files)
    assert status == 0
    assert printed == logit("cheated ~ age", frame, survey).summary() + "\n"


def test_sample_design_and_level_are_used(
    survey: Survey, frame: pd.DataFrame, files: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    design = ["--weights", "w", "--strata", "town", "--level", "0.9"]
    status, printed, _ = run_command(capsys, "fit", "cheated ~ age", *files, *design, "--json")
    assert status == 0
    expected = logit("cheated ~ age", frame, survey, weights="w", strata="town", level=0.9)
    assert json.loads(printed) == json.loads(json.dumps(expected.to_dict()))


def test_a_probit_is_the_largest_likelihood_of_the_reports(
    frame: pd.DataFrame, files: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    _, printed, _ = run_command(capsys, "fit", "cheated ~ age", *files, "--family", "probit", "--json")
    coefficients = [row["coef"] for row in json.loads(printed)["coefficients"]]
    reported, age = frame["cheated_reported"].to_numpy(), frame["age"].to_numpy()

    def height(beta: np.ndarray) -> float:
        yes = stats.norm.cdf(beta[0] + beta[1] * (age - 25))
        chance = 0.25 + 0.5 * yes
        return -float(np.log(np.where(reported == 1, chance, 1 - chance)).sum())

    top = optimize.minimize(height, [0.0, 0.0], method="Nelder-Mead", options={"xatol": 1e-8, "fatol": 1e-10})
    assert coefficients[1] == pytest.approx(top.x[1], abs=1e-4)
    assert coefficients[0] == pytest.approx(top.x[0] - 25 * top.x[1], abs=1e-3)


@pytest.mark.parametrize(
    ("formula", "options", "message"),
    [
        ("cheeted ~ age", [], "did you mean 'cheated'"),
        ("cheated ~ size", [], "size"),
        ("cheated", [], "formula"),
        ("cheated ~ (age", [], "formula"),
        ("cheated ~ age", ["--family", "tobit"], "tobit"),
        ("cheated ~ age", ["--level", "95"], "level"),
        ("cheated ~ age", ["--weights", "gone"], "gone"),
        ("reason ~ age", ["--family", "linear"], "reason"),
        ("cheated ~ age", ["--data", "gone.csv"], "gone.csv"),
        ("cheated ~ age", ["--survey", "gone.json"], "gone.json"),
    ],
)
def test_bad_input_ends_with_one_line_and_status_2(
    files: list[str],
    capsys: pytest.CaptureFixture[str],
    formula: str,
    options: list[str],
    message: str,
) -> None:
    status, printed, problem = run_command(capsys, "fit", formula, *files, *options)
    assert (status, printed) == (2, "")
    assert problem.count("\n") == 1
    assert message in problem


def test_survey_and_data_are_needed(capsys: pytest.CaptureFixture[str]) -> None:
    status, _, problem = run_command(capsys, "fit", "cheated ~ age")
    assert status == 2
    assert "--survey" in problem
