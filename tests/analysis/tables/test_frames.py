"""Cross-tables and comparisons: golden numbers, the full Kronecker inverse, coverage, and bad input."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hushpoll_analysis import compare, crosstab, estimate
from hushpoll_analysis.channel.view import channel_view
from hushpoll_analysis.errors import AnalysisError
from hushpoll_analysis.interval.mover import BoundedEstimate, difference_limits, ratio_limits
from hushpoll_analysis.interval.score import linear_score_limits
from hushpoll_analysis.interval.score_ratio import ratio_score_limits
from hushpoll_analysis.tables.group_ratio import group_ratio
from hushpoll_client import Channel, Survey, mechanisms
from hushpoll_client.channel import SCALE
from hypothesis import assume, given, settings, strategies
from hypothesis.extra.numpy import arrays
from scipy import stats

RESULTS = Path(__file__).parents[2] / "results"
GOLDEN = json.loads((RESULTS / "weights_power_crosstab.json").read_text(encoding="utf-8"))
WARNERS = {"warner75": mechanisms.warner(truth="3/4"), "warner80_y2": mechanisms.warner(truth="4/5")}
KRR = mechanisms.krr(options=3, epsilon=1.5)
KUK = mechanisms.kuk("0.8", "0.3", draws=2)


@pytest.fixture(scope="module")
def sample() -> pd.DataFrame:
    return pd.read_csv(RESULTS / "data" / "synthA.csv")


def draw(truth: np.ndarray, channel: Channel, rng: np.random.Generator) -> np.ndarray:
    """Randomize a whole array by inverting each row's cumulative probabilities."""
    edges = np.cumsum(np.array(channel.rows) / SCALE, axis=1)
    edges[:, -1] = 1.0
    return (rng.random(len(truth))[:, None] >= edges[truth]).sum(axis=1)


def test_two_by_two_agrees_with_rrreg(sample: pd.DataFrame) -> None:
    expected = GOLDEN["crosstab_2x2_rr_rr"]
    got = crosstab(sample, WARNERS, "warner80_y2", "warner75")
    assert got.counts.reshape(-1).tolist() == expected["data"]["counts_a0b0_a1b0_a0b1_a1b1"]
    assert got.estimate.reshape(-1) == pytest.approx(expected["output"]["pi"], abs=1e-9)
    assert got.se.reshape(-1) == pytest.approx(expected["output"]["se"], abs=1e-9)
    again = crosstab(got.counts, WARNERS, "warner80_y2", "warner75")
    assert again.estimate == pytest.approx(got.estimate)
    assert again.se == pytest.approx(got.se)


def test_axis_by_axis_is_the_full_kronecker_inverse() -> None:
    rng = np.random.default_rng(3)
    counts = rng.integers(20, 60, (2, 3, 4))
    channels = {
        "a": WARNERS["warner75"],
        "b": KRR,
        "c": mechanisms.forced(shares=["1/10", "1/20", "0", "1/5"]),
    }
    got = crosstab(counts, channels, "a", ["b", "c"])
    full = np.array([[1.0]])
    for mechanism in channels.values():
        full = np.kron(full, np.array(mechanism.analysis.rows) / SCALE)
    weights = np.linalg.inv(full)
    f = counts.reshape(-1) / counts.sum()
    assert got.estimate.reshape(-1) == pytest.approx(f @ weights)
    variance = (f @ weights**2 - (f @ weights) ** 2) / (counts.sum() - 1)
    assert got.se.reshape(-1) == pytest.approx(np.sqrt(variance))
    assert got.estimate.sum() == pytest.approx(1)
    assert got.constrained.sum() == pytest.approx(1)
    assert got.constrained.min() >= 0


def test_marginals_agree_with_estimate(sample: pd.DataFrame) -> None:
    table = crosstab(sample, WARNERS, "warner80_y2", "warner75")
    counts = np.bincount(sample["warner75"]).tolist()
    expected = estimate(counts, WARNERS["warner75"]).estimates[0]
    got = table.marginal("warner75").loc[1]
    assert got["estimate"] == pytest.approx(expected.estimate)
    assert got["se"] == pytest.approx(expected.se)


