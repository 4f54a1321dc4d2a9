"""Trends of rare answers and skewed numbers: coverage of the slope, size of the tests, and times of waves."""

from __future__ import annotations

import datetime
import json
import math
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hushpoll_analysis import AnalysisError, estimate, report, trend, weighted_estimate
from hushpoll_analysis.channel.view import channel_view
from hushpoll_analysis.estimates import Shown
from hushpoll_analysis.results.trend_line import line_through
from hushpoll_analysis.results.wave_values import MEAN, WaveValue, read_wave
from hushpoll_analysis.simulation.respondents import simulate_survey
from hushpoll_client import Survey, mechanisms

RARE = [(8, 150, 4, 0.03), (12, 100, 4, 0.10), (12, 300, 4, 0.02), (6, 80, 3, 0.03), (8, 60, 4, 0.05)]
"""Waves, people in each, epsilon, share: where 1/SE^2 as weights covered .88 to .92 and rejected 8 to 15 %."""
BETWEEN = [
    (8, 150, 4, 0.06),
    (10, 200, 4, 0.025),
    (7, 70, 3, 0.05),
    (4, 100, 2, 0.1),
    (6, 500, 1, 0.3),
    (12, 60, 4, 0.04),
]
SKEWED = {"falling": [0.7, 0.15, 0.08, 0.05, 0.02], "few high": [0.9, 0.03, 0.03, 0.02, 0.02]}


def share_waves(n: int, epsilon: float) -> tuple[Callable[[int], WaveValue], Callable[[float], float]]:
    """Return a wave with the given number of reports of Yes, and the chance of one at a share."""
    coin = mechanisms.warner(epsilon=epsilon)
    view = channel_view(coin)

    @cache
    def wave(yes: int) -> WaveValue:
        return read_wave(estimate([n - yes, yes], coin), None, None)

    return wave, lambda share: float(view.forward(np.array([1 - share, share]))[1])


def rates(waves: Sequence[Sequence[WaveValue]], slope: float = 0.0) -> tuple[float, float, float]:
    """Return how often the slope is covered, and how often "nothing changed" and "straight" are rejected at 5 %."""
    when = np.arange(len(waves[0]), dtype=float)
    lines = [line_through(when, series, 0.95) for series in waves]
    covered = np.mean([line.low <= slope <= line.high for line in lines])
    changed = np.mean([line.changed_p < 0.05 for line in lines])
    bent = np.mean([line.bent_p < 0.05 for line in lines])  # type: ignore[operator]
    return float(covered), float(changed), float(bent)


def share_rates(
    cell: tuple[int, int, float, float], surveys: int, seed: int, slope: float = 0.0
) -> tuple[float, float, float]:
    waves, n, epsilon, share = cell
    wave, chance = share_waves(n, epsilon)
    rng = np.random.default_rng(seed)
    chances = [chance(share + slope * k) for k in range(waves)]
    yes_counts = rng.binomial(n, chances, size=(surveys, waves))
    return rates([[wave(int(yes)) for yes in row] for row in yes_counts], slope)


def mean_rates(
    waves: int, n: int, epsilon: float, shares: list[float], surveys: int, seed: int
) -> tuple[float, ...]:
    five = mechanisms.krr(options=5, epsilon=epsilon)
    chances = channel_view(five).forward(np.array(shares))
    rng = np.random.default_rng(seed)

    view = channel_view(five)
    weights = view.solution(np.arange(5.0))
    noise = view.noise(weights)

    def wave(counts: Any) -> WaveValue:
        # What mean() gives, without an interval, which the line does not use.
        shares = counts / n
        middle = float(weights @ shares)
        se = math.sqrt(float((weights - middle) ** 2 @ shares) / (n - 1))
        privacy = math.sqrt(max(float(noise @ view.shares(shares)), 0.0) / n)
        limits = (middle - 1.96 * se, middle + 1.96 * se)
        return WaveValue(
            option=MEAN,
            n=n,
            level=0.95,
            estimate=middle,
            se=se,
            low=limits[0],
            high=limits[1],
            shown=Shown(middle, *limits),
            noise=privacy,
        )

    counts = rng.multinomial(n, chances, size=(surveys, waves))
    return rates([[wave(counts) for counts in row] for row in counts])


@pytest.mark.parametrize("cell", RARE[:2])
def test_rare_answers_have_honest_trends(cell: tuple[int, int, float, float]) -> None:
    covered, changed, bent = share_rates(cell, 1500, 1)
    assert 0.935 <= covered <= 0.975
    assert 0.03 <= changed <= 0.065
    assert 0.03 <= bent <= 0.065


@pytest.mark.long
@pytest.mark.parametrize("cell", [*RARE, *BETWEEN])
def test_the_grid_of_rare_answers(cell: tuple[int, int, float, float]) -> None:
    covered, changed, bent = share_rates(cell, 10_000, 2)
    assert 0.93 <= covered <= 0.975
    assert 0.037 <= changed <= 0.063
    assert 0.037 <= bent <= 0.063


@pytest.mark.long
@pytest.mark.parametrize(
    ("cell", "slope"), [((8, 150, 4, 0.02), 0.01), ((6, 80, 3, 0.05), 0.02), ((4, 100, 2, 0.1), 0.1)]
)
def test_a_slope_is_covered_and_a_line_is_not_called_bent(
    cell: tuple[int, int, float, float], slope: float
) -> None:
    covered, _, bent = share_rates(cell, 10_000, 3, slope)
    assert 0.93 <= covered <= 0.975
    assert bent <= 0.063


