"""Estimates at the shares that a channel was designed for have the variance that the design promised."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hushpoll_analysis import (
    AnalysisError,
    crosstab,
    cumulative,
    design,
    estimate,
    functional,
    least_variance_at,
    simulate,
)
from hushpoll_analysis.channel.view import channel_view
from hushpoll_client import Mechanism, mechanisms
from hushpoll_client.mechanism import designed

SHARES = [0.6, 0.2, 0.1, 0.05, 0.05]
RISING = np.tril(np.ones((5, 5)))[:-1]
TARGETS: list[tuple[Any, np.ndarray]] = [
    ("cumulative", RISING),
    ("shares", np.eye(5)),
    ("mean", np.linspace(-1, 1, 5)[None, :]),
    ([[0, 1, 2, 3, 9]], np.array([[0.0, 1, 2, 3, 9]])),
]


def expected_counts(mechanism: Mechanism, shares: list[float], n: int = 10**9) -> np.ndarray:
    table = np.array(mechanism.device.rows, dtype=float) / 2**53
    return np.round(n * (np.array(shares) @ table)).astype(int)


def variance_of_estimates(mechanism: Mechanism, targets: np.ndarray, shares: list[float]) -> float:
    """Return n times the variance that `functional` reports where reports are as frequent as expected."""
    counts = expected_counts(mechanism, shares)
    errors = [functional(counts, mechanism, target).se for target in targets]
    return float(counts.sum() * np.sum(np.square(errors)))


@pytest.mark.parametrize("epsilon", [0.5, 1, 2])
@pytest.mark.parametrize(("target", "rows"), TARGETS, ids=["cumulative", "shares", "mean", "functional"])
def test_estimates_keep_the_promise_of_the_design(epsilon: float, target: Any, rows: np.ndarray) -> None:
    result = design(options=5, epsilon=epsilon, target=target, shares=SHARES)
    assert variance_of_estimates(result.mechanism, rows, SHARES) == pytest.approx(result.n_variance, rel=1e-5)


def test_equal_shares_cost_precision_elsewhere() -> None:
    result = design(options=5, epsilon=1, target="cumulative", shares=SHARES)
    published = designed(result.channel, 1)
    usual = variance_of_estimates(published, RISING, SHARES)
    assert 1.015 < usual / result.n_variance < 1.05
    again = least_variance_at(published, SHARES)
    assert variance_of_estimates(again, RISING, SHARES) == pytest.approx(result.n_variance, rel=1e-5)
    assert (again.device, again.epsilon) == (published.device, published.epsilon)
    equal = least_variance_at(published, [0.2] * 5)
    assert variance_of_estimates(equal, RISING, SHARES) == pytest.approx(usual, rel=1e-9)


def test_estimates_are_unbiased_whatever_the_truth_is() -> None:
    mechanism = design(options=5, epsilon=1, target="cumulative", shares=SHARES).mechanism
    for truth in ([0.2] * 5, [0.05, 0.05, 0.1, 0.2, 0.6], [0.0, 1.0, 0.0, 0.0, 0.0]):
        shares = estimate(expected_counts(mechanism, truth), mechanism).shares
        assert shares == pytest.approx(truth, abs=1e-7)


def test_a_report_that_the_shares_rule_out_has_a_finite_weight() -> None:
    table = [["1/2", "0", "1/4", "1/4"], ["0", "1/2", "1/4", "1/4"], ["1/4", "1/4", "1/2", "0"]]
    mechanism = least_variance_at(mechanisms.matrix(table), [1.0, 0.0, 0.0])
    for truth in ([1.0, 0.0, 0.0], [0.2, 0.3, 0.5]):
        shares = estimate(expected_counts(mechanism, truth, 10**6), mechanism).shares
        assert shares == pytest.approx(truth, abs=1e-5)


def test_other_quantities_take_the_same_estimates() -> None:
    mechanism = design(options=5, epsilon=1, target="cumulative", shares=SHARES).mechanism
    rng = np.random.default_rng(6)
    answers = rng.choice(5, 4000, p=SHARES)
    reports = simulate(mechanism.device, answers, seed=3)
    counts = np.bincount(reports, minlength=mechanism.device.outcomes)
    shares = estimate(counts, mechanism).shares
    rising = cumulative(counts, mechanism)
    assert [entry.estimate for entry in rising.estimates[:-1]] == pytest.approx(np.cumsum(shares)[:-1])
    frame = pd.DataFrame({"mood": reports, "late": rng.integers(0, 2, 4000)})
    table = crosstab(frame, {"mood": mechanism}, "mood", "late")
    assert np.asarray(table.estimate).reshape(5, 2).sum(axis=1) == pytest.approx(shares)


def test_a_mechanism_with_one_estimate_keeps_it() -> None:
    krr = mechanisms.krr(options=5, epsilon=1)
    counts = [50, 40, 30, 20, 10]
    assert estimate(counts, least_variance_at(krr, SHARES)).shares == pytest.approx(
        estimate(counts, krr).shares
    )


def test_a_long_list_is_designed_for_shares_too() -> None:
    shares = [0.5] + [0.5 / 199] * 199
    result = design(options=200, epsilon=1, target="shares", shares=shares)
    assert result.mechanism.planning_shares is None
    assert result.mechanism.name == "subset"


def test_what_is_no_mechanism_or_no_shares_is_refused() -> None:
    krr = mechanisms.krr(options=5, epsilon=1)
    with pytest.raises(AnalysisError, match="shares must be 5 numbers"):
        least_variance_at(krr, [0.5, 0.5])
    with pytest.raises(AnalysisError, match="shares sum to 5"):
        least_variance_at(krr, [1.0] * 5)
    with pytest.raises(AnalysisError, match="set of options"):
        least_variance_at(mechanisms.subset(options=5, epsilon=1, size=2), SHARES)
    with pytest.raises(AnalysisError, match="expected a mechanism, got KaryChannel"):
        least_variance_at(krr.device, SHARES)  # type: ignore[arg-type]


@pytest.mark.long
def test_simulated_estimates_scatter_as_promised() -> None:
    result = design(options=5, epsilon=1, target="cumulative", shares=SHARES)
    table = np.array(result.channel.rows, dtype=float) / 2**53
    n, surveys = 500, 20_000
    counts = np.random.default_rng(17).multinomial(n, np.array(SHARES) @ table, size=surveys)
    plain = replace(result.mechanism, planning_shares=None)

    def scatter(mechanism: Mechanism) -> float:
        shares = counts @ np.stack([channel_view(mechanism).solution(row) for row in RISING], axis=1) / n
        return float(n * shares.var(axis=0).sum())

    assert scatter(result.mechanism) == pytest.approx(result.n_variance, rel=0.03)
    assert scatter(plain) > scatter(result.mechanism)
