"""Two-group designs against RRreg, and where RRreg gives no standard error."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hushpoll_analysis import (
    AnalysisError,
    cheating_detection,
    cheating_detection_symmetric,
    lie_detection,
    unrelated_two_groups,
)
from scipy.stats import binom, chi2

GOLDEN = json.loads((Path(__file__).parents[2] / "results" / "univariate.json").read_text())
TOLERANCE = 1e-6


def groups_of(case: dict[str, Any]) -> list[tuple[int, int]]:
    counts = case["counts"]
    return [(counts[f"n{i}"] - counts[f"yes{i}"], counts[f"yes{i}"]) for i in (1, 2)]


def test_unrelated_question_with_unknown_share() -> None:
    case = GOLDEN["uqtunknown_1"]
    result = unrelated_two_groups(groups_of(case), truth=case["p"])
    output = case["output"]
    assert result["share"].estimate == pytest.approx(output["pi"], abs=TOLERANCE)
    assert result["share"].se == pytest.approx(output["piSE"], abs=TOLERANCE)
    assert result["decoy"].estimate == pytest.approx(output["piUQ"], abs=TOLERANCE)
    assert result["decoy"].se == pytest.approx(output["piUQSE"], abs=TOLERANCE)
    limits = [result["share"].low, result["share"].high]
    assert limits == pytest.approx(output["wald95_from_piSE"][0], abs=TOLERANCE)
    assert result.log_likelihood == pytest.approx(case["correct_logLik_saturated"], abs=TOLERANCE)


@pytest.mark.parametrize("name", ["cdm_1", "cdmsym_1"])
def test_cheating_detection(name: str) -> None:
    case = GOLDEN[name]
    p, output = case["p"], case["output"]
    if name == "cdm_1":
        result = cheating_detection(groups_of(case), forced_yes=p)
    else:
        # The peer warns that p[2] must differ from p[4]; the design is identified without that.
        result = cheating_detection_symmetric(
            groups_of(case), forced_yes=(p[0], p[2]), forced_no=(p[1], p[3])
        )
    for ours, theirs in [("share", "pi"), ("honest_no", "beta"), ("cheating", "gamma")]:
        assert result[ours].estimate == pytest.approx(output[theirs], abs=TOLERANCE)
        assert result[ours].constrained == pytest.approx(output[theirs], abs=1e-5)
        if output[f"{theirs}SE"] != "NA":
            assert result[ours].se == pytest.approx(output[f"{theirs}SE"], abs=TOLERANCE)
    assert result.log_likelihood == pytest.approx(case["correct_logLik_saturated"], abs=TOLERANCE)


def test_standard_error_that_the_peer_does_not_give() -> None:
    """b = (z1 (1-v2) - z2 (1-v1)) / (u1 (1-v2) - u2 (1-v1)), both groups independent."""
    case = GOLDEN["cdmsym_1"]
    (u1, v1, u2, v2), groups = case["p"], groups_of(case)
    assert case["output"]["betaSE"] == "NA"
    result = cheating_detection_symmetric(groups, forced_yes=(u1, u2), forced_no=(v1, v2))
    z = [yes / (no + yes) for no, yes in groups]
    variances = [z[i] * (1 - z[i]) / (sum(groups[i]) - 1) for i in (0, 1)]
    scale = u1 * (1 - v2) - u2 * (1 - v1)
    expected = np.sqrt(variances[0] * (1 - v2) ** 2 + variances[1] * (1 - v1) ** 2) / abs(scale)
    assert result["honest_no"].se == pytest.approx(expected, abs=1e-12)


def test_lie_detection_recovers_what_made_the_counts() -> None:
    share, admitting, phi, n = 0.3, 0.6, (0.5, 0.8), 1000
    yes = [round(n * (share * admitting + (1 - share) * (1 - p))) for p in phi]
    result = lie_detection([(n - count, count) for count in yes], truth=phi)
    assert result["share"].estimate == pytest.approx(share)
    assert result["admitting"].estimate == pytest.approx(admitting)
    assert result["share"].constrained == pytest.approx(share, abs=1e-5)


SHARE, DECOY, HONEST, ADMITTING = 0.3, 0.5, 0.5, 0.6
DESIGNS = {
    "unrelated": (
        lambda groups: unrelated_two_groups(groups, (0.7, 0.3)),
        [t * SHARE + (1 - t) * DECOY for t in (0.7, 0.3)],
        {"share": SHARE, "decoy": DECOY},
    ),
    "cheating": (
        lambda groups: cheating_detection(groups, (0.25, 0.75)),
        [SHARE + HONEST * u for u in (0.25, 0.75)],
        {"share": SHARE, "honest_no": HONEST, "cheating": 1 - SHARE - HONEST},
    ),
    "lie": (
        lambda groups: lie_detection(groups, (0.5, 0.8)),
        [SHARE * ADMITTING + (1 - SHARE) * (1 - phi) for phi in (0.5, 0.8)],
        {"share": SHARE, "admitting": ADMITTING},
    ),
}


@pytest.mark.parametrize("name", DESIGNS)
def test_standard_errors_are_what_simulation_says(name: str) -> None:
    design, chances, names = DESIGNS[name]
    rng = np.random.default_rng(31)
    n, repetitions = 4000, 400
    yes = [rng.binomial(n, chance, size=repetitions) for chance in chances]
    results = [design([(n - a, a), (n - b, b)]) for a, b in zip(*yes, strict=True)]
    for parameter, truth in names.items():
        values = np.array([result[parameter].estimate for result in results])
        typical = np.median([result[parameter].se for result in results])
        assert values.mean() == pytest.approx(truth, abs=5 * typical / np.sqrt(repetitions))
        assert np.std(values) / typical == pytest.approx(1, abs=0.15)


def test_standard_error_at_the_boundary_belongs_to_the_unclipped_estimate() -> None:
    result = cheating_detection([(495, 5), (110, 390)], forced_yes=(0.25, 0.75))
    share = result["share"]
    assert not result.possible
    assert share.estimate == pytest.approx((0.75 * 0.01 - 0.25 * 0.78) / 0.5)
    assert share.se > 0.01
    assert share.shown.estimate == 0
    assert share.constrained == pytest.approx(0, abs=1e-6)
    # The Wald interval lies below 0: the profile likelihood inside the possible values is shown instead.
    assert share.high < 0 == share.shown.low < share.shown.high < 0.02
    assert any("constrained" in note for note in result.notes)


def test_profile_interval_falls_by_the_chi_square() -> None:
    """On the line through the constrained share's limit the best fit is 3.84/2 below the top."""
    groups = [(300, 200), (110, 390)]
    result = cheating_detection(groups, forced_yes=(0.25, 0.75), interval="likelihood")

    def best_on(share: float) -> float:
        honest = np.linspace(0, 1 - share, 200_001)
        z = [share + honest * u for u in (0.25, 0.75)]
        return float(
            max(sum(no * np.log(1 - p) + yes * np.log(p) for (no, yes), p in zip(groups, z, strict=True)))
        )

    top = best_on(result["share"].estimate)
    for limit in (result["share"].low, result["share"].high):
        assert 2 * (top - best_on(limit)) == pytest.approx(chi2.ppf(0.95, 1), abs=1e-3)