@pytest.mark.long
@pytest.mark.parametrize(("waves", "n"), [(4, 80), (6, 100)])
@pytest.mark.parametrize("shape", SKEWED)
def test_skewed_means_have_honest_trends(waves: int, n: int, shape: str) -> None:
    covered, changed, bent = mean_rates(waves, n, 4, SKEWED[shape], 4000, 4)
    assert 0.93 <= covered <= 0.975
    assert 0.034 <= changed <= 0.066
    assert 0.034 <= bent <= 0.066


def test_weights_do_not_follow_the_estimates() -> None:
    coin = mechanisms.warner(epsilon=4)
    waves = [estimate([150 - yes, yes], coin) for yes in (4, 9, 5, 12, 6, 8)]
    weighted = [
        weighted_estimate(
            pd.DataFrame({"y": [0] * (150 - yes) + [1] * yes, "w": 1.0}), {"y": coin}, "y", weights="w"
        )
        for yes in (4, 9, 5, 12, 6, 8)
    ]
    plain = np.polyfit(range(6), [wave["Yes"].estimate for wave in waves], 1)[0]
    assert trend(waves).slope == pytest.approx(plain), "equal waves have equal weights"
    assert trend(weighted).slope == pytest.approx(plain, rel=1e-3)


def test_the_spread_of_numbers_is_taken_from_all_waves() -> None:
    """A wave without a rare high answer has a small standard error and a low mean: its own weight would follow both."""
    scale = {
        "id": "mood",
        "kind": "scale",
        "text": "?",
        "points": 5,
        "mechanism": {"epsilon": 4, "name": "krr"},
    }
    survey = Survey.from_draft({"hushpoll": 1, "title": "t", "questions": [scale]})
    counts = ([70, 4, 3, 2, 1], [74, 4, 1, 1, 0], [66, 6, 4, 2, 2], [76, 3, 1, 0, 0])
    waves = [
        report(survey, pd.DataFrame({"mood_reported": np.repeat(np.arange(5), row)}), minimum=50)
        for row in counts
    ]
    fit = trend(waves, question="mood")
    assert fit.option == MEAN
    estimates = [wave.estimate for wave in fit.waves]
    plain, weighted = (
        np.polyfit(range(4), estimates, 1, w=weights)[0]
        for weights in (None, [1 / wave.se for wave in fit.waves])
    )
    assert fit.slope == pytest.approx(plain, rel=0.05), "equal waves have nearly equal weights"
    assert weighted != pytest.approx(plain, rel=0.2)


# Times ----------------------------------------------------------------------------------------------------------


def by_name(names: Sequence[Any]) -> Any:
    coin = mechanisms.warner(epsilon=2)
    counts = ([70, 30], [60, 40], [40, 60])
    return trend(
        {name: estimate(counts_of_wave, coin) for name, counts_of_wave in zip(names, counts, strict=True)}
    )


def test_years_as_text_and_dates_are_times() -> None:
    expected = by_name([2020, 2021, 2030])
    assert by_name(["2020", "2021", "2030"]).slope == pytest.approx(expected.slope)
    stamps = [pd.Timestamp(year, 1, 1) for year in (2020, 2021, 2030)]
    days = [datetime.date(year, 1, 1) for year in (2020, 2021, 2030)]
    for names in (
        stamps,
        days,
        ["2020-01-01", "2021-01-01", "2030-01-01"],
        ["2020-01", "2021-01", "2030-01"],
    ):
        fitted = by_name(names)
        assert [wave.time for wave in fitted.waves] == pytest.approx([2020, 2021, 2030])
        assert fitted.slope == pytest.approx(expected.slope)
        assert not any("equally spaced" in note for note in fitted.notes)


@pytest.mark.parametrize(
    "name", [pd.Timestamp, datetime.date.fromisoformat, np.datetime64, lambda day: pd.Period(day, freq="D")]
)
def test_dates_of_waves_are_json_values(name: Callable[[str], Any]) -> None:
    days = ["2020-01-01", "2021-01-01", "2030-01-01"]
    waves = json.loads(json.dumps(by_name([name(day) for day in days]).to_dict()))["waves"]
    assert [wave["wave"][:10] for wave in waves] == days


def test_equal_spacing_is_said() -> None:
    fitted = by_name(["before", "during", "after"])
    assert any("equally spaced in time" in note for note in fitted.notes)
    assert [wave.time for wave in fitted.waves] == [0, 1, 2]


# Several answers together ---------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def scales() -> dict[int, Any]:
    mood = {
        "id": "mood",
        "kind": "scale",
        "text": "?",
        "points": 5,
        "mechanism": {"epsilon": 3, "name": "krr"},
    }
    survey = Survey.from_draft({"hushpoll": 1, "title": "t", "questions": [mood]})
    truths = ([0.4, 0.3, 0.1, 0.1, 0.1], [0.3, 0.3, 0.1, 0.2, 0.1], [0.2, 0.3, 0.1, 0.2, 0.2])
    return {
        2020 + k: report(
            survey,
            pd.DataFrame(
                {
                    f"{name}_reported": codes
                    for name, codes in simulate_survey(survey, 4000, {"mood": truth}, seed=k)
                }
            ),
        )
        for k, truth in enumerate(truths)
    }


def test_four_or_more_is_followed(scales: dict[int, Any]) -> None:
    up = trend(scales, "4 or more", question="mood")
    assert up.option == "4 or more"
    assert abs(up.slope - 0.1) < 4 * up.slope_se
    rising = scales[2020]["mood"].numbers.cumulative.at_least("4")
    assert (up.waves[0].estimate, up.waves[0].low) == pytest.approx((rising.estimate, rising.low))
    down = trend(scales, "3 or less", question="mood")
    assert down.slope == pytest.approx(-up.slope)
    with pytest.raises(AnalysisError, match="are all answers"):
        trend(scales, "1 or more", question="mood")
    with pytest.raises(AnalysisError, match="no answer '9 or more'"):
        trend(scales, "9 or more", question="mood")
