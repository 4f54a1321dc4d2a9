"""Intervals against statsmodels, mapped to the true share."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest
from hushpoll_analysis import constrained_estimate, estimate
from hushpoll_client import mechanisms

GOLDEN = json.loads((Path(__file__).parents[2] / "results" / "intervals.json").read_text())["cases"]
TOLERANCE = 1e-6
WARNER = {
    "warner_ci_n200_low": mechanisms.warner(epsilon=1),
    "warner_ci_n200_mid": mechanisms.warner(epsilon=1),
    "warner_ci_n2000": mechanisms.warner(epsilon=1),
    "warner_ci_p75": mechanisms.warner(truth="3/4"),
    "warner_ci_zero": mechanisms.warner(truth=0.8),
    "warner_ci_all": mechanisms.warner(truth=0.8),
}
METHODS = {"wilson": "wilson", "clopper-pearson": "beta", "jeffreys": "jeffreys"}


def counts_of(name: str) -> list[int]:
    case = GOLDEN[name]
    return [case["n"] - case["yes"], case["yes"]]


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("name", WARNER)
def test_binomial_intervals_agree_with_statsmodels(name: str, method: str) -> None:
    entry = estimate(counts_of(name), WARNER[name], interval=method)["Yes"]
    assert entry.interval == method
    assert entry.estimate == pytest.approx(GOLDEN[name]["pi_hat"], abs=TOLERANCE)
    assert [entry.low, entry.high] == pytest.approx(
        GOLDEN[name]["ci"][METHODS[method]]["pi_unclipped"], abs=TOLERANCE
    )


@pytest.mark.parametrize("name", WARNER)
def test_wald_is_the_peers_normal_interval_with_n_minus_1(name: str) -> None:
    entry = estimate(counts_of(name), WARNER[name], interval="wald")["Yes"]
    low, high = GOLDEN[name]["ci"]["normal"]["pi_unclipped"]
    n = GOLDEN[name]["n"]
    # The peer divides by n; here as everywhere a standard error is printed, by n - 1.
    assert entry.high - entry.low == pytest.approx((high - low) * math.sqrt(n / (n - 1)), abs=TOLERANCE)


@pytest.mark.parametrize(
    "name", ["warner_ci_n200_low", "warner_ci_n200_mid", "warner_ci_n2000", "warner_ci_p75"]
)
def test_shown_interval_is_the_clipped_one(name: str) -> None:
    entry = estimate(counts_of(name), WARNER[name])["Yes"]
    clipped = GOLDEN[name]["ci"]["wilson"]["pi_clipped"]
    assert [entry.shown.low, entry.shown.high] == pytest.approx(clipped, abs=TOLERANCE)
    assert entry.misfit is None


@pytest.mark.parametrize(("name", "edge"), [("warner_ci_zero", 0.0), ("warner_ci_all", 1.0)])
def test_interval_wholly_outside_is_not_shown_as_a_point(name: str, edge: float) -> None:
    """The peer clips to [0, 0]; the likelihood interval inside [0, 1] and the misfit are shown instead."""
    assert GOLDEN[name]["ci"]["wilson"]["pi_clipped"] == [edge, edge]
    result = estimate(counts_of(name), WARNER[name])
    displayed = result["Yes"].shown
    # All 50 reports on one side: l(p) = 50 log(.8 - .6 |p - edge|), so the limit is where it falls by 3.841/2.
    width = 0.8 / 0.6 * (1 - math.exp(-3.841458820694124 / 2 / 50))
    assert sorted([abs(displayed.low - edge), abs(displayed.high - edge)]) == pytest.approx(
        [0, width], abs=TOLERANCE
    )
    assert result["Yes"].misfit == pytest.approx(0.8**50, rel=1e-9)
    assert any("data and design disagree" in note for note in result.notes)


@pytest.mark.parametrize("name", ["grr_k4_eps1", "grr_k5_eps1_boundary"])
def test_kary_intervals_agree_with_statsmodels(name: str) -> None:
    case = GOLDEN[name]
    mechanism = mechanisms.krr(options=case["K"], epsilon=case["eps"])
    single = estimate(case["counts"], mechanism)
    together = estimate(case["counts"], mechanism, interval="wilson", simultaneous=True)
    for k in range(case["K"]):
        assert single[k].estimate == pytest.approx(case["output"]["moment"][k], abs=TOLERANCE)
        limits = [single[k].low, single[k].high]
        assert limits == pytest.approx(case["output"]["wilson_marginal_pi"][k], abs=TOLERANCE)
        limits = [together[k].low, together[k].high]
        assert limits == pytest.approx(case["output"]["wilson_bonferroni_pi"][k], abs=TOLERANCE)
        # Goodman's simultaneous intervals are Wilson's at the Bonferroni level.
        assert limits == pytest.approx(case["output"]["goodman_pi_unclipped"][k], abs=TOLERANCE)


@pytest.mark.parametrize("name", ["grr_k4_eps1", "grr_k5_eps1_boundary"])
def test_constrained_likelihood_agrees(name: str) -> None:
    case = GOLDEN[name]
    best = constrained_estimate(case["counts"], mechanisms.krr(options=case["K"], epsilon=case["eps"]))
    assert best.shares == pytest.approx(case["output"]["constrained_mle_EM"], abs=TOLERANCE)
    assert best.kernel == pytest.approx(case["output"]["max_loglik_kernel"], abs=TOLERANCE)


@pytest.mark.parametrize("structured", [True, False])
def test_constrained_likelihood_on_a_face_agrees(structured: bool) -> None:
    """The closed form of the K-ary channel, and the search that any other table takes."""
    case = GOLDEN["fr_k3_boundary_constrained_mle"]
    mechanism = mechanisms.forced(case["p"])
    table = mechanisms.matrix([[0.8 if x == z else 0.1 for z in range(3)] for x in range(3)])
    best = constrained_estimate(case["counts"], mechanism if structured else table)
    assert best.shares == pytest.approx(case["check_on_face"], abs=TOLERANCE)
    assert best.kernel == pytest.approx(case["loglik_kernel"], abs=TOLERANCE)


def test_every_golden_case_is_used() -> None:
    assert {*WARNER, "grr_k4_eps1", "grr_k5_eps1_boundary", "fr_k3_boundary_constrained_mle"} == set(GOLDEN)


@pytest.mark.parametrize(
    "method", ["wilson", "wald", "clopper-pearson", "jeffreys", "likelihood", "bootstrap"]
)
def test_all_methods_agree_when_n_is_large(method: str) -> None:
    mechanism = mechanisms.krr(options=3, epsilon=2)
    counts = [400_000, 350_000, 250_000]
    base = estimate(counts, mechanism, interval="wald")
    other = estimate(counts, mechanism, interval=method)
    for k in range(3):
        assert np.subtract([other[k].low, other[k].high], [base[k].low, base[k].high]) == pytest.approx(
            0, abs=2e-4
        )
