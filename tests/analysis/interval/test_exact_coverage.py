"""Coverage by exact enumeration: every report that can come in, weighed by its probability."""

from __future__ import annotations

import functools
import itertools
import math

import numpy as np
import pytest
from hushpoll_analysis import compare, estimate
from hushpoll_analysis.channel.view import channel_view
from hushpoll_analysis.interval import Resampling, interval, interval_method, intervals
from hushpoll_analysis.interval.adaptive import frequency_limits
from hushpoll_analysis.interval.blaker import Blaker
from hushpoll_analysis.interval.clopper_pearson import ClopperPearson
from hushpoll_analysis.interval.mover import BoundedEstimate, difference_limits, least_ratio, ratio_limits
from hushpoll_analysis.interval.quantity import quantity
from hushpoll_analysis.interval.roots import roots
from hushpoll_analysis.interval.score import linear_score_limits
from hushpoll_analysis.interval.wilson import Wilson
from hushpoll_client import mechanisms
from scipy.optimize import brentq
from scipy.stats import binom

SIZES, SHARES, EPSILONS = (20, 50, 100, 400), (0, 0.01, 0.05, 0.1, 0.2, 0.35, 0.5), (0.5, 1, 2, 3, 4)
LOW, HIGH = 0.93, 0.975
COMMON = 10  # an expected count from which an interval must not be too wide either


@functools.cache
def limits(n: int, level: float = 0.95) -> np.ndarray:
    """Estimate, low and high of the frequency for every number of successes."""
    return np.array([(k / n, *frequency_limits(k, n, level)) for k in range(n + 1)]).T


def reported(epsilon: float, share: float) -> float:
    lie = 1 / (1 + math.exp(epsilon))
    return lie + (1 - 2 * lie) * share


def check(coverage: float, expected: float, case: object) -> None:
    assert coverage >= LOW, (case, coverage)
    assert coverage <= HIGH or expected < COMMON, (case, coverage)


def test_one_share_covers_at_every_size() -> None:
    for n, epsilon, share in itertools.product(SIZES, EPSILONS, SHARES):
        truth = reported(epsilon, share)
        _, low, high = limits(n)
        inside = (low <= truth + 1e-12) & (truth <= high + 1e-12)
        coverage = float(binom.pmf(np.arange(n + 1), n, truth) @ inside)
        check(coverage, n * min(truth, 1 - truth), (n, epsilon, share))


def test_wilson_alone_does_not_cover_rare_reports() -> None:
    n, truth = 50, 0.999 * Wilson().of(1, 50, 0.95)[0]
    inside = [low <= truth <= high for low, high in (Wilson().of(k, n, 0.95) for k in range(n + 1))]
    assert binom.pmf(np.arange(n + 1), n, truth) @ inside < 0.85


@pytest.mark.parametrize(("first", "second"), list(itertools.combinations_with_replacement(SIZES, 2)))
def test_a_difference_of_groups_covers_at_every_size(first: int, second: int) -> None:
    for epsilon, share, other in itertools.product((0.5, 1, 2, 4), (0, 0.05, 0.2, 0.5), (0, 0.1, 0.5)):
        check_difference(first, second, reported(epsilon, share), reported(epsilon, other))


def check_difference(n: int, m: int, f: float, g: float) -> None:
    """The line from report to share is the same for both groups, so frequencies cover when shares do."""
    p, p_low, p_high = limits(n)[:, :, None]
    q, q_low, q_high = limits(m)[:, None, :]
    low = p - q - np.hypot(p - p_low, q_high - q)
    high = p - q + np.hypot(p_high - p, q - q_low)
    inside = (low <= f - g + 1e-12) & (f - g <= high + 1e-12)
    coverage = float(binom.pmf(np.arange(n + 1), n, f) @ inside @ binom.pmf(np.arange(m + 1), m, g))
    check(coverage, min(n * min(f, 1 - f), m * min(g, 1 - g)), (n, m, f, g))


def test_the_enumeration_uses_the_functions_own_formula() -> None:
    first, other = BoundedEstimate(0.4, 0.31, 0.52), BoundedEstimate(0.2, 0.15, 0.29)
    low, high = difference_limits(first, other)
    assert low == pytest.approx(0.2 - math.hypot(0.09, 0.09))
    assert high == pytest.approx(0.2 + math.hypot(0.12, 0.05))
    # Donner and Zou (2012), equation 9, for independent parts.
    low, high = ratio_limits(first, other)
    assert low == pytest.approx(
        (0.08 - math.sqrt(0.08**2 - 0.31 * 0.29 * (0.8 - 0.31) * (0.4 - 0.29))) / (0.29 * (0.4 - 0.29))
    )
    assert high == pytest.approx(
        (0.08 + math.sqrt(0.08**2 - 0.52 * 0.15 * (0.8 - 0.52) * (0.4 - 0.15))) / (0.15 * (0.4 - 0.15))
    )


