"""Coverage of sum scores at the edges: every table of reports that can come, or seeded samples."""

from __future__ import annotations

from itertools import product

import numpy as np
import pandas as pd
import pytest
from hushpoll_analysis import sum_score
from hushpoll_client import mechanisms
from scipy.stats import multinomial

CELLS = np.array([(0, 0), (0, 1), (1, 0), (1, 1)])


def chances(share: float, epsilon: float, same: bool) -> np.ndarray:
    """Return the probabilities of the four joint reports; people have either item, or `same` both of them or none."""
    truth = 1.0 / (1.0 + np.exp(-epsilon))
    coin = np.array([[truth, 1.0 - truth], [1.0 - truth, truth]])
    joint = np.diag([1.0 - share, share]) if same else np.outer([1.0 - share, share], [1.0 - share, share])
    return (coin.T @ joint @ coin).ravel()


def exact_coverage(n: int, share: float, epsilon: float, same: bool) -> float:
    """Add up the chances of all tables whose interval holds the truth."""
    cells, coin = chances(share, epsilon, same), mechanisms.warner(epsilon=epsilon)
    spread = np.sqrt(n * cells * (1.0 - cells))
    reach = [
        range(max(0, int(n * p - 4 * s)), int(n * p + 5 * s) + 3) for p, s in zip(cells, spread, strict=True)
    ]
    inside = seen = 0.0
    for counts in product(*reach[1:]):
        table = np.array([n - sum(counts), *counts])
        chance = multinomial.pmf(table, n, cells) if table[0] >= 0 else 0.0
        if chance < 1e-5:
            continue
        data = pd.DataFrame(np.repeat(CELLS, table, axis=0), columns=["a", "b"])
        got = sum_score(data, {"a": coin, "b": coin}, ["a", "b"])
        seen += chance
        inside += chance * (got.low - 1e-9 <= 2.0 * share <= got.high + 1e-9)
    assert seen > 0.98
    return inside / seen


def simulated_coverage(
    n: int, items: int, share: float, epsilon: float, same: bool, samples: int
) -> tuple[float, float]:
    """Return the share of samples whose interval holds the truth, and the expected number of the scarcer reports."""
    rng, truth = (
        np.random.default_rng([n, items, int(1000 * share), int(10 * epsilon), same]),
        1.0 / (1.0 + np.exp(-epsilon)),
    )
    names = [f"q{k}" for k in range(items)]
    how = dict.fromkeys(names, mechanisms.warner(epsilon=epsilon))
    inside = 0
    for _ in range(samples):
        have = np.broadcast_to(rng.random((n, 1 if same else items)) < share, (n, items))
        reports = (have == (rng.random((n, items)) < truth)).astype(int)
        got = sum_score(pd.DataFrame(reports, columns=names), how, names)
        inside += got.low - 1e-9 <= items * share <= got.high + 1e-9
    mean = n * (share * truth + (1.0 - share) * (1.0 - truth))
    return inside / samples, min(mean, n - mean)


@pytest.mark.parametrize(
    ("n", "share", "epsilon", "same"),
    [
        (20, 0.0, 4.0, False),
        (20, 0.05, 3.0, True),
        pytest.param(100, 0.0, 4.0, False, marks=pytest.mark.long),
        pytest.param(60, 0.02, 4.0, True, marks=pytest.mark.long),
    ],
)
def test_two_items_cover_at_the_edge(n: int, share: float, epsilon: float, same: bool) -> None:
    assert exact_coverage(n, share, epsilon, same) >= 0.93


@pytest.mark.parametrize(
    ("n", "items", "share", "epsilon", "same"),
    [
        (20, 8, 0.1, 4.0, True),
        pytest.param(20, 8, 0.0, 4.0, False, marks=pytest.mark.long),
        pytest.param(100, 3, 0.0, 4.0, False, marks=pytest.mark.long),
        pytest.param(400, 3, 0.02, 2.0, True, marks=pytest.mark.long),
    ],
)
def test_several_items_cover(n: int, items: int, share: float, epsilon: float, same: bool) -> None:
    covered, _ = simulated_coverage(n, items, share, epsilon, same, 500)
    # 93 % less two standard errors of 500 samples.
    assert covered >= 0.907


@pytest.mark.long
@pytest.mark.parametrize("same", [False, True])
@pytest.mark.parametrize("share", [0.0, 0.02, 0.1, 0.4])
@pytest.mark.parametrize("epsilon", [0.5, 2.0, 4.0])
@pytest.mark.parametrize("n", [20, 50, 100, 400])
def test_they_cover_over_a_grid(n: int, epsilon: float, share: float, same: bool) -> None:
    for items in (2, 3, 8):
        covered, expected = simulated_coverage(n, items, share, epsilon, same, 400)
        # 93 and 98 %, and two and a half standard errors of 400 samples.
        assert covered >= 0.898
        assert expected < 10.0 or covered <= 0.9975
