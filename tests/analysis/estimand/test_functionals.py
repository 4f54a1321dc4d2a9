"""Means, cumulative shares, quantiles and densities: what they are, and what is refused."""

from __future__ import annotations

import math
import re

import numpy as np
import pytest
from hushpoll_analysis import cumulative, density, estimate, functional, mean, mean_difference, quantiles
from hushpoll_analysis.channel.view import channel_view
from hushpoll_analysis.errors import AnalysisError, NotIdentifiedError
from hushpoll_analysis.estimand.bands import critical_value, level_of
from hushpoll_analysis.estimand.quantiles import Places, crossings
from hushpoll_client import Channel, mechanisms
from hushpoll_client.channel import SCALE
from scipy.stats import multivariate_normal

FOUR = mechanisms.krr(options=4, epsilon=1)
COUNTS = [620, 500, 470, 410]


def expected_counts(mechanism: object, shares: list[float], n: int) -> np.ndarray:
    """Whole counts as near as possible to what these shares give on average."""
    return np.rint(n * channel_view(mechanism).forward(np.array(shares))).astype(int)


def one_bit(points: int, epsilon: float) -> Channel:
    """Duchi's report of one bit, whose probability is linear in the number."""
    slope = math.expm1(epsilon) / (math.exp(epsilon) + 1) / 2
    yes = 0.5 + slope * np.linspace(-1, 1, points)
    return Channel.from_probabilities(np.stack([1 - yes, yes], axis=1).tolist())


def thresholds(points: int, epsilon: float) -> Channel:
    """Whether the answer lies above a random threshold, by Warner's coin."""
    above = np.tril(np.ones((points, points)), -1)[:, : points - 1] > 0
    high, low = math.exp(epsilon), 1.0
    columns = np.concatenate([np.where(above, high, low), np.where(above, low, high)], axis=1)
    return Channel.from_probabilities((columns / columns.sum(axis=1, keepdims=True)).tolist())


def test_a_mean_is_the_weighted_sum_of_the_shares() -> None:
    shares = estimate(COUNTS, FOUR, options=list("abcd"))
    average = mean(COUNTS, FOUR, [1, 2, 3, 4])
    assert average.estimate == pytest.approx(
        sum(k * share.estimate for k, share in enumerate(shares.estimates, 1))
    )
    assert average.low < average.estimate < average.high
    assert average.se == shares.mean([1, 2, 3, 4]).se


@pytest.mark.parametrize("constant", [0, 1, -2.5])
def test_values_that_are_all_the_same_are_refused(constant: float) -> None:
    """Their mean is known; searching for its limits ended in a warning and an interval that did not settle."""
    same, shares = [constant] * 4, estimate(COUNTS, FOUR)
    reason = f"all values are the same, so the result is {constant:g} whatever people answered; give values that differ"
    ways = {
        "values": lambda: mean(COUNTS, FOUR, same),
        "target": lambda: functional(COUNTS, FOUR, same),
        "mean": lambda: shares.mean(same),
        "quantity": lambda: shares.functional(same),
    }
    for name, way in ways.items():
        with pytest.raises(AnalysisError, match=f"^{name}: {re.escape(reason)}"):
            way()
    with pytest.raises(AnalysisError, match="1 - 1: all values are the same"):
        shares.difference("1", "1")


def test_what_is_not_determined_about_privacy_is_a_bound() -> None:
    channel = one_bit(11, 1.0)
    average = mean([400, 600], channel, np.linspace(-1, 1, 11))
    size = (math.e + 1) / (math.e - 1)
    assert average.estimate == pytest.approx(0.2 * size, rel=1e-6)
    # Var(b | x) = size^2 - x^2 is largest at 0, and x^2 is not linear in the probability of the bit.
    assert average.se_privacy == pytest.approx(size / math.sqrt(1000), rel=1e-6)
    # With a report that determines all shares the mean of Var(b | x) is estimated, not bounded.
    richer = mean(COUNTS, FOUR, [1, 2, 3, 4])
    view = channel_view(FOUR)
    noise = view.noise(view.solution([1, 2, 3, 4]))
    assert richer.se_privacy < math.sqrt(noise.max() / 2000)


