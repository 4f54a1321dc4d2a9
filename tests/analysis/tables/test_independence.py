"""Small samples: tests of independence, ratios and marginal effects that hold as often as they say."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
from hushpoll_analysis import crosstab, estimate, logit
from hushpoll_analysis.channel.view import channel_view
from hushpoll_client import mechanisms
from scipy import special, stats

FOUR = mechanisms.krr(options=4, epsilon=4)
COIN = mechanisms.warner(epsilon=2)
THREE = mechanisms.krr(options=3, epsilon=0.7)


def sparse_rejections(surveys: int, seed: int, n: int = 100) -> float:
    """Return how often independent answers with rare cells are called dependent at 5 %."""
    rng = np.random.default_rng(seed)
    chances = channel_view(FOUR).forward(np.array([0.9, 0.06, 0.03, 0.01]))
    rejected = 0
    for counts in rng.multinomial(n, np.outer(chances, chances).reshape(-1), size=surveys):
        test = crosstab(counts.reshape(4, 4), {"a": FOUR, "b": FOUR}, "a", "b").test
        rejected += test is not None and test.p_value < 0.05
    return rejected / surveys


def clustered_rejections(clusters: int, surveys: int, seed: int) -> float:
    """Return how often a column that clusters have as a whole is called dependent of an answer that varies by them."""
    rng = np.random.default_rng(seed)
    cluster = np.repeat(np.arange(clusters), 30)
    arm = (np.arange(clusters) < clusters // 2).astype(int)[cluster]
    truthful = math.exp(2) / (1 + math.exp(2))
    rejected = 0
    for _ in range(surveys):
        shift = 0.8 * rng.normal(size=clusters)
        truth = rng.random(len(cluster)) < special.expit(shift[cluster])
        reports = np.where(rng.random(len(cluster)) < truthful, truth, ~truth).astype(int)
        frame = pd.DataFrame({"y": reports, "arm": arm, "cluster": cluster})
        test = crosstab(frame, {"y": COIN}, "y", "arm", clusters="cluster").test
        assert test is not None
        rejected += test.p_value < 0.05
    return rejected / surveys


def ratio_coverage(shares: list[float], surveys: int, seed: int) -> float:
    """Return how often the share of the second answer among the first two is held, at n = 150 and epsilon .7."""
    rng = np.random.default_rng(seed)
    counts = rng.multinomial(150, channel_view(THREE).forward(np.array(shares)), size=surveys)
    truth = shares[1] / (shares[0] + shares[1])
    held = 0
    for row in counts:
        ratio = estimate(row, THREE, options=["a", "b", "c"]).ratio(["b"], ["a", "b"])
        held += ratio.low <= truth <= ratio.high
    return held / surveys


def test_rare_cells_are_compared_with_tables_of_the_same_margins() -> None:
    assert sparse_rejections(150, 5) <= 0.08
    counts = np.array([[80, 5, 3, 1], [4, 1, 1, 1], [2, 1, 0, 0], [1, 0, 0, 0]])
    test = crosstab(counts, {"a": FOUR, "b": FOUR}, "a", "b").test
    assert test is not None
    assert "random tables of the same margins" in test.note
    assert test.p_value > stats.chi2.sf(test.statistic, test.df[0])
    assert test == crosstab(counts, {"a": FOUR, "b": FOUR}, "a", "b").test, "the same every time"
    many = crosstab(30 * counts + 200, {"a": FOUR, "b": FOUR}, "a", "b").test
    assert many is not None
    assert many.p_value == pytest.approx(stats.chi2.sf(many.statistic, 9))


def test_a_column_of_clusters_uses_up_their_differences() -> None:
    rng = np.random.default_rng(2)
    cluster = np.repeat(np.arange(8), 20)
    frame = pd.DataFrame(
        {"y": rng.integers(0, 2, 160), "arm": cluster % 2, "x": rng.integers(0, 2, 160), "cluster": cluster}
    )
    between = crosstab(frame, {"y": COIN}, "y", "arm", clusters="cluster").test
    within = crosstab(frame, {"y": COIN}, "y", "x", clusters="cluster").test
    assert between is not None
    assert within is not None
    assert between.df == pytest.approx((1.0, 6.0))
    assert within.df == pytest.approx((1.0, 7.0))
    by_cluster = crosstab(frame.assign(arm=cluster), {"y": COIN}, "y", "arm", clusters="cluster")
    assert by_cluster.test is None
    assert "too few clusters" in by_cluster.untested


def test_a_ratio_over_a_share_that_may_be_0_is_unbounded() -> None:
    ratio = estimate([10, 12, 128], THREE, options=["a", "b", "c"]).ratio(["b"], ["a", "b"])
    assert (ratio.low, ratio.high) == (-math.inf, math.inf)
    assert (ratio.shown.low, ratio.shown.high) == (0.0, 1.0)


@pytest.mark.long
def test_the_size_of_the_test_of_sparse_tables() -> None:
    assert sparse_rejections(2000, 1) <= 0.065


@pytest.mark.long
@pytest.mark.parametrize("clusters", [6, 8])
def test_the_size_of_the_test_of_few_clusters(clusters: int) -> None:
    assert clustered_rejections(clusters, 2000, clusters) <= 0.065


@pytest.mark.long
@pytest.mark.parametrize("shares", [[0.5, 0.3, 0.2], [0.3, 0.1, 0.6], [0.15, 0.1, 0.75], [0.6, 0.05, 0.35]])
def test_ratios_cover(shares: list[float]) -> None:
    assert ratio_coverage(shares, 2000, 4) >= 0.93


def rare_people(n: int, seed: int, share: float) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    x = rng.normal(size=n)
    truth = rng.random(n) < special.expit(special.logit(share) + 0.6 * x)
    truthful = math.e / (1 + math.e)
    return pd.DataFrame({"y": np.where(rng.random(n) < truthful, truth, ~truth).astype(int), "x": x})


def test_effects_on_an_answer_that_is_hardly_clear_of_0_have_profile_limits() -> None:
    coin = mechanisms.warner(epsilon=1)
    z = stats.norm.isf(0.025)
    for seed, share, wider in ((11, 0.08, True), (11, 0.5, False)):
        fit = logit("y ~ x", rare_people(800, seed, share), {"y": coin})
        effect = fit.margins().iloc[0]
        below, above = effect["effect"] - effect["low"], effect["high"] - effect["effect"]
        if wider:
            assert below >= z * effect["se"] * (1 - 1e-9)
            assert above >= z * effect["se"] * (1 - 1e-9)
            assert below + above > 2.02 * z * effect["se"]
        else:
            assert (below, above) == pytest.approx((z * effect["se"], z * effect["se"]))


@pytest.mark.long
@pytest.mark.parametrize("n", [500, 1000])
def test_effects_on_a_rare_answer_cover(n: int) -> None:
    """2,500 samples of each size gave .945 and .947."""
    x = np.random.default_rng(0).normal(size=1_000_000)
    chance = special.expit(special.logit(0.08) + 0.6 * x)
    slope = float(np.mean(0.6 * chance * (1 - chance)))
    coin = mechanisms.warner(epsilon=1)
    effects = [
        logit("y ~ x", rare_people(n, seed, 0.08), {"y": coin}).margins().iloc[0] for seed in range(1000)
    ]
    covered = [effect["low"] <= slope <= effect["high"] for effect in effects]
    assert np.mean(covered) >= 0.93
