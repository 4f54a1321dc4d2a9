"""Weights, strata, clusters and raking, against R's survey package and by hand."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hushpoll_analysis import anchored, compare, estimate, logit, simulate
from hushpoll_analysis.channel.view import channel_view
from hushpoll_analysis.errors import AnalysisError
from hushpoll_analysis.sample.design_reading import read_sample_design
from hushpoll_analysis.sample.raking import rake
from hushpoll_analysis.sample.weighted import weighted_estimate
from hushpoll_analysis.tables.frames import crosstab
from hushpoll_client import mechanisms
from hushpoll_client.mechanism import Mechanism

RESULTS = Path(__file__).parents[2] / "results"
GOLDEN = json.loads((RESULTS / "weights_power_crosstab.json").read_text(encoding="utf-8"))
MECHANISMS = {"warner75": mechanisms.warner(truth="3/4")}
DESIGN = {"weights": "w", "strata": "stratum", "clusters": "cluster"}


@pytest.fixture(scope="module")
def sample() -> pd.DataFrame:
    return pd.read_csv(RESULTS / "data" / "synthA_design.csv")


def test_mean_total_and_design_effect_agree_with_survey(sample: pd.DataFrame) -> None:
    got = weighted_estimate(sample, MECHANISMS, "warner75", interval="t", **DESIGN)
    yes, expected = got.shares[1], GOLDEN["svy_warner_mean_strat_cluster"]["output"]
    assert yes.estimate == pytest.approx(expected["mean"], abs=1e-9)
    assert yes.se == pytest.approx(expected["se"], abs=1e-9)
    assert [yes.low, yes.high] == pytest.approx(expected["ci_t"], abs=1e-9)
    assert got.degrees_of_freedom == expected["degf"]
    # survey compares with sampling without replacement from a population of sum(w) people.
    fraction = 1 - len(sample) / sample["w"].sum()
    assert yes.sampling_effect / fraction == pytest.approx(expected["deff"], abs=1e-8)
    total = GOLDEN["svy_warner_total"]["output"]
    assert yes.total == pytest.approx(total["total"], abs=1e-4)
    assert yes.total_se == pytest.approx(total["se"], abs=1e-4)


def test_weights_only_agree_with_survey(sample: pd.DataFrame) -> None:
    got = weighted_estimate(sample, MECHANISMS, "warner75", weights="w")
    expected = GOLDEN["svy_warner_mean_weights_only"]["output"]
    assert got.shares[1].estimate == pytest.approx(expected["mean"], abs=1e-9)
    assert got.shares[1].se == pytest.approx(expected["se"], abs=1e-9)
    assert got.effective_n == pytest.approx(expected["kish_neff"], abs=1e-6)


def test_groups_agree_with_survey(sample: pd.DataFrame) -> None:
    expected = GOLDEN["svy_warner_by_x2"]["output"]
    got = crosstab(sample, MECHANISMS, "warner75", "x2", **DESIGN).conditional("warner75", given="x2")
    yes = got.xs(1, level="warner75")
    assert yes["estimate"].tolist() == pytest.approx(expected["mean"], abs=1e-9)
    assert yes["se"].tolist() == pytest.approx(expected["se"], abs=1e-9)


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
    expected = GOLDEN[f"svy_ciprop_lambda_{case}"]["output"]
    yes = weighted_estimate(sample, MECHANISMS, "warner75", interval=interval, **DESIGN).shares[1]
    assert yes.estimate == pytest.approx(expected["pi"], abs=1e-9)
    assert [yes.low, yes.high] == pytest.approx(expected["ci_pi"], abs=1e-4)


def test_an_estimated_decoy_share_is_part_of_the_standard_error(sample: pd.DataFrame) -> None:
    poll = mechanisms.or_poll(decoy_counts=(150, 1000))
    got = weighted_estimate(sample, {"warner75": poll}, "warner75").shares[1]
    unweighted = estimate(np.bincount(sample["warner75"]).tolist(), poll).estimates[0]
    assert (got.estimate, got.se) == pytest.approx((unweighted.estimate, unweighted.se))
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
    known_shares = {0: 0.3, 1: 0.7}
    table = crosstab(sample, MECHANISMS, "warner75", "x2", margins={"x2": known_shares})
    within = (
        crosstab(sample, MECHANISMS, "warner75", "x2")
        .conditional("warner75", given="x2")
        .xs(1, level="warner75")
    )
    expected = sum(share * within.loc[group, "estimate"] for group, share in known_shares.items())
    variance = sum(share**2 * within.loc[group, "se"] ** 2 for group, share in known_shares.items())
    got = table.marginal("warner75").loc[1]
    assert got["estimate"] == pytest.approx(expected)
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
        ({"strata": "id"}, r"stratum [0-9]+ has one cluster only"),
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
        read_sample_design(data, **change)


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


def test_margins_may_be_numbers_of_people(sample: pd.DataFrame) -> None:
    """As R's rake takes them: the weights then sum to the population."""
    shares = {"x2": {0: 0.4, 1: 0.6}, "group": {1: 0.55, 2: 0.45}}
    people = {
        name: {key: 20_000 * share for key, share in by_level.items()} for name, by_level in shares.items()
    }
    by_share, by_number = (rake(sample, margins, "w") for margins in (shares, people))
    assert by_number.sum() == pytest.approx(20_000)
    assert (by_number / by_number.sum()).to_numpy() == pytest.approx((by_share / by_share.sum()).to_numpy())
    from_shares, other = (
        weighted_estimate(sample, MECHANISMS, "warner75", margins=margins, **DESIGN)[1]
        for margins in (shares, people)
    )
    assert (other.estimate, other.se, other.low) == pytest.approx(
        (from_shares.estimate, from_shares.se, from_shares.low)
    )
    assert other.total == pytest.approx(20_000 * other.estimate)
    with pytest.raises(AnalysisError, match="of 20000 and 30000 people"):
        rake(sample, {**people, "group": {1: 10_000, 2: 20_000}})


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
    expected = sum(share * by_group["wy"][g] / by_group["w"][g] for g, share in margins["x2"].items())
    assert raked[1].total == pytest.approx(expected * population)


