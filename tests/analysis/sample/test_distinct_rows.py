"""A sample design of rows that each stand for several respondents: what it gives is what every respondent gives."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from hushpoll_analysis.errors import AnalysisError
from hushpoll_analysis.sample.design import SampleDesign
from hushpoll_analysis.sample.design_reading import read_sample_design
from hushpoll_analysis.sample.distinct_rows import LEAST, MOST, POSITIVE, SQUARES, TIMES, WEIGHTS, add_up
from hypothesis import given, settings
from hypothesis import strategies as st

MARGINS = {"sex": {"f": 0.55, "m": 0.45}, "age": {1: 0.2, 2: 0.3, 3: 0.5}}
DESIGNS: list[dict[str, Any]] = [
    {"weights": "w"},
    {"strata": "town"},
    {"weights": "w", "strata": "town"},
    {"clusters": "class"},
    {"weights": "w", "strata": "town", "clusters": "class"},
    {"margins": MARGINS},
    {"weights": "w", "strata": "town", "margins": MARGINS},
    {"weights": "w", "clusters": "class", "margins": {"sex": {"f": 5200, "m": 4800}}},
    {"population": 5000},
    {"weights": "w", "population": 0.25},
    {"strata": "town", "population": {"u": 900, "v": 2000, "w": 3000}},
    {"weights": "w", "strata": "town", "population": "size"},
    {"weights": "w", "strata": "town", "clusters": "class", "population": "classes", "margins": MARGINS},
]


def people(seed: int, n: int = 300) -> pd.DataFrame:
    """Respondents with a report, and what a sample design may need of them."""
    rng = np.random.default_rng(seed)
    town = rng.choice(["u", "v", "w"], n, p=[0.2, 0.3, 0.5])
    return pd.DataFrame(
        {
            "report": rng.integers(0, 4, n),
            "town": town,
            "class": 3 * rng.integers(0, 12, n) + pd.factorize(town)[0],
            "sex": rng.choice(["f", "m"], n),
            "age": rng.integers(1, 4, n),
            "w": rng.choice([0.0, 0.5, 1.0, 3.25], n) * rng.uniform(0.5, 2.0, n),
            "size": pd.Series(town).map({"u": 900, "v": 2000, "w": 3000}),
            "classes": pd.Series(town).map({"u": 40, "v": 60, "w": 90}),
        }
    )


def alike(frame: pd.DataFrame) -> pd.DataFrame:
    """The same respondents, those who are alike in one row."""
    weights = frame["w"]
    sums = {WEIGHTS: weights, SQUARES: weights**2, POSITIVE: weights > 0, LEAST: weights, MOST: weights}
    return add_up([frame.drop(columns="w").assign(**{TIMES: 1}, **sums)]).sample(frac=1.0, random_state=1)


def design_of(frame: pd.DataFrame, keys: dict[str, Any]) -> SampleDesign:
    weights = {"weights": WEIGHTS} if TIMES in frame.columns and "weights" in keys else {}
    if not weights and TIMES in frame.columns:
        frame = frame.drop(columns=[WEIGHTS, SQUARES, POSITIVE, LEAST, MOST])
    design = read_sample_design(frame, **(keys | weights))
    assert design is not None
    return design


def values_of(frame: pd.DataFrame, seed: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    values, noise = rng.normal(size=(4, 2)), rng.uniform(size=(4, 2, 2))
    codes = frame["report"].to_numpy()
    return values[codes], noise[codes]


@pytest.mark.parametrize("keys", DESIGNS, ids=lambda keys: " ".join(keys))
@given(seed=st.integers(0, 10_000))
@settings(max_examples=8, deadline=None)
def test_rows_together_are_every_respondent(keys: dict[str, Any], seed: int) -> None:
    rows = people(seed)
    together = alike(rows)
    assert len(together) < len(rows)
    merged, many = design_of(together, keys), design_of(rows, keys)
    for name in ("n", "positive", "degrees_of_freedom"):
        assert getattr(merged, name) == getattr(many, name), name
    for name in ("total", "effective_n", "heaviest"):
        assert getattr(merged, name) == pytest.approx(getattr(many, name), rel=1e-9), name
    chosen = (together["report"] != 2).to_numpy(), (rows["report"] != 2).to_numpy()
    for first, second in ((merged, many), (merged.among(chosen[0], 0.75), many.among(chosen[1], 0.75))):
        few, noise = values_of(together, seed)
        all_values, all_noise = values_of(rows, seed)
        assert np.allclose(first.mean(few), second.mean(all_values), rtol=1e-9, atol=1e-12)
        for method in ("total_covariance", "covariance"):
            mine = getattr(first, method)(few, lambda noise=noise: noise)
            theirs = getattr(second, method)(all_values, lambda noise=all_noise: noise)
            assert np.allclose(mine, theirs, rtol=1e-8, atol=1e-9 * np.abs(theirs).max()), method
        assert first.positive == second.positive
        assert first.heaviest == pytest.approx(second.heaviest, rel=1e-9)
        assert first.without_population.effective_n == pytest.approx(second.without_population.effective_n)


def test_what_single_rows_refuse_is_refused_of_rows_together() -> None:
    frame = people(3, 60)
    lonely = frame.assign(town=["alone", *frame["town"][1:]])
    for rows in (lonely, alike(lonely)):
        with pytest.raises(AnalysisError, match="stratum 'alone' has one cluster only"):
            design_of(rows, {"strata": "town"})
    nearly = frame.assign(w=[1.0, *[0.0] * 59])
    for rows in (nearly, alike(nearly)):
        with pytest.raises(AnalysisError, match="are 0, so there is one respondent"):
            design_of(rows, {"weights": "w"})
    none = frame.assign(w=0.0)
    for rows in (none, alike(none)):
        with pytest.raises(AnalysisError, match="all weights are 0"):
            design_of(rows, {"weights": "w"})
    for rows in (frame, alike(frame)):
        with pytest.raises(AnalysisError, match="nobody in the data has 4"):
            design_of(rows, {"margins": {"age": {1: 0.2, 2: 0.3, 3: 0.4, 4: 0.1}}})
        with pytest.raises(AnalysisError, match="sum to 1"):
            design_of(rows, {"margins": {"age": {1: 20, 2: 20, 3: 10}}})