@pytest.mark.parametrize(
    "numerator",
    [BoundedEstimate(0.4, 0.3, 0.5), BoundedEstimate(0.05, -0.1, 0.2), BoundedEstimate(-0.2, -0.3, -0.1)],
)
@pytest.mark.parametrize("correlation", [-0.5, 0.0, 0.6])
def test_a_ratios_limits_make_a_limit_of_the_difference_zero(
    numerator: BoundedEstimate, correlation: float
) -> None:
    other = BoundedEstimate(0.3, 0.1, 0.6)
    low, high = ratio_limits(numerator, other, correlation)
    for ratio, end in ((low, 0), (high, 1)):
        scaled = sorted([ratio * other.low, ratio * other.high])
        scaled_reference = BoundedEstimate(ratio * other.estimate, scaled[0], scaled[1])
        sign = 1 if ratio >= 0 else -1
        assert difference_limits(numerator, scaled_reference, sign * correlation)[end] == pytest.approx(
            0, abs=1e-9
        )
    assert low < numerator.estimate / other.estimate < high


def test_a_ratio_of_groups_covers() -> None:
    """All pairs of counts of two groups; a pair whose denominator is not clear of zero has no ratio."""
    for n, f, g in ((50, 0.3, 0.3), (60, 0.2, 0.3), (50, 0.05, 0.5)):
        chance, hits = 0.0, 0.0
        for i, j in itertools.product(range(n + 1), repeat=2):
            weight = binom.pmf(i, n, f) * binom.pmf(j, n, g)
            if weight < 1e-7:
                continue
            first, other = (BoundedEstimate(k / n, *frequency_limits(k, n, 0.95)) for k in (i, j))
            if other.low > 0:
                low, high = ratio_limits(first, other)
                chance, hits = chance + weight, hits + weight * (low <= f / g <= high)
        check(hits / chance, n * min(f, g), (n, f, g))


def ratio_coverage(
    n: int, m: int, epsilon: float, share: float, reference: float
) -> tuple[float, float, float]:
    """Over all samples, over those with two limits, and how often there are two, as `compare` gives them."""
    lie = 1 / (1 + math.exp(epsilon))
    parts = [
        [BoundedEstimate(*((v - lie) / (1 - 2 * lie) for v in row)) for row in limits(size).T]
        for size in (n, m)
    ]
    chances = [
        binom.pmf(np.arange(size + 1), size, lie + (1 - 2 * lie) * p)
        for size, p in ((n, share), (m, reference))
    ]
    truth, hits, total, clear, clear_hits = share / reference, 0.0, 0.0, 0.0, 0.0
    for i, j in itertools.product(np.flatnonzero(chances[0] > 1e-5), np.flatnonzero(chances[1] > 1e-5)):
        weight, numerator, other = chances[0][i] * chances[1][j], parts[0][i], parts[1][j]
        total += weight
        if other.high <= 0:
            continue  # no ratio is given, which is a miss
        bounded = other.low > 0
        low, high = ratio_limits(numerator, other) if bounded else (least_ratio(numerator, other), math.inf)
        inside = weight * (low - 1e-12 <= truth <= high + 1e-12)
        hits, clear, clear_hits = hits + inside, clear + weight * bounded, clear_hits + inside * bounded
    return hits / total, clear_hits / clear if clear > 1e-4 else math.nan, clear / total


RATIOS = [(0, 0.2), (0.05, 0.2), (0.2, 0.2), (0.2, 0.5), (0.5, 0.5), (0.5, 0.2), (0, 0.5)]


@pytest.mark.parametrize("epsilon", [0.5, 1, 2, 4])
@pytest.mark.parametrize(("share", "reference"), RATIOS)
def test_ratios_cover_over_all_samples(share: float, reference: float, epsilon: float) -> None:
    """A ratio with two limits is a selection and may cover less; with the lower limit alone elsewhere, all hold."""
    assert ratio_coverage(50, 50, epsilon, share, reference)[0] >= 0.93


