"""Missing values are refused, or left out and said."""

from __future__ import annotations

import inspect
import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hushpoll_analysis import (
    Replicates,
    anchored,
    compare,
    correlate,
    crosstab,
    linear,
    logit,
    multinomial,
    ordinal,
    report,
    sum_score,
    weighted_estimate,
)
from hushpoll_analysis.errors import AnalysisError
from hushpoll_analysis.simulation.respondents import simulate_survey
from hushpoll_client import Survey, mechanisms
from hushpoll_client.cli import main

COIN = mechanisms.warner(epsilon=3)
HOW = {"y": COIN, "a": COIN}
CALLS = {
    logit: lambda d, **k: logit("y ~ x", d, {"y": COIN}, **k),
    linear: lambda d, **k: linear("x ~ y", d, {"y": COIN}, **k),
    multinomial: lambda d, **k: multinomial("three ~ x", d, {}, **k),
    ordinal: lambda d, **k: ordinal("three ~ x", d, {}, **k),
    correlate: lambda d, **k: correlate(d, HOW, ["x", "y"], **k),
    crosstab: lambda d, **k: crosstab(d, HOW, "g", "y", **k),
    compare: lambda d, **k: compare(d, HOW, "y", "g", **k),
    weighted_estimate: lambda d, **k: weighted_estimate(d, HOW, "y", **k),
    sum_score: lambda d, **k: sum_score(d, HOW, ["y", "a"], **k),
    anchored: lambda d, **k: anchored(d, HOW, "y", "a", 0, **k),
}


SURVEY = Survey.from_draft(
    {
        "hushpoll": 1,
        "title": "T",
        "questions": [
            {"id": "y", "kind": "yes_no", "text": "?", "mechanism": {"name": "warner", "epsilon": 3}},
            {
                "id": "town",
                "kind": "choice",
                "text": "?",
                "options": [f"t{k}" for k in range(30)],
                "mechanism": {"epsilon": 3},
            },
        ],
    }
)


@pytest.fixture(scope="module")
def people() -> pd.DataFrame:
    truth = {"y": [0.7, 0.3], "town": [1 / 30] * 30}
    codes = dict(simulate_survey(SURVEY, 500, truth, seed=1))
    frame = pd.DataFrame({f"{name}_reported": values for name, values in codes.items()})
    return frame.assign(sex=np.arange(500) % 2, w=1.0 + np.arange(500) % 3)


def test_a_report_leaves_rows_out_and_says_so(
    people: pd.DataFrame, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A table or a file, missing reports, groups and weights: what remains is the report of the other rows."""
    holes = people.astype({"y_reported": float})
    holes.loc[:4, "y_reported"] = np.nan
    holes.loc[5:7, "town_reported"] = None
    holes.loc[8:9, "w"] = np.nan
    holes.loc[10:19, "sex"] = np.nan
    path = tmp_path / "reports.csv"
    holes.to_csv(path, index=False)
    for source in (holes, path):
        with pytest.raises(AnalysisError):
            report(SURVEY, source)
        plain = report(SURVEY, source, na_action="omit")
        assert (plain.n, plain.left_out) == (492, 8)
        assert plain["y"].estimate == report(SURVEY, people.iloc[8:]).questions[0].estimate
        by = report(SURVEY, source, by="sex", weights="w", na_action="omit")
        assert (by.n, by.left_out) == (480, 20)
        expected = report(SURVEY, people.iloc[20:].reset_index(drop=True), by="sex", weights="w")
        assert by["town"].shares[0].estimate == pytest.approx(expected["town"].shares[0].estimate)
        weights = holes["w"].fillna(1.0).to_numpy()
        beside = report(SURVEY, holes, weights=weights, na_action="omit")
        assert beside.n == 492
    for text in (plain.to_text(), plain.to_html()):
        assert "8 rows with missing values were left out" in text
    assert plain.to_dict()["left_out"] == 8
    assert "na_action='omit'" in plain.snippet
    assert "left_out" not in report(SURVEY, people, na_action="omit").to_dict()
    with pytest.raises(AnalysisError, match="na_action"):
        report(SURVEY, people, na_action="drop")
    document = tmp_path / "survey.json"
    document.write_bytes(SURVEY.canonical)
    with pytest.raises(SystemExit) as ended:
        main(["report", str(document), "--data", str(path), "--na-action", "omit", "--json"])
    assert not ended.value.code
    assert json.loads(capsys.readouterr().out)["left_out"] == 8
    with pytest.raises(SystemExit) as ended:
        main(["report", str(document), "--na-action", "omit"])
    assert ended.value.code == 2


def test_replicate_weights_beside_the_table_lose_the_same_rows(data: pd.DataFrame) -> None:
    holes = data.copy()
    holes.loc[:9, "y"] = np.nan
    weights = np.random.default_rng(2).uniform(0.5, 1.5, (len(data), 20))
    got = weighted_estimate(holes, HOW, "y", replicates=Replicates(weights), na_action="omit")
    rest = data.iloc[10:].reset_index(drop=True)
    expected = weighted_estimate(rest, HOW, "y", replicates=Replicates(weights[10:]))
    assert got[1].se == pytest.approx(expected[1].se)


@pytest.fixture(scope="module")
def data() -> pd.DataFrame:
    rng = np.random.default_rng(1)
    n = 600
    frame = pd.DataFrame({"y": rng.integers(0, 2, n), "a": rng.integers(0, 2, n), "g": rng.integers(0, 2, n)})
    frame = frame.assign(three=rng.integers(0, 3, n), x=rng.normal(size=n), w=rng.uniform(1, 2, n), other=1.0)
    return frame.astype(float)


@pytest.mark.parametrize("function", list(CALLS), ids=lambda function: function.__name__)
def test_rows_with_missing_values_are_left_out_and_said(data: pd.DataFrame, function) -> None:
    call = CALLS[function]
    assert "na_action" in inspect.signature(function).parameters
    holes = data.copy()
    for column in ("y", "three", "g", "x", "a"):
        holes.loc[holes.index[:7], column] = np.nan
    holes.loc[20:30, "other"] = np.nan  # nobody asks for it
    with pytest.raises(AnalysisError, match=r"missing|no finite|infinite"):
        call(holes)
    got, expected = call(holes, na_action="omit"), call(data.iloc[7:].reset_index(drop=True))
    assert got.n == expected.n == 593
    pd.testing.assert_frame_equal(got.to_frame(), expected.to_frame())
    if hasattr(got, "notes"):
        assert any("7 rows with missing values" in note for note in got.notes)
    same = call(data, na_action="omit")
    assert same.n == 600
    with pytest.raises(AnalysisError, match="na_action"):
        call(data, na_action="drop")


def test_columns_given_beside_the_data_follow(data: pd.DataFrame) -> None:
    holes = data.copy()
    holes.loc[3, "y"] = np.nan
    weights = data["w"].to_numpy()
    got = weighted_estimate(holes, HOW, "y", weights=weights, na_action="omit")
    rest = data.drop(index=3).reset_index(drop=True)
    assert got.shares[1].estimate == pytest.approx(
        weighted_estimate(rest, HOW, "y", weights="w").shares[1].estimate
    )