def test_random_rounding_adds_to_the_privacy_part() -> None:
    plain, rounded = (mean(COUNTS, FOUR, [0, 10, 20, 30], rounding=spacing) for spacing in (0.0, 10.0))
    assert rounded.se == plain.se
    assert rounded.se_privacy**2 == pytest.approx(plain.se_privacy**2 + 25 / 2000)


def test_the_difference_of_two_means_has_both_errors() -> None:
    first, other = (mean(counts, FOUR, [1, 2, 3, 4]) for counts in (COUNTS, [500] * 4))
    difference = mean_difference(first, other)
    assert difference.difference == first.estimate - other.estimate
    assert difference.se == pytest.approx(math.hypot(first.se, other.se))
    assert difference.high - difference.difference == pytest.approx(
        math.hypot(first.high - first.estimate, other.estimate - other.low)
    )


def test_cumulative_shares_add_up_and_end_at_one() -> None:
    shares = estimate(COUNTS, FOUR, options=list("abcd"))
    running_shares = cumulative(COUNTS, FOUR, options=list("abcd"))
    running = np.cumsum([share.estimate for share in shares.estimates])
    assert [share.estimate for share in running_shares.estimates] == pytest.approx(running.tolist())
    assert running_shares.estimates[-1].low == running_shares.estimates[-1].high == 1.0
    for share, both in zip(running_shares.estimates[:-1], running_shares.band[:-1], strict=True):
        assert both.low < share.low < share.estimate < share.high < both.high
    assert running_shares.at_most("b") is running_shares.estimates[1]
    more = running_shares.at_least("c")
    assert more.estimate == pytest.approx(1 - running_shares.estimates[1].estimate)
    assert (more.low, more.high) == pytest.approx(
        (1 - running_shares.estimates[1].high, 1 - running_shares.estimates[1].low)
    )
    assert running_shares.at_least("a").estimate == 1.0


def test_the_curve_never_falls() -> None:
    distribution = cumulative([300, 90, 110, 200, 300], mechanisms.krr(options=5, epsilon="0.5"))
    raw = np.array([share.estimate for share in distribution.estimates])
    assert np.any(np.diff(raw) < 0)
    assert np.all(np.diff(distribution.curve) >= 0)
    assert distribution.curve[0] >= 0
    assert distribution.curve[-1] == 1


def test_a_band_is_as_wide_as_the_joint_normal_says() -> None:
    covariance = np.array([[1.0, 0.6], [0.6, 4.0]])
    critical = critical_value(covariance, 0.95)
    correlation = [[1.0, 0.3], [0.3, 1.0]]
    inside = multivariate_normal(cov=correlation).cdf([critical] * 2, lower_limit=[-critical] * 2)
    assert inside == pytest.approx(0.95, abs=0.003)
    assert critical_value(np.eye(1), 0.95) == pytest.approx(1.959964, abs=1e-6)
    # What cannot vary takes no part, and what always varies together counts once.
    assert critical_value(np.diag([1.0, 0.0]), 0.95) == pytest.approx(1.959964, abs=1e-6)
    assert critical_value(np.ones((3, 3)), 0.95) == pytest.approx(1.96, abs=0.02)
    assert level_of(1.959964) == pytest.approx(0.95, abs=1e-6)


def test_quantiles_of_a_known_distribution() -> None:
    shares = [0.1, 0.2, 0.4, 0.2, 0.1]
    mechanism = mechanisms.krr(options=5, epsilon=4)
    result = quantiles(expected_counts(mechanism, shares, 100_000), mechanism)
    assert [(quantile.estimate, quantile.low, quantile.high) for quantile in result] == [
        (2, 2, 2),
        (3, 3, 3),
        (4, 4, 4),
    ]
    assert (result.iqr.estimate, result.iqr.low, result.iqr.high) == (2, 2, 2)
    assert result[0.95].estimate == 5
    assert result.median is result[0.5]


