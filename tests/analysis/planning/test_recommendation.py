"""Plans and recommendations for long lists, ticked options, averages and cumulative shares."""

from __future__ import annotations

import math
import re
from typing import Any

import numpy as np
import pytest
from hushpoll_analysis import AnalysisError, design, plan, recommend
from hushpoll_analysis.channel.view import channel_view
from hushpoll_analysis.planning.variance.spread import TARGETS, MeanSpread, spread
from hushpoll_client.kind import KINDS
from hushpoll_client.mechanism import krr, padded, sampled, subset, warner
from hushpoll_client.mechanism.padded import unit_variance as padded_variance
from hushpoll_client.mechanism.sampled import unit_variance


# The figures come from an independent computation of n times the variance.
@pytest.mark.parametrize(
    ("epsilon", "variance", "size"), [(0.5, 15.64, 377), (1, 3.673, 269), (2, 0.721, 119), (4, 0.074, 18)]
)
def test_a_thousand_options_need_what_subset_selection_needs(
    epsilon: float, variance: float, size: int
) -> None:
    mechanism = subset(1000, epsilon)
    assert abs(mechanism.parameters["size"] - size) <= 1
    assert spread(mechanism).unit_variance(0.0) == pytest.approx(variance, rel=2e-3)


@pytest.mark.parametrize(
    ("epsilon", "best", "limited"), [(0.5, 32.6, 31.7), (1, 8.65, 6.74), (2, 2.28, 1.56), (4, 0.64, 0.65)]
)
def test_eight_tick_boxes_need_what_was_computed_for_them(
    epsilon: float, best: float, limited: float
) -> None:
    assert spread(sampled([2] * 8, epsilon)).unit_variance(0.2) == pytest.approx(best, rel=1e-2)
    assert spread(padded(8, epsilon, 3)).unit_variance(0.2) == pytest.approx(limited, rel=1e-2)


def test_the_moments_of_subset_selection_are_those_of_its_enumeration() -> None:
    mechanism = subset(6, 1.3, 3)
    points = np.arange(6) / 5
    low, high = (float(chance) for chance in mechanism.device.member(0))  # type: ignore[attr-defined]
    variance = spread(mechanism, "mean")
    assert isinstance(variance, MeanSpread)
    for answer in range(6):
        moment = 0.0
        for report, chance in mechanism.device.chances(answer).items():
            held = [option for option in range(6) if int(report, 16) >> option & 1]
            moment += float(chance) * ((points[held].sum() - low * points.sum()) / (high - low)) ** 2
        assert variance.moments[answer] == pytest.approx(moment, rel=1e-9)


@pytest.mark.parametrize("target", ["mean", "cumulative"])
def test_no_truth_is_worse_than_the_worst_one_and_some_truth_is_as_bad(target: str) -> None:
    mechanism, options = krr(5, 1.0), 5
    view, points = channel_view(mechanism), np.arange(options) / (options - 1)
    weights = (
        [points] if target == "mean" else [(points >= points[first]) * 1.0 for first in range(1, options)]
    )
    planned = plan(mechanism, n=1, target=target)
    worst = (planned.margin / 1.959963984540054) ** 2
    rng = np.random.default_rng(5)
    truths = [*rng.dirichlet(np.full(options, 0.3), 4000), *np.eye(options)]
    grid = np.linspace(0, 1, 401)
    truths += [
        weight * np.eye(options)[x] + (1 - weight) * np.eye(options)[y]
        for x in range(5)
        for y in range(x)
        for weight in grid
    ]
    reached = 0.0
    for a in weights:
        moments = view.backward(view.solution(a) ** 2)
        reached = max(reached, max(float(h @ moments - (h @ a) ** 2) for h in truths))
    assert reached <= worst * (1 + 1e-9)
    assert reached == pytest.approx(worst, rel=1e-3)


def test_without_privacy_an_average_scatters_by_half_its_range_at_most() -> None:
    result = plan(krr(5, 1.0), n=1000, target="mean")
    assert result.margin_sampling_only == pytest.approx(1.96 * 0.5 / math.sqrt(1000), rel=1e-4)
    # Laplace noise of scale range / (n epsilon).
    noise = 2 * (1 / (1000 * result.epsilon)) ** 2
    assert result.margin_trusted_curator == pytest.approx(1.96 * math.sqrt(0.25 / 1000 + noise), rel=1e-4)