def test_an_exact_group_is_the_estimate_of_its_members(sample: pd.DataFrame) -> None:
    got = crosstab(sample, WARNERS, "x2", "warner75").conditional("warner75", given="x2")
    for group in (0, 1):
        counts = np.bincount(sample.loc[sample["x2"] == group, "warner75"]).tolist()
        expected = estimate(counts, WARNERS["warner75"]).estimates[0]
        assert got.loc[(group, 1), "estimate"] == pytest.approx(expected.estimate)
        assert got.loc[(group, 1), "se"] == pytest.approx(expected.se)
    difference = compare(sample, WARNERS, "warner75", "x2").differences[0]
    assert difference.difference == pytest.approx(got.loc[(1, 1), "estimate"] - got.loc[(0, 1), "estimate"])
    assert difference.se == pytest.approx(np.hypot(got.loc[(0, 1), "se"], got.loc[(1, 1), "se"]))


def test_a_survey_gives_labels_and_reported_columns_are_found() -> None:
    survey = Survey.from_draft(
        {
            "hushpoll": 1,
            "title": "T",
            "questions": [
                {
                    "id": "cheated",
                    "kind": "yes_no",
                    "text": "?",
                    "mechanism": {"name": "warner", "epsilon": 2},
                },
                {
                    "id": "reason",
                    "kind": "choice",
                    "text": "?",
                    "options": ["Time", "Fear", "Habit"],
                    "mechanism": {"name": "krr", "epsilon": 2},
                },
            ],
        }
    )
    rng = np.random.default_rng(5)
    reports = pd.DataFrame(
        {
            "cheated_reported": rng.integers(0, 2, 300),
            "reason_reported": rng.integers(0, 3, 300),
            "sex": ["f", "m"] * 150,
        }
    )
    table = crosstab(reports, survey, "cheated", "reason")
    assert table.labels == (("No", "Yes"), ("Time", "Fear", "Habit"))
    assert list(table.table().columns) == ["Time", "Fear", "Habit"]
    assert table.table("low").loc["Yes", "Habit"] == pytest.approx(table.low[1, 2])
    assert "Habit" in table._repr_html_()
    assert json.loads(json.dumps(table.to_dict()))["names"] == ["cheated", "reason"]
    groups = compare(reports, survey, "reason", "sex", reference="f")
    assert [difference.option for difference in groups.differences] == ["Time", "Fear", "Habit"]
    assert all(difference.group == "m" for difference in groups.differences)
    assert groups.to_frame().shape[0] == 3
    assert json.loads(json.dumps(groups.to_dict()))["by"] == "sex"
    three = crosstab(reports, survey, "cheated", ["reason", "sex"])
    assert three.table().shape == (2, 6)
    assert three.marginal("sex")["se"].min() > 0


def test_simultaneous_intervals_are_wider(sample: pd.DataFrame) -> None:
    plain = crosstab(sample, WARNERS, "warner80_y2", "warner75")
    wide = crosstab(sample, WARNERS, "warner80_y2", "warner75", simultaneous=True)
    ratio = (wide.high - wide.low) / (plain.high - plain.low)
    # A little more than Bonferroni: cells held together have exact limits.
    assert ratio == pytest.approx(stats.norm.isf(0.025 / 4) / stats.norm.isf(0.025), rel=2e-2)


@pytest.mark.parametrize("covariance", [0.0, 0.0001, -0.0001])
def test_mover_of_normal_parts_is_the_normal_interval_and_fiellers(covariance: float) -> None:
    z, (a, var_a), (b, var_b) = 1.96, (0.4, 0.0004), (0.2, 0.0001)
    minuend, other = (BoundedEstimate(e, e - z * v**0.5, e + z * v**0.5) for e, v in ((a, var_a), (b, var_b)))
    correlation = covariance / (var_a * var_b) ** 0.5
    half = z * (var_a + var_b - 2 * covariance) ** 0.5
    assert difference_limits(minuend, other, correlation) == pytest.approx((0.2 - half, 0.2 + half))
    for end in ratio_limits(minuend, other, correlation):
        spread = var_a - 2 * end * covariance + end**2 * var_b
        assert (a - end * b) ** 2 == pytest.approx(z**2 * spread)


