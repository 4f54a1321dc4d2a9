"""Power, shuffling, posterior, groups and dishonest reports."""

from __future__ import annotations

import itertools
import json
import math
import time
from pathlib import Path

import numpy as np
import pytest
from hushpoll_analysis.channel.posterior import posterior
from hushpoll_analysis.errors import AnalysisError
from hushpoll_analysis.planning.power_analysis import answers_for_power, power, power_of_difference
from hushpoll_analysis.planning.shuffle import shuffled_epsilon
from hushpoll_analysis.planning.variance.spread import spread
from hushpoll_client import mechanisms
from scipy import stats

GOLDEN = json.loads(
    (Path(__file__).parents[2] / "results" / "weights_power_crosstab.json").read_text(encoding="utf-8")
)


@pytest.mark.parametrize(
    ("case", "mechanism"),
    [
        ("power_forced_n200", mechanisms.forced(shares=["1/6", "1/6"])),
        ("power_mirrored_n500", mechanisms.warner(truth="3/4")),
    ],
)
def test_power_agrees_with_rr(case: str, mechanism: mechanisms.Mechanism) -> None:
    expected = GOLDEN[case]["output"]
    got = power(
        mechanism,
        expected["n"],
        expected["presp"],
        expected["presp.null"],
        expected["sig.level"],
        two_sided=expected["alternative"] == "two.sided",
    )
    assert got.power == pytest.approx(expected["power"], abs=1e-6)


def test_power_knows_that_the_decoy_share_was_estimated() -> None:
    """Exercise 7.2: an estimated q adds ((1-z)/(1-q)^2)^2 q(1-q)/m, which no number of respondents removes."""
    n, q, m = 5000, 0.4, 100

    def error(p: float) -> float:
        z = q + p * (1 - q)
        return math.sqrt(z * (1 - z) / (n * (1 - q) ** 2) + ((1 - z) / (1 - q) ** 2) ** 2 * q * (1 - q) / m)

    poll = mechanisms.or_poll(decoy_counts=(40, 100))
    limit = stats.norm.isf(0.025) * error(0.1)
    expected = stats.norm.sf((limit - 0.2) / error(0.3)) + stats.norm.cdf((-limit - 0.2) / error(0.3))
    assert power(poll, n, 0.3, 0.1).power == pytest.approx(expected, abs=1e-9)
    assert power(mechanisms.or_poll(decoy_share="2/5"), n, 0.3, 0.1).power > 0.999 > 0.9 > expected
    with pytest.raises(AnalysisError, match="decoy share known from so few answers"):
        answers_for_power(poll, 0.95, 0.12, 0.1)
    # Two groups share one q: what it shifts in both, it does not shift in their difference.
    both = power_of_difference(poll, (n, n), (0.1, 0.3))
    assert expected < both < power_of_difference(mechanisms.or_poll(decoy_share="2/5"), (n, n), (0.1, 0.3))


def test_answers_for_power_is_the_smallest_n() -> None:
    mechanism = mechanisms.warner(epsilon=1)
    got = answers_for_power(mechanism, 0.8, 0.2, 0.1)
    assert power(mechanism, got.n, 0.2, 0.1).power >= 0.8
    assert power(mechanism, got.n - 1, 0.2, 0.1).power < 0.8


def test_power_holds_in_simulation() -> None:
    mechanism = mechanisms.warner(truth="3/4")
    n, share, null = 2000, 0.2, 0.15
    rng = np.random.default_rng(11)
    estimates = (rng.binomial(n, 0.25 + 0.5 * share, 40_000) / n - 0.25) / 0.5
    error = math.sqrt((0.25 + 0.5 * null) * (0.75 - 0.5 * null) / n) / 0.5
    rejected = np.mean(np.abs(estimates - null) > stats.norm.ppf(0.975) * error)
    assert power(mechanism, n, share, null).power == pytest.approx(rejected, abs=0.01)
    first, second = (rng.binomial(n, 0.25 + 0.5 * s, 40_000) / n for s in (0.2, 0.3))
    pooled = (first + second) / 2
    z = (second - first) / np.sqrt(pooled * (1 - pooled) * 2 / n)
    formula_power = power_of_difference(mechanism, (n, n), (0.2, 0.3))
    assert formula_power == pytest.approx(np.mean(np.abs(z) > stats.norm.ppf(0.975)), abs=0.01)


# Outside figures, computed for yes/no reports at delta = 10^-6.
SHUFFLED = {10_000: (0.018, 0.043, 0.114, 0.411), 1_000: (0.063, 0.149, 0.397, 1.85)}


