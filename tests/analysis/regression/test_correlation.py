"""Correlations of randomized variables, against RRreg and by simulation."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hushpoll_analysis import correlate, crosstab, simulate
from hushpoll_analysis.channel.view import Floats
from hushpoll_analysis.errors import AnalysisError
from hushpoll_client import mechanisms
from hushpoll_client.channel import SCALE
from hushpoll_client.mechanism import Mechanism

RESULTS = Path(__file__).parents[2] / "results"
GOLDEN = json.loads((RESULTS / "regression.json").read_text(encoding="utf-8"))
CHANNELS = {"warner75": mechanisms.warner(truth="3/4"), "warner80_y2": mechanisms.warner(truth="4/5")}


@pytest.fixture(scope="module")
def sample() -> pd.DataFrame:
    return pd.read_csv(RESULTS / "data" / "synthA.csv")


def test_correlations_agree_with_rrreg(sample: pd.DataFrame) -> None:
    expected = GOLDEN["rrcor_1"]["output"]
    got = correlate(sample, CHANNELS, expected["names"])
    assert got.r == pytest.approx(np.array(expected["r"]), abs=1e-9)
    assert got.matrix().loc["x1", "yc"] == pytest.approx(sample["x1"].corr(sample["yc"]))


def test_standard_errors_agree_with_the_bootstrap(sample: pd.DataFrame) -> None:
    """500 bootstrap replicates have 3 % noise of their own; the peer's note says to compare to about 5 %."""
    expected = GOLDEN["rrcor_boot"]["output"]["rSE.n"]
    got = correlate(sample, CHANNELS, ["warner75", "warner80_y2", "x1"])
    for a, b in ((0, 1), (0, 2), (1, 2)):
        assert got.se[a, b] == pytest.approx(expected[a][b], rel=0.08)


def test_exact_columns_give_the_plain_correlation(sample: pd.DataFrame) -> None:
    got = correlate(sample, {}, ["y_true", "y2_true", "x1", "yc"])
    assert got.r == pytest.approx(np.array(GOLDEN["cor_truth"]["output"]["r"]), abs=1e-9)


@pytest.mark.parametrize("repetitions", [80, pytest.param(300, marks=pytest.mark.long)])
def test_coverage_with_many_options(repetitions: int) -> None:
    rng = np.random.default_rng(6)
    mechanism = mechanisms.krr(options=4, epsilon=2)
    edges = np.cumsum(np.array(mechanism.analysis.rows) / SCALE, axis=1)
    edges[:, -1] = 1.0
    inside = 0
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
    assert abs(inside / repetitions - 0.95) < 3 * np.sqrt(0.05 * 0.95 / repetitions)


def _joint(mechanism: Mechanism, shares: tuple[float, float], r: float) -> Floats:
    """Chances of the four joint reports of two yes/no traits with a correlation."""
    table = np.array(mechanism.analysis.rows) / SCALE
    first, second = (np.array([1.0 - share, share]) for share in shares)
    gap = r * np.sqrt(np.prod(first) * np.prod(second))
    truth = np.outer(first, second) + gap * np.array([[1.0, -1.0], [-1.0, 1.0]])
    assert truth.min() >= 0.0
    return np.asarray(table.T @ truth @ table).ravel()


def _covered(
    n: int, epsilon: int, shares: tuple[float, float], r: float, surveys: int
) -> tuple[float, float]:
    """Return how often the interval holds r, and how often p is below .05; both agree about 0."""
    coin = mechanisms.warner(epsilon=epsilon)
    tables = np.random.default_rng(3).multinomial(n, _joint(coin, shares, r), surveys)
    held, low = [], []
    for table in tables:
        data = pd.DataFrame({"a": np.repeat([0, 0, 1, 1], table), "b": np.repeat([0, 1, 0, 1], table)})
        try:
            row = correlate(data, {"a": coin, "b": coin}, ["a", "b"]).to_frame().iloc[0]
        except AnalysisError:
            continue  # an estimated share of 0 or less has no correlation
        held.append(row["low"] <= r <= row["high"])
        low.append(row["p_value"] < 0.05)
        assert low[-1] == (not row["low"] <= 0.0 <= row["high"])
        assert -1.0 <= row["shown_low"] <= row["shown_high"] <= 1.0
    return float(np.mean(held)), float(np.mean(low))


@pytest.mark.parametrize(
    ("n", "epsilon", "share"), [(500, 4, 0.05), pytest.param(1000, 4, 0.02, marks=pytest.mark.long)]
)
def test_rare_traits_that_are_independent_are_found_so(n: int, epsilon: int, share: float) -> None:
    """Estimate and standard error alone cover 75 and 87 % here."""
    held, low = _covered(n, epsilon, (share, share), 0.0, 300)
    assert held > 0.93 - 0.025  # two standard errors of 300 surveys
    assert low < 0.07 + 0.025


