"""Each estimator against its own definition, written out here and maximised or summed by brute force."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pandas as pd
import pytest
from hushpoll_analysis import (
    anchored,
    asks_unknown_decoy,
    detects_cheating,
    detects_lies,
    logit,
    weighted_estimate,
)
from hushpoll_client import mechanisms
from scipy import optimize, special

Height = Callable[[np.ndarray], float]


def slope_of(height: Height, at: np.ndarray, step: float = 1e-5) -> np.ndarray:
    moves = step * np.eye(len(at))
    return np.array([(height(at + move) - height(at - move)) / (2 * step) for move in moves])


def bend_of(height: Height, at: np.ndarray, step: float = 3e-4) -> np.ndarray:
    moves = step * np.eye(len(at))
    rows = [(slope_of(height, at + move) - slope_of(height, at - move)) / (2 * step) for move in moves]
    return np.array(rows)


def climb(height: Height, start: np.ndarray) -> tuple[np.ndarray, float, np.ndarray]:
    """Maximise by Newton's method with numerical derivatives: the top, its height, the covariance there."""
    rough = optimize.minimize(lambda at: -height(at), start, method="Nelder-Mead", options={"maxiter": 4000})
    at = rough.x
    for _ in range(20):
        step = np.linalg.solve(bend_of(height, at), slope_of(height, at))
        at = at - step
        if np.abs(step).max() < 1e-9:
            break
    return at, height(at), np.linalg.inv(-bend_of(height, at))


