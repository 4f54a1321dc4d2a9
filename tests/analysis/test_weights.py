"""Weights, strata, clusters and raking, against R's survey package and by hand."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hushpoll_analysis import estimate
from hushpoll_analysis.channel.view import channel_view
from hushpoll_analysis.errors import AnalysisError
from hushpoll_analysis.sampling.weighted import weighted_estimate
from hushpoll_analysis.sampling.weights import rake, read_design
from hushpoll_analysis.tables.frames import crosstab
from hushpoll_client import mechanisms

RESULTS = Path(__file__).parents[1] / "results"
GOLDEN = json.loads((RESULTS / "weights_power_crosstab.json").read_text(encoding="utf-8"))
MECHANISMS = {"warner75": mechanisms.warner(truth="3/4")}
DESIGN = {"weights": "w", "strata": "stratum", "clusters": "cluster"}


@pytest.fixture(scope="module")
def sample() -> pd.DataFrame:
    return pd.read_csv(RESULTS / "data" / "synthA_design.csv")


def test_mean_total_and_design_effect_agree_with_survey(sample: pd.DataFrame) -> None:
    got = weighted_estimate(sample, MECHANISMS, "warner75", interval="t", **DESIGN)
    yes, wanted = got.shares[1], GOLDEN["svy_warner_mean_strat_cluster"]["output"]
    assert yes.estimate == pytest.approx(wanted["mean"], abs=1e-9)
    assert yes.se == pytest.approx(wanted["se"], abs=1e-9)
    assert [yes.low, yes.high] == pytest.approx(wanted["ci_t"], abs=1e-9)
    assert got.degrees_of_freedom == wanted["degf"]
    # survey compares with sampling without replacement from a population of sum(w) people.
    fraction = 1 - len(sample) / sample["w"].sum()
    assert yes.sampling_effect / fraction == pytest.approx(wanted["deff"], abs=1e-8)
    total = GOLDEN["svy_warner_total"]["output"]
    assert yes.total == pytest.approx(total["total"], abs=1e-4)
    assert yes.total_se == pytest.approx(total["se"], abs=1e-4)


def test_weights_only_agree_with_survey(sample: pd.DataFrame) -> None:
    got = weighted_estimate(sample, MECHANISMS, "warner75", weights="w")
    wanted = GOLDEN["svy_warner_mean_weights_only"]["output"]
    assert got.shares[1].estimate == pytest.approx(wanted["mean"], abs=1e-9)
    assert got.shares[1].se == pytest.approx(wanted["se"], abs=1e-9)
    assert got.effective_n == pytest.approx(wanted["kish_neff"], abs=1e-6)


def test_groups_agree_with_survey(sample: pd.DataFrame) -> None:
    wanted = GOLDEN["svy_warner_by_x2"]["output"]
    got = crosstab(sample, MECHANISMS, "warner75", "x2", **DESIGN).conditional("warner75", given="x2")
    yes = got.xs(1, level="warner75")
    assert yes["estimate"].tolist() == pytest.approx(wanted["mean"], abs=1e-9)
    assert yes["se"].tolist() == pytest.approx(wanted["se"], abs=1e-9)


@pytest.mark.parametrize(
    ("case", "interval"),
    [
        ("mean", "t"),
        ("logit", "logit"),
        ("xlogit", "logit"),
        ("asin", "asin"),
        ("beta", "beta"),
        ("likelihood", "likelihood"),
    ],
)
def test_intervals_agree_with_survey(sample: pd.DataFrame, case: str, interval: str) -> None:
    wanted = GOLDEN[f"svy_ciprop_lambda_{case}"]["output"]
    yes = weighted_estimate(sample, MECHANISMS, "warner75", interval=interval, **DESIGN).shares[1]
    assert yes.estimate == pytest.approx(wanted["pi"], abs=1e-9)
    assert [yes.low, yes.high] == pytest.approx(wanted["ci_pi"], abs=1e-4)


def test_an_estimated_decoy_share_is_part_of_the_standard_error(sample: pd.DataFrame) -> None:
    poll = mechanisms.or_poll(decoy_counts=(150, 1000))
    got = weighted_estimate(sample, {"warner75": poll}, "warner75").shares[1]
    wanted = estimate(np.bincount(sample["warner75"]).tolist(), poll).estimates[0]
    assert (got.estimate, got.se) == pytest.approx((wanted.estimate, wanted.se))
    assert got.total_se == pytest.approx(got.se * len(sample))
    with pytest.raises(AnalysisError, match="use t"):
        weighted_estimate(sample, {"warner75": poll}, "warner75", interval="logit")


def test_the_intervals_of_no_mirror_those_of_yes(sample: pd.DataFrame) -> None:
    no, yes = weighted_estimate(sample, MECHANISMS, "warner75", interval="logit", **DESIGN).shares
    assert (no.low, no.high) == pytest.approx((1 - yes.high, 1 - yes.low))


def test_equal_weights_change_nothing(sample: pd.DataFrame) -> None:
    names = ("warner75", "x2")
    plain = crosstab(sample, MECHANISMS, *names)
    weighted = crosstab(sample, MECHANISMS, *names, weights=np.full(len(sample), 3.5))
    assert weighted.estimate == pytest.approx(plain.estimate)
    assert weighted.se == pytest.approx(plain.se)
    assert weighted.effective_n == pytest.approx(plain.n)


def test_raking_meets_its_margins(sample: pd.DataFrame) -> None:
    margins = {"x2": {0: 0.4, 1: 0.6}, "group": {1: 0.55, 2: 0.45}}
    weight = rake(sample, margins, "w")
    assert weight.sum() == pytest.approx(sample["w"].sum()), "totals stand for the same population"
    assert rake(sample, margins).mean() == pytest.approx(1)
    by_hand = weighted_estimate(sample.assign(r=weight), MECHANISMS, "warner75", weights="r")[1].total
    inside = weighted_estimate(sample, MECHANISMS, "warner75", weights="w", margins=margins)[1].total
    assert by_hand == pytest.approx(inside)
    for name, shares in margins.items():
        for value, share in shares.items():
            assert weight[sample[name] == value].sum() / weight.sum() == pytest.approx(share, abs=1e-9)
    # The ratio to the first weights is a product of one factor for each margin.
    factor = np.log(weight / sample["w"]).groupby([sample["x2"], sample["group"]]).first()
    assert factor.loc[0, 1] - factor.loc[0, 2] == pytest.approx(factor.loc[1, 1] - factor.loc[1, 2], abs=1e-8)


def test_post_stratification_agrees_with_the_textbook(sample: pd.DataFrame) -> None:
    """One margin: the estimate is the sum of W_g p_g, and the margin itself has no variance left."""
    known = {0: 0.3, 1: 0.7}
    table = crosstab(sample, MECHANISMS, "warner75", "x2", margins={"x2": known})
    within = (
        crosstab(sample, MECHANISMS, "warner75", "x2")
        .conditional("warner75", given="x2")
        .xs(1, level="warner75")
    )
    wanted = sum(share * within.loc[group, "estimate"] for group, share in known.items())
    variance = sum(share**2 * within.loc[group, "se"] ** 2 for group, share in known.items())
    got = table.marginal("warner75").loc[1]
    assert got["estimate"] == pytest.approx(wanted)
    assert got["se"] == pytest.approx(np.sqrt(variance), rel=0.002)
    assert table.marginal("x2")["se"].max() < 1e-12


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"weights": "nobody"}, "no column 'nobody'"),
        ({"weights": [1, 2, 3]}, "shape"),
        ({"weights": "negative"}, "weight -1 in row 2 is negative"),
        ({"weights": "missing"}, "missing"),
        ({"weights": "zero"}, "all weights are 0"),
        ({"strata": "id"}, "has one cluster only"),
        ({"clusters": "one"}, "one cluster only"),
        ({"margins": {"x2": {0: 0.5}}}, "sum to 1"),
        ({"margins": {"x2": {0: 0.5, 2: 0.5}}}, "no share for the value 1"),
        ({"margins": {"x2": {0: 0.5, 1: 0.3, 2: 0.2}}}, "nobody in the data has 2"),
        ({"margins": {}}, "no margins"),
        ({"margins": ["x2"]}, "expected known shares for each column"),
        ({"margins": {"x2": 5}}, "expected known shares for each column"),
        ({"margins": {"x2": {0: "half", 1: 0.5}}}, "must be positive and sum to 1"),
    ],
)
def test_bad_designs_are_explained(sample: pd.DataFrame, change: dict[str, object], message: str) -> None:
    data = sample.assign(negative=1.0, missing=1.0, zero=0.0, one=1)
    data.loc[2, "negative"] = -1
    data.loc[2, "missing"] = np.nan
    with pytest.raises(AnalysisError, match=message):
        read_design(data, **change)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"interval": "bayes"}, "not one of"),
        ({"level": 95}, "between 0 and 1, such as 0.95, got 95"),
        (
            {"mechanisms": {"warner75": mechanisms.krr(options=3, epsilon=1)}, "interval": "logit"},
            "two possible reports",
        ),
    ],
)
def test_bad_requests_are_explained(sample: pd.DataFrame, change: dict[str, object], message: str) -> None:
    arguments = {"mechanisms": MECHANISMS, "name": "warner75", **change}
    with pytest.raises(AnalysisError, match=message):
        weighted_estimate(sample, **arguments)


def test_design_effect_means_what_it_means_elsewhere(sample: pd.DataFrame) -> None:
    """Variance over that of direct answers; what weights, strata and clusters add is the sampling effect."""
    plain = estimate(np.bincount(sample["warner75"]), MECHANISMS["warner75"])["Yes"]
    simple = weighted_estimate(sample, MECHANISMS, "warner75")
    assert simple[1].design_effect == pytest.approx(plain.design_effect)
    assert simple[1].sampling_effect == pytest.approx(1)
    assert (simple[1].low, simple[1].high) == pytest.approx((plain.low, plain.high), abs=1e-4)
    assert simple.interval == "wilson"


def test_raked_totals_stand_for_the_same_population(sample: pd.DataFrame) -> None:
    margins = {"x2": {0: 0.4, 1: 0.6}}
    plain = weighted_estimate(sample, MECHANISMS, "warner75", **DESIGN)
    raked = weighted_estimate(sample, MECHANISMS, "warner75", margins=margins, **DESIGN)
    population = sample["w"].sum()
    assert sum(share.total for share in plain.shares) == pytest.approx(population)
    assert sum(share.total for share in raked.shares) == pytest.approx(population)
    # Post-stratified by hand: known group sizes times the weighted share within each group.
    values = channel_view(MECHANISMS["warner75"]).solution([0, 1])[sample["warner75"]]
    by_group = (
        pd.DataFrame({"x2": sample["x2"], "w": sample["w"], "wy": sample["w"] * values}).groupby("x2").sum()
    )
    wanted = sum(share * by_group["wy"][g] / by_group["w"][g] for g, share in margins["x2"].items())
    assert raked[1].total == pytest.approx(wanted * population)


def test_equal_reports_have_an_interval_and_a_word() -> None:
    data = pd.DataFrame({"y": [0] * 60, "w": np.linspace(1, 2, 60)})
    found = weighted_estimate(data, {"y": mechanisms.warner(epsilon=1)}, "y", weights="w")
    yes = found[1]
    assert yes.se == pytest.approx(0, abs=1e-12)
    assert yes.high < 0
    assert yes.misfit is not None
    assert yes.misfit < 1e-6
    assert yes.shown.low == 0 < yes.shown.high < 0.1
    assert any("data and design disagree" in note for note in found.notes)
    assert any("All reports are the same" in note for note in found.notes)
    assert json.loads(json.dumps(found.to_dict()))["shares"][1]["shown"]["low"] == 0


def weighted_coverage(sigma: float, n: int, share: float, repetitions: int, method: str) -> float:
    """Lognormal weights that have nothing to do with the answers."""
    rng = np.random.default_rng(41)
    mechanism = mechanisms.warner(epsilon=2)
    yes = channel_view(mechanism).forward(np.array([1 - share, share]))[1]
    hits = 0
    for _ in range(repetitions):
        data = pd.DataFrame({"y": (rng.random(n) < yes).astype(int), "w": rng.lognormal(0, sigma, n)})
        one = weighted_estimate(data, {"y": mechanism}, "y", weights="w", interval=method)[1]
        hits += one.low <= share <= one.high
    return hits / repetitions


def test_heavy_weights_cover_small() -> None:
    assert weighted_coverage(2, 300, 0.1, 300, "auto") >= 0.93 - 0.03
    assert weighted_coverage(2, 300, 0.1, 300, "t") < 0.85
    weights = np.random.default_rng(1).lognormal(0, 2, 500)
    data = pd.DataFrame({"y": np.arange(500) % 2, "w": weights})
    found = weighted_estimate(data, {"y": mechanisms.warner(epsilon=2)}, "y", weights="w")
    assert any("weights are heavy" in note for note in found.notes)


@pytest.mark.long
@pytest.mark.parametrize("sigma", [0.5, 1, 1.5, 2])
@pytest.mark.parametrize("share", [0, 0.1, 0.3])
@pytest.mark.parametrize("n", [100, 400, 1000])
def test_heavy_weights_cover(sigma: float, share: float, n: int) -> None:
    assert weighted_coverage(sigma, n, share, 1000, "auto") >= 0.93 - 0.01


def test_one_positive_weight_is_refused(sample: pd.DataFrame) -> None:
    weights = np.zeros(len(sample))
    weights[7] = 3
    with pytest.raises(AnalysisError, match="all weights but that of row 7 are 0"):
        weighted_estimate(sample, MECHANISMS, "warner75", weights=weights)


def test_a_counted_decoy_keeps_its_interval_under_weights() -> None:
    poll = mechanisms.or_poll(decoy_counts=(12, 30))
    data = pd.DataFrame({"y": [0] * 100 + [1] * 120})
    plain = estimate([100, 120], poll)["Yes"]
    found = weighted_estimate(data, {"y": poll}, "y")
    assert found.interval == "mover"
    assert (found[1].low, found[1].high) == pytest.approx((plain.low, plain.high), abs=2e-3)
    assert any("consistent" in note for note in found.notes)