def test_equal_reports_have_an_interval_and_a_word() -> None:
    data = pd.DataFrame({"y": [0] * 60, "w": np.linspace(1, 2, 60)})
    result = weighted_estimate(data, {"y": mechanisms.warner(epsilon=1)}, "y", weights="w")
    yes = result[1]
    assert yes.se == pytest.approx(0, abs=1e-12)
    assert yes.high < 0
    assert yes.misfit is not None
    assert yes.misfit < 1e-6
    assert yes.shown.low == 0 < yes.shown.high < 0.1
    assert any("data and design disagree" in note for note in result.notes)
    assert any("All reports are the same" in note for note in result.notes)
    assert json.loads(json.dumps(result.to_dict()))["shares"][1]["shown"]["low"] == 0


def weighted_coverage(sigma: float, n: int, share: float, repetitions: int, method: str) -> float:
    """Lognormal weights that have nothing to do with the answers."""
    rng = np.random.default_rng(41)
    mechanism = mechanisms.warner(epsilon=2)
    yes = channel_view(mechanism).forward(np.array([1 - share, share]))[1]
    hits = 0
    for _ in range(repetitions):
        data = pd.DataFrame({"y": (rng.random(n) < yes).astype(int), "w": rng.lognormal(0, sigma, n)})
        estimated = weighted_estimate(data, {"y": mechanism}, "y", weights="w", interval=method)[1]
        hits += estimated.low <= share <= estimated.high
    return hits / repetitions


@pytest.mark.parametrize("repetitions", [100, pytest.param(300, marks=pytest.mark.long)])
def test_heavy_weights_cover_small(repetitions: int) -> None:
    assert weighted_coverage(2, 300, 0.1, repetitions, "auto") >= 0.93 - 2 * np.sqrt(
        0.07 * 0.93 / repetitions
    )
    assert weighted_coverage(2, 300, 0.1, repetitions, "t") < 0.85
    weights = np.random.default_rng(1).lognormal(0, 2, 500)
    data = pd.DataFrame({"y": np.arange(500) % 2, "w": weights})
    result = weighted_estimate(data, {"y": mechanisms.warner(epsilon=2)}, "y", weights="w")
    assert any("weights are heavy" in note for note in result.notes)


GENERAL: dict[str, tuple[Mechanism, list[float]]] = {
    "geometric": (mechanisms.geometric(options=4, epsilon=6), [0.5, 0.5, 0, 0]),
    "cards": (mechanisms.kuk("0.9", "0.1", draws=2), [1, 0]),
}