def draw(chance: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    return (rng.random(len(chance)) < chance).astype(int)


def test_a_design_for_each_row() -> None:
    """Direct, crosswise, forced and unrelated questions in one model: P(1) = c0 (1 - mu) + c1 mu by hand."""
    rng = np.random.default_rng(1)
    n = 1500
    x, z = rng.standard_normal(n), rng.integers(0, 2, n)
    arm = rng.choice(["direct", "cross", "forced", "decoy"], n)
    # P(report 1 | No), P(report 1 | Yes)
    chances = {"direct": (0.0, 1.0), "cross": (0.8, 0.2), "forced": (0.1, 0.85), "decoy": (0.12, 0.82)}
    designs = {
        "direct": None,
        "cross": mechanisms.crosswise(decoy_share="0.2"),
        "forced": mechanisms.forced(["0.15", "0.1"]),
        "decoy": mechanisms.unrelated(truth="0.7", decoy_share="0.4"),
    }
    no, yes = np.array([chances[name] for name in arm]).T
    mu = special.expit(-0.5 + 0.8 * x - 0.4 * z)
    y = draw(no * (1 - mu) + yes * mu, rng)

    def height(beta: np.ndarray) -> float:
        mu = special.expit(beta[0] + beta[1] * x + beta[2] * z)
        likelihood = no * (1 - mu) + yes * mu
        return float(np.sum(np.log(np.where(y == 1, likelihood, 1 - likelihood))))

    top, value, covariance = climb(height, np.zeros(3))
    data = pd.DataFrame({"x": x, "z": z, "arm": arm, "y": y})
    got = logit("y ~ x + z", data, {"y": "arm"}, designs=designs)
    assert got.coef == pytest.approx(top, abs=1e-6)
    assert got.loglik == pytest.approx(value, abs=1e-8)
    assert got.vcov().to_numpy() == pytest.approx(covariance, rel=1e-4, abs=1e-7)
    assert got.aic == pytest.approx(6 - 2 * value)
    assert got.bic == pytest.approx(3 * np.log(n) - 2 * value)


UNKNOWN = [
    # P(1) of a group with constant a, as published: Greenberg; Clark and Desharnais; Ostapczuk, Moshagen and others.
    ("decoy", asks_unknown_decoy, (0.75, 0.3), 0.4, lambda p, s, a: a * p + (1 - a) * s),
    ("cheating", detects_cheating, (0.2, 0.6), 0.15, lambda p, s, a: p + (1 - p - s) * a),
    ("admitting", detects_lies, (0.85, 0.25), 0.7, lambda p, s, a: p * s + (1 - p) * (1 - a)),
]


@pytest.mark.parametrize(("name", "design", "constants", "share", "chance"), UNKNOWN)
def test_two_groups_with_an_unknown_share(name: str, design, constants, share: float, chance) -> None:
    rng = np.random.default_rng(7)
    n = 4000
    x, group = rng.standard_normal(n), rng.integers(0, 2, n)
    constant = np.array(constants)[group]
    y = draw(chance(special.expit(-0.7 + 0.6 * x) * (0.8 if name == "cheating" else 1), share, constant), rng)

    def height(theta: np.ndarray) -> float:
        likelihood = chance(special.expit(theta[0] + theta[1] * x), special.expit(theta[2]), constant)
        if likelihood.min() <= 0 or likelihood.max() >= 1:
            return -1e12
        return float(np.sum(np.log(np.where(y == 1, likelihood, 1 - likelihood))))

    top, value, covariance = climb(height, np.array([-0.7, 0.5, special.logit(share)]))
    data = pd.DataFrame({"x": x, "group": group, "y": y})
    got = logit("y ~ x", data, "group", designs={k: design(c) for k, c in enumerate(constants)})
    at = special.expit(top[2])
    assert got.names[-1] == name
    assert got.coef == pytest.approx([top[0], top[1], at], abs=1e-5)
    assert got.loglik == pytest.approx(value, abs=1e-7)
    errors = np.sqrt(np.diag(covariance)) * [1, 1, at * (1 - at)]
    assert got.se == pytest.approx(errors, rel=1e-3)


def test_totals_of_a_finite_population() -> None:
    """Simple, stratified and cluster sampling without replacement, by the textbook's formulas.

    For a randomized answer the total has (N^2/n)(1 - f) s^2 + (N/n) sum of Var(b | truth), estimated without bias.
    """
    rng = np.random.default_rng(3)
    coin = mechanisms.warner(truth="0.8")
    n, population = 120, 500
    frame = pd.DataFrame({"y": rng.integers(0, 2, n), "h": np.repeat(["a", "b", "c"], [30, 40, 50])})
    frame["c"] = np.arange(n) // 10
    b = (frame["y"].to_numpy() - 0.2) / 0.6
    noise = 0.8 * 0.2 / 0.6**2  # the same for both truths
    got = weighted_estimate(frame, {"y": coin}, "y", population=population)[1]
    variance = population**2 / n * (1 - n / population) * b.var(ddof=1) + population / n * n * noise
    assert (got.total, got.total_se) == pytest.approx((population * b.mean(), np.sqrt(variance)), rel=1e-9)

    sizes = {"a": 100, "b": 160, "c": 240}
    total = variance = 0.0
    for name, size in sizes.items():
        mine = b[frame["h"] == name]
        total += size * mine.mean()
        variance += size**2 / len(mine) * (1 - len(mine) / size) * mine.var(ddof=1) + size * noise
    got = weighted_estimate(frame, {"y": coin}, "y", strata="h", population=sizes)[1]
    assert (got.total, got.total_se) == pytest.approx((total, np.sqrt(variance)), rel=1e-9)

    # 12 of 60 classes, everybody in them asked: each person stands for 5.
    sums = np.array([b[frame["c"] == c].sum() for c in range(12)])
    variance = 60**2 / 12 * (1 - 0.2) * sums.var(ddof=1) + 60 / 12 * n * noise
    got = weighted_estimate(frame.assign(w=5.0), {"y": coin}, "y", weights="w", clusters="c", population=60)[
        1
    ]
    assert (got.total, got.total_se) == pytest.approx((5 * b.sum(), np.sqrt(variance)), rel=1e-9)


def test_an_anchored_crosswise_question() -> None:
    """Atsusaka and Stevenson's estimate, its delta-method error and Fieller's interval, from the joint counts."""
    rng = np.random.default_rng(4)
    n, p, p_anchor = 2000, 0.15, 0.25
    careless = rng.random(n) < 0.2
    columns = {}
    for name, share, q in (("y", 0.15, p), ("a", 0.0, p_anchor)):
        same = (rng.random(n) < share) == (rng.random(n) < q)
        columns[name] = np.where(careless, rng.random(n) < 0.5, same).astype(int)
    frame = pd.DataFrame(columns)
    mechanisms_by_name = {
        "y": mechanisms.crosswise(decoy_share="0.15"),
        "a": mechanisms.crosswise(decoy_share="0.25"),
    }
    got = anchored(frame, mechanisms_by_name, "y", "a", 0)

    def estimate(cells: np.ndarray) -> float:
        """Cells (y, a) = 00, 01, 10, 11 as shares."""
        same, same_anchor = cells[2] + cells[3], cells[1] + cells[3]
        attentive = (same_anchor - 0.5) / (0.5 - p_anchor)
        plain = (same + p - 1) / (2 * p - 1)
        return float((plain - 0.5) / attentive + 0.5)

    cells = np.bincount(2 * frame["y"] + frame["a"], minlength=4) / n
    slope = slope_of(estimate, cells, 1e-6)
    variance = (slope**2 @ cells - (slope @ cells) ** 2) / (n - 1)
    share = got.shares[0]
    assert share.estimate == pytest.approx(estimate(cells), abs=1e-10)
    assert share.se == pytest.approx(np.sqrt(variance), rel=1e-4)
    # Fieller: (b0 - b1 pi) / se = 1.96, where pi = b0/b1 with b0 = plain - r/2 and b1 = 1 - r.
    weights_y = (np.array([0.0, 1.0]) + p - 1) / (2 * p - 1)
    weights_r = 1 - (np.array([0.0, 1.0]) - 0.5) / (0.5 - p_anchor)
    plain, rate = weights_y[frame["y"]], weights_r[frame["a"]]
    for end in (share.low, share.high):
        values = plain - rate / 2 - (1 - rate) * end
        assert abs(values.mean()) / (values.std(ddof=1) / np.sqrt(n)) == pytest.approx(1.959964, rel=1e-4)


@pytest.mark.parametrize("link", ["probit", pytest.param("logit", marks=pytest.mark.long)])
def test_random_intercepts_with_a_design_for_each_row(link: str) -> None:
    """Repeated items of one person, each with its own mechanism: the shift summed out on 150 fixed nodes."""
    rng = np.random.default_rng(5)
    people, items = 80, 6
    person = np.repeat(np.arange(people), items)
    x = rng.standard_normal(people * items)
    arm = rng.choice(["coin", "direct", "cross"], len(x))
    chances = {"coin": (0.15, 0.85), "direct": (0.0, 1.0), "cross": (0.75, 0.25)}
    designs = {
        "coin": mechanisms.warner(truth="0.85"),
        "direct": None,
        "cross": mechanisms.crosswise(decoy_share="0.25"),
    }
    mean = {"logit": special.expit, "probit": special.ndtr}[link]
    no, yes = np.array([chances[name] for name in arm]).T
    mu = mean(-0.4 + 0.7 * x + rng.normal(0, 1.2, people)[person])
    y = draw(no * (1 - mu) + yes * mu, rng)
    nodes, weights = np.polynomial.hermite_e.hermegauss(150)

    def height(theta: np.ndarray) -> float:
        mu = mean((theta[0] + theta[1] * x)[:, None] + np.exp(theta[2]) * nodes)
        likelihood = no[:, None] * (1 - mu) + yes[:, None] * mu
        logs = np.log(np.maximum(np.where(y[:, None] == 1, likelihood, 1 - likelihood), 1e-300))
        by_person = logs.reshape(people, items, -1).sum(axis=1)
        return float(special.logsumexp(by_person, b=weights / np.sqrt(2 * np.pi), axis=1).sum())

    top, value, covariance = climb(height, np.array([-0.4, 0.7, 0.0]))
    data = pd.DataFrame({"person": person, "x": x, "arm": arm, "y": y})
    got = logit("y ~ x + (1 | person)", data, {"y": "arm"}, designs=designs, link=link, points=40)
    sd = np.exp(top[2])
    assert got.loglik == pytest.approx(value, abs=1e-6)
    assert got.coef == pytest.approx([top[0], top[1], sd], abs=2e-5)
    assert got.se == pytest.approx(np.sqrt(np.diag(covariance)) * [1, 1, sd], rel=1e-3)
