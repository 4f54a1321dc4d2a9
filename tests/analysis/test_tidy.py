"""Limits at a level, joint covariances and broom's columns are the same on every result."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from hushpoll_analysis import (
    AnalysisError,
    Estimate,
    EstimateTable,
    anchored,
    compare,
    correlate,
    crosstab,
    cumulative,
    density,
    estimate,
    linear,
    logit,
    mean,
    quantiles,
    rubin,
    simulate,
    sum_score,
    trend,
    unrelated_two_groups,
    weighted_estimate,
)
from hushpoll_client import mechanisms

YES_NO = mechanisms.warner(truth="3/4")
FOUR = mechanisms.krr(options=4, epsilon=1)
COUNTS = [620, 500, 470, 410]
BROOM = ["term", "estimate", "std.error", "conf.low", "conf.high"]


@pytest.fixture(scope="module")
def reports() -> pd.DataFrame:
    rng = np.random.default_rng(5)
    group = rng.integers(0, 2, 900)
    cheated = (rng.random(900) < 0.25 + 0.2 * group).astype(int)
    failed = (rng.random(900) < 0.3 + 0.3 * cheated).astype(int)
    return pd.DataFrame(
        {
            "cheated": simulate(YES_NO.device, cheated, seed=1),
            "failed": simulate(YES_NO.device, failed, seed=2),
            "group": np.where(group == 1, "B", "A"),
            "age": 20.0 + 5.0 * rng.random(900),
            "w": 0.5 + rng.random(900),
        }
    )


CHANNELS = {"cheated": YES_NO, "failed": YES_NO}


def results(reports: pd.DataFrame, level: float) -> dict[str, Any]:
    return {
        "shares": estimate(COUNTS, FOUR, level),
        "together": estimate(COUNTS, FOUR, level, simultaneous=True),
        "yes": estimate([580, 420], YES_NO, level, "clopper-pearson"),
        "finite": estimate(COUNTS, FOUR, level, population=5_000),
        "decoy": estimate([1300, 700], mechanisms.or_poll(decoy_counts=[206, 500]), level),
        "parts": estimate([900, 700, 650, 600], mechanisms.subset(options=4, epsilon=1, size=2), level),
        "mean": mean(COUNTS, FOUR, [1, 2, 3, 4], level),
        "cumulative": cumulative(COUNTS, FOUR, level=level),
        "quantiles": quantiles(COUNTS, FOUR, level=level),
        "crosstab": crosstab(reports, CHANNELS, "cheated", "failed", level=level),
        "compare": compare(reports, CHANNELS, "cheated", "group", level=level),
        "correlate": correlate(reports, CHANNELS, ["cheated", "failed"], level=level),
        "weighted": weighted_estimate(reports, CHANNELS, "cheated", weights="w", level=level),
        "anchored": anchored(reports, CHANNELS, "cheated", "failed", 0.4, level=level),
        "logit": logit("cheated ~ age", reports, {"cheated": YES_NO}, level=level),
        "density": density(COUNTS, FOUR, [0, 1, 2, 3, 4], level=level),
        "trend": trend([estimate([580, 420], YES_NO), estimate([540, 460], YES_NO)], level=level),
        "sum score": sum_score(reports, CHANNELS, ["cheated", "failed"], level=level),
        "two groups": unrelated_two_groups([[620, 380], [540, 460]], [0.7, 0.3], level=level),
        "pooled": rubin([[1.0, 2.0], [1.2, 1.9]], [[0.1, 0.2], [0.1, 0.2]], level),
        "linear": linear("age ~ cheated", reports, {"cheated": YES_NO}, level=level, errors="any"),
    }


NAMES = (
    "shares",
    "together",
    "yes",
    "finite",
    "decoy",
    "parts",
    "mean",
    "cumulative",
    "quantiles",
    "crosstab",
    "compare",
    "correlate",
    "weighted",
    "anchored",
    "logit",
    "linear",
    "density",
    "trend",
    "sum score",
    "two groups",
    "pooled",
)


@pytest.fixture(scope="module")
def usual(reports: pd.DataFrame) -> dict[str, Any]:
    return results(reports, 0.95)


@pytest.fixture(scope="module")
def narrow(reports: pd.DataFrame) -> dict[str, Any]:
    return results(reports, 0.8)


@pytest.mark.parametrize("name", NAMES)
def test_limits_at_another_level_are_those_of_the_same_call_at_that_level(
    usual: dict[str, Any], narrow: dict[str, Any], name: str
) -> None:
    result = usual[name]
    assert result.conf_int().equals(result.to_frame()[["low", "high"]])
    pd.testing.assert_frame_equal(result.conf_int(0.8), narrow[name].conf_int(), rtol=1e-9)


@pytest.mark.parametrize("name", NAMES)
def test_tidy_has_the_columns_of_broom(usual: dict[str, Any], narrow: dict[str, Any], name: str) -> None:
    table = usual[name].tidy()
    assert list(table.columns) in (BROOM, [*BROOM, "p.value"])
    assert table["term"].map(type).eq(str).all()
    frame = usual[name].to_frame()
    assert table["conf.low"].tolist() == frame["low"].tolist()
    if "se" in frame.columns:
        assert table["std.error"].tolist() == frame["se"].tolist()
    pd.testing.assert_frame_equal(usual[name].tidy(conf_level=0.8), narrow[name].tidy(), rtol=1e-9)


def test_tests_have_their_p_values(usual: dict[str, Any]) -> None:
    for name in ("compare", "correlate", "logit", "linear"):
        assert usual[name].tidy()["p.value"].tolist() == usual[name].to_frame()["p_value"].tolist()


@pytest.mark.parametrize("name", ["shares", "yes", "finite", "decoy", "mean", "crosstab", "logit", "linear"])
def test_the_diagonal_of_a_covariance_holds_squared_standard_errors(usual: dict[str, Any], name: str) -> None:
    covariance = usual[name].vcov()
    frame = usual[name].to_frame()
    assert covariance.index.equals(covariance.columns)
    assert covariance.index.tolist()[: len(frame)] == (["mean"] if name == "mean" else frame.index.tolist())
    errors = np.sqrt(np.diag(covariance))[: len(frame)]
    assert errors == pytest.approx(frame["se"].to_numpy(), rel=1e-9)


@pytest.mark.parametrize("name", ["shares", "finite"])
def test_a_difference_has_the_variance_of_the_joint_covariance(usual: dict[str, Any], name: str) -> None:
    covariance = usual[name].vcov().to_numpy()
    weights = np.array([1.0, 0.0, -1.0, 0.0])
    assert usual[name].difference("0", "2").se ** 2 == pytest.approx(weights @ covariance @ weights)


def test_all_cells_of_a_table_add_up_to_one_without_error(usual: dict[str, Any]) -> None:
    assert usual["crosstab"].vcov().to_numpy().sum() == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize("name", ["compare", "correlate", "weighted", "quantiles", "parts"])
def test_a_result_without_joint_covariance_says_why(usual: dict[str, Any], name: str) -> None:
    with pytest.raises(AnalysisError, match="joint covariance"):
        usual[name].vcov()


def test_estimate_returns_a_table_of_estimates() -> None:
    table = estimate(COUNTS, FOUR)
    assert isinstance(table, EstimateTable)
    assert all(isinstance(entry, Estimate) for entry in table.estimates)
    assert table["1"] is table[1] is table.estimates[1]


def test_a_level_that_is_none_is_refused(usual: dict[str, Any]) -> None:
    for name in ("shares", "mean", "compare", "logit"):
        with pytest.raises(AnalysisError, match="level"):
            usual[name].conf_int(95)
        with pytest.raises(AnalysisError, match="level"):
            usual[name].tidy(conf_level=95)


def test_an_estimate_that_does_not_know_its_data_refuses_another_level() -> None:
    largest = estimate(COUNTS, FOUR).top(1)[0]
    assert largest.conf_int().loc["0"].tolist() == [largest.low, largest.high]
    with pytest.raises(AnalysisError, match="another level"):
        largest.conf_int(0.8)
