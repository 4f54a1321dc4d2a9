"""Likelihood intervals of general tables and estimated decoys against brute force."""

from __future__ import annotations

import numpy as np
import pytest
from hushpoll_analysis import estimate
from hushpoll_client import mechanisms
from scipy.stats import chi2

TABLE = mechanisms.matrix(weights=[[6, 3, 1], [2, 6, 2], [1, 2, 7]])
LIMIT = chi2.ppf(0.95, 1) / 2


@pytest.mark.parametrize("counts", [[100, 150, 120], [10, 90, 80], [0, 60, 40], [50, 0, 0], [3, 1, 0]])
def test_table_interval_is_the_range_over_the_likelihood_set(counts: list[int]) -> None:
    """All shares on a fine triangle grid whose log-likelihood is within 1.92 of the best: their range of each share."""
    side = np.linspace(0, 1, 801)
    first, second = np.meshgrid(side, side)
    inside = first + second <= 1 + 1e-12
    grid = np.stack([first[inside], second[inside], 1 - first[inside] - second[inside]], axis=1).clip(0, 1)
    table = np.array([[6, 3, 1], [2, 6, 2], [1, 2, 7]]) / 10
    value = np.array(counts) @ np.log(grid @ table).T
    likely = grid[value >= value.max() - LIMIT]
    result = estimate(counts, TABLE, interval="likelihood")
    for k, entry in enumerate(result.estimates):
        assert entry.low == pytest.approx(likely[:, k].min(), abs=2.5e-3)
        assert entry.high == pytest.approx(likely[:, k].max(), abs=2.5e-3)


@pytest.mark.parametrize("counts", [[400, 600], [610, 390]])
def test_decoy_interval_is_the_profile_over_both_polls(counts: list[int]) -> None:
    decoy, m = 40, 100
    entry = estimate(counts, mechanisms.or_poll(decoy_counts=(decoy, m)), interval="likelihood")["Yes"]
    p, q = np.meshgrid(np.linspace(0, 1, 2001), np.linspace(0.2, 0.7, 1001))
    z = (p + (1 - p) * q).clip(1e-12, 1 - 1e-12)
    value = counts[1] * np.log(z) + counts[0] * np.log1p(-z) + decoy * np.log(q) + (m - decoy) * np.log1p(-q)
    likely = p[value >= value.max() - LIMIT]
    assert entry.low == pytest.approx(likely.min(), abs=2e-3)
    assert entry.high == pytest.approx(likely.max(), abs=2e-3)
