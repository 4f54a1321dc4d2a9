"""Columns passed separately are aligned by the table's labels, whichever rows are left out."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hushpoll_analysis import (
    Replicates,
    anchored,
    compare,
    correlate,
    crosstab,
    estimate,
    linear,
    logit,
    report,
    sum_score,
    weighted_estimate,
)
from hushpoll_analysis.errors import AnalysisError
from hushpoll_analysis.planning.draft_resolution import read_draft
from hushpoll_analysis.simulation.respondents import simulate_survey
from hushpoll_client import mechanisms

SURVEY = read_draft(
    {
        "hushpoll": 1,
        "title": "T",
        "questions": [
            {"id": "a", "kind": "yes_no", "text": "?", "mechanism": {"epsilon": 2}},
            {"id": "b", "kind": "yes_no", "text": "?", "mechanism": {"epsilon": 2}},
            {
                "id": "u",
                "kind": "multiple",
                "text": "?",
                "options": ["o0", "o1", "o2", "o3", "o4"],
                "mechanism": {"name": "sampled", "epsilon": 2, "ask": 2},
            },
            *({"id": f"q{k}", "kind": "yes_no", "text": "?"} for k in range(3)),
        ],
        "blocks": [{"questions": ["q0", "q1", "q2"], "ask": 2, "epsilon": 2}],
    }
)
N = 400
BY_COLUMN: dict[str, Callable[..., Any]] = {
    "estimate": lambda d, **k: weighted_estimate(d, SURVEY, "a", **k).shares[1].estimate,
    "of an option": lambda d, **k: weighted_estimate(d, SURVEY, "u[o1]", **k).shares[1].estimate,
    "of a block": lambda d, **k: weighted_estimate(d, SURVEY, "q0", **k).shares[1].total,
    "table": lambda d, **k: crosstab(d, SURVEY, "a", "b", **k).estimate[0, 0],
    "table of an option": lambda d, **k: crosstab(d, SURVEY, "u[o1]", "site", **k).estimate[0, 0],
    "table of a block": lambda d, **k: crosstab(d, SURVEY, "q0", "site", **k).estimate[0, 0],
    "comparison": lambda d, **k: compare(d, SURVEY, "a", "site", **k).to_frame().iloc[0, 0],
    "correlation": lambda d, **k: correlate(d, SURVEY, ["a", "b"], **k).r[0, 1],
    "correlation of a block": lambda d, **k: correlate(d, SURVEY, ["q0", "b"], **k).r[0, 1],
    "model": lambda d, **k: logit("a ~ x", d, SURVEY, **k).to_frame().iloc[1, 0],
    "model of a block": lambda d, **k: logit("q0 ~ x", d, SURVEY, **k).to_frame().iloc[1, 0],
    "linear": lambda d, **k: linear("x ~ a", d, SURVEY, **k).to_frame().iloc[1, 0],
    "score": lambda d, **k: sum_score(d, SURVEY, ["a", "b"], **k).mean,
    "score of a block": lambda d, **k: sum_score(d, SURVEY, ["q0", "b"], **k).mean,
    "anchored": lambda d, **k: anchored(d, SURVEY, "a", "b", 0.1, **k).shares[0].estimate,
    "anchored in a block": lambda d, **k: anchored(d, SURVEY, "q0", "b", 0.1, **k).shares[0].estimate,
    "report": lambda d, **k: report(SURVEY, d, **k).to_frame()["estimate"].sum(),
}


@pytest.fixture(scope="module")
def table() -> pd.DataFrame:
    """Rows in another order than their labels, with a weight that goes with the report."""
    truth = {"u": [0.3] * 5} | {name: [0.6, 0.4] for name in ("a", "b", "q0", "q1", "q2")}
    rng = np.random.default_rng(3)
    reports = {f"{name}_reported": column for name, column in simulate_survey(SURVEY, N, truth, 1)}
    rows = pd.DataFrame(reports).assign(x=rng.normal(size=N), site=rng.choice(["s", "t"], N))
    weights = rng.gamma(2.0, 0.5, N) + 2.0 * (rows["a_reported"] == 1) + rows["x"].abs()
    return rows.assign(w=weights).sample(frac=1.0, random_state=5)


@pytest.fixture(scope="module")
def gaps(table: pd.DataFrame) -> pd.DataFrame:
    """The same with reports that are missing."""
    gappy = table.astype({"a_reported": float, "b_reported": float})
    gappy.loc[[3, 50, 51, 120, 399], "a_reported"] = np.nan
    return gappy


@pytest.mark.parametrize("name", BY_COLUMN)
def test_weights_beside_a_table_follow_their_labels_where_rows_are_left_out(
    name: str, gaps: pd.DataFrame
) -> None:
    call = BY_COLUMN[name]
    expected = call(gaps, weights="w", na_action="omit")
    for beside in (gaps["w"], gaps["w"].sort_index(), gaps["w"].to_numpy(), gaps["w"].tolist()):
        assert call(gaps, weights=beside, na_action="omit") == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("name", ["estimate", "of a block", "comparison", "report"])
def test_a_missing_weight_is_left_out_beside_the_table_too(name: str, table: pd.DataFrame) -> None:
    call, holes = BY_COLUMN[name], table["w"].where(table.index > 4)
    expected = call(table.assign(w=holes), weights="w", na_action="omit")
    assert call(table, weights=holes.sort_index(), na_action="omit") == pytest.approx(expected, rel=1e-9)


def test_names_of_designs_follow_their_labels_where_rows_are_left_out() -> None:
    rng = np.random.default_rng(2)
    ways = {"x": mechanisms.warner(epsilon=1), "y": mechanisms.warner(epsilon=3)}
    names = pd.Series(rng.choice(["x", "y"], 200))
    frame = pd.DataFrame({"a": rng.integers(0, 2, 200).astype(float), "wave": names})
    frame.loc[7, "a"] = np.nan
    keys = {"weights": np.ones(200), "designs": ways, "na_action": "omit"}
    expected = weighted_estimate(frame, {"a": "wave"}, "a", **keys).shares[1].estimate
    mixed = names.sample(frac=1.0, random_state=1)
    assert weighted_estimate(frame, {"a": mixed}, "a", **keys).shares[1].estimate == pytest.approx(expected)


@pytest.fixture(scope="module")
def replicates(table: pd.DataFrame) -> pd.DataFrame:
    return pd.DataFrame(np.random.default_rng(7).gamma(2.0, 0.5, (N, 12)), index=table.index)


ERRORS: dict[str, Callable[..., Any]] = {
    "estimate": lambda d, **k: weighted_estimate(d, SURVEY, "a", **k).shares[1].se,
    "of an option": lambda d, **k: weighted_estimate(d, SURVEY, "u[o1]", **k).shares[1].se,
    "of a block": lambda d, **k: weighted_estimate(d, SURVEY, "q0", **k).shares[1].se,
    "table of an option": lambda d, **k: crosstab(d, SURVEY, "u[o1]", "site", **k).se[0, 0],
    "table of a block": lambda d, **k: crosstab(d, SURVEY, "q0", "site", **k).se[0, 0],
    "model of a block": lambda d, **k: logit("q0 ~ x", d, SURVEY, **k).to_frame()["se"].iloc[1],
    "report": lambda d, **k: report(SURVEY, d, **k).to_frame()["se"].sum(),
}


@pytest.mark.parametrize("name", ERRORS)
def test_replicate_weights_follow_their_labels(
    name: str, table: pd.DataFrame, replicates: pd.DataFrame
) -> None:
    call, names = ERRORS[name], [f"r{number}" for number in range(12)]
    inside = pd.concat([table, replicates.set_axis(names, axis=1)], axis=1)
    expected = call(inside, weights="w", replicates=Replicates(names))
    mixed = replicates.sample(frac=1.0, random_state=1)
    for beside in (replicates.to_numpy(), replicates, mixed):
        assert call(table, weights="w", replicates=Replicates(beside)) == pytest.approx(expected, rel=1e-9)


def test_labels_of_which_some_only_are_rows_are_refused(
    table: pd.DataFrame, replicates: pd.DataFrame
) -> None:
    moved = table["w"].set_axis(table.index + 1)
    for keys in (
        {"weights": moved},
        {"weights": "w", "replicates": Replicates(replicates.set_axis(moved.index))},
    ):
        with pytest.raises(AnalysisError, match="some labels of its index are rows of the table"):
            weighted_estimate(table, SURVEY, "a", **keys)
    twice = pd.concat([table.iloc[:200], table.iloc[:200]])
    with pytest.raises(AnalysisError, match="weights: some labels"):
        weighted_estimate(twice, SURVEY, "a", weights=table["w"])
    with pytest.raises(AnalysisError, match="names of designs: some labels"):
        estimate(pd.Series([0, 1, 1]), pd.Series(list("xxx"), index=[1, 2, 3]), designs={"x": None})


def test_labels_that_are_no_rows_at_all_are_read_by_place(table: pd.DataFrame) -> None:
    other = table["w"].set_axis([f"r{number}" for number in range(N)])
    expected = weighted_estimate(table, SURVEY, "a", weights="w").shares[1]
    assert weighted_estimate(table, SURVEY, "a", weights=other).shares[1] == expected