def test_a_curator_of_ticked_options_adds_noise_for_every_option_that_one_person_can_move() -> None:
    free = plan("sampled", 8, epsilon=1, n=1000)
    limited = plan("padded", 8, epsilon=1, n=1000, at_most=3)
    for result, moved in ((free, 8), (limited, 6)):
        noise = 2 * (moved / 1000) ** 2
        assert result.margin_trusted_curator == pytest.approx(1.96 * math.sqrt(0.25 / 1000 + noise), rel=1e-4)


@pytest.mark.parametrize(
    ("name", "options", "more"), [("subset", 1000, {}), ("sampled", 8, {}), ("padded", 8, {"at_most": 3})]
)
def test_each_of_the_three_follows_from_the_other_two(name: str, options: int, more: dict[str, int]) -> None:
    margin = plan(name, options, epsilon=1.5, n=5000, **more).margin
    assert plan(name, options, epsilon=1.5, margin=margin * 1.0001, **more).n in (4999, 5000)
    assert plan(name, options, n=5000, margin=margin, **more).epsilon == pytest.approx(
        1.5, rel=5e-3
    )  # sizes are whole


def test_what_a_plan_cannot_say_is_refused_with_a_remedy() -> None:
    with pytest.raises(AnalysisError, match="use one of: shares, mean, cumulative"):
        plan("krr", 5, epsilon=1, n=100, target="median")
    with pytest.raises(AnalysisError, match="has no order; plan for shares"):
        plan("sampled", 5, epsilon=1, n=100, target="mean")
    with pytest.raises(AnalysisError, match="add at_most"):
        plan("padded", 5, epsilon=1, n=100)
    with pytest.raises(AnalysisError, match="it is a parameter of padded"):
        plan("krr", 5, epsilon=1, n=100, at_most=2)
    with pytest.raises(AnalysisError, match="use one of: cumulative, mean, shares"):
        recommend("scale", 5, target="median")
    with pytest.raises(AnalysisError, match="leave the target out"):
        recommend("choice", 5, target="mean")


def test_ticked_options_are_compared_with_every_way_to_randomize_them() -> None:
    free = recommend("multiple", 8, 2.0)
    assert [candidate.mechanism for candidate in free.candidates] == ["sampled", "split"]
    # 16 against 2.28, from an independent computation.
    assert free.candidates[1].respondents == pytest.approx(16 / 2.28, rel=1e-2)
    assert percent_fewer(free.reason) == math.floor(100 * (1 - 1 / free.candidates[1].respondents))
    pairs = recommend("multiple", 8, 1.0, at_most=3, pairs=True)
    assert [candidate.mechanism for candidate in pairs.candidates] == ["sampled", "split"]
    # Two of eight items instead of one: (8/2) against 8 people a report, through a channel of four answers.
    times = unit_variance(8, 2, 1.0) / min(unit_variance(8, 1, 1.0), padded_variance(8, 3, 1.0))
    assert f"Pairs need two options of each person and cost {times:.1f} times as many people." in pairs.reason
    assert "Pairs" not in recommend("multiple", 8, 2.0, pairs=True).reason
    with pytest.raises(AnalysisError, match="pairs is for tick lists"):
        recommend("choice", 5, pairs=True)
    limited = recommend("multiple", 8, 2.0, at_most=3)
    assert limited.mechanism == "padded"
    assert limited.candidates[1].respondents == pytest.approx(2.28 / 1.56, rel=1e-2)


@pytest.mark.parametrize(
    ("settings", "criterion"),
    [
        (
            {"kind": "multiple", "options": 8, "at_most": 3},
            "one option's share, the option being ticked by 20 %",
        ),
        ({"kind": "choice", "options": 100}, "the shares of all options, all answers being equally frequent"),
        ({"kind": "choice", "options": 5}, "the shares of all options, all answers being equally frequent"),
        ({"kind": "scale", "options": 5}, "the cumulative shares, all answers being equally frequent"),
        ({"kind": "number", "options": 21}, "the mean, each way at the truth that is worst for it"),
        ({"kind": "yes_no"}, "the share of Yes, each way at the truth that is worst for it"),
        ({"kind": "yes_no", "share": 0.1}, "the share of Yes, at a true share of 0.1"),
    ],
)
def test_what_candidates_are_compared_by_is_said(settings: dict[str, Any], criterion: str) -> None:
    assert recommend(**settings).criterion.startswith(f"Compared by the variance of {criterion}")