def test_equal_reports_leave_an_interval() -> None:
    """The normal interval has no width there: 20 No of 20 in both groups gave a share of exactly 0."""
    result = unrelated_two_groups([(20, 0), (20, 0)], truth=(0.7, 0.3))
    assert result["share"].se == 0
    assert (result.interval, result["share"].low) == ("likelihood", 0)
    assert 0.05 < result["share"].high == result["share"].shown.high < 0.3
    assert "fewer than 15 times" in result.notes[0]
    often = unrelated_two_groups([(340, 160), (285, 215)], truth=(0.7, 0.3))
    assert (often.interval, often.notes) == ("wald", ())


def test_the_default_interval_covers_where_a_report_is_rare() -> None:
    """By enumeration of both groups; the normal interval covers 76 % here."""
    n, theta, share, decoy = 20, (0.7, 0.3), 0.05, 0.1
    chances = [binom.pmf(np.arange(n + 1), n, t * share + (1 - t) * decoy) for t in theta]
    joint = np.outer(*chances)
    covered = 0.0
    for a, b in np.argwhere(joint > 1e-4):
        displayed = unrelated_two_groups([(n - a, a), (n - b, b)], truth=theta)["share"].shown
        covered += float(joint[a, b]) * (displayed.low <= share <= displayed.high)
    assert covered / joint[joint > 1e-4].sum() > 0.93


def covers_zero(n: int, decoy: float, theta: tuple[float, float]) -> float:
    """By enumeration: how often `low` and `high` hold a true share of 0."""
    joint = np.outer(*(binom.pmf(np.arange(n + 1), n, (1 - t) * decoy) for t in theta))
    covered = 0.0
    for a, b in np.argwhere(joint > 1e-3):
        share = unrelated_two_groups([(n - a, a), (n - b, b)], truth=theta)["share"]
        covered += float(joint[a, b]) * (share.low <= 1e-9 and share.high >= -1e-9)
    return covered / float(joint[joint > 1e-3].sum())


@pytest.mark.parametrize(
    ("n", "decoy", "theta"),
    [(50, 0.1, (0.7, 0.3)), pytest.param(100, 0.05, (0.8, 0.2), marks=pytest.mark.long)],
)
def test_the_unclipped_limits_hold_a_share_of_zero(n: int, decoy: float, theta: tuple[float, float]) -> None:
    """The normal limits below 0, which were called likelihood limits, held it in 88 and 77 %."""
    assert covers_zero(n, decoy, theta) >= 0.93


