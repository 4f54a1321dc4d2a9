"""Coverage: exact by enumeration where reports are binomial, simulated elsewhere; error of estimates against theory."""

from __future__ import annotations

import math
from functools import cache
from typing import Any

import numpy as np
import pytest
from hushpoll_analysis import estimate
from hushpoll_analysis.channel.view import channel_view
from hushpoll_analysis.estimates import Estimate
from hushpoll_client import mechanisms
from hushpoll_client.mechanism import Mechanism
from scipy.stats import binom

EPSILONS = (0.5, 1, 2)
SIZES = (50, 200, 1000)
LONG_SIZES = (50, 75, 100, 150, 200, 300, 500, 750, 1000, 1500, 2000)
SHARES = (0.01, 0.05, 0.3, 0.5)
LOW, HIGH = 0.930, 0.975


@cache
def entries(epsilon: float, n: int, method: str) -> tuple[Estimate, ...]:
    """The result for every possible count of Yes."""
    mechanism = mechanisms.warner(epsilon=epsilon)
    return tuple(estimate([n - yes, yes], mechanism, interval=method)["Yes"] for yes in range(n + 1))


def exact_coverage(
    epsilon: float, n: int, share: float, method: str = "wilson", displayed: bool = False
) -> float:
    phi = math.exp(epsilon) / (1 + math.exp(epsilon))
    probability = binom.pmf(np.arange(n + 1), n, share * phi + (1 - share) * (1 - phi))
    limits = [entry.shown if displayed else entry for entry in entries(epsilon, n, method)]
    inside = np.array([limit.low <= share <= limit.high for limit in limits])
    return float(probability @ inside)


def check_wilson(epsilon: float, n: int) -> None:
    for share in SHARES:
        coverage = exact_coverage(epsilon, n, share)
        assert LOW <= coverage <= HIGH, (epsilon, n, share, coverage)
        # Clipping never loses a possible value, and the fallback only adds some.
        assert exact_coverage(epsilon, n, share, displayed=True) >= coverage - 1e-12
    # At share 0 the shown interval covers at least as often as promised, less the discreteness of the binomial.
    assert exact_coverage(epsilon, n, 0.0, displayed=True) >= LOW


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("epsilon", EPSILONS)
def test_wilson_covers_exactly(epsilon: float, n: int) -> None:
    check_wilson(epsilon, n)


@pytest.mark.long
@pytest.mark.parametrize("n", LONG_SIZES)
@pytest.mark.parametrize("epsilon", EPSILONS)
def test_wilson_covers_exactly_at_every_size(epsilon: float, n: int) -> None:
    check_wilson(epsilon, n)


@pytest.mark.parametrize("share", SHARES)
def test_clopper_pearson_is_conservative(share: float) -> None:
    assert exact_coverage(1, 100, share, "clopper-pearson") >= 0.95


@pytest.mark.parametrize("share", [0.0, *SHARES])
def test_likelihood_and_wald_cover(share: float) -> None:
    assert exact_coverage(1, 200, share, "wald") >= 0.93
    assert exact_coverage(1, 200, share, "likelihood") >= 0.93


def simulated(
    mechanism: Mechanism, shares: list[float], n: int, repetitions: int, seed: int, **options: Any
) -> Any:
    """How often each entry's interval holds its share, and how often all hold at once."""
    rng = np.random.default_rng(seed)
    probabilities = channel_view(mechanism).forward(np.array(shares))
    labels = [str(k) for k in range(len(shares))]
    hits = np.zeros((repetitions, len(shares)), dtype=bool)
    for i, counts in enumerate(rng.multinomial(n, probabilities / probabilities.sum(), size=repetitions)):
        result = estimate(counts, mechanism, options=labels, **options)
        hits[i] = [
            entry.low <= share <= entry.high for entry, share in zip(result.estimates, shares, strict=True)
        ]
    return hits.mean(axis=0), hits.all(axis=1).mean()


def binomial_band(repetitions: int, low: float = LOW, high: float = HIGH) -> tuple[float, float]:
    """The coverage band, widened by four standard errors of the simulation."""
    slack = 4 * math.sqrt(0.05 * 0.95 / repetitions)
    return low - slack, high + slack


def check_kary(repetitions: int) -> None:
    low, high = binomial_band(repetitions)
    coverages, _ = simulated(
        mechanisms.krr(options=4, epsilon=1), [0.5, 0.3, 0.15, 0.05], 500, repetitions, seed=7
    )
    assert np.all((coverages >= low) & (coverages <= high)), coverages
    _, together = simulated(
        mechanisms.krr(options=10, epsilon=1), [0.1] * 10, 1000, repetitions, seed=8, simultaneous=True
    )
    assert together >= binomial_band(repetitions, 0.945)[0]


def check_table(repetitions: int) -> None:
    """A general table: several frequencies in every estimate, so the default is the normal interval."""
    low, high = binomial_band(repetitions)
    mechanism = mechanisms.matrix(weights=[[6, 3, 1], [2, 6, 2], [1, 3, 6]])
    coverages, _ = simulated(mechanism, [0.5, 0.3, 0.2], 400, repetitions, seed=9)
    assert np.all((coverages >= low) & (coverages <= high)), coverages


