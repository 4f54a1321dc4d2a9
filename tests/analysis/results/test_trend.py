"""Trends over waves: clusters, means, two-group designs, and p-values that agree with the intervals."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from hushpoll_analysis import (
    AnalysisError,
    estimate,
    report,
    simulate,
    trend,
    unrelated_two_groups,
    weighted_estimate,
)
from hushpoll_analysis.planning.draft_resolution import read_draft
from hushpoll_analysis.results.trend import Trend
from hushpoll_analysis.simulation.groups import simulate_columns
from hushpoll_client import Survey, mechanisms
from scipy import stats

COIN = mechanisms.warner(epsilon=3)
FINE = mechanisms.warner(epsilon=4)


def _clustered(rng: np.random.Generator, clusters: int, waves: int) -> Trend:
    estimates = []
    for _ in range(waves):
        cluster = np.repeat(np.arange(clusters), 40)
        truth = (rng.random(len(cluster)) < rng.beta(2, 8, clusters)[cluster]).astype(int)
        reports = simulate(COIN.device, truth, seed=int(rng.integers(1e9)))
        frame = pd.DataFrame({"y": reports, "cluster": cluster})
        estimates.append(weighted_estimate(frame, {"y": COIN}, "y", clusters="cluster"))
    return trend(estimates)


def _held(clusters: int, waves: int, times: int) -> tuple[float, float, float, float]:
    """How often slope and changes hold 0, and how often both tests reject, where nothing changes."""
    rng, rows = np.random.default_rng(5), []
    for _ in range(times):
        fitted = _clustered(rng, clusters, waves)
        (last,) = fitted.waves[-1:]
        assert last.change_low is not None
        assert last.change_high is not None
        rows.append(
            (
                fitted.slope_low <= 0.0 <= fitted.slope_high,
                last.change_low <= 0.0 <= last.change_high,
                fitted.changed_p < 0.05,
                (fitted.bent_p or 1.0) < 0.05,
            )
        )
    return tuple(np.mean(rows, axis=0).tolist())


def test_a_line_through_waves_of_few_clusters_knows_that_they_are_few() -> None:
    """By z and chi-square it held in 84 % of samples, and the test of any change rejected in 13 %."""
    slope, change, changed, bent = _held(4, 3, 150)
    noise = 2.0 * np.sqrt(0.05 * 0.95 / 150)
    assert slope > 0.93 - noise
    assert change > 0.93 - noise
    assert changed < 0.065 + noise
    assert bent < 0.065 + noise


@pytest.mark.long
@pytest.mark.parametrize(("clusters", "waves"), [(4, 2), (4, 3), (8, 3), (6, 5), (12, 5)])
def test_lines_and_tests_over_clustered_waves(clusters: int, waves: int) -> None:
    slope, change, changed, bent = _held(clusters, waves, 1500)
    noise = 2.0 * np.sqrt(0.05 * 0.95 / 1500)
    assert slope > 0.93 - noise
    assert change > 0.93 - noise
    assert changed < 0.065 + noise
    assert bent < 0.065 + noise


def test_two_clustered_waves_have_the_line_and_the_test_of_welch() -> None:
    fitted = _clustered(np.random.default_rng(2), 5, 2)
    first, second = fitted.waves
    parts = np.array([first.se, second.se]) ** 2
    freedom = parts.sum() ** 2 / (parts**2 / 4).sum()
    size = (second.estimate - first.estimate) / np.sqrt(parts.sum())
    assert fitted.slope_p == pytest.approx(2.0 * stats.t.sf(abs(size), freedom))
    assert fitted.changed_p == pytest.approx(fitted.slope_p)


def test_the_test_of_any_change_is_that_of_welch() -> None:
    """Against statsmodels, which has Welch's test for samples: three waves of clusters without randomization."""
    from statsmodels.stats.oneway import anova_oneway

    rng = np.random.default_rng(8)
    means = [rng.normal(0.5, 0.1, size) for size in (5, 6, 7)]
    from hushpoll_analysis.estimates import Shown
    from hushpoll_analysis.results.trend_line import line_through
    from hushpoll_analysis.results.wave_values import WaveValue

    waves = []
    for wave_means in means:
        middle, error = float(wave_means.mean()), float(wave_means.std(ddof=1) / np.sqrt(len(wave_means)))
        ends = (middle - error, middle + error)
        waves.append(
            WaveValue(
                option="Yes",
                n=100,
                level=0.95,
                estimate=middle,
                se=error,
                low=ends[0],
                high=ends[1],
                shown=Shown(middle, *ends),
                freedom=len(wave_means) - 1,
            )
        )
    line = line_through(np.arange(3.0), waves, 0.95)
    assert line.changed_p == pytest.approx(anova_oneway(means, use_var="unequal").pvalue)


def test_a_change_is_clear_where_its_p_value_says_so() -> None:
    """3 and then 10 of 60 had [-.006, .251] and p = .038."""
    for before in range(0, 12, 3):
        for after in range(before, 16):
            waves = [estimate([60 - yes, yes], FINE) for yes in (before, after)]
            last = trend(waves).waves[-1]
            assert last.p_value is not None
            assert last.change_low is not None
            assert (last.p_value < 0.05) == (last.change_low > 0.0)
    odd = trend([estimate([57, 3], FINE), estimate([50, 10], FINE)]).waves[-1]
    assert odd.p_value is not None
    assert odd.p_value > 0.05


