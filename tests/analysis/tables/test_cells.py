"""Cells of cross-tables cover under a sample design, with a counted decoy, and simultaneously."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import pytest
from hushpoll_analysis import Replicates, crosstab
from hushpoll_client import mechanisms
from hushpoll_client.channel import SCALE

FloatArray = npt.NDArray[np.float64]


def test_cells_of_equal_reports_have_an_interval_under_every_design() -> None:
    """60 No of 60 at epsilon 3 had [-.031, -.0214] as soon as there were weights, all of them 1."""
    coin = mechanisms.warner(epsilon=3)
    data = pd.DataFrame({"g": ["a"] * 60 + ["b"] * 60, "y": [0] * 60 + [0, 1, 1] * 20, "w": 1.0})
    plain = crosstab(data, {"y": coin}, "g", "y")
    replicates = Replicates(np.random.default_rng(1).poisson(1, (120, 60)).astype(float), "bootstrap")
    for keys in (
        {"weights": "w"},
        {"weights": "w", "population": 1000},
        {"clusters": np.arange(120)},
        {"strata": np.arange(120) % 2},
        {"weights": "w", "replicates": replicates},
    ):
        cells = crosstab(data, {"y": coin}, "g", "y", **keys)
        assert cells.interval == "score"
        assert cells.low[0, 1] < 0.0 < cells.high[0, 1]
        if "replicates" not in keys and "strata" not in keys and "population" not in keys:
            assert cells.low == pytest.approx(plain.low, abs=0.004)
            assert cells.high == pytest.approx(plain.high, abs=0.004)


def cell_coverage(
    mechanism: Any, n: int, sigma: float | None, repetitions: int, seed: int, shares: tuple[float, float]
) -> FloatArray:
    """Share of repetitions in which each cell of two exact groups is covered; sigma None: no weights."""
    rng = np.random.default_rng(seed)
    table = np.array(mechanism.analysis.rows) / SCALE
    truth = np.array([[0.5 * (1 - share), 0.5 * share] for share in shares])
    inside = np.zeros((2, 2))
    for _ in range(repetitions):
        group = np.arange(n) % 2 if sigma is None else rng.integers(0, 2, n)
        answers = rng.random(n) < np.array(shares)[group]
        reported = (rng.random(n) < table[answers.astype(int), 1]).astype(int)
        frame = pd.DataFrame({"g": group, "y": reported})
        keys = {}
        if sigma is not None:
            frame["w"], keys = rng.lognormal(0.0, sigma, n) if sigma else 1.0, {"weights": "w"}
        cells = crosstab(frame, {"y": mechanism}, "g", "y", labels={"g": [0, 1]}, **keys)
        inside += (cells.low <= truth + 1e-12) & (truth <= cells.high + 1e-12)
    return inside / repetitions


@pytest.mark.parametrize(
    ("sigma", "epsilon"),
    [
        (1.0, 3),
        pytest.param(0.0, 1, marks=pytest.mark.long),
        pytest.param(0.0, 3, marks=pytest.mark.long),
        pytest.param(1.0, 1, marks=pytest.mark.long),
    ],
)
def test_cells_cover_under_weights(sigma: float, epsilon: float) -> None:
    got = cell_coverage(mechanisms.warner(epsilon=epsilon), 100, sigma, 150, 3, (0.0, 0.2))
    assert got.min() > 0.88  # four standard errors below .95


@pytest.mark.long
@pytest.mark.parametrize("sigma", [0.0, 0.5, 1.0, 1.5])
@pytest.mark.parametrize("epsilon", [0.5, 1, 2, 4])
@pytest.mark.parametrize("n", [100, 400])
def test_cells_cover_under_weights_everywhere(sigma: float, epsilon: float, n: int) -> None:
    got = cell_coverage(mechanisms.warner(epsilon=epsilon), n, sigma, 1000, 4, (0.0, 0.3))
    print(got)
    assert got.min() > 0.92


def decoy_cells_coverage(m: int, n: int, repetitions: int, seed: int) -> FloatArray:
    rng, q = np.random.default_rng(seed), 0.4
    inside = np.zeros((2, 2))
    shares = np.array([0.0, 0.3])
    truth = np.stack([0.5 * (1 - shares), 0.5 * shares], axis=1)
    for _ in range(repetitions):
        counted = max(int(rng.binomial(m, q)), 1)
        poll = mechanisms.or_poll(decoy_counts=(min(counted, m - 1), m))
        sizes = rng.multinomial(n, [0.5, 0.5])
        yes = rng.binomial(sizes, shares + (1 - shares) * q)
        cells = crosstab(np.stack([sizes - yes, yes], axis=1), {"y": poll}, "g", "y")
        assert cells.interval == "mover"
        inside += (cells.low <= truth + 1e-12) & (truth <= cells.high + 1e-12)
    return inside / repetitions


@pytest.mark.parametrize("samples", [60, pytest.param(250, marks=pytest.mark.long)])
def test_cells_beside_a_counted_decoy_cover(samples: int) -> None:
    assert decoy_cells_coverage(30, 200, samples, 5).min() > 0.95 - 3 * np.sqrt(0.05 * 0.95 / samples)


@pytest.mark.long
@pytest.mark.parametrize("m", [30, 100, 1000])
@pytest.mark.parametrize("n", [100, 400])
def test_cells_beside_a_counted_decoy_cover_everywhere(m: int, n: int) -> None:
    got = decoy_cells_coverage(m, n, 2000, 6)
    print(got)
    assert got.min() > 0.93


def together_coverage(epsilon: float, n: int, repetitions: int, seed: int, weighted: bool = False) -> float:
    """Share of repetitions in which all cells of 2 groups x 20 options are covered."""
    rng = np.random.default_rng(seed)
    mechanism = mechanisms.krr(options=20, epsilon=epsilon)
    shares = np.zeros(20)
    shares[:2] = 0.6, 0.4
    reports = shares @ (np.array(mechanism.analysis.rows) / SCALE)
    truth = np.stack([0.5 * shares, 0.5 * shares])
    inside = 0
    for _ in range(repetitions):
        counts = rng.multinomial(n, np.tile(0.5 * reports, 2)).reshape(2, 20)
        if weighted:
            groups, codes = np.nonzero(counts)
            times = counts[groups, codes]
            frame = pd.DataFrame({"g": np.repeat(groups, times), "y": np.repeat(codes, times), "w": 1.0})
            cells = crosstab(
                frame, {"y": mechanism}, "g", "y", simultaneous=True, weights="w", labels={"g": [0, 1]}
            )
        else:
            cells = crosstab(counts, {"y": mechanism}, "g", "y", simultaneous=True)
        assert cells.interval == "clopper-pearson"
        inside += bool(np.all((cells.low <= truth + 1e-12) & (truth <= cells.high + 1e-12)))
    return inside / repetitions


@pytest.mark.parametrize(
    ("epsilon", "n"),
    [(4, 300), *(pytest.param(*case, marks=pytest.mark.long) for case in ((3, 300), (4, 1000)))],
)
def test_cells_held_together_cover_together(epsilon: float, n: int) -> None:
    assert together_coverage(epsilon, n, 200, 1) > 0.9


def test_cells_held_together_cover_together_with_weights() -> None:
    assert together_coverage(4, 300, 60, 2, weighted=True) > 0.88


@pytest.mark.long
@pytest.mark.parametrize("epsilon", [1, 3, 4, 5])
@pytest.mark.parametrize("n", [300, 1000, 4000])
def test_cells_held_together_cover_together_everywhere(epsilon: float, n: int) -> None:
    got = together_coverage(epsilon, n, 2000, 3)
    print(got)
    assert got > 0.94