def test_two_groups_with_the_same_reports_do_not_differ() -> None:
    mechanism = {"y": mechanisms.warner(epsilon=3)}
    difference = compare(np.array([[60, 0], [60, 0]]), mechanism, "y", "g").differences[0]
    assert (difference.difference, difference.se, difference.p_value) == (0, 0, 1)
    assert difference.low < -0.02 < 0.02 < difference.high
    assert np.isnan(difference.ratio)
    assert (difference.ratio_low, difference.ratio_high) == (0.0, np.inf)
    assert "not clear of zero" in difference.note


def test_a_ratio_needs_a_reference_above_zero() -> None:
    mechanism = {"y": mechanisms.warner(epsilon=1)}
    difference = compare(np.array([[150, 50], [140, 60]]), mechanism, "y", "g").differences[0]
    assert difference.share_reference < 0
    assert np.isnan(difference.ratio)
    assert (difference.ratio_low, difference.ratio_high) == (0.0, np.inf)
    assert "no upper limit" in difference.note
    impossible = compare(np.array([[180, 20], [140, 60]]), mechanism, "y", "g").differences[0]
    assert np.isnan([impossible.ratio, impossible.ratio_low, impossible.ratio_high]).all()
    assert "no ratio" in impossible.note
    against = compare(np.array([[140, 60], [60, 140]]), mechanism, "y", "g")
    faint = against.differences[0]
    assert faint.ratio_low > 1.0
    assert np.isinf(faint.ratio_high)
    assert json.loads(json.dumps(against.to_dict(), allow_nan=False))["differences"][0]["ratio_high"] is None
    clear = compare(np.array([[60, 140], [140, 60]]), mechanism, "y", "g").differences[0]
    assert clear.ratio_low < clear.ratio < clear.ratio_high
    assert clear.note == ""
    below = compare(np.array([[60, 140], [150, 50]]), mechanism, "y", "g").differences[0]
    assert below.ratio < 0
    assert "below zero by chance" in below.note


@pytest.mark.parametrize("counts", [[[60, 140], [90, 110]], [[10, 10], [19, 1]], [[3, 397], [20, 0]]])
def test_the_p_value_is_the_level_at_which_the_interval_reaches_zero(counts: list[list[int]]) -> None:
    mechanism = {"y": mechanisms.warner(epsilon=2)}
    difference = compare(np.array(counts), mechanism, "y", "g").differences[0]
    assert difference.interval == "mover"
    if difference.p_value > 1e-12:
        # Exact limits move by steps with the level: 0 enters the interval there, but may lie inside it at once.
        for step, holds_zero in ((-1e-6, True), (1e-6, False)):
            level = 1 - difference.p_value * (1 + step)
            edge = compare(np.array(counts), mechanism, "y", "g", level=level).differences[0]
            assert (edge.low <= 0 <= edge.high) == holds_zero
    assert (difference.p_value < 0.05) == (not difference.low <= 0 <= difference.high)


def test_a_group_has_the_interval_of_its_own_estimate() -> None:
    """60 No of 60 at epsilon 3: not the normal interval's [0, .0004]."""
    mechanism = mechanisms.warner(epsilon=3)
    counts = np.array([[60, 0], [300, 100]])
    table = crosstab(counts, {"y": mechanism}, "g", "y")
    shares = compare(counts, {"y": mechanism}, "y", "g").shares
    for group, method in enumerate(("blaker", "wilson")):
        expected = estimate(counts[group], mechanism)["Yes"]
        for row in (table.conditional("y", given="g").loc[(group, 1)], shares.loc[(group, "Yes")]):
            assert (row["low"], row["high"]) == pytest.approx((expected.low, expected.high))
            assert (row["shown_low"], row["shown_high"]) == pytest.approx(
                (expected.shown.low, expected.shown.high)
            )
            assert row["interval"] == expected.interval == method
    assert shares.loc[(0, "Yes"), "shown_high"] > 0.01
    overall = estimate(counts.sum(axis=0), mechanism)["Yes"]
    assert table.marginal("y").loc[1, ["low", "high"]].to_list() == pytest.approx([overall.low, overall.high])
    assert table.marginal("g").loc[0, "interval"] == "wilson"