def test_quantiles_of_bins_are_interpolated_and_reach_to_the_edges() -> None:
    mechanism = mechanisms.krr(options=4, epsilon=4)
    counts = expected_counts(mechanism, [0.25] * 4, 100_000)
    result = quantiles(counts, mechanism, p=[0.3, 0.6], edges=[0, 10, 20, 30, 40])
    assert [quantile.estimate for quantile in result] == pytest.approx([12, 24], abs=0.01)
    assert [(quantile.low, quantile.high) for quantile in result] == [(10, 20), (20, 30)]


def test_numbers_of_a_bin_are_counted_in_steps() -> None:
    # Three bins of the numbers 0..4, 5..9, 10..14: the quantile is one of the numbers.
    positions = Places(np.array([0.0, 5, 10]), np.array([4.0, 9, 14]), 1.0)
    curve = np.array([0.2, 0.7, 1.0])
    assert [positions.at(curve, p) for p in (0.04, 0.041, 0.2, 0.21, 0.7, 0.99)] == [0, 1, 4, 5, 9, 14]


def test_limits_are_made_monotone_outward() -> None:
    low, high = np.array([0.3, 0.1, 0.6, 1.0]), np.array([0.55, 0.4, 0.8, 1.0])
    first, last = crossings(low, high, 0.5)
    assert (first, last) == (0, 2)
    # A lower limit that falls again does not count as reached.
    assert crossings(low, high, 0.2) == (0, 2)


def test_interquartile_ranges_hold_what_the_quartiles_allow() -> None:
    channel = thresholds(9, 1.0)
    counts = np.random.default_rng(4).multinomial(1000, channel_view(channel).forward(np.full(9, 1 / 9)))
    result = quantiles(counts, channel)
    quartiles = result[0.25], result[0.75]
    widest = quartiles[1].high - quartiles[0].low
    assert result.iqr.low <= result.iqr.estimate <= result.iqr.high
    assert result.iqr.high <= widest + 2
    assert result.iqr.low >= max(quartiles[1].low - quartiles[0].high - 2, 0)


@pytest.mark.parametrize("shape", ["histogram", "cosine", "kernel"])
def test_densities_are_linear_in_the_shares(shape: str) -> None:
    channel = thresholds(20, 2.0)
    counts = np.random.default_rng(1).multinomial(5000, channel_view(channel).forward(np.full(20, 0.05)))
    estimated = density(counts, channel, np.linspace(0, 50, 21), shape)
    shares = channel_view(channel).shares(counts / 5000)
    assert estimated.estimate == pytest.approx(estimated.targets @ shares)
    # A uniform truth has one height everywhere, whatever the smoother.
    assert estimated.targets @ np.full(20, 0.05) == pytest.approx(np.full(len(estimated.x), 0.02), rel=1e-6)
    assert np.all(estimated.band_low < estimated.low)
    assert np.all(estimated.high < estimated.band_high)
    assert estimated.critical > 1.96
    spaced = (
        np.trapezoid(estimated.estimate, estimated.x)
        if shape != "histogram"
        else estimated.estimate.sum() * 2.5
    )
    assert spaced == pytest.approx(1.0, abs=0.01)
    if shape != "cosine":
        assert np.all(estimated.picture >= -1e-12)


def test_more_smoothing_means_less_noise_and_the_risk_chooses() -> None:
    channel = thresholds(20, 2.0)
    edges = np.linspace(0, 1, 21)
    middles = (edges[1:] + edges[:-1]) / 2
    truth = 1 + 0.9 * np.cos(2 * np.pi * middles)
    counts = np.random.default_rng(2).multinomial(20_000, channel_view(channel).forward(truth / truth.sum()))
    assert density(counts, channel, edges, "cosine").smoothing in (2.0, 3.0, 4.0)
    rough, smooth = (density(counts, channel, edges, "kernel", smoothing=h) for h in (0.03, 0.2))
    assert np.all(smooth.se < rough.se)
    assert smooth.smoothing == pytest.approx(0.2)