def general_coverage(name: str, weights: str, n: int, repetitions: int, method: str = "auto") -> float:
    """Return how often the interval of the last answer, whose true share is 0, holds it."""
    mechanism, truth = GENERAL[name]
    rng = np.random.default_rng(43)
    hits = 0
    for _ in range(repetitions):
        reports = simulate(mechanism.device, rng.choice(len(truth), n, p=truth), seed=rng)
        drawn_weights = rng.gamma(2, 1, n) if weights == "gamma" else rng.lognormal(0, 1, n)
        data = pd.DataFrame({"y": reports, "w": drawn_weights})
        estimated = weighted_estimate(data, {"y": mechanism}, "y", weights="w", interval=method).shares[-1]
        hits += estimated.low <= 1e-12 and estimated.high >= -1e-12
    return hits / repetitions


@pytest.mark.parametrize("weights", ["lognormal", pytest.param("gamma", marks=pytest.mark.long)])
@pytest.mark.parametrize("name", GENERAL)
def test_a_general_table_under_weights_covers_small(name: str, weights: str) -> None:
    """With t they covered .72, .80, .95 and .90."""
    assert general_coverage(name, weights, 150, 150) >= 0.93 - 3 * np.sqrt(0.05 * 0.95 / 150)


@pytest.mark.long
@pytest.mark.parametrize("n", [60, 150, 400])
@pytest.mark.parametrize("weights", ["gamma", "lognormal"])
@pytest.mark.parametrize("name", GENERAL)
def test_a_general_table_under_weights_covers(name: str, weights: str, n: int) -> None:
    got = general_coverage(name, weights, n, 1000)
    print(got)
    assert got >= 0.93 - 3 * np.sqrt(0.05 * 0.95 / 1000)


def test_general_tables_under_weights_have_the_score_interval_or_the_one_asked_for() -> None:
    assert general_coverage("geometric", "gamma", 150, 60, "t") < 0.85
    arms = {"direct": None, "coin": mechanisms.warner(epsilon=3)}
    rng = np.random.default_rng(2)
    data = pd.DataFrame(
        {"y": rng.random(120) < 0.05, "arm": np.repeat(["direct", "coin"], 60), "w": rng.gamma(2, 1, 120)}
    ).astype({"y": int})
    result = weighted_estimate(data, {"y": "arm"}, "y", designs=arms, weights="w")
    assert result.interval == "score"
    assert weighted_estimate(data, {"y": "arm"}, "y", designs=arms, weights="w", interval="t").interval == "t"


def heavy_note(mechanism: Mechanism, interval: str = "auto") -> str:
    weights = np.random.default_rng(1).lognormal(0, 2, 500)
    data = pd.DataFrame({"y": np.arange(500) % 2, "w": weights})
    result = weighted_estimate(data, {"y": mechanism}, "y", weights="w", interval=interval)
    (note,) = (remark for remark in result.notes if "weights are heavy" in remark)
    return note


def test_heavy_weights_advise_an_interval_that_is_not_in_use_already() -> None:
    coin = mechanisms.warner(epsilon=2)
    for method in ("auto", "wilson"):
        assert heavy_note(coin, method).endswith(
            " Standard errors are too small then; the interval allows for it."
        )
    for method in ("t", "logit"):
        assert f"errors and {method} intervals are too small then; use the wilson interval, or" in heavy_note(
            coin, method
        )
    counted = mechanisms.or_poll(decoy_counts=(120, 300))
    assert "the interval allows for it" in heavy_note(counted)
    assert "use the mover interval" in heavy_note(counted, "t")
    # Several report frequencies carry the estimate.
    table = mechanisms.matrix(weights=[[6, 2, 1], [2, 6, 1], [1, 2, 6]])
    assert "the interval allows for it" in heavy_note(table)
    assert "use the score interval" in heavy_note(table, "t")


