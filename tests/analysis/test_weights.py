"""Weights, strata, clusters and raking, against R's survey package and by hand."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hushpoll_analysis import estimate
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
    got = weighted_estimate(sample, MECHANISMS, "warner75", **DESIGN)
    yes, wanted = got.shares[1], GOLDEN["svy_warner_mean_strat_cluster"]["output"]
    assert yes.estimate == pytest.approx(wanted["mean"], abs=1e-9)
    assert yes.se == pytest.approx(wanted["se"], abs=1e-9)
    assert [yes.low, yes.high] == pytest.approx(wanted["ci_t"], abs=1e-9)
    assert got.degrees_of_freedom == wanted["degf"]
    # survey compares with sampling without replacement from a population of sum(w) people.
    fraction = 1 - len(sample) / sample["w"].sum()
    assert yes.design_effect / fraction == pytest.approx(wanted["deff"], abs=1e-8)
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
    assert weight.mean() == pytest.approx(1)
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
        ({"interval": "wilson"}, "not one of"),
        ({"level": 95}, "level is 95"),
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
