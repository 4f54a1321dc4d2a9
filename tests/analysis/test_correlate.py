"""Correlations of randomized variables, against RRreg and by simulation."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hushpoll_analysis import correlate
from hushpoll_analysis.errors import AnalysisError
from hushpoll_client import mechanisms
from hushpoll_client.channel import SCALE

RESULTS = Path(__file__).parents[1] / "results"
GOLDEN = json.loads((RESULTS / "regression.json").read_text(encoding="utf-8"))
CHANNELS = {"warner75": mechanisms.warner(truth="3/4"), "warner80_y2": mechanisms.warner(truth="4/5")}


@pytest.fixture(scope="module")
def sample() -> pd.DataFrame:
    return pd.read_csv(RESULTS / "data" / "synthA.csv")


def test_correlations_agree_with_rrreg(sample: pd.DataFrame) -> None:
    wanted = GOLDEN["rrcor_1"]["output"]
    got = correlate(sample, CHANNELS, wanted["names"])
    assert got.r == pytest.approx(np.array(wanted["r"]), abs=1e-9)
    assert got.matrix().loc["x1", "yc"] == pytest.approx(sample["x1"].corr(sample["yc"]))


def test_standard_errors_agree_with_the_bootstrap(sample: pd.DataFrame) -> None:
    """500 bootstrap replicates have 3 % noise of their own; the peer's note says to compare to about 5 %."""
    wanted = GOLDEN["rrcor_boot"]["output"]["rSE.n"]
    got = correlate(sample, CHANNELS, ["warner75", "warner80_y2", "x1"])
    for a, b in ((0, 1), (0, 2), (1, 2)):
        assert got.se[a, b] == pytest.approx(wanted[a][b], rel=0.08)


def test_exact_columns_give_the_plain_correlation(sample: pd.DataFrame) -> None:
    got = correlate(sample, {}, ["y_true", "y2_true", "x1", "yc"])
    assert got.r == pytest.approx(np.array(GOLDEN["cor_truth"]["output"]["r"]), abs=1e-9)


def test_coverage_with_many_options() -> None:
    rng = np.random.default_rng(6)
    mechanism = mechanisms.krr(options=4, epsilon=2)
    edges = np.cumsum(np.array(mechanism.analysis.rows) / SCALE, axis=1)
    edges[:, -1] = 1.0
    inside, repetitions = 0, 300
    # Truth: x uniform on 0..3 and y = x with chance .5, else uniform: correlation .5.
    for _ in range(repetitions):
        x = rng.integers(0, 4, 2000)
        y = np.where(rng.random(2000) < 0.5, x, rng.integers(0, 4, 2000))
        reports = {
            name: (rng.random(2000)[:, None] >= edges[t]).sum(axis=1) for name, t in (("x", x), ("y", y))
        }
        row = (
            correlate(pd.DataFrame(reports), {"x": mechanism, "y": mechanism}, ["x", "y"]).to_frame().iloc[0]
        )
        inside += row["low"] <= 0.5 <= row["high"]
    assert 0.91 < inside / repetitions < 0.985


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        (["warner75"], "at least two columns"),
        (["warner75", "warner75"], "each named once"),
        (["warner75", "nobody"], "no column 'nobody'"),
        (["warner75", "words"], "not finite numbers"),
        (["warner75", "constant"], "not above zero"),
    ],
)
def test_bad_input_is_explained(sample: pd.DataFrame, columns: list[str], message: str) -> None:
    with pytest.raises(AnalysisError, match=message):
        correlate(sample.assign(words="a", constant=1), CHANNELS, columns)


def test_a_counted_decoy_adds_its_own_error() -> None:
    """Both polls drawn anew: the spread of r is the standard error, and far more than with the share taken as known."""
    rng = np.random.default_rng(6)
    n, m, q, found, errors, known = 4000, 300, 0.4, [], [], []
    for _ in range(150):
        x = rng.standard_normal(n)
        truth = rng.random(n) < 1 / (1 + np.exp(-(-0.3 + 2.5 * x)))
        data = pd.DataFrame({"x": x, "y": (truth | (rng.random(n) < q)).astype(int)})
        yes = int(rng.binomial(m, q))
        got = correlate(data, {"y": mechanisms.or_poll(decoy_counts=(yes, m))}, ["x", "y"])
        plain = correlate(data, {"y": mechanisms.or_poll(decoy_share=f"{yes}/{m}")}, ["x", "y"])
        assert got.r[0, 1] == pytest.approx(plain.r[0, 1], abs=1e-9)
        found.append(got.r[0, 1])
        errors.append(got.se[0, 1])
        known.append(plain.se[0, 1])
    assert "part of these standard errors" in got.notes[0]
    assert np.median(known) < 0.7 * np.median(errors)
    assert np.median(errors) == pytest.approx(np.std(found), rel=0.2)
    # dr/dq by hand: two fits with known shares beside it.
    ends = [
        correlate(data, {"y": mechanisms.or_poll(decoy_share=str(yes / m + step))}, ["x", "y"]).r[0, 1]
        for step in (1e-4, -1e-4)
    ]
    drift = (ends[0] - ends[1]) / 2e-4
    wanted = np.sqrt(plain.se[0, 1] ** 2 + drift**2 * (yes / m) * (1 - yes / m) / m)
    assert got.se[0, 1] == pytest.approx(wanted, rel=1e-4)