@pytest.mark.long
@pytest.mark.parametrize(
    ("n", "epsilon", "shares", "r", "often"),
    [
        (1000, 4, (0.02, 0.02), 0.0, False),
        (500, 4, (0.05, 0.05), 0.0, False),
        (400, 2, (0.1, 0.1), 0.0, True),
        (1000, 3, (0.05, 0.05), 0.0, False),
        (200, 4, (0.02, 0.02), 0.0, False),
        (100, 4, (0.05, 0.05), 0.0, False),
        (300, 1, (0.2, 0.2), 0.0, True),
        (1000, 4, (0.02, 0.3), 0.1, True),
        (500, 4, (0.05, 0.05), 0.3, False),
        (1000, 4, (0.02, 0.02), 0.5, True),
        (1000, 4, (0.1, 0.1), -0.1, False),
        (500, 4, (0.3, 0.3), 0.8, True),
        (100, 4, (0.3, 0.3), 0.9, False),
    ],
)
def test_coverage_of_rare_traits(
    n: int, epsilon: int, shares: tuple[float, float], r: float, often: bool
) -> None:
    held, _ = _covered(n, epsilon, shares, r, 2000)
    noise = 2.0 * np.sqrt(0.05 * 0.95 / 2000)
    assert held > 0.93 - noise
    if often:  # each joint report is expected 10 times or more
        assert held < 0.975 + noise


def test_few_joint_reports_have_a_note_and_limits_within_one() -> None:
    coin = mechanisms.warner(epsilon=4)
    table = np.array([940, 29, 28, 3])
    data = pd.DataFrame({"a": np.repeat([0, 0, 1, 1], table), "b": np.repeat([0, 1, 0, 1], table)})
    result = correlate(data, {"a": coin, "b": coin}, ["a", "b"])
    assert "a and b: without a correlation fewer than 10 joint reports" in result.notes[0]
    loose = mechanisms.warner(epsilon=1)
    table = np.array([120, 22, 22, 36])
    data = pd.DataFrame({"a": np.repeat([0, 0, 1, 1], table), "b": np.repeat([0, 1, 0, 1], table)})
    row = correlate(data, {"a": loose, "b": loose}, ["a", "b"]).to_frame().iloc[0]
    assert row["high"] > row["r"] > 1.0
    assert (row["shown_r"], row["shown_high"]) == (1.0, 1.0)
    assert -1.0 <= row["shown_low"] <= 1.0


def test_independence_is_tested_as_the_cross_table_does() -> None:
    """With many reports the test of a zero correlation is the chi-square test of the reports."""
    coin = mechanisms.warner(epsilon=2)
    table = np.array([1100, 500, 480, 270])
    data = pd.DataFrame({"a": np.repeat([0, 0, 1, 1], table), "b": np.repeat([0, 1, 0, 1], table)})
    p = correlate(data, {"a": coin, "b": coin}, ["a", "b"]).to_frame()["p_value"].iloc[0]
    test = crosstab(data, {"a": coin, "b": coin}, "a", "b").test
    assert test is not None
    assert p == pytest.approx(test.p_value, rel=0.05)


def test_rare_traits_in_clusters_have_t() -> None:
    coin, rng = mechanisms.warner(epsilon=4), np.random.default_rng(4)
    rejected = []
    for _ in range(60):
        cluster = np.repeat(np.arange(12), 50)
        truth = [(rng.random(600) < rng.beta(1, 19, 12)[cluster]).astype(int) for _ in range(2)]
        data = pd.DataFrame(
            {
                name: simulate(coin.device, trait, seed=int(rng.integers(1e9)))
                for name, trait in zip("ab", truth, strict=True)
            }
        )
        result = correlate(data.assign(c=cluster), {"a": coin, "b": coin}, ["a", "b"], clusters="c")
        assert result.degrees_of_freedom == 11
        rejected.append(result.p_value[0, 1] < 0.05)
    assert np.mean(rejected) <= 0.1


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


@pytest.mark.parametrize(("samples", "within"), [(50, 0.3), pytest.param(150, 0.2, marks=pytest.mark.long)])
def test_a_counted_decoy_adds_its_own_error(samples: int, within: float) -> None:
    """Both polls drawn anew: the spread of r is the standard error, and far more than with the share taken as known."""
    rng = np.random.default_rng(6)
    n, m, q, correlations, errors, uncorrected = 4000, 300, 0.4, [], [], []
    for _ in range(samples):
        x = rng.standard_normal(n)
        truth = rng.random(n) < 1 / (1 + np.exp(-(-0.3 + 2.5 * x)))
        data = pd.DataFrame({"x": x, "y": (truth | (rng.random(n) < q)).astype(int)})
        yes = int(rng.binomial(m, q))
        got = correlate(data, {"y": mechanisms.or_poll(decoy_counts=(yes, m))}, ["x", "y"])
        plain = correlate(data, {"y": mechanisms.or_poll(decoy_share=f"{yes}/{m}")}, ["x", "y"])
        assert got.r[0, 1] == pytest.approx(plain.r[0, 1], abs=1e-9)
        correlations.append(got.r[0, 1])
        errors.append(got.se[0, 1])
        uncorrected.append(plain.se[0, 1])
    assert "part of these standard errors" in got.notes[0]
    assert np.median(uncorrected) < 0.7 * np.median(errors)
    assert np.median(errors) == pytest.approx(np.std(correlations), rel=within)
    # dr/dq by hand: two fits with known shares beside it.
    ends = [
        correlate(data, {"y": mechanisms.or_poll(decoy_share=str(yes / m + step))}, ["x", "y"]).r[0, 1]
        for step in (1e-4, -1e-4)
    ]
    drift = (ends[0] - ends[1]) / 2e-4
    expected = np.sqrt(plain.se[0, 1] ** 2 + drift**2 * (yes / m) * (1 - yes / m) / m)
    assert got.se[0, 1] == pytest.approx(expected, rel=1e-4)
