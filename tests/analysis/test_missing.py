"""Missing values are refused, or left out and said."""

from __future__ import annotations

import inspect

import numpy as np
import pandas as pd
import pytest
from hushpoll_analysis import (
    anchored,
    compare,
    correlate,
    crosstab,
    linear,
    logit,
    multinomial,
    ordinal,
    sum_score,
    weighted_estimate,
)
from hushpoll_analysis.errors import AnalysisError
from hushpoll_client import mechanisms

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


@pytest.fixture(scope="module")
def data() -> pd.DataFrame:
    rng = np.random.default_rng(1)
    n = 600
    frame = pd.DataFrame({"y": rng.integers(0, 2, n), "a": rng.integers(0, 2, n), "g": rng.integers(0, 2, n)})
    frame = frame.assign(three=rng.integers(0, 3, n), x=rng.normal(size=n), w=rng.uniform(1, 2, n), other=1.0)
    return frame.astype(float)


@pytest.mark.parametrize("function", list(CALLS), ids=lambda one: one.__name__)
def test_rows_with_missing_values_are_left_out_and_said(data: pd.DataFrame, function) -> None:
    call = CALLS[function]
    assert "na_action" in inspect.signature(function).parameters
    holes = data.copy()
    for column in ("y", "three", "g", "x", "a"):
        holes.loc[holes.index[:7], column] = np.nan
    holes.loc[20:30, "other"] = np.nan  # nobody asks for it
    with pytest.raises(AnalysisError, match=r"missing|no finite|infinite"):
        call(holes)
    got, wanted = call(holes, na_action="omit"), call(data.iloc[7:].reset_index(drop=True))
    assert got.n == wanted.n == 593
    pd.testing.assert_frame_equal(got.to_frame(), wanted.to_frame())
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