@pytest.mark.long
@pytest.mark.parametrize("epsilon", [0.5, 1, 2, 4])
@pytest.mark.parametrize(("n", "m"), [(20, 20), (100, 100), (50, 100), (400, 400)])
def test_ratios_cover_over_all_samples_everywhere(n: int, m: int, epsilon: float) -> None:
    for share, reference in RATIOS:
        assert ratio_coverage(n, m, epsilon, share, reference)[0] >= 0.93, (share, reference)


def test_enumerated_ratios_are_those_of_compare() -> None:
    mechanism, lie = mechanisms.warner(epsilon=1), 1 / (1 + math.e)
    for i, j in ((40, 20), (25, 12), (10, 30)):
        difference = compare(np.array([[50 - j, j], [50 - i, i]]), {"y": mechanism}, "y", "g").differences[0]
        numerator, other = (
            BoundedEstimate(*((v - lie) / (1 - 2 * lie) for v in limits(50).T[k])) for k in (i, j)
        )
        expected = (
            ratio_limits(numerator, other) if other.low > 0 else (least_ratio(numerator, other), math.inf)
        )
        assert (difference.ratio_low, difference.ratio_high) == pytest.approx(expected, rel=1e-6)


def joint_coverage(options: int, epsilon: float, n: int, repetitions: int) -> float:
    """Two options share all answers, the others have none: how often all intervals hold at once."""
    rng = np.random.default_rng(5)
    mechanism = mechanisms.krr(options=options, epsilon=epsilon)
    shares = np.zeros(options)
    shares[:2] = 0.6, 0.4
    probabilities = channel_view(mechanism).forward(shares)
    option_level = 1 - 0.05 / options
    assert estimate([n, *[0] * (options - 1)], mechanism, simultaneous=True).interval == "blaker"
    counts = rng.multinomial(n, probabilities / probabilities.sum(), size=repetitions)
    values, positions = np.unique(counts, return_inverse=True)
    low, high = Blaker().of_each(values, np.full(len(values), n), np.full(len(values), option_level))
    positions = positions.reshape(counts.shape)
    inside = (low[positions] <= probabilities) & (probabilities <= high[positions])
    return float(inside.all(axis=1).mean())


@pytest.mark.parametrize("epsilon", [3, 4, 5])
@pytest.mark.parametrize(("options", "n"), [(20, 300), (20, 1000), (50, 1000), (100, 2000)])
def test_simultaneous_intervals_hold_where_options_are_empty(options: int, n: int, epsilon: float) -> None:
    assert joint_coverage(options, epsilon, n, 20_000) >= 0.95


def acceptability(n: int, p: float) -> np.ndarray:
    """Return Blaker's acceptability of p for every count, by its definition."""
    counts = np.arange(n + 1)
    upper, lower = binom.sf(counts - 1, n, p), binom.cdf(counts, n, p)
    result = np.empty(n + 1)
    for count in counts:
        near, far = upper[count], lower
        if lower[count] < near:
            near, far = lower[count], upper
        result[count] = near + max((tail for tail in far if tail <= near * (1 + 1e-12)), default=0.0)
    return result


@pytest.mark.parametrize("n", [1, 7, 60])
@pytest.mark.parametrize("level", [0.5, 0.95, 0.999])
def test_blakers_limits_are_those_of_its_definition(n: int, level: float) -> None:
    counts = np.arange(n + 1.0)
    sizes, levels = np.full(n + 1, float(n)), np.full(n + 1, level)
    low, high = Blaker().of_each(counts, sizes, levels)
    wider = ClopperPearson().of_each(counts, sizes, levels)
    assert np.all((low >= wider[0] - 1e-12) & (high <= wider[1] + 1e-12))
    assert np.all((low <= counts / n) & (counts / n <= high))
    for p in np.linspace(0.001, 0.999, 300):
        inside = (low <= p) & (p <= high)
        assert not np.any(~inside & (acceptability(n, p) > 1 - level + 1e-9))
        assert binom.pmf(counts, n, p) @ inside >= level - 1e-9
    for count in range(1, n):
        assert acceptability(n, low[count] + 1e-9)[count] > 1 - level
        assert acceptability(n, high[count] - 1e-9)[count] > 1 - level