def test_groups_share_the_error_of_a_counted_decoy() -> None:
    decoy = mechanisms.or_poll(decoy_counts=(12, 30))
    counts = np.array([[100, 120], [90, 160]])
    shares = compare(counts, {"y": decoy}, "y", "g").shares
    for group in (0, 1):
        expected = estimate(counts[group], decoy)["Yes"]
        assert shares.loc[(group, "Yes"), ["low", "high"]].to_list() == pytest.approx(
            [expected.low, expected.high]
        )
    difference = compare(counts, {"y": decoy}, "y", "g").differences[0]
    apart = np.hypot(*shares.loc[[(0, "Yes"), (1, "Yes")], "se"])
    assert difference.se < apart  # what the decoy adds is the same in both groups
    assert difference.high - difference.low < 2 * 2.2 * apart


def cell_coverage(n: int, share: float, epsilon: float, repetitions: int, seed: int) -> float:
    """A cell of an exact group, of which a quarter of the respondents are members."""
    rng = np.random.default_rng(seed)
    mechanism = mechanisms.warner(epsilon=epsilon)
    yes = channel_view(mechanism).forward(np.array([1 - share, share]))[1]
    counts = rng.multinomial(n, [0.25 * (1 - yes), 0.25 * yes, 0.5, 0.25], size=repetitions)
    weights = np.concatenate([channel_view(mechanism).solution([0, 1]), [0, 0]])
    low, high = linear_score_limits(np.tile(weights, (repetitions, 1)), counts / n, n, 0.95)
    table = crosstab(counts[0].reshape(2, 2), {"y": mechanism}, "g", "y")
    assert table.interval == "score"
    assert (table.low[0, 1], table.high[0, 1]) == pytest.approx((low[0], high[0]))
    return float(np.mean((low <= 0.25 * share + 1e-12) & (0.25 * share <= high + 1e-12)))


@pytest.mark.parametrize(("n", "share", "epsilon"), [(80, 0, 4), (80, 0.05, 4), (80, 0.2, 1), (400, 0, 2)])
def test_cells_of_an_exact_group_cover_small(n: int, share: float, epsilon: float) -> None:
    slack = 3 * np.sqrt(0.05 * 0.95 / 4000)
    assert 0.93 - slack <= cell_coverage(n, share, epsilon, 4000, 31) <= 0.975 + slack


@pytest.mark.long
@pytest.mark.parametrize("epsilon", [0.5, 1, 2, 4])
@pytest.mark.parametrize("share", [0, 0.05, 0.2, 0.5])
@pytest.mark.parametrize("n", [80, 200, 400, 1600])
def test_cells_of_an_exact_group_cover(n: int, share: float, epsilon: float) -> None:
    slack = 3 * np.sqrt(0.05 * 0.95 / 50_000)
    got = cell_coverage(n, share, epsilon, 50_000, 32)
    print(got)
    assert 0.93 - slack <= got <= 0.975 + slack


def shares_within(n: int, shares: tuple[float, float], epsilon: float, draws: int, seed: int) -> np.ndarray:
    """Coverage of the shares within two randomized groups of half of the people each."""
    how = mechanisms.warner(epsilon=epsilon)
    channel = np.array(how.analysis.rows) / SCALE
    weights = np.linalg.inv(channel)
    truth = np.array([[(1 - share) / 2, share / 2] for share in shares])
    tables = np.random.default_rng(seed).multinomial(n, (channel.T @ truth @ channel).reshape(-1), size=draws)
    table = crosstab(tables[0].reshape(2, 2), {"g": how, "y": how}, "g", "y").conditional("y", given="g")
    coverage = []
    for group, share in enumerate(shares):
        bottom = np.outer(weights[:, group], np.ones(2)).reshape(-1)
        top = np.outer(weights[:, group], weights[:, 1]).reshape(-1)
        low, high = ratio_score_limits(
            *(np.tile(half, (draws, 1)) for half in (top, bottom)), tables / n, n, 0.95
        )
        row = table.loc[(group, 1)]
        if row["interval"] == "score":
            assert (row["low"], row["high"]) == pytest.approx((low[0], high[0]))
        coverage.append(np.mean((low <= share + 1e-9) & (share - 1e-9 <= high)))
    return np.array(coverage)


@pytest.mark.parametrize(
    ("n", "shares", "epsilon"),
    [(100, (0, 0.1), 4), (200, (0.02, 0.02), 4), (40, (0, 0), 4)],
)
def test_shares_within_randomized_groups_cover_small(
    n: int, shares: tuple[float, float], epsilon: float
) -> None:
    """The normal interval covered 65, 88 and 31 %."""
    slack = 3 * np.sqrt(0.05 * 0.95 / 4000)
    assert shares_within(n, shares, epsilon, 4000, 41).min() >= 0.93 - slack