def test_two_answers_without_a_survey_are_no_and_yes() -> None:
    """As `estimate` calls them; their codes are understood as before."""
    coin = mechanisms.warner(epsilon=2)
    data = pd.DataFrame({name: np.arange(400) // size % 2 for size, name in enumerate(("y", "a", "g"), 1)})
    data["many"] = np.arange(400) % 3
    how: dict[str, Any] = {"y": coin, "a": coin, "many": mechanisms.krr(options=3, epsilon=2)}
    shares = weighted_estimate(data, how, "y")
    assert [share.option for share in shares.shares] == ["No", "Yes"]
    assert shares["Yes"] == shares[1] == shares.shares[1]
    assert shares["Yes"].estimate == pytest.approx(estimate([200, 200], coin)["Yes"].estimate)
    corrected = anchored(data, how, "y", "a")
    assert [share.option for share in corrected.shares] == ["Yes"]
    assert corrected == anchored(data, how, "y", "a", option=1, anchor_option=1)
    assert corrected == anchored(data, how, "y", "a", option="Yes", anchor_option="Yes")
    (plain,) = compare(data, how, "y", "g").differences
    assert (plain.option, plain.group, plain.reference) == ("Yes", 1, 0)
    hidden = compare(data, how, "y", "a", option=0, reference=1)
    assert [
        (difference.option, difference.group, difference.reference) for difference in hidden.differences
    ] == [("No", "No", "Yes")]
    designs = {"coin": coin, "open": None}
    arms = data.assign(arm=np.where(data["g"] == 1, "coin", "open"))
    assert weighted_estimate(arms, {"y": "arm"}, "y", designs=designs).shares[1].option == "Yes"
    # Three answers have no such names, and labels that somebody gives are the ones.
    assert [share.option for share in weighted_estimate(data, how, "many").shares] == [0, 1, 2]
    named = compare(data, how, "y", "g", labels={"y": ["honest", "cheated"]})
    assert named.differences[0].option == "cheated"
    with pytest.raises(AnalysisError, match="y has no answer 2; its answers are No, Yes"):
        compare(data, how, "y", "g", option=2)


@pytest.mark.long
@pytest.mark.parametrize("sigma", [0.5, 1, 1.5, 2])
@pytest.mark.parametrize("share", [0, 0.1, 0.3])
@pytest.mark.parametrize("n", [100, 400, 1000])
def test_heavy_weights_cover(sigma: float, share: float, n: int) -> None:
    got = weighted_coverage(sigma, n, share, 1000, "auto")
    print(got)
    assert got >= 0.93 - 0.01


def test_one_positive_weight_is_refused(sample: pd.DataFrame) -> None:
    weights = np.zeros(len(sample))
    weights[7] = 3
    with pytest.raises(AnalysisError, match="all weights but that of row 7 are 0"):
        weighted_estimate(sample, MECHANISMS, "warner75", weights=weights)


def test_a_counted_decoy_keeps_its_interval_under_weights() -> None:
    poll = mechanisms.or_poll(decoy_counts=(12, 30))
    data = pd.DataFrame({"y": [0] * 100 + [1] * 120})
    plain = estimate([100, 120], poll)["Yes"]
    result = weighted_estimate(data, {"y": poll}, "y")
    assert result.interval == "mover"
    assert (result[1].low, result[1].high) == pytest.approx((plain.low, plain.high), abs=2e-3)
    assert any("consistent" in note for note in result.notes)


CALLS = {
    "weighted_estimate": lambda data, **keys: weighted_estimate(data, MECHANISMS, "warner75", **keys),
    "crosstab": lambda data, **keys: crosstab(data, MECHANISMS, "warner75", "x2", **keys),
    "compare": lambda data, **keys: compare(data, MECHANISMS, "warner75", "x2", **keys),
    "logit": lambda data, **keys: logit("warner75 ~ x2", data, MECHANISMS, **keys),
}


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("key", ["weights", "strata", "clusters", "population"])
def test_values_of_another_length_are_refused(sample: pd.DataFrame, name: str, key: str) -> None:
    with pytest.raises(AnalysisError, match=r"\(3,\) for \d+ respondents"):
        CALLS[name](sample, **{key: np.ones(3)})


@pytest.mark.parametrize("name", CALLS)
def test_a_series_of_weights_is_read_by_its_labels(sample: pd.DataFrame, name: str) -> None:
    values = np.random.default_rng(4).gamma(2, 1, len(sample))
    weights = pd.Series(values, index=sample.index)
    expected = CALLS[name](sample, weights=values).to_frame()
    for labelled in (
        weights,
        weights.iloc[::-1],
        pd.Series(values, index=range(10_000, 10_000 + len(values))),
    ):
        pd.testing.assert_frame_equal(CALLS[name](sample, weights=labelled).to_frame(), expected)


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize(
    "change",
    [{"margins": {"warner75": {0: 0.5, 1: 0.5}}}, {"strata": "warner75"}, {"weights": "warner75"}],
)
def test_a_randomized_column_is_no_part_of_the_design(
    sample: pd.DataFrame, name: str, change: dict[str, object]
) -> None:
    with pytest.raises(AnalysisError, match=f"{next(iter(change))}: 'warner75' was randomized"):
        CALLS[name](sample, **change)