def empty_option_coverage(options: int, epsilon: float, n: int, method: str) -> tuple[float, float, float]:
    """Return how often 0 is held, the least of at least 95 % that counts allow, and the chance of no such report."""
    chance = channel_view(mechanisms.krr(options=options, epsilon=epsilon)).forward(np.eye(options)[0])[1]
    low, high = np.array([interval_of(method, k, n) for k in range(n + 1)]).T
    counts = np.arange(n + 1)
    held = float(binom.pmf(counts, n, chance) @ ((low <= chance) & (chance <= high)))
    reached = binom.cdf(counts, n, chance)
    return held, float(reached[reached >= 0.95].min()), float(reached[0])


@functools.cache
def interval_of(method: str, successes: int, n: int) -> tuple[float, float]:
    exact = {"auto": frequency_limits, "clopper-pearson": ClopperPearson().of}
    return exact[method](float(successes), float(n), 0.95)


@pytest.mark.parametrize("options", [4, 6, 10])
@pytest.mark.parametrize("epsilon", [3, 3.5, 4])
def test_empty_options_are_held_no_more_often_than_counts_allow(options: int, epsilon: float) -> None:
    """Clopper and Pearson's limits held up to 99.5 % there: half of their error waits for counts below 0.

    Blaker's spend all of it on the upper tail while a count of 0 is likely; at 98.6 % (6 options, epsilon 3, 80 people)
    both tails have a count that is rare enough.
    """
    for n in (60, 70, 80, 90, 100):
        held, least, nobody = empty_option_coverage(options, epsilon, n, "auto")
        assert 0.95 <= held <= max(0.986, least + 1e-9), (options, epsilon, n)
        if nobody > 0.05:
            assert held == pytest.approx(least), (options, epsilon, n)
        assert held <= empty_option_coverage(options, epsilon, n, "clopper-pearson")[0]


def test_auto_takes_blakers_interval_for_rare_reports() -> None:
    entry = estimate([75, 1, 2, 2], mechanisms.krr(options=4, epsilon=4), options=list("abcd"))["b"]
    assert entry.interval == "blaker"
    chance = Blaker().of(1, 80, 0.95)
    lie, truthful = 1 / (math.exp(4) + 3), math.exp(4) / (math.exp(4) + 3)
    assert (entry.low, entry.high) == pytest.approx([(end - lie) / (truthful - lie) for end in chance])


@pytest.mark.long
def test_simultaneous_comparisons_hold_no_more_often_than_they_need() -> None:
    """Four groups of 60 with few Yes at epsilon 4: Clopper and Pearson's limits held in 99.5 % of surveys."""
    n, groups, level = 60, 4, 1 - 0.05 / 6
    counts = np.random.default_rng(3).binomial(n, reported(4, 0.03), size=(50_000, groups))
    low, high = np.array([Blaker().of(k, n, level) for k in range(n + 1)]).T[:, counts]
    share, inside = counts / n, np.ones(len(counts), dtype=bool)
    for group, other in itertools.combinations(range(groups), 2):
        gap = share[:, group] - share[:, other]
        below = np.hypot(share[:, group] - low[:, group], high[:, other] - share[:, other])
        above = np.hypot(high[:, group] - share[:, group], share[:, other] - low[:, other])
        inside &= (gap - below <= 1e-12) & (gap + above >= -1e-12)
    assert 0.95 <= inside.mean() <= 0.987


@pytest.mark.parametrize("share", [0, 0.3])
def test_a_counted_decoy_misses_on_both_sides_alike(share: float) -> None:
    check_decoy(share, 0.4, 60, 30)


@pytest.mark.long
@pytest.mark.parametrize("q", [0.1, 0.4, 0.7])
@pytest.mark.parametrize("share", [0, 0.05, 0.3])
@pytest.mark.parametrize(("n", "decoys"), [(200, 30), (600, 30), (200, 100), (400, 400)])
def test_a_counted_decoy_covers_at_every_size(n: int, decoys: int, share: float, q: float) -> None:
    check_decoy(share, q, n, decoys)


def check_decoy(share: float, q: float, n: int, decoys: int) -> None:
    """n people answer the OR-poll, m others the decoy alone: all pairs of counts, with the default interval.

    A decoy answered with Yes by all people or by none hides nothing and is refused, so these pairs are left out.
    """
    below = above = total = 0.0
    for yes, decoy_yes in itertools.product(range(n + 1), range(1, decoys)):
        weight = binom.pmf(yes, n, share + (1 - share) * q) * binom.pmf(decoy_yes, decoys, q)
        if weight < 2e-5:
            continue
        entry = estimate([n - yes, yes], mechanisms.or_poll(decoy_counts=(decoy_yes, decoys)))["Yes"]
        assert entry.interval == "mover"
        total += weight
        below, above = below + weight * (entry.high < share), above + weight * (entry.low > share)
    rarest = min(decoys * q, n * (1 - share) * (1 - q))
    check(1 - (below + above) / total, rarest, (share, q, n, decoys))
    assert max(below, above) < 0.035


