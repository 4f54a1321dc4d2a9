"""Models of a finite population: in a census only the randomization remains, as simulation shows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from hushpoll_analysis import detects_cheating, linear, logit, multinomial, ordinal, simulate
from hushpoll_analysis.errors import AnalysisError
from hushpoll_analysis.planning.draft_resolution import read_draft
from hushpoll_client import mechanisms
from hushpoll_client.channel import SCALE
from scipy import special

TWO = mechanisms.warner(epsilon=2)
THREE = mechanisms.krr(options=3, epsilon=2)
HOURS = read_draft(
    {
        "hushpoll": 1,
        "title": "Hours",
        "questions": [
            {
                "id": "hours",
                "kind": "number",
                "text": "?",
                "min": 0,
                "max": 100,
                "step": 1,
                "mechanism": {"epsilon": 2.0, "target": "mean"},
            },
            {
                "id": "mood",
                "kind": "scale",
                "text": "?",
                "points": 5,
                "mechanism": {"name": "krr", "epsilon": 2.0},
            },
        ],
    }
)


def through(truth: np.ndarray, table: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    return (rng.random(len(truth))[:, None] > np.cumsum(table, axis=1)[truth]).sum(axis=1)


def census_cases(n: int) -> dict[str, Any]:
    """Return the true values and, for each model, a function that randomizes and fits them again."""
    rng = np.random.default_rng(21)
    x = rng.standard_normal(n)
    yes = (rng.random(n) < special.expit(-0.4 + 0.8 * x)).astype(int)
    lines = np.stack([np.zeros(n), 0.2 + 0.4 * x, 0.8 * x], axis=1)
    three = (rng.random(n)[:, None] > np.cumsum(special.softmax(lines, axis=1), axis=1)).sum(axis=1)
    number = 1.0 + 0.7 * yes + rng.standard_normal(n)
    hours = np.clip(np.round(50 + 15 * x + rng.normal(0, 5, n)), 0, 100)
    mood = np.clip(np.round(2 + x), 0, 4).astype(int)
    half = np.arange(n) % 2
    tables = {mechanism: np.array(mechanism.analysis.rows) / SCALE for mechanism in (TWO, THREE)}

    def frame(draw: np.random.Generator) -> pd.DataFrame:
        survey = draw_hours(hours, draw)
        forced = np.where(half == 0, draw.random(n) < 0.25, draw.random(n) < 0.6).astype(int)
        return pd.DataFrame(
            {
                "x": x,
                "g": half,
                "number": number,
                "plain": (x + np.sin(np.arange(n)) > 0).astype(int),
                "y": through(yes, tables[TWO], draw),
                "k": through(three, tables[THREE], draw),
                "rows": np.where(half == 0, yes, through(yes, tables[TWO], draw)),
                "cheat": np.maximum(yes, forced),
                "hours": survey,
                "mood": through(mood, np.array(HOURS.questions[1].mechanism.analysis.rows) / SCALE, draw),
            }
        )

    def draw_hours(values: np.ndarray, draw: np.random.Generator) -> np.ndarray:
        question = HOURS.questions[0]
        grid = np.array([float(value) for value in question.answers.values])
        position = (values - grid[0]) / (grid[1] - grid[0])
        low = np.floor(position).astype(int)
        point = np.minimum(low + (draw.random(len(values)) < position - low), len(grid) - 1)
        return simulate(question.channel, point, seed=int(draw.integers(2**31)))

    cheats = {0: detects_cheating(0.25), 1: detects_cheating(0.6)}
    both = {"y": TWO, "k": THREE}
    fits = {
        "predictor": lambda d: logit("plain ~ y + x", d, {"y": TWO}, population=n),
        "both": lambda d: logit("y ~ C(k)", d, both, population=n),
        "rows": lambda d: logit("rows ~ x", d, {"rows": "g"}, designs={0: None, 1: TWO}, population=n),
        "multinomial": lambda d: multinomial("k ~ x", d, {"k": THREE}, population=n),
        "ordinal": lambda d: ordinal("k ~ x", d, {"k": THREE}, population=n),
        "linear": lambda d: linear("number ~ y", d, {"y": TWO}, population=n),
        "hours": lambda d: linear("hours ~ x", d, HOURS, population=n),
        "mood": lambda d: linear("mood ~ x", d, HOURS, population=n),
        "cheating": lambda d: logit("cheat ~ x", d, "g", designs=cheats, population=n),
    }
    return {"frame": frame, **fits}


def check(name: str, n: int, repetitions: int, slack: float) -> None:
    """A census randomized anew: the spread over randomizations is the standard error."""
    cases = census_cases(n)
    rng = np.random.default_rng(5)
    fits = [cases[name](cases["frame"](rng)) for _ in range(repetitions)]
    values, errors = np.array([fit.coef for fit in fits]), np.array([fit.se for fit in fits])
    outcome_size = fits[0].outcome_size
    ratio = np.nanmedian(errors, axis=0)[:outcome_size] / values.std(axis=0, ddof=1)[:outcome_size]
    assert np.abs(np.log(ratio)).max() < slack, ratio


@pytest.mark.parametrize(
    "name",
    ["predictor", "multinomial", *(pytest.param(case, marks=pytest.mark.long) for case in ("rows", "hours"))],
)
def test_models_of_a_census_agree_with_simulation_small(name: str) -> None:
    check(name, 600, 60, 0.3)


@pytest.mark.long
@pytest.mark.parametrize(
    "name", ["predictor", "both", "rows", "multinomial", "ordinal", "linear", "hours", "mood", "cheating"]
)
def test_models_of_a_census_agree_with_simulation(name: str) -> None:
    check(name, 3000, 200, 0.2)


def test_a_census_of_exact_answers_has_no_error() -> None:
    data = census_cases(400)["frame"](np.random.default_rng(1))
    assert logit("plain ~ x", data, {}, population=400).se == pytest.approx(0, abs=1e-12)
    plain = logit("plain ~ x", data, {}, weights=np.ones(400))
    assert logit("plain ~ x", data, {}, population=1600).se == pytest.approx(plain.se * np.sqrt(0.75))


def test_too_many_reports_to_sum_over_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    data = census_cases(400)["frame"](np.random.default_rng(1))
    monkeypatch.setattr("hushpoll_analysis.regression.noise.MOST_REPORTS", 2)
    assert logit("y ~ x", data, {"y": TWO}, population=900).n == 400
    with pytest.raises(AnalysisError, match="sum over all reports"):
        logit("k ~ x", data, {"k": THREE}, event=1, population=900)
