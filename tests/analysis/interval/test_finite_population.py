"""Exact coverage of the intervals of a finite population: every count that can come, with its chance."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hushpoll_analysis import estimate, weighted_estimate
from hushpoll_client import mechanisms
from scipy.stats import binom, hypergeom


def chances(n: int, people: int, carriers: int, truth: float) -> np.ndarray:
    """Return the probability of each number of reports: people drawn with the trait, then two binomial numbers."""
    probabilities = np.zeros(n + 1)
    for carriers_drawn in range(max(0, n - people + carriers), min(n, carriers) + 1):
        yes = binom.pmf(np.arange(carriers_drawn + 1), carriers_drawn, truth)
        no = binom.pmf(np.arange(n - carriers_drawn + 1), n - carriers_drawn, 1.0 - truth)
        probabilities += hypergeom.pmf(carriers_drawn, people, carriers, n) * np.convolve(yes, no)
    return probabilities


def coverage(n: int, people: int, share: float, epsilon: float, rows: bool = False) -> tuple[float, float]:
    """Return the exact coverage, and the expected number of the scarcer reports."""
    coin, carriers = mechanisms.warner(epsilon=epsilon), round(people * share)
    weight = chances(n, people, carriers, 1.0 / (1.0 + np.exp(-epsilon)))
    inside = 0.0
    for k in np.flatnonzero(weight > 1e-5):
        if rows:
            table = pd.DataFrame({"y": np.repeat([0, 1], [n - k, k])})
            got = weighted_estimate(table, {"y": coin}, "y", population=people)["Yes"]
        else:
            got = estimate([n - k, k], coin, population=people)["Yes"]
        inside += weight[k] * (got.low - 1e-9 <= carriers / people <= got.high + 1e-9)
    mean = float(weight @ np.arange(n + 1))
    return inside / weight[weight > 1e-5].sum(), min(mean, n - mean)


def check(covered: float, expected: float) -> None:
    assert covered >= 0.93
    # The exact interval, for fewer than 15 reports, covers a little more than its level.
    assert expected < 10.0 or covered <= 0.98


@pytest.mark.parametrize("rows", [False, True])
@pytest.mark.parametrize(
    ("n", "people", "share", "epsilon"),
    [
        (500, 500, 0.0, 3.0),
        (250, 500, 0.0, 3.0),
        (100, 100, 0.02, 4.0),
        (60, 60, 0.0, 4.0),
        (80, 100, 0.3, 2.0),
    ],
)
def test_intervals_of_a_finite_population_cover(
    n: int, people: int, share: float, epsilon: float, rows: bool
) -> None:
    check(*coverage(n, people, share, epsilon, rows))


@pytest.mark.long
@pytest.mark.parametrize("share", [0.0, 0.02, 0.1, 0.3])
@pytest.mark.parametrize("epsilon", [1.0, 2.0, 3.0, 4.0])
@pytest.mark.parametrize("people", [60, 100, 300, 1000])
def test_they_cover_over_a_grid(people: int, epsilon: float, share: float) -> None:
    for fraction in (0.25, 0.5, 0.8, 1.0):
        check(*coverage(round(fraction * people), people, share, epsilon))


def test_a_population_without_end_has_the_same_interval() -> None:
    coin = mechanisms.warner(epsilon=3)
    for counts in ([480, 20], [490, 10], [250, 250], [10, 490]):
        plain, got = (estimate(counts, coin, population=size)["Yes"] for size in (None, 10**13))
        assert (got.low, got.high) == pytest.approx((plain.low, plain.high), abs=1e-9)
