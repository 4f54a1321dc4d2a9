"""Ordered answers under sets of options: mean, cumulative shares and quantiles with exact variances, everywhere."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hushpoll_analysis import cumulative, density, estimate, mean, quantiles, report, simulate
from hushpoll_analysis.channel.table import TableView
from hushpoll_analysis.channel.view import Floats, sampler, set_view
from hushpoll_analysis.errors import AnalysisError
from hushpoll_analysis.estimand.cumulative import cumulative_of
from hushpoll_analysis.interval import interval
from hushpoll_analysis.interval.quantity import Quantity
from hushpoll_analysis.planning.draft_resolution import read_draft
from hushpoll_analysis.sample.sample import read_sample
from hushpoll_client import mechanisms
from hushpoll_client.channel import Channel

N = 6000


def cells_of(channel: Channel, answers: Any, seed: int = 1) -> Any:
    report_sampler = sampler(channel)
    return report_sampler.tally(report_sampler.read(np.asarray(simulate(channel, answers, seed=seed)))[0])


def enumerated(channel: Channel) -> TableView:
    """The whole table, one column a set."""
    return TableView(
        [[float(chance) for chance in channel.chances(answer).values()] for answer in range(channel.options)]
    )


@pytest.mark.parametrize(("options", "size"), [(5, 2), (6, 3), (7, 4)])
def test_weights_moments_and_covariances_are_those_of_the_enumerated_sets(options: int, size: int) -> None:
    channel = mechanisms.subset(options=options, epsilon=1, size=size).device
    table, sets = enumerated(channel), set_view(channel)
    assert sets is not None
    target = np.arange(options) ** 2.0
    weights = table.solution(target)
    held = (
        np.array([[int(report, 16) >> k & 1 for k in range(options)] for report in channel.chances(0)]) == 1
    )
    assert sets.values(held, target) == pytest.approx(weights)
    assert sets.ends(target) == pytest.approx((weights.min(), weights.max()))
    assert sets.moments(target) == pytest.approx(table.backward(weights**2))
    assert sets.noise(sets.solution(target)) == pytest.approx(table.noise(weights))
    shares = np.arange(1.0, options + 1) / sum(range(1, options + 1))
    targets = np.tril(np.ones((options, options)))[:-1]
    solved, chances = np.stack([table.solution(target) for target in targets]), table.forward(shares)
    centred = solved - (solved @ chances)[:, None]
    assert sets.covariance(targets, shares) == pytest.approx((centred * chances) @ centred.T)
    assert sets.backward(sets.solution(target)) == pytest.approx(target)
    assert sets.solution(target) @ sets.forward(shares) == pytest.approx(target @ shares)
    assert sets.shares(sets.forward(shares)) == pytest.approx(shares)


def test_a_share_is_what_it_is_by_itself() -> None:
    """The first cumulative share is the first share, so its interval has to be the share's own."""
    device = mechanisms.subset(options=11, epsilon=1)
    cells = cells_of(device.device, np.repeat(np.arange(11), 100))
    alone, first = estimate(cells, device)[0], cumulative(cells, device).estimates[0]
    assert first.estimate == pytest.approx(alone.estimate)
    assert first.se == pytest.approx(alone.se)
    assert (first.low, first.high) == pytest.approx((alone.low, alone.high))
    assert first.n_effective == alone.n_effective or first.n_effective == pytest.approx(
        alone.n_effective, rel=0.01
    )


def question(kind: str, **more: Any) -> dict[str, Any]:
    return {"id": kind, "kind": kind, "text": "How much?", **more}


SURVEY = read_draft(
    {
        "hushpoll": 1,
        "title": "Sets",
        "questions": [
            question("scale", points=11, mechanism={"epsilon": 1, "target": "shares"}),
            question(
                "number",
                min=0,
                max=99,
                step=1,
                unit="hours",
                mechanism={"name": "subset", "epsilon": 1, "target": "distribution", "bins": 12},
            ),
            question("number", min=0, max=80, step=1, mechanism={"name": "subset", "epsilon": 1})
            | {"id": "rounded"},
            {
                "id": "late",
                "kind": "yes_no",
                "text": "Late?",
                "mechanism": {"name": "warner", "epsilon": 2},
            },
        ],
    }
)