@pytest.mark.long
@pytest.mark.parametrize("epsilon", [2, 3, 4])
@pytest.mark.parametrize("shares", [(0, 0), (0, 0.1), (0.02, 0.02), (0, 0.3), (0.2, 0.6)])
@pytest.mark.parametrize("n", [40, 100, 200, 400])
def test_shares_within_randomized_groups_cover(n: int, shares: tuple[float, float], epsilon: float) -> None:
    got = shares_within(n, shares, epsilon, 20_000, 42)
    print(got)
    assert got.min() >= 0.93 - 3 * np.sqrt(0.05 * 0.95 / 20_000)


def test_equal_reports_leave_a_share_within_a_randomized_group_an_interval() -> None:
    how = mechanisms.warner(epsilon=4)
    got = compare([[50, 0], [50, 0]], {"g": how, "y": how}, "y", "g")
    assert list(got.shares["interval"]) == ["score", "score"]
    assert (got.shares["low"] < 0).all()
    assert (got.shares["shown_high"] > 0.03).all()
    difference = got.differences[0]
    assert difference.interval == "mover"
    assert difference.low < -0.03 < 0.03 < difference.high
    assert difference.p_value == 1
    rare = compare([[30, 0], [28, 2]], {"g": how, "y": how}, "y", "g").shares
    assert rare.loc[("No", "Yes"), "shown_high"] > 0.03


def test_the_ratio_of_a_group_is_what_the_score_test_does_not_reject() -> None:
    """At a limit R the score limit of p_gy - R p_g, as cells have it, is 0; far from the edges it is the normal one."""
    how = mechanisms.warner(epsilon=3)
    weights = np.linalg.inv(np.array(how.analysis.rows) / SCALE)
    counts = np.array([60, 3, 40, 12])
    bottom = np.outer(weights[:, 1], np.ones(2)).reshape(1, -1)
    top = np.outer(weights[:, 1], weights[:, 1]).reshape(1, -1)
    flat = (counts / counts.sum())[None]
    low, high = ratio_score_limits(top, bottom, flat, counts.sum(), 0.95)
    assert linear_score_limits(top - low * bottom, flat, counts.sum(), 0.95)[0] == pytest.approx(0, abs=1e-8)
    assert linear_score_limits(top - high * bottom, flat, counts.sum(), 0.95)[1] == pytest.approx(0, abs=1e-8)
    row = compare(counts.reshape(2, 2), {"g": how, "y": how}, "y", "g").shares.loc[("Yes", "Yes")]
    assert (row["low"], row["high"]) == pytest.approx((low[0], high[0]))
    many = compare(10_000 * counts.reshape(2, 2), {"g": how, "y": how}, "y", "g").shares.loc[("Yes", "Yes")]
    assert many["interval"] == "wald"
    ends = ratio_score_limits(top, bottom, flat, 10_000 * counts.sum(), 0.95)
    assert (ends[0][0], ends[1][0]) == pytest.approx((many["low"], many["high"]), abs=1e-4)