def or_poll_coverage(
    repetitions: int, method: str, share: float = 0.2, q: float = 0.4, n: int = 600, m: int = 400
) -> float:
    """n respondents answer the poll, m others the decoy question alone; both are redrawn."""
    rng = np.random.default_rng(11)
    hits = 0
    for yes, decoy in zip(
        rng.binomial(n, share + (1 - share) * q, size=repetitions),
        rng.binomial(m, q, size=repetitions),
        strict=True,
    ):
        mechanism = mechanisms.or_poll(decoy_counts=(int(decoy), m))
        entry = estimate([n - yes, yes], mechanism, interval=method)["Yes"]
        hits += entry.low <= share <= entry.high
    return hits / repetitions


def test_kary_covers_small() -> None:
    check_kary(300)


def test_general_table_covers_small() -> None:
    check_table(400)


@pytest.mark.parametrize("method", ["wilson", "likelihood"])
def test_or_poll_with_estimated_decoy_covers_small(method: str) -> None:
    repetitions = 250
    low, high = binomial_band(repetitions)
    assert low <= or_poll_coverage(repetitions, method) <= high


def test_or_poll_needs_the_decoys_variance() -> None:
    """Treating the estimated decoy share as known is what the delta method repairs."""
    rng = np.random.default_rng(12)
    n, m, share, q, repetitions = 600, 400, 0.2, 0.4, 400
    hits = 0
    for yes, decoy in zip(
        rng.binomial(n, share + (1 - share) * q, size=repetitions),
        rng.binomial(m, q, size=repetitions),
        strict=True,
    ):
        entry = estimate([n - yes, yes], mechanisms.or_poll(decoy_share=decoy / m))["Yes"]
        hits += entry.low <= share <= entry.high
    assert hits / repetitions < 0.90


@pytest.mark.long
def test_kary_covers() -> None:
    check_kary(2000)


@pytest.mark.long
def test_general_table_covers() -> None:
    check_table(2000)


@pytest.mark.long
@pytest.mark.parametrize("method", ["wilson", "likelihood", "bootstrap"])
def test_or_poll_with_estimated_decoy_covers(method: str) -> None:
    repetitions = 2000
    low, high = binomial_band(repetitions)
    assert low <= or_poll_coverage(repetitions, method) <= high


def check_error(
    mechanism: Mechanism, shares: list[float], n: int, repetitions: int, band: tuple[float, float]
) -> None:
    """Mean squared error of every share over its theory (b^2.p - (b.p)^2)/n, and the standard error over it too."""
    rng = np.random.default_rng(21)
    view = channel_view(mechanism)
    truth = np.array(shares)
    probabilities = view.forward(truth)
    frequencies = rng.multinomial(n, probabilities / probabilities.sum(), size=repetitions) / n
    error = ((view.shares(frequencies) - truth) ** 2).mean(axis=0)
    for k in range(len(shares)):
        weights = view.solution(view.unit(k))
        theory = (weights**2 @ probabilities - (weights @ probabilities) ** 2) / n
        assert band[0] <= error[k] / theory <= band[1], (mechanism.name, k, error[k] / theory)


@pytest.mark.parametrize(
    ("mechanism", "shares"),
    [
        (mechanisms.warner(epsilon=1), [0.7, 0.3]),
        (mechanisms.krr(options=5, epsilon=1), [0.4, 0.3, 0.2, 0.1, 0.0]),
        (mechanisms.forced(["1/6", "1/6"]), [0.9, 0.1]),
        (mechanisms.or_poll(decoy_share=0.4), [0.8, 0.2]),
        (mechanisms.kuk(0.8, 0.2, 4), [0.6, 0.4]),
        (mechanisms.matrix(weights=[[6, 3, 1, 1], [2, 6, 2, 1], [1, 3, 6, 1]]), [0.5, 0.3, 0.2]),
    ],
    ids=lambda value: getattr(value, "name", ""),
)
def test_error_is_what_theory_says(mechanism: Mechanism, shares: list[float]) -> None:
    check_error(mechanism, shares, 1000, 20_000, (0.95, 1.05))


def test_privacy_only_error_is_what_theory_says() -> None:
    """The same respondents, randomized again and again: the variance that remains is se_privacy squared."""
    mechanism, composition, n, repetitions = (
        mechanisms.krr(options=3, epsilon=1),
        np.array([600, 300, 100]),
        1000,
        20_000,
    )
    rng = np.random.default_rng(22)
    view = channel_view(mechanism)
    rows = [view.forward(view.unit(x)) for x in range(3)]
    counts = sum(rng.multinomial(composition[x], rows[x] / rows[x].sum(), size=repetitions) for x in range(3))
    error = ((view.shares(np.asarray(counts) / n) - composition / n) ** 2).mean(axis=0)
    typical = estimate(np.rint(view.forward(composition / n) * n).astype(int), mechanism)
    for k in range(3):
        assert error[k] / typical[k].se_privacy ** 2 == pytest.approx(1, abs=0.05)


@pytest.mark.parametrize("method", ["wilson", "likelihood"])
def test_standard_error_of_the_or_poll_is_what_simulation_says(method: str) -> None:
    rng = np.random.default_rng(23)
    n, m, share, q, repetitions = 1000, 500, 0.3, 0.4, 20_000
    z = rng.binomial(n, share + (1 - share) * q, size=repetitions) / n
    decoy = rng.binomial(m, q, size=repetitions) / m
    observed = np.std((z - decoy) / (1 - decoy))
    entry = estimate([420, 580], mechanisms.or_poll(decoy_counts=(200, 500)), interval=method)["Yes"]
    assert entry.se / observed == pytest.approx(1, abs=0.03)
