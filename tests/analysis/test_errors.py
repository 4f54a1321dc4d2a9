"""What the analysis refuses, and with which words: errors say what is wrong, where, and what to do."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hushpoll_analysis import (
    AnalysisError,
    budget,
    compare,
    crosstab,
    linear,
    logit,
    report,
    simulate,
    weighted_estimate,
)
from hushpoll_analysis.results.waves import follow
from hushpoll_client import HushpollError, Survey, mechanisms

COIN = mechanisms.warner(epsilon=1)


@pytest.fixture(scope="module")
def people() -> pd.DataFrame:
    rng = np.random.default_rng(8)
    n = 200
    return pd.DataFrame(
        {
            "y": rng.integers(0, 2, n),
            "z": rng.integers(0, 2, n),
            "weight": rng.random(n) + 0.5,
            "stratum": np.repeat(["north", "south"], n // 2),
            "school": np.tile(np.arange(10), n // 10),
            "x": rng.random(n),
        }
    )


def test_clusters_that_cross_strata_are_refused(people: pd.DataFrame) -> None:
    keys: dict[str, Any] = {"strata": "stratum", "clusters": "school"}
    refused = r"cluster 0 has people in the strata 'north' and 'south'.*give each its own name"
    with pytest.raises(AnalysisError, match=refused):
        weighted_estimate(people, {"y": COIN}, "y", **keys)
    with pytest.raises(AnalysisError, match=refused):
        logit("y ~ x", people, {"y": COIN}, **keys)
    named = people.assign(school=people["stratum"] + people["school"].astype(str))
    assert weighted_estimate(named, {"y": COIN}, "y", **keys).degrees_of_freedom == 18


def test_a_table_without_a_test_says_why() -> None:
    four = mechanisms.krr(options=2, epsilon=5)
    table = crosstab(pd.DataFrame({"y": [0] * 30, "z": [0, 1] * 15}), {"y": four, "z": four}, "y", "z")
    assert table.test is None
    assert table.untested == "all reports of y are the same, so there is nothing to test"
    assert any("no test of independence: all reports of y are the same" in note for note in table.notes)
    assert table.to_dict()["independence"] is None
    tested = crosstab(pd.DataFrame({"y": [0, 1] * 20, "z": [0, 0, 1, 1] * 10}), {"y": four}, "y", "z")
    assert tested.test is not None
    assert tested.untested == ""


def test_results_say_why_there_is_no_test() -> None:
    question = {"kind": "yes_no", "text": "?", "mechanism": {"name": "warner", "epsilon": 5}}
    survey = Survey.from_draft(
        {"hushpoll": 1, "title": "t", "questions": [{"id": "y", **question}, {"id": "z", **question}]}
    )
    frame = pd.DataFrame({"y_reported": [0] * 80, "z_reported": [0, 1] * 40})
    (table,) = [group_table for group_table in report(survey, frame, by="z").groups if group_table.id == "y"]
    assert table.test == "not tested: all reports of y are the same, so there is nothing to test."


def test_a_column_of_many_numbers_makes_no_groups(people: pd.DataFrame) -> None:
    with pytest.raises(AnalysisError, match=r"x has 200 different values.*19,900 differences.*pandas\.cut"):
        compare(people, {"y": COIN}, "y", "x")
    cut = people.assign(x=pd.cut(people["x"], 3).astype(str))
    assert len(compare(cut, {"y": COIN}, "y", "x").differences) == 3


@pytest.mark.parametrize("factor", [1e-300, 1e300])
def test_weights_beyond_a_computer_s_range_are_refused(people: pd.DataFrame, factor: float) -> None:
    with pytest.raises(AnalysisError, match=r"the largest weight is .*multiply all weights"):
        weighted_estimate(people, {"y": COIN}, "y", weights=people["weight"] * factor)


def test_what_is_no_survey_is_named() -> None:
    for call in (lambda: budget(3), lambda: budget(3, 100), lambda: budget("exam.json", 100)):  # type: ignore[arg-type]
        with pytest.raises(AnalysisError, match=r"budget: survey is a (int|str).*give a Survey"):
            call()


@pytest.mark.parametrize("waves", [[], [1, 2], None, {"a": 1, "b": 2}])
def test_follow_needs_results_by_name(waves: Any) -> None:
    with pytest.raises(AnalysisError, match=r"follow: expected the results of each wave by its name"):
        follow(waves)


def test_a_survey_s_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(HushpollError, match=r"gone\.json: No such file.*give the path"):
        Survey.load(tmp_path / "gone.json")
    with pytest.raises(HushpollError, match="directory"):
        Survey.load(tmp_path)


def wave(epsilon: float, points: int = 5) -> Survey:
    mood = {
        "id": "mood",
        "kind": "scale",
        "text": "?",
        "points": points,
        "mechanism": {"name": "krr", "epsilon": epsilon, "target": "cumulative"},
    }
    return Survey.from_draft({"hushpoll": 1, "title": "t", "questions": [mood]})


def test_waves_of_a_scale_are_the_outcome_of_a_linear_model() -> None:
    rng = np.random.default_rng(4)
    n = 6000
    x = rng.integers(0, 2, n)
    truth = np.clip(rng.integers(0, 4, n) + x, 0, 4)
    arm = np.where(np.arange(n) % 2, "late", "early")
    designs = {"early": wave(2), "late": wave(4)}
    reports = np.zeros(n, dtype=int)
    for name, survey in designs.items():
        mine = arm == name
        reports[mine] = simulate(survey.questions[0].channel, truth[mine], seed=len(name))
    frame = pd.DataFrame({"mood": reports, "x": x, "wave": arm})
    fit = linear("mood ~ x", frame, "wave", designs=designs)
    slope = fit.to_frame().loc["x"]
    assert abs(slope["coef"] - 1.0) < 3 * slope["se"]
    alone = [
        linear("mood ~ x", frame[arm == name], survey).to_frame().loc["x", "coef"]
        for name, survey in designs.items()
    ]
    assert min(alone) < slope["coef"] < max(alone)
    with pytest.raises(AnalysisError, match="different numbers in different surveys"):
        linear("mood ~ x", frame, "wave", designs={"early": wave(2), "late": wave(4, 7)})