@pytest.fixture(scope="module")
def frame() -> pd.DataFrame:
    rng = np.random.default_rng(5)
    late = np.arange(N) % 2
    points = np.clip(rng.poisson(3 + 4 * late), 0, 10)
    hours = np.clip(rng.poisson(30 + 20 * late), 0, 99)
    numbers = np.clip(rng.poisson(20 + 30 * late), 0, 80)
    scale, number, rounded_, late_question = SURVEY.questions
    steps = numbers * 20 / 80
    low = np.floor(steps).astype(int)
    grid = low + (rng.random(N) < steps - low)
    return pd.DataFrame(
        {
            "scale_reported": simulate(scale.channel, points, seed=1),
            "number_reported": simulate(number.channel, hours * 12 // 100, seed=2),
            "rounded_reported": simulate(rounded_.channel, grid, seed=3),
            "late_reported": simulate(late_question.channel, late, seed=4),
            "group": np.where(late == 1, "b", "a"),
            "w": rng.uniform(0.5, 2, N),
        }
    ).assign(points=points, hours=hours, numbers=numbers)


def test_the_recommended_sets_of_a_scale_tell_all_that_a_scale_has(frame: pd.DataFrame) -> None:
    assert {question.channel.form for question in SURVEY.questions[:3]} == {"subset"}
    results = report(SURVEY, frame)
    entry = results["scale"].to_dict()
    assert len(entry["cumulative"]) == 11
    assert [quantile["p"] for quantile in entry["quantiles"]] == [0.25, 0.5, 0.75]
    assert entry["iqr"]["low"] <= entry["iqr"]["estimate"] <= entry["iqr"]["high"]
    truth = float(frame["points"].mean()) + 1.0  # points are numbered from 1
    assert abs(entry["mean"]["estimate"] - truth) < 4 * entry["mean"]["se"]
    assert entry["mean"]["se_privacy"] < entry["mean"]["se"]
    below = float((frame["points"] <= 4).mean())
    fifth = entry["cumulative"][4]
    assert abs(fifth["estimate"] - below) < 4 * fifth["se"]
    median = float(np.median(frame["points"])) + 1.0
    assert entry["quantiles"][1]["low"] <= median <= entry["quantiles"][1]["high"]
    assert len(entry["estimates"]) == 11
    assert any("the mean could move by" in note for note in entry["notes"])
    json.dumps(entry, allow_nan=False)


def test_a_distribution_under_sets_has_histogram_and_quantiles(frame: pd.DataFrame) -> None:
    results = report(SURVEY, frame)
    entry = results["number"].to_dict()
    assert len(entry["histogram"]) == 12
    assert entry["quantiles"][1]["low"] <= float(np.median(frame["hours"])) <= entry["quantiles"][1]["high"]
    assert entry["unit"] == "hours"
    assert "mean" not in entry or entry["mean"]["se"] > 0
    text, page = results.to_text(), results.to_html()
    assert "median (hours)" in text
    assert "interquartile range" in text
    assert "Share per unit" in page


def test_a_mean_under_sets_is_a_mean_and_shows_no_shares_of_grid_points(frame: pd.DataFrame) -> None:
    results = report(SURVEY, frame)
    question = results["rounded"]
    assert question.shares == ()
    entry = question.to_dict()
    assert entry["estimates"] == []
    assert "quantiles" not in entry
    assert abs(entry["mean"]["estimate"] - float(frame["numbers"].mean())) < 4 * entry["mean"]["se"]
    assert any("rounded at random" in note for note in entry["notes"])


def test_groups_and_weights_take_them_too(frame: pd.DataFrame) -> None:
    exact = {table.id: table for table in report(SURVEY, frame, by="group").groups}
    randomized = {table.id: table for table in report(SURVEY, frame, by="late").groups}
    for name, truth in (("scale", "points"), ("rounded", "numbers")):
        group_means = frame.groupby("group")[truth].mean()
        gap = float(group_means["b"] - group_means["a"])
        for table in (exact[name], randomized[name]):
            (difference,) = table.mean_differences
            assert abs(difference.difference - gap) < 4 * difference.se
            assert (
                difference.low < gap < difference.high or abs(difference.difference - gap) < 3 * difference.se
            )
    assert exact["rounded"].shares == ()
    weighed = report(SURVEY, frame, weights="w")
    for name, truth in (("scale", frame["points"] + 1.0), ("rounded", frame["numbers"])):
        numbers = weighed[name].numbers
        assert numbers is not None
        assert numbers.mean is not None
        group_means = float(np.average(truth, weights=frame["w"]))
        assert abs(numbers.mean.estimate - group_means) < 4 * numbers.mean.se
        plain = report(SURVEY, frame)[name].numbers
        assert plain is not None
        assert plain.mean is not None
        kish = frame["w"].sum() ** 2 / (frame["w"] ** 2).sum()
        assert numbers.mean.se == pytest.approx(plain.mean.se * math.sqrt(N / kish), rel=0.06)
    assert weighed["rounded"].shares == ()
    assert weighed["scale"].to_dict()["quantiles"]


def test_the_same_weights_are_no_weights(frame: pd.DataFrame) -> None:
    weighed = report(SURVEY, frame.assign(w=1.0), weights="w")["scale"].numbers
    plain = report(SURVEY, frame)["scale"].numbers
    assert weighed is not None
    assert plain is not None
    assert weighed.mean is not None
    assert plain.mean is not None
    assert weighed.mean.estimate == pytest.approx(plain.mean.estimate)
    # One takes the variance from how the sets scatter, the other from what the shares determine.
    assert weighed.mean.se == pytest.approx(plain.mean.se, rel=0.03)
    assert weighed.mean.low == pytest.approx(plain.mean.low, rel=0.02)


def test_a_finite_population_makes_the_interval_smaller(frame: pd.DataFrame) -> None:
    plain, finite = report(SURVEY, frame)["scale"], report(SURVEY, frame, population=N)["scale"]
    assert plain.numbers is not None
    assert finite.numbers is not None
    assert plain.numbers.mean is not None
    assert finite.numbers.mean is not None
    assert finite.numbers.mean.se == pytest.approx(plain.numbers.mean.se_privacy, rel=0.01)


def test_the_public_functions_take_counts_of_options() -> None:
    device = mechanisms.subset(options=9, epsilon=0.5)
    cells = cells_of(device.device, np.repeat(np.arange(9), 200))
    held = cells[1::2]
    assert mean(held, device, np.arange(9)).estimate == mean(cells, device, np.arange(9)).estimate
    assert quantiles(held, device).median.low <= 5 <= quantiles(held, device).median.high
    assert density(held, device, np.arange(10), "kernel").se.min() > 0
    with pytest.raises(AnalysisError, match="no number of sets"):
        mean(held + (np.arange(9) == 0), device, np.arange(9))
    with pytest.raises(AnalysisError, match="at least 2"):
        mean([0] * 9, device, np.arange(9))


LOW, HIGH = 0.930, 0.975


def truth_of(shape: str, options: int) -> Floats:
    position = np.arange(options)
    shapes = {
        "uniform": np.ones(options),
        "skewed": 0.6**position,
        "bimodal": np.exp(-((position - 2.0) ** 2)) + np.exp(-((position - options + 3.0) ** 2)),
        "first": (position == 0).astype(float),
    }[shape]
    return shapes / shapes.sum()


@pytest.mark.parametrize(
    ("options", "epsilon", "n", "shape"),
    [
        (11, 1.0, 200, "bimodal"),
        pytest.param(11, 0.5, 200, "uniform", marks=pytest.mark.long),
        pytest.param(11, 1.0, 1000, "skewed", marks=pytest.mark.long),
        pytest.param(20, 2.0, 200, "first", marks=pytest.mark.long),
    ],
)
def test_intervals_under_sets_cover(options: int, epsilon: float, n: int, shape: str) -> None:
    """Means, and the cumulative shares one by one; a band needs its critical value anew and is checked on fewer."""
    repetitions, banded = 300, 60
    device, shares = mechanisms.subset(options=options, epsilon=epsilon), truth_of(shape, options)
    report_sampler, values = sampler(device.device), np.arange(options) * 1.0
    answers = np.random.default_rng(7).choice(options, size=n * repetitions, p=shares)
    codes = report_sampler.read(np.asarray(simulate(device.device, answers, seed=11)))[0]
    curve, middle, targets = np.cumsum(shares), float(values @ shares), np.tril(np.ones((options, options)))
    hits, inside, band, errors = 0, np.zeros(options - 1), 0, []
    for repetition in range(repetitions):
        sample = read_sample(report_sampler.tally(codes[repetition * n : (repetition + 1) * n]), device)
        quantity = sample.quantity(values)
        low, high = limits(quantity)
        hits += low <= middle <= high
        errors.append(quantity.estimate - middle)
        ends = [limits(sample.quantity(target)) for target in targets[:-1]]
        inside += [low <= t <= high for (low, high), t in zip(ends, curve, strict=False)]
        if repetition < banded:
            lines = cumulative_of(sample, (), 0.95)
            band += all(a.low <= t <= a.high for a, t in zip(lines.band[:-1], curve, strict=False))
    sets = set_view(device)
    assert sets is not None
    one_error = math.sqrt(0.95 * 0.05 / repetitions)
    assert LOW - 2 * one_error <= hits / repetitions <= HIGH + 2 * one_error
    # The worst of twenty neighbours lies further off than one does.
    assert (inside / repetitions).min() >= LOW - 3 * one_error
    assert (inside / repetitions).mean() <= HIGH + 2 * one_error
    assert band / banded >= LOW - 2 * math.sqrt(0.95 * 0.05 / banded)
    theory = float(sets.moments(values) @ shares - middle**2) / n
    assert np.mean(np.square(errors)) / theory == pytest.approx(1.0, abs=4 * math.sqrt(2 / repetitions))


def limits(quantity: Quantity) -> tuple[float, float]:
    result = interval(quantity)
    return result.low, result.high