def test_changes_at_another_level_come_from_limits_at_that_level() -> None:
    waves = [estimate([57, 3], FINE), estimate([45, 15], FINE)]
    expected = trend([estimate(wave.counts, FINE, level=0.9) for wave in waves]).waves[-1]
    last = trend(waves, level=0.9).waves[-1]
    assert (last.change_low, last.change_high) == (expected.change_low, expected.change_high)
    assert last.p_value == pytest.approx(trend(waves).waves[-1].p_value, rel=1e-6)


def test_weighted_waves_at_another_level_go_as_far_as_t_does() -> None:
    rng = np.random.default_rng(3)
    frames = [pd.DataFrame({"y": rng.integers(0, 2, 200), "c": np.arange(200) % 10}) for _ in range(2)]
    waves = [weighted_estimate(frame, {"y": COIN}, "y", clusters="c", interval="t") for frame in frames]
    expected = trend(
        [
            weighted_estimate(frame, {"y": COIN}, "y", clusters="c", interval="t", level=0.8)
            for frame in frames
        ]
    )
    fitted = trend(waves, level=0.8)
    assert fitted.waves[1].change_low == pytest.approx(expected.waves[1].change_low)
    assert fitted.slope_low == pytest.approx(expected.slope_low)


def _numbers() -> tuple[Survey, list[Any]]:
    questions = [
        {
            "id": "hours",
            "kind": "number",
            "text": "?",
            "min": 0,
            "max": 80,
            "step": 1,
            "mechanism": {"epsilon": 2, "target": "mean"},
        },
        {"id": "calm", "kind": "scale", "text": "?", "points": 5, "mechanism": {"name": "krr", "epsilon": 2}},
    ]
    survey = read_draft({"hushpoll": 1, "title": "T", "questions": questions})
    frames = []
    for number, share in enumerate((0.2, 0.5, 0.8)):
        truth = {"hours": {"values": [10, 70], "shares": [1.0 - share, share]}, "calm": [0.2] * 5}
        columns = simulate_columns(survey, 2000, truth, seed=number + 1)
        frames.append(pd.DataFrame({f"{name}_reported": codes for name, codes in columns.items()}))
    return survey, frames


def test_means_are_followed() -> None:
    survey, frames = _numbers()
    waves = [report(survey, frame) for frame in frames]
    hours = trend(waves, question="hours")
    assert hours.option == "mean"
    assert hours.slope == pytest.approx(18.0, abs=4.0)
    assert hours.changed_p < 0.001
    assert hours.waves[0].low < hours.waves[0].estimate < hours.waves[0].high
    calm = trend(waves, question="calm")
    assert calm.waves[0].estimate == waves[0]["calm"].numbers.mean.estimate
    assert trend(waves, "3", question="calm").waves[0].estimate == waves[0]["calm"].estimate["3"].estimate
    assert hours.plot().get_ylabel() == "mean"


def test_means_of_clustered_waves_have_t() -> None:
    survey, frames = _numbers()
    keys = {"clusters": "cluster"}
    waves = [report(survey, frame.assign(cluster=np.arange(2000) % 8), **keys) for frame in frames]
    fitted = trend(waves, question="hours")
    half = (fitted.slope_high - fitted.slope_low) / 2.0
    assert half > 2.0 * fitted.slope_se  # t with about 14 degrees of freedom, not z


def test_two_group_designs_are_waves() -> None:
    waves = [unrelated_two_groups([(340, 160), (285, yes)], truth=(0.7, 0.3)) for yes in (215, 205)]
    fitted = trend(waves)
    assert (fitted.option, fitted.waves[0].n) == ("share", 1000)
    assert fitted.slope == pytest.approx(waves[1]["share"].estimate - waves[0]["share"].estimate)
    assert trend(waves, "decoy").waves[1].estimate == waves[1]["decoy"].estimate
    with pytest.raises(AnalysisError, match="no answer 'Yes'; it has share, decoy"):
        trend(waves, "Yes")


def test_an_answer_is_found_by_its_code_too() -> None:
    three = mechanisms.krr(options=3, epsilon=2)
    waves = [estimate(counts, three) for counts in ([100, 50, 50], [80, 60, 60])]
    assert trend(waves, 2).option == trend(waves, "2").option == "2"
    named = [estimate(counts, three, options=["a", "b", "c"]) for counts in ([100, 50, 50], [80, 60, 60])]
    assert trend(named, 2).slope == trend(named, "c").slope
    assert trend([estimate([60, 40], COIN)] * 2, 1).option == "Yes"
    with pytest.raises(AnalysisError, match="no answer 3; it has a, b, c"):
        trend(named, 3)


def test_many_waves_of_few_clusters_have_a_note() -> None:
    fitted = _clustered(np.random.default_rng(2), 4, 6)
    assert any("covers less often than it says" in note for note in fitted.notes)
    assert not any("less often" in note for note in _clustered(np.random.default_rng(2), 4, 3).notes)