def test_an_estimate_from_a_counted_decoy_is_called_consistent() -> None:
    result = estimate([400, 600], mechanisms.or_poll(decoy_counts=(12, 30)))
    assert any("consistent, not unbiased" in note for note in result.notes)
    assert not any("unbiased" in note for note in estimate([400, 600], mechanisms.warner(epsilon=1)).notes)


@pytest.mark.parametrize(("successes", "n"), [(0, 20), (3, 20), (20, 20), (77, 400)])
def test_a_score_interval_of_one_frequency_is_wilsons(successes: int, n: int) -> None:
    shares = np.array([n - successes, successes]) / n
    low, high = linear_score_limits(np.array([[-0.3, 1.7]]), shares[None], n, 0.95)
    wilson = [-0.3 + 2 * end for end in Wilson().of(successes, n, 0.95)]
    assert [low[0], high[0]] == pytest.approx(wilson, abs=1e-9)


@pytest.mark.parametrize("counts", [(10, 5, 5), (0, 8, 12), (12, 8, 0), (20, 0, 0), (0, 20, 0), (3, 0, 17)])
def test_a_score_interval_is_the_brute_force_one(counts: tuple[int, ...]) -> None:
    """Three weights: for every value on a grid, the likeliest frequencies with that value, and the test at them."""
    weights, f, n = np.array([-0.2, 0.0, 1.2]), np.array(counts) / sum(counts), sum(counts)
    estimate_, accepted = float(weights @ f), []
    for value in np.linspace(-0.2, 1.2, 1401):
        # One free frequency remains; the two others follow from sum 1 and b.p = value.
        top = np.linspace(0, 1, 4001)
        low = (1.2 * top - value) / 0.2
        grid = np.stack([low, 1 - low - top, top], axis=1)
        grid = grid[(grid >= -1e-12).all(axis=1)].clip(0, 1)
        if not len(grid):
            continue
        with np.errstate(divide="ignore", invalid="ignore"):
            logs = np.where(f > 0, f * np.log(grid), 0.0).sum(axis=1)
        best = grid[np.argmax(logs)]
        spread = float(weights**2 @ best) - value**2
        if abs(estimate_ - value) * math.sqrt(n) <= 1.959964 * math.sqrt(max(spread, 0)):
            accepted.append(value)
    (low,), (high,) = linear_score_limits(weights[None], f[None], n, 0.95)
    assert low == pytest.approx(min(accepted, default=estimate_), abs=5e-3)
    assert high == pytest.approx(max(accepted, default=estimate_), abs=5e-3)


@pytest.mark.parametrize("method", ["score", "wilson", "blaker", "clopper-pearson", "jeffreys", "wald"])
def test_quantities_together_have_the_intervals_that_they_have_alone(method: str) -> None:
    """Under weights each is worth its own number of answers."""
    view = channel_view(mechanisms.krr(3, epsilon=1))
    counts = np.array([40.0, 25.0, 11.0])
    quantities = [
        quantity(view, size * counts, view.unit(k), view.shares(counts / counts.sum()), None)
        for k, size in enumerate((1.0, 0.37, 2.5))
    ]
    together_limits = intervals(quantities, interval_method(method), 0.9, Resampling())
    for single, together in zip(quantities, together_limits, strict=True):
        alone = interval(single, method, 0.9)
        assert (together.low, together.high) == pytest.approx((alone.low, alone.high), abs=1e-10)


def test_roots_of_many_functions_are_those_of_each() -> None:
    """Steep, flat, falling and at an end: one search over all finds what a search for each finds."""
    scale = np.array([1.0, 1e-3, 50.0, -2.0, 1.0])
    shift = np.array([0.3, 0.9, 0.01, 0.5, 0.0])

    def values(at: np.ndarray) -> np.ndarray:
        return scale * (np.expm1(3 * at) - np.expm1(3 * shift)) ** 3 + scale * (at - shift)

    all_roots = roots(values, np.zeros(5), np.ones(5), 1e-12)
    alone = [brentq(lambda at, k=k: values(np.full(5, at))[k], 0, 1, xtol=1e-13) for k in range(5)]
    assert all_roots == pytest.approx(alone, abs=1e-11)