@pytest.mark.parametrize(("n", "bounds"), SHUFFLED.items())
def test_the_shuffled_epsilon_is_the_known_one_of_the_variation_ratio(
    n: int, bounds: tuple[float, ...]
) -> None:
    for epsilon, bound in zip((0.5, 1.0, 2.0, 4.0), bounds, strict=True):
        got = shuffled_epsilon(epsilon, n, 1e-6)
        assert got.method == "numeric"
        assert got.epsilon is not None
        assert got.epsilon <= 1.05 * bound
        assert got.epsilon == pytest.approx(bound, rel=0.02)


# For Warner's design at n = 10,000 and delta = 10^-6 no bound can be below these.
EXACT = {0.5: 0.016, 1.0: 0.036, 2.0: 0.087, 4.0: 0.315}


@pytest.mark.parametrize(("epsilon", "least"), EXACT.items())
def test_the_shuffled_epsilon_of_many_is_not_below_the_exact_one_of_warner(
    epsilon: float, least: float
) -> None:
    """Computed here: all others answer No, and the reports that say Yes are counted."""
    n, delta = 10_000, 1e-6
    keep = math.exp(epsilon) / (1.0 + math.exp(epsilon))
    counts = np.arange(n + 1)
    without_one = stats.binom.pmf(counts, n - 1, 1.0 - keep)
    shifted = np.concatenate([[0.0], without_one[:-1]])
    no, yes = keep * without_one + (1 - keep) * shifted, (1 - keep) * without_one + keep * shifted

    def missed(grown: float) -> float:
        pairs = ((no, yes), (yes, no))
        return max(float(np.maximum(first - math.exp(grown) * second, 0.0).sum()) for first, second in pairs)

    low, high = 0.0, epsilon
    while high - low > 1e-5:
        middle = (low + high) / 2
        low, high = (middle, high) if missed(middle) > delta else (low, middle)
    assert high == pytest.approx(least, abs=0.0006)
    got = shuffled_epsilon(epsilon, n, delta).epsilon
    assert got is not None
    assert high <= got <= 1.4 * high


def test_a_million_reports_hide_one_better_than_a_thousand() -> None:
    few, many = (shuffled_epsilon(1.01, n, 1e-6).epsilon for n in (10**3, 10**6))
    assert few is not None
    assert many is not None
    assert 0 < many < few / 10


@pytest.mark.long
def test_a_million_reports_take_less_than_a_second() -> None:
    shuffled_epsilon(1.0, 1000)  # loads what it needs
    for epsilon in (0.51, 1.01, 2.01, 4.01):
        before = time.process_time()
        shuffled_epsilon(epsilon, 10**6)
        assert time.process_time() - before < 1.0


def exact_delta(rows: list[list[float]], other_answers: tuple[int, ...], epsilon: float) -> float:
    """Enumerate the histograms of shuffled reports and give the exact delta between any two answers of one person."""
    size = len(rows[0])
    base = {(0,) * size: 1.0}

    def added(before: dict[tuple[int, ...], float], row: list[float]) -> dict[tuple[int, ...], float]:
        after: dict[tuple[int, ...], float] = {}
        for counts, chance in before.items():
            for report, report_chance in enumerate(row):
                key = (*counts[:report], counts[report] + 1, *counts[report + 1 :])
                after[key] = after.get(key, 0.0) + chance * report_chance
        return after

    for answer, people in enumerate(other_answers):
        for _ in range(people):
            base = added(base, rows[answer])
    distributions = [added(base, row) for row in rows]
    grown = math.exp(epsilon)
    return max(
        sum(max(0.0, p - grown * second.get(counts, 0.0)) for counts, p in first.items())
        for first, second in itertools.permutations(distributions, 2)
    )


@pytest.mark.parametrize("delta", [1e-3, 1e-2])
@pytest.mark.parametrize(("options", "n"), [(2, 2), (2, 6), (2, 20), (3, 4), (3, 7), (4, 5)])
@pytest.mark.parametrize("epsilon", [0.5, 1.0, 2.0])
def test_the_shuffled_epsilon_is_never_below_the_exact_one(
    epsilon: float, options: int, n: int, delta: float
) -> None:
    """Small groups, enumerated: whatever the others answered, for Warner (two options) and for K-ary response."""
    grown = math.exp(epsilon)
    rows = [
        [(grown if x == z else 1.0) / (grown + options - 1) for z in range(options)] for x in range(options)
    ]
    variation = (grown - 1.0) / (grown + options - 1.0)
    for stated_variation in (variation, 0.0):
        bound = shuffled_epsilon(epsilon, n, delta, stated_variation).epsilon
        if bound is None:
            continue
        for other_answers in itertools.product(range(n), repeat=options):
            if sum(other_answers) == n - 1:
                assert exact_delta(rows, other_answers, bound) <= delta + 1e-15, (
                    stated_variation,
                    other_answers,
                )