def test_weights_and_decoys_widen_the_share_within_a_randomized_group() -> None:
    how, decoy = mechanisms.warner(epsilon=3), mechanisms.or_poll(decoy_counts=(12, 30))
    counts = np.array([[60, 3], [40, 12]])
    cells = np.repeat(np.arange(4), counts.reshape(-1))
    people = pd.DataFrame({"g": cells // 2, "y": cells % 2, "w": np.where(np.arange(115) % 3, 1.0, 4.0)})
    names = {"g": how, "y": how}
    plain = compare(people, names, "y", "g").shares
    alike = compare(people.assign(w=1.0), names, "y", "g", weights="w").shares
    assert alike["low"].to_numpy() == pytest.approx(plain["low"].to_numpy(), abs=0.01)
    heavy = compare(people, names, "y", "g", weights="w").shares
    assert list(heavy["interval"]) == ["score", "score"]
    assert ((heavy["high"] - heavy["low"]) > (plain["high"] - plain["low"])).all()
    counted = compare(counts, {"g": how, "y": decoy}, "y", "g").shares
    assert list(counted["interval"]) == ["mover", "mover"]
    without_error = compare(counts, {"g": how, "y": mechanisms.or_poll(decoy_share="0.4")}, "y", "g").shares
    assert ((counted["high"] - counted["low"]) > (without_error["high"] - without_error["low"])).all()


def test_a_faint_group_is_named_not_divided_by() -> None:
    counts = np.array([[400, 300], [110, 90]])
    got = crosstab(counts, WARNERS, "warner75", "warner80_y2")
    assert got.marginal("warner75").loc[1, "estimate"] < 0
    within = got.conditional("warner80_y2", given="warner75")
    assert "not clear of zero" in within.loc[(1, 0), "note"]
    assert within.loc[(0, 0), "note"] == ""
    faint = compare(counts, WARNERS, "warner80_y2", "warner75").differences[0]
    assert "not clear of zero" in faint.note


def simulate_tables(repetitions: int, n: int, seed: int) -> dict[str, np.ndarray]:
    """Draw tables with a known truth; give coverage of cells and the p-values under independence."""
    rng = np.random.default_rng(seed)
    truth = np.array([[0.30, 0.15, 0.05], [0.10, 0.25, 0.15]])
    channels = [WARNERS["warner80_y2"].analysis, KRR.analysis]
    names = {"a": WARNERS["warner80_y2"], "b": KRR}
    tables = [np.array(mechanism.rows) / SCALE for mechanism in channels]
    dependent = tables[0].T @ truth @ tables[1]
    independent = tables[0].T @ np.outer(truth.sum(axis=1), truth.sum(axis=0)) @ tables[1]
    inside, within, p_values = np.zeros(truth.shape), 0.0, []
    true_difference = truth[1, 1] / truth[1].sum() - truth[0, 1] / truth[0].sum()
    for _ in range(repetitions):
        counts = rng.multinomial(n, dependent.reshape(-1)).reshape(truth.shape)
        table = crosstab(counts, names, "a", "b")
        inside += (table.low <= truth) & (truth <= table.high)
        difference = compare(counts, names, "b", "a", option=1).differences[0]
        within += difference.low <= true_difference <= difference.high
        free = rng.multinomial(n, independent.reshape(-1)).reshape(truth.shape)
        test = crosstab(free, names, "a", "b").test
        assert test is not None
        p_values.append(test.p_value)
    return {
        "cells": inside / repetitions,
        "difference": np.array(within / repetitions),
        "rejected": np.mean(np.array(p_values) < 0.05),
    }


def check_coverage(got: dict[str, np.ndarray], repetitions: int) -> None:
    slack = 4 * np.sqrt(0.05 * 0.95 / repetitions)
    assert got["cells"].min() > 0.95 - slack - 0.005
    assert got["cells"].max() < 0.95 + slack + 0.005
    assert abs(got["difference"] - 0.95) < slack + 0.005
    assert abs(got["rejected"] - 0.05) < slack


def test_coverage_small() -> None:
    check_coverage(simulate_tables(150, 1500, 21), 150)


@pytest.mark.long
def test_coverage() -> None:
    check_coverage(simulate_tables(3000, 1500, 22), 3000)


def test_the_design_corrected_test_is_calibrated() -> None:
    """Clusters that share their answers: the plain test rejects far too often, the corrected one does not."""
    rng = np.random.default_rng(8)
    nearly = mechanisms.warner(epsilon=3)
    plain, corrected = [], []
    for _ in range(80):
        cluster = np.repeat(np.arange(40), 25)
        first = (rng.random(40) < 0.5)[cluster] ^ (rng.random(1000) < 0.1)
        second = (rng.random(40) < 0.5)[cluster] ^ (rng.random(1000) < 0.1)
        data = pd.DataFrame(
            {
                "first": draw(first.astype(int), nearly.analysis, rng),
                "second": draw(second.astype(int), nearly.analysis, rng),
                "cluster": cluster,
            }
        )
        for rejections, design in ((plain, {}), (corrected, {"clusters": "cluster"})):
            test = crosstab(data, {"first": nearly, "second": nearly}, "first", "second", **design).test
            assert test is not None
            rejections.append(test.p_value < 0.05)
    assert np.mean(plain) > 0.2
    assert np.mean(corrected) < 0.15


def test_ten_thousand_cells_need_no_large_matrix() -> None:
    mechanism = mechanisms.krr(options=100, epsilon=6)
    rng = np.random.default_rng(2)
    truth = rng.dirichlet(np.full(100, 0.5), 1)[0]
    reports = pd.DataFrame(
        {name: draw(rng.choice(100, 50_000, p=truth), mechanism.analysis, rng) for name in ("a", "b")}
    )
    got = crosstab(reports, {"a": mechanism, "b": mechanism}, "a", "b")
    assert got.estimate.shape == (100, 100)
    assert got.marginal("a")["estimate"].to_numpy() == pytest.approx(truth, abs=0.03)


def test_more_reports_than_answers(sample: pd.DataFrame) -> None:
    rng = np.random.default_rng(4)
    truth = sample["y_true"].to_numpy()
    data = sample.assign(cards=draw(truth, KUK.analysis, rng))
    got = crosstab(data, {**WARNERS, "cards": KUK}, "cards", "warner80_y2")
    assert got.counts.shape == (3, 2)
    assert got.estimate.shape == (2, 2)
    assert "reported" not in got.to_frame()
    view = channel_view(KUK)
    expected = view.shares(got.counts.sum(axis=1) / got.n)
    assert got.marginal("cards")["estimate"].to_numpy() == pytest.approx(expected)


DECOYS = [
    mechanisms.or_poll(decoy_counts=(412, 1000)),
    mechanisms.or_poll(decoy_counts=(412, 1000), epsilon=2),
    mechanisms.unrelated(truth="0.7", decoy_counts=(412, 1000)),
    mechanisms.crosswise(decoy_counts=(200, 1000), epsilon=3),
]


@pytest.mark.parametrize("decoy", DECOYS, ids=lambda decoy: f"{decoy.name}-{decoy.epsilon:.0f}")
def test_an_estimated_decoy_is_part_of_the_standard_error(decoy: mechanisms.Mechanism) -> None:
    """The delta method, by finite differences of the whole table in the decoy's count."""
    counts = np.array([[300, 200], [250, 350]])
    names = {"tax": decoy, "warner75": WARNERS["warner75"]}
    got = crosstab(counts, names, "tax", "warner75")
    assert "estimated from 1,000 answers" in got.notes[0]
    expected = estimate(counts.sum(axis=1).tolist(), decoy).estimates[0]
    assert got.marginal("tax").loc[1, "se"] == pytest.approx(expected.se, rel=1e-9)
    yes, of = decoy.decoy_counts or (0, 0)
    build, rest = getattr(mechanisms, decoy.name), {}
    for key in ("truth", "epsilon"):
        if key in decoy.parameters:
            rest[key] = decoy.parameters[key]
    variance = yes / of * (1 - yes / of) / of
    tables, within = [], []
    for share in (yes / of - 1e-4, yes / of, yes / of + 1e-4):
        other = {**names, "tax": build(decoy_share=share, **rest)}
        tables.append(crosstab(counts, other, "tax", "warner75"))
        within.append(compare(counts, other, "warner75", "tax").differences[0])
    slope = (tables[2].estimate - tables[0].estimate) / 2e-4
    assert got.se**2 == pytest.approx(tables[1].se ** 2 + slope**2 * variance, rel=1e-5)
    slope = (within[2].difference - within[0].difference) / 2e-4
    difference = compare(counts, names, "warner75", "tax").differences[0]
    assert difference.se**2 == pytest.approx(within[1].se ** 2 + slope**2 * variance, rel=1e-5)


@settings(max_examples=30, deadline=None)
@given(
    counts=arrays(np.int64, (3, 2), elements=strategies.integers(0, 500)),
    order=strategies.permutations(range(3)),
)
def test_permuting_options_permutes_the_table(counts: np.ndarray, order: list[int]) -> None:
    assume(counts.sum() > 1)
    names = {"a": KRR, "b": WARNERS["warner75"]}
    plain, turned = crosstab(counts, names, "a", "b"), crosstab(counts[order], names, "a", "b")
    assert turned.estimate == pytest.approx(plain.estimate[order])
    # Where all reports are the same the error is 0, but for the rounding of a root.
    assert turned.se == pytest.approx(plain.se[order], abs=1e-8)
    assert plain.estimate.sum() == pytest.approx(1)
    assert plain.marginal("a")["estimate"].to_numpy() == pytest.approx(plain.estimate.sum(axis=1))


@pytest.mark.parametrize(
    ("reports", "names", "message"),
    [
        (pd.DataFrame({"warner75": [0, 1]}), ("warner75", "nobody"), "no column 'nobody'"),
        (
            pd.DataFrame({"warner75": [0, 7], "x": [0, 1]}),
            ("warner75", "x"),
            "not report codes .*first is .*7.* in row 1",
        ),
        (pd.DataFrame({"warner75": [0, 0.5], "x": [0, 1]}), ("warner75", "x"), "not report codes"),
        (pd.DataFrame({"warner75": [0, None], "x": [0, 1]}), ("warner75", "x"), "1 missing values"),
        (pd.DataFrame({"warner75": ["Yes", "Maybe"], "x": [0, 1]}), ("warner75", "x"), "not report codes"),
        (pd.DataFrame({"warner75": [0], "x": [1]}), ("warner75", "x"), "at least 2 respondents"),
        (pd.DataFrame({"warner75": [], "x": []}), ("warner75", "x"), "empty"),
        (pd.DataFrame({"warner75": [0, 1]}), ("warner75", "warner75"), "named twice"),
        ([[1, 2], [3]], ("warner75", "warner80_y2"), "different lengths"),
        (np.array([[1, 2], [3, -4]]), ("warner75", "warner80_y2"), "negative"),
        (np.array([[1, 2], [3, 0.5]]), ("warner75", "warner80_y2"), "fractional"),
        (np.zeros((2, 2)), ("warner75", "warner80_y2"), "all counts are 0"),
        (np.array([1, 2]), ("warner75", "warner80_y2"), "1 axes of counts for 2 variables"),
        (np.ones((2, 3)), ("warner75", "warner80_y2"), "2 possible reports but axis 1"),
        ("nonsense", ("warner75", "warner80_y2"), "DataFrame"),
    ],
)
def test_bad_tables_are_explained(reports: object, names: tuple[str, str], message: str) -> None:
    with pytest.raises(AnalysisError, match=message):
        crosstab(reports, WARNERS, *names)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"by": "one"}, "one group only"),
        ({"option": "Perhaps"}, "no answer 'Perhaps'"),
        ({"reference": 9}, "no answer 9"),
        ({"level": 95}, "such as 0.95, got 95"),
        ({"mechanisms": {"warner75": Channel.krr(2, SCALE // 2)}}, "same probability"),
    ],
)
def test_bad_comparisons_are_explained(sample: pd.DataFrame, change: dict[str, object], message: str) -> None:
    arguments = {"mechanisms": WARNERS, "outcome": "warner75", "by": "x2", **change}
    with pytest.raises(AnalysisError, match=message):
        compare(sample.assign(one=1), **arguments)


def test_a_group_of_one_is_named() -> None:
    data = pd.DataFrame({"warner75": [0, 1, 0, 1, 1], "town": ["a", "a", "b", "b", "c"]})
    notes = compare(data, WARNERS, "warner75", "town").shares["note"]
    assert "1 respondents, too few" in notes.loc[("c", "Yes")]


def test_ratios_of_randomized_groups_put_reports_with_equal_weights_together() -> None:
    """12 groups and 8 answers have 96 joint reports, and four pairs of weights: group or not, answer or not."""
    rng = np.random.default_rng(5)
    how = {"g": mechanisms.krr(options=12, epsilon=4), "y": mechanisms.krr(options=8, epsilon=4)}
    data = pd.DataFrame({"g": rng.integers(0, 12, 900), "y": rng.integers(0, 8, 900)})
    joint = crosstab(data, how, "g", "y").joint
    ratio = group_ratio(joint, (0, 3), 1, 2, 0.01)
    assert ratio is not None
    assert len(ratio.top) == 4
    assert ratio.frequencies.sum() == pytest.approx(1.0)
    flat = (
        joint.functional([joint.matrices[0][3], row]).reshape(1, -1)
        for row in (joint.matrices[1][2], np.ones(8))
    )
    separate = ratio_score_limits(*flat, joint.frequencies.reshape(1, -1), 900, 0.95)
    merged = ratio_score_limits(ratio.top[None], ratio.bottom[None], ratio.frequencies[None], 900, 0.95)
    assert np.ravel(merged) == pytest.approx(np.ravel(separate), abs=1e-9)