def test_each_parameter_names_the_method_of_its_limits() -> None:
    rare = unrelated_two_groups([(50, 0), (46, 4)], truth=(0.7, 0.3))["share"]
    assert (rare.interval, rare.low) == ("likelihood", 0)
    assert rare.high > 0.03
    beyond = unrelated_two_groups([(50, 0), (0, 50)], truth=(0.7, 0.3))
    share = beyond["share"]
    assert (share.interval, share.se) == ("mover", 0)
    assert share.low <= share.estimate < share.high - 0.05
    assert share.high < 0
    assert share.shown.low == 0 < share.shown.high
    assert any("MOVER" in note and "share" in note for note in beyond.notes)
    assert beyond.to_dict()["estimates"][0]["interval"] == "mover"
    often = unrelated_two_groups([(340, 160), (285, 215)], truth=(0.7, 0.3))
    assert [parameter.interval for parameter in often.parameters] == ["wald", "wald"]


def test_results_show_themselves() -> None:
    result = unrelated_two_groups([(340, 160), (285, 215)], truth=("7/10", "3/10"))
    assert list(result.to_frame().index) == ["share", "decoy"]
    assert "<table" in result._repr_html_()
    assert json.loads(json.dumps(result.to_dict()))["groups"] == [[340, 160], [285, 215]]
    with pytest.raises(KeyError):
        result["cheating"]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: unrelated_two_groups([(1, 2)], (0.7, 0.3)), "groups: exactly two"),
        (lambda: unrelated_two_groups([(10, 20), (10, 20)], (0.7, 0.7)), "same way"),
        (lambda: unrelated_two_groups([(10, 20), (10, 20)], (0.7, 1.3)), "truth: 1.3 for group 2"),
        (lambda: unrelated_two_groups([(10, 20), (10, 20)], ("x", "1/3")), "truth: 'x' for group 1"),
        (lambda: unrelated_two_groups([(10, 20), (10, 20, 30)], (0.7, 0.3)), "group 2: two counts"),
        (
            lambda: unrelated_two_groups([(10, -1), (10, 20)], (0.7, 0.3)),
            "group 1: -1 at position 2 is negative",
        ),
        (lambda: unrelated_two_groups([(0, 1), (10, 20)], (0.7, 0.3)), "group 1: 1 reports"),
        (
            lambda: unrelated_two_groups([(10, 20), (10, 20)], (0.7, 0.3), interval="wilson"),
            "interval: unknown",
        ),
        (
            lambda: cheating_detection_symmetric([(10, 20), (10, 20)], (0.7, 0.3), (0.5, 0.3)),
            "group 1; lower one",
        ),
    ],
)
def test_bad_input_says_what_and_where(call: Any, message: str) -> None:
    with pytest.raises(AnalysisError, match=message):
        call()


def test_a_share_of_exactly_zero_is_given_and_what_hangs_on_it_is_not() -> None:
    result = lie_detection([(40, 160), (160, 40)], truth=(0.2, 0.8))
    assert result["share"].estimate == pytest.approx(0, abs=1e-12)
    assert result["share"].se > 0
    assert result["share"].low < 0 < result["share"].high
    assert math.isnan(result["admitting"].estimate)
    assert (result["admitting"].shown.low, result["admitting"].shown.high) == (0, 1)
    assert any("'admitting' is not determined" in note for note in result.notes)
    assert result.possible
    entry = json.loads(json.dumps(result.to_dict(), allow_nan=False))["estimates"][1]
    assert entry["estimate"] is None
    assert result.to_frame().shape[0] == 2


@pytest.mark.parametrize(
    ("function", "keys"),
    [
        (unrelated_two_groups, {"truth": (0.7, 0.3)}),
        (cheating_detection, {"forced_yes": (0.25, 0.75)}),
        (cheating_detection_symmetric, {"forced_yes": (0.25, 0.4), "forced_no": (0.3, 0.2)}),
        (lie_detection, {"truth": (0.2, 0.8)}),
    ],
)
def test_counts_with_keys_are_taken_by_their_keys(function: Any, keys: dict[str, Any]) -> None:
    """`value_counts()` puts the most frequent report first; a list is in order."""
    columns = [pd.Series([0] * 300 + [1] * 500), pd.Series([0] * 360 + [1] * 240)]
    in_order = function([(300, 500), (360, 240)], **keys)
    counted = function([column.value_counts() for column in columns], **keys)
    assert counted.groups == in_order.groups
    assert counted["share"].estimate == in_order["share"].estimate
    named = function([{"Yes": 500, "No": 300}, {"No": 360, "Yes": 240}], **keys)
    assert named.groups == in_order.groups
    with pytest.raises(AnalysisError, match="group 2: the key 'Perhaps'"):
        function([(300, 500), {"Perhaps": 3, "No": 360}], **keys)


@pytest.mark.parametrize("groups", [[(5, 5), (20, 5)], [(20, 0), (0, 20)], [(900, 100), (400, 600)]])
def test_what_is_shown_lies_within_its_limits(groups: list[tuple[int, int]]) -> None:
    for parameter in cheating_detection(groups, (0, 0.8)).parameters:
        assert parameter.shown.low <= parameter.shown.estimate <= parameter.shown.high