def test_what_the_channel_cannot_estimate_is_refused() -> None:
    channel = one_bit(11, 1.0)
    with pytest.raises(NotIdentifiedError, match=r"cumulative shares: .*; choose a mechanism made for"):
        quantiles([400, 600], channel)
    with pytest.raises(NotIdentifiedError, match=r"density: .*; choose a mechanism made for"):
        density([400, 600], channel, np.linspace(0, 1, 12))
    with pytest.raises(NotIdentifiedError, match=r"mean: .*; choose a mechanism made for the mean"):
        mean([400, 600], channel, np.arange(11) ** 2)


@pytest.mark.parametrize(
    ("call", "reason"),
    [
        (lambda: mean(COUNTS, FOUR, [1, 2, 3]), "values: 3 given, but this channel has 4"),
        (lambda: cumulative(COUNTS, FOUR, options=["a"]), "options: 4 labels expected"),
        (lambda: cumulative(COUNTS, FOUR).at_most("z"), "option: 'z' is none of"),
        (lambda: quantiles(COUNTS, FOUR, p=[0]), "p: 0 is not a probability"),
        (lambda: quantiles(COUNTS, FOUR, values=[1, 2, 2, 3]), "values: .* do not rise"),
        (lambda: quantiles(COUNTS, FOUR, values=[1, 2, 3]), "values: 3 answers described"),
        (
            lambda: quantiles(COUNTS, FOUR, edges=[1, 2, 3, 4]),
            "edges: 3 answers described, .*; give 5 numbers",
        ),
        (lambda: quantiles(COUNTS, FOUR, values=[1, 2, 3, 4], edges=[0, 1, 2, 3, 4]), "give one of them"),
        (
            lambda: density(COUNTS, FOUR, [0, 1, 2, 3, 4], "spline"),
            "shape 'spline' is not one of histogram, cosine, kernel",
        ),
        (lambda: density(COUNTS, FOUR, [0, 1, 2]), "edges: 3 given for 4 bins; give 5 increasing numbers"),
        (
            lambda: density(COUNTS, FOUR, range(5), "cosine", smoothing=4),
            "smoothing: 4 is not a number of terms",
        ),
        (lambda: density(COUNTS, FOUR, range(5), "kernel", smoothing=0), "smoothing: 0 is not a bandwidth"),
        (lambda: density(COUNTS, FOUR, range(5), smoothing=1), "smoothing: a histogram has none"),
    ],
)
def test_bad_requests_say_what_to_do(call: object, reason: str) -> None:
    with pytest.raises(AnalysisError, match=reason):
        call()  # type: ignore[operator]


@pytest.mark.parametrize("point", [0, 5, 10])
def test_equal_reports_tell_the_median_that_they_name(point: int) -> None:
    """Every variance is 0 there; the curve was missing, and the median always the last answer."""
    counts = [0] * 11
    counts[point] = 20
    channel = mechanisms.krr(options=11, epsilon="1")
    assert np.all(np.diff(cumulative(counts, channel).curve) >= 0)
    assert quantiles(counts, channel, values=range(11)).median.estimate == point


@pytest.mark.parametrize("counts", [[20, 0, 0, 0, 0], [19, 1, 0, 0, 0], [0, 0, 1, 1, 18]])
def test_the_misfit_of_a_mean_is_how_often_the_edge_itself_gives_it(counts: list[int]) -> None:
    """With the reports' own variance 19 of 20 equal reports had a p-value of 7e-62."""
    mechanism, values = mechanisms.krr(options=5, epsilon=2), np.arange(1.0, 6.0)
    average = mean(counts, mechanism, values)
    weights = np.linalg.solve(np.array(mechanism.analysis.rows) / SCALE, values)
    truth = 0 if average.estimate < 1 else 4
    rows = np.random.default_rng(1).multinomial(20, np.array(mechanism.analysis.rows[truth]) / SCALE, 200_000)
    means = rows @ weights / 20
    as_far = means <= average.estimate + 1e-9 if truth == 0 else means >= average.estimate - 1e-9
    assert average.misfit is not None
    assert 0.2 < average.misfit / max(as_far.mean(), 1e-5) < 20