def test_less_variation_and_more_reports_are_never_worse_than_nothing_known() -> None:
    epsilons = [shuffled_epsilon(1.0, 10_000, 1e-6, beta).epsilon for beta in (None, 0.3, 0.1, 0.0)]
    assert epsilons == sorted(epsilons)  # type: ignore[type-var]
    grows = [shuffled_epsilon(1.0, n).epsilon or 1.0 for n in (1, 10, 100, 1000, 10**4, 10**5)]
    assert grows == sorted(grows, reverse=True)


def test_for_very_many_reports_the_closed_form_stands_in_and_says_so() -> None:
    # ln(1 + tanh(1/2) (8 sqrt(e ln(4e6) / 1e8) + 8 e / 1e8)), worked with pencil and logarithm table.
    got = shuffled_epsilon(1.0, 10**8, 1e-6)
    assert got.closed_form
    assert got.epsilon == pytest.approx(
        math.log1p(math.tanh(0.5) * 8 * math.sqrt(math.e * math.log(4e6) / 1e8)), rel=1e-3
    )
    assert "closed form, which is several times too large" in got.note
    assert got.epsilon > 3 * (shuffled_epsilon(1.0, 10**7).epsilon or 0) / math.sqrt(10)
    assert shuffled_epsilon(1.0, 100, 1e-13).epsilon is None


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0])
def test_the_odds_change_by_no_more_than_the_epsilon_allows_and_by_all_of_it(epsilon: float) -> None:
    channel = mechanisms.warner(epsilon=epsilon).device
    for prior in (0.01, 0.5, 0.9):
        after = posterior([1 - prior, prior], channel, 1)[1]
        factor = after / (1 - after) / (prior / (1 - prior))
        assert factor == pytest.approx(math.exp(epsilon), rel=1e-8)
    assert posterior([1.0, 0.0], channel, 1) == (1.0, 0.0)


def test_an_or_poll_no_is_a_proof() -> None:
    poll = mechanisms.or_poll(decoy_share="0.412")
    assert posterior([0.7, 0.3], poll.analysis, 0) == (1.0, 0.0)
    odds = posterior([0.5, 0.5], poll.analysis, 1)
    assert odds[1] / odds[0] == pytest.approx(1 / 0.412)


@pytest.mark.parametrize(("options", "epsilon"), [(2, 1.0), (5, 0.5), (100, 2.0)])
def test_dishonest_report_weighs_what_the_formula_says(options: int, epsilon: float) -> None:
    mechanism = mechanisms.krr(options=options, epsilon=epsilon)
    expected = 1 + (options - 1) / math.expm1(epsilon)
    assert spread(mechanism).weight == pytest.approx(expected, rel=1e-8)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: power(mechanisms.warner(epsilon=1), 0, 0.1), "n is 0"),
        (lambda: power(mechanisms.warner(epsilon=1), 10, 1.1), "share is 1.1"),
        (lambda: power(mechanisms.warner(epsilon=1), 10, 0.1, alpha=5), "alpha is 5"),
        (lambda: answers_for_power(mechanisms.warner(epsilon=1), 0.8, 0.1, 0.1), "both 0.1"),
        (lambda: answers_for_power(mechanisms.warner(epsilon=1), 80, 0.2, 0.1), "power is 80"),
        (lambda: shuffled_epsilon(math.inf, 100), "finite"),
        (lambda: shuffled_epsilon(1, 0), "n is 0"),
        (lambda: shuffled_epsilon(1, 100, 0), "delta is 0"),
        (lambda: shuffled_epsilon(1, 100, 1e-6, 1.5), "variation is 1.5"),
        (lambda: posterior([0.5], mechanisms.warner(epsilon=1).device, 0), "1 prior probabilities for 2"),
        (lambda: posterior([0.5, 0.6], mechanisms.warner(epsilon=1).device, 0), "sum to 1"),
        (lambda: posterior([0.5, 0.5], mechanisms.warner(epsilon=1).device, 2), "report 2"),
        (lambda: posterior([0, 1], mechanisms.or_poll(decoy_share=0.4).analysis, 0), "impossible"),
        (lambda: posterior([-1, 2], mechanisms.warner(epsilon=1).device, 0), "prior is -1"),
    ],
)
def test_bad_input_is_explained(call: object, message: str) -> None:
    assert callable(call)
    with pytest.raises(AnalysisError, match=message):
        call()