def test_a_long_list_is_recommended_subset_selection_and_says_what_that_saves() -> None:
    recommendation = recommend("choice", 1000, 1.0)
    assert recommendation.mechanism == recommendation.candidates[0].mechanism == "subset"
    plain = next(candidate for candidate in recommendation.candidates if candidate.mechanism == "krr")
    assert percent_fewer(recommendation.reason) == math.floor(100 * (1 - 1 / plain.respondents))
    ratio = [spread(mechanism).unit_variance(0.001) for mechanism in (krr(1000, 1.0), subset(1000, 1.0))]
    assert plain.respondents == pytest.approx(ratio[0] / ratio[1])


def percent_fewer(reason: str) -> int:
    """The percentage in a sentence."""
    (number,) = re.findall(r"needs (\d+) % fewer answers", reason)
    return int(number)


CASES = [
    ("choice", 4, 1.0, None),
    ("choice", 12, 0.5, None),
    ("scale", 5, 0.5, "cumulative"),
    ("scale", 5, 1.0, "mean"),
    ("scale", 7, 2.0, "shares"),
    ("scale", 11, 1.0, "cumulative"),
    ("scale", 11, 4.0, "cumulative"),
    ("number", 21, 1.0, "mean"),
    ("number", 20, 2.0, "distribution"),
]


@pytest.mark.parametrize(("kind", "options", "epsilon", "target"), CASES)
def test_every_sentence_is_held_against_the_design_s_numbers(
    kind: str, options: int, epsilon: float, target: str | None
) -> None:
    recommendation = recommend(kind, options, epsilon, target=target)
    optimum, worst = KINDS[kind].optimum(target)
    planned = design(options=options, epsilon=epsilon, target=optimum, worst=worst)
    variances = {candidate["mechanism"]: candidate["n_variance"] for candidate in planned.candidates}
    assert recommendation.candidates[0].mechanism == recommendation.mechanism, (
        "the recommended one needs the fewest answers"
    )
    labels = {candidate.label: candidate.mechanism for candidate in recommendation.candidates}
    best, *other_labels = re.findall("“([^”]+)”", recommendation.reason)
    assert labels[best] == recommendation.mechanism
    fewer = [int(number) for number in re.findall(r"(\d+) % fewer", recommendation.reason)]
    for number, other in zip(fewer, other_labels, strict=False):
        assert number == math.floor(
            100 * (1 - variances[recommendation.mechanism] / variances[labels[other]]) + 1e-6
        )
    for candidate in recommendation.candidates:
        assert candidate.respondents == pytest.approx(
            variances[candidate.mechanism] / variances[recommendation.mechanism], rel=2e-5
        )
    assert not fewer or min(fewer) >= 1
    (gap,) = re.findall(r"more than ([\d.]+) % fewer", recommendation.proof)
    assert planned.bound is not None
    assert float(gap) >= 100 * (1 - planned.bound / planned.n_variance), "a bound is rounded up"


def test_a_scale_of_eleven_points_saves_what_was_computed_elsewhere() -> None:
    # n times the variance of cumulative shares at epsilon 1: 42.2 designed, 67.0 the best mechanism known before.
    recommendation = recommend("scale", 11, 1.0)
    following = recommendation.candidates[1]
    assert following.respondents == pytest.approx(67.0 / 42.2, rel=5e-3)
    assert "36 % fewer than the next best" in recommendation.reason, "1 - 42.2 / 67.0, rounded down"


def test_ways_that_do_not_fit_the_kind_are_not_compared() -> None:
    named = {candidate.mechanism for candidate in recommend("choice", 6, 1.0).candidates}
    assert named == {"krr", "subset", "unary"}, "a choice has no order"
    assert {"geometric", "one_bit", "square_wave"} <= {
        candidate.mechanism for candidate in recommend("scale", 6, 1.0, target="mean").candidates
    }


def test_every_target_of_a_plan_is_tried() -> None:
    assert {plan(warner(1.0), n=100, target=target).target for target in TARGETS} == set(TARGETS)
