"""Finite populations with several designs: each person has the noise of their own design."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pandas as pd
import pytest
from hushpoll_analysis import compare, correlate, crosstab, estimate, sum_score, weighted_estimate
from hushpoll_client import mechanisms
from hushpoll_client.channel import SCALE

COIN = mechanisms.warner(epsilon=1)
FORCED = mechanisms.forced(["1/6", "1/3"])
DESIGNS = {"direct": None, "coin": COIN}


def noise_of(mechanism: mechanisms.Mechanism) -> float:
    """Var(b | truth) of a report of Warner's, the same for both truths."""
    table = np.array(mechanism.analysis.rows) / SCALE
    b = np.linalg.inv(table)[:, 1]
    return float(table[0] @ b**2)


@pytest.fixture(scope="module")
def frame() -> pd.DataFrame:
    rng = np.random.default_rng(1)
    return pd.DataFrame({"y": rng.integers(0, 2, 400), "arm": np.repeat(["direct", "coin"], 200)})


def test_a_census_has_no_error_where_people_were_asked_directly(frame: pd.DataFrame) -> None:
    shares = compare(frame, {"y": "arm"}, "y", "arm", designs=DESIGNS, population=400).shares
    assert shares["se"].to_numpy() == pytest.approx([np.sqrt(noise_of(COIN) / 200), 0.0], abs=1e-9)
    table = crosstab(frame, {"y": "arm"}, "y", "arm", designs=DESIGNS, population=400)
    errors = table.table("se")[["coin", "direct"]].to_numpy()
    assert errors[:, 0] == pytest.approx(np.sqrt(noise_of(COIN) / 200) / 2, rel=1e-9)
    assert errors[:, 1] == pytest.approx(0.0, abs=1e-9)


@pytest.mark.parametrize("large", ["direct", "coin"])
def test_weights_multiply_the_noise_of_the_own_design(frame: pd.DataFrame, large: str) -> None:
    sizes = {"direct": 200, "coin": 200, large: 20000}
    weighted_share = weighted_estimate(
        frame, {"y": "arm"}, "y", designs=DESIGNS, strata="arm", population=sizes
    )["Yes"]
    share = sizes["coin"] / 20200
    assert weighted_share.se_privacy == pytest.approx(share * np.sqrt(noise_of(COIN) / 200), rel=1e-9)
    b = np.linalg.inv(np.array(COIN.analysis.rows) / SCALE)[:, 1]
    values = {"direct": frame["y"][:200].to_numpy(float), "coin": b[frame["y"][200:]]}
    noise = {"direct": 0.0, "coin": noise_of(COIN)}
    variance = sum(
        (sizes[arm] / 20200) ** 2
        * ((1 - 200 / sizes[arm]) * values[arm].var(ddof=1) + 200 / sizes[arm] * noise[arm])
        / 200
        for arm in sizes
    )
    assert weighted_share.se == pytest.approx(np.sqrt(variance), rel=1e-9)


def test_counts_and_rows_agree_where_the_groups_differ() -> None:
    """The noise of forced answers depends on the truth, so that it is that of the own group's shares."""
    designs = {"direct": None, "forced": FORCED}
    rows = pd.DataFrame(
        {"y": np.repeat([0, 1, 0, 1], [20, 180, 120, 80]), "arm": np.repeat(["direct", "forced"], 200)}
    )
    counts = {"direct": [20, 180], "forced": [120, 80]}
    for population in (400, 1000):
        got = estimate(counts, designs=designs, population=population)["Yes"]
        again = weighted_estimate(rows, {"y": "arm"}, "y", designs=designs, population=population)["Yes"]
        assert (got.se, got.se_privacy) == pytest.approx((again.se, again.se_privacy), rel=1e-9)
    table = np.array(FORCED.analysis.rows) / SCALE
    b = np.linalg.inv(table)[:, 1]
    noise = (table * b**2).sum(axis=1) - np.array([0.0, 1.0])
    mean = float((np.linalg.inv(table) @ noise) @ [0.6, 0.4])
    assert got.se_privacy == pytest.approx(np.sqrt(200 * mean) / 400, rel=1e-9)


STATISTICS: dict[str, Callable[[pd.DataFrame], tuple[float, float]]] = {}


def statistic(
    call: Callable[[pd.DataFrame], tuple[float, float]],
) -> Callable[[pd.DataFrame], tuple[float, float]]:
    STATISTICS[call.__name__] = call
    return call


@statistic
def weighted(data: pd.DataFrame) -> tuple[float, float]:
    share = weighted_estimate(data, {"y": "arm"}, "y", designs=BOTH, weights="w", **CENSUS)["Yes"]
    return share.estimate, share.se


@statistic
def both_randomized(data: pd.DataFrame) -> tuple[float, float]:
    table = crosstab(data, {"y": "arm", "v": "arm"}, "y", "v", designs=BOTH, population=400)
    return table.table().iloc[1, 1], table.table("se").iloc[1, 1]


@statistic
def correlation(data: pd.DataFrame) -> tuple[float, float]:
    correlations = correlate(data, {"y": "arm"}, ["y", "x"], designs=BOTH, population=400)
    return float(correlations.r[0, 1]), float(correlations.se[0, 1])


@statistic
def score(data: pd.DataFrame) -> tuple[float, float]:
    total = sum_score(data, {"y": "arm", "v": "arm"}, ["y", "v"], designs=BOTH, weights="w", **CENSUS)
    return total.mean, total.se


BOTH = {"direct": None, "forced": FORCED}
CENSUS = {"strata": "arm", "population": {"direct": 200, "forced": 200}}


@pytest.mark.parametrize(("samples", "within"), [(60, 0.25), pytest.param(300, 0.15, marks=pytest.mark.long)])
@pytest.mark.parametrize("name", STATISTICS)
def test_a_census_agrees_with_simulation(name: str, samples: int, within: float) -> None:
    """True answers stay, the devices draw anew: the spread of the estimates is what the standard errors say."""
    rng = np.random.default_rng(3)
    x = rng.standard_normal(400)
    arm = np.repeat(["direct", "forced"], 200)
    truth = {key: (rng.random(400) < 0.35 + 0.2 * (x > 0)).astype(int) for key in ("y", "v")}
    data = pd.DataFrame(
        {"x": x, "g": (x > 0).astype(int), "arm": arm, "w": np.where(arm == "direct", 3.0, 1.0) + (x > 1)}
    )
    table = np.array(FORCED.analysis.rows) / SCALE
    estimates_and_errors = []
    for _ in range(min(samples, 100) if name == "both_randomized" else samples):
        for key, true in truth.items():
            data[key] = np.where(arm == "direct", true, rng.random(400) < table[true, 1]).astype(int)
        estimates_and_errors.append(STATISTICS[name](data))
    estimates, errors = np.array(estimates_and_errors).T
    assert np.sqrt(np.mean(errors**2)) == pytest.approx(estimates.std(), rel=within)
