"""Estimates and standard errors against RRreg, case by case; where the peer is wrong, the right value."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hushpoll_analysis import constrained_estimate, estimate
from hushpoll_client import mechanisms
from scipy.stats import binom, norm

GOLDEN = json.loads((Path(__file__).parents[2] / "results" / "univariate.json").read_text())
TOLERANCE = 1e-6
E1 = math.e / (1 + math.e)

# golden case -> how the same device is written here
YES_NO = {
    "warner_1": mechanisms.warner(truth=0.7),
    "warner_2": mechanisms.warner(truth="3/4"),
    "warner_4": mechanisms.warner(truth=0.9),
    "warner_eps1_n2000": mechanisms.warner(epsilon=1),
    "warner_boundary_low_moment": mechanisms.warner(epsilon=1),
    "uqtknown_1": mechanisms.unrelated(truth=0.7, decoy_share=0.3),
    "mangat_1": mechanisms.mangat(truth=0.7),
    "crosswise_1": mechanisms.crosswise(decoy_share=0.25),
    "triangular_1": mechanisms.triangular(decoy_share=0.25),
    "kuk_1": mechanisms.kuk(red_if_yes=0.8, red_if_no=0.2),
}
CATEGORIES = {
    "fr_binary_1": mechanisms.forced(["1/6", "1/6"]),
    "fr_k3": mechanisms.forced([0.1, 0.15, 0.05]),
    "fr_k4_grr_eps1": mechanisms.krr(options=4, epsilon=1),
    "fr_k3_boundary_moment": mechanisms.forced([0.1, 0.1, 0.1]),
    "custom_grr_k4_eps1": mechanisms.matrix(GOLDEN["custom_grr_k4_eps1"]["p"]),
}


def yes_no_counts(case: dict[str, Any]) -> list[int]:
    counts = case["counts"]
    yes = next(counts[name] for name in ("yes", "ones", "red") if name in counts)
    return [counts["n"] - yes, yes]


@pytest.mark.parametrize("name", YES_NO)
def test_yes_no_designs_agree_with_rrreg(name: str) -> None:
    case = GOLDEN[name]
    result = estimate(yes_no_counts(case), YES_NO[name], interval="wald")
    entry = result["Yes"]
    assert entry.estimate == pytest.approx(case["output"]["pi"], abs=TOLERANCE)
    assert entry.se == pytest.approx(case["output"]["piSE"], abs=TOLERANCE)
    assert [entry.low, entry.high] == pytest.approx(case["output"]["wald95_from_piSE"][0], abs=TOLERANCE)


@pytest.mark.parametrize("name", [name for name in YES_NO if not GOLDEN[name]["flags"]])
def test_log_likelihood_agrees_with_rrreg(name: str) -> None:
    case = GOLDEN[name]
    best = constrained_estimate(yes_no_counts(case), YES_NO[name])
    assert best.log_likelihood == pytest.approx(case["output"]["logLik"], abs=TOLERANCE)


@pytest.mark.parametrize("name", CATEGORIES)
def test_categories_agree_with_rrreg(name: str) -> None:
    case = GOLDEN[name]
    counts = case["counts"]["counts"]
    labels = [f"option {k}" for k in range(len(counts))]
    result = estimate(counts, CATEGORIES[name], interval="wald", options=labels)
    assert [entry.estimate for entry in result.estimates] == pytest.approx(
        case["output"]["pi"], abs=TOLERANCE
    )
    assert [entry.se for entry in result.estimates] == pytest.approx(case["output"]["piSE"], abs=TOLERANCE)
    for entry, limits in zip(result.estimates, case["output"]["wald95_from_piSE"], strict=True):
        assert [entry.low, entry.high] == pytest.approx(limits, abs=TOLERANCE)


@pytest.mark.parametrize("name", ["fr_binary_1", "fr_k3", "fr_k4_grr_eps1", "custom_grr_k4_eps1"])
def test_log_likelihood_of_categories_is_the_right_one_not_the_peers(name: str) -> None:
    case = GOLDEN[name]
    value = constrained_estimate(case["counts"]["counts"], CATEGORIES[name]).log_likelihood
    assert value == pytest.approx(case["correct_logLik"], abs=TOLERANCE)
    assert (
        abs(value - case["output"]["logLik"]) > 1
    )  # the peer's order of parameters is wrong, as its flag says


@pytest.mark.parametrize(
    ("name", "mechanism", "edge"),
    [
        ("warner_boundary_low", mechanisms.warner(epsilon=1), 0.0),
        ("warner_boundary_high", mechanisms.warner(truth=0.7), 1.0),
    ],
)
def test_standard_error_at_the_boundary_is_not_the_peers_artefact(
    name: str, mechanism: Any, edge: float
) -> None:
    case = GOLDEN[name]
    counts = yes_no_counts(case)
    n, z = sum(counts), counts[1] / sum(counts)
    phi = case["p"]
    entry = estimate(counts, mechanism)["Yes"]
    assert entry.estimate == pytest.approx((z - (1 - phi)) / (2 * phi - 1), abs=TOLERANCE)
    assert entry.se == pytest.approx(math.sqrt(z * (1 - z) / (n - 1)) / abs(2 * phi - 1), abs=TOLERANCE)
    assert entry.se > 1000 * case["output"]["piSE"]
    assert entry.shown.estimate == edge
    best = constrained_estimate(counts, mechanism)
    assert best.shares[1] == pytest.approx(edge, abs=TOLERANCE)
    # The peer stops at 1e-8 from the edge; its log-likelihood is right to that accuracy.
    assert best.log_likelihood == pytest.approx(case["output"]["logLik"], abs=1e-5)


def test_constrained_estimate_where_the_peer_gives_nothing() -> None:
    counts = GOLDEN["fr_k3_boundary"]["counts"]["counts"]
    assert GOLDEN["fr_k3_boundary"]["output"]["pi"] == ["NA"] * 3
    best = constrained_estimate(counts, mechanisms.forced([0.1, 0.1, 0.1]))
    assert best.shares[0] == 0
    assert best.shares.sum() == pytest.approx(1)


def test_every_golden_case_is_used_or_unusable() -> None:
    used = {*YES_NO, *CATEGORIES, "warner_boundary_low", "warner_boundary_high", "fr_k3_boundary"}
    two_groups = {"uqtunknown_1", "cdm_1", "cdmsym_1"}  # test_twogroup.py
    continuous = {
        "mix_norm",
        "mix_unknown",
    }  # answers that are numbers; the peer's data are not in the collection
    assert used | two_groups | continuous == set(GOLDEN) - {"_provenance"}


def test_wald_interval_is_estimate_and_se() -> None:
    entry = estimate([580, 420], mechanisms.warner(truth="3/4"), interval="wald", level=0.9)["Yes"]
    assert entry.high - entry.estimate == pytest.approx(norm.ppf(0.95) * entry.se)


def test_log_likelihood_is_a_probability() -> None:
    best = constrained_estimate([40, 60], mechanisms.warner(truth=0.7))
    assert best.log_likelihood == pytest.approx(binom.logpmf(60, 100, 0.6))
    assert np.exp(best.log_likelihood) < 1
