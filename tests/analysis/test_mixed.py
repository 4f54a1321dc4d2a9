"""Random intercepts: dense integration and brute-force search, simulation, and edges."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from hushpoll_analysis import detects_cheating, linear, logit, multinomial
from hushpoll_analysis.errors import AnalysisError, NotIdentifiedError
from hushpoll_client import mechanisms
from hushpoll_client.channel import SCALE
from scipy import optimize, special, stats

COIN = mechanisms.warner(epsilon=2)
TABLE = np.array(COIN.analysis.rows) / SCALE


def draw(
    groups: int, size: int, sd: float, seed: int, mechanism: mechanisms.Mechanism | None = COIN
) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    school = np.repeat(np.arange(groups), size)
    x = rng.standard_normal(groups * size)
    shift = rng.normal(0, sd, groups)[school]
    truth = (rng.random(len(x)) < special.expit(-0.6 + 0.8 * x + shift)).astype(int)
    table = np.eye(2) if mechanism is None else np.array(mechanism.analysis.rows) / SCALE
    return pd.DataFrame({"school": school, "x": x, "y": (rng.random(len(x)) < table[truth, 1]).astype(int)})


def dense(data: pd.DataFrame, table: np.ndarray, theta: np.ndarray) -> float:
    """Sum the shift out on a fine grid."""
    grid = np.linspace(-8, 8, 801)
    weight = stats.norm.pdf(grid) * (grid[1] - grid[0])
    eta = theta[0] + theta[1] * data["x"].to_numpy()[:, None] + np.exp(theta[2]) * grid
    mu = special.expit(eta)
    y = data["y"].to_numpy()
    logs = np.log(table[0][y][:, None] * (1 - mu) + table[1][y][:, None] * mu)
    total = 0.0
    for school in np.unique(data["school"]):
        total += special.logsumexp(logs[data["school"] == school].sum(axis=0), b=weight)
    return float(total)


@pytest.mark.parametrize("mechanism", [None, COIN])
def test_the_maximum_is_that_of_dense_integration(mechanism) -> None:
    data = draw(25, 30, 1.0, 3, mechanism)
    table = np.eye(2) if mechanism is None else TABLE
    got = logit("y ~ x + (1 | school)", data, {} if mechanism is None else {"y": mechanism})
    best = optimize.minimize(
        lambda t: -dense(data, table, t), np.array([-0.5, 0.5, 0.0]), method="BFGS", options={"gtol": 1e-4}
    )
    assert got.names == ("Intercept", "x", "sd(school)")
    assert got.log_likelihood == pytest.approx(-best.fun, abs=1e-4)
    assert got.coef == pytest.approx([best.x[0], best.x[1], np.exp(best.x[2])], abs=2e-3)
    step, hessian = 1e-3, np.empty((3, 3))
    at = np.append(got.coef[:2], np.log(got.sd))
    for i in range(3):
        for j in range(3):
            e = step * np.eye(3)
            f = [
                dense(data, table, at + a * e[i] + b * e[j]) for a, b in ((1, 1), (1, -1), (-1, 1), (-1, -1))
            ]
            hessian[i, j] = -(f[0] - f[1] - f[2] + f[3]) / (4 * step**2)
    errors = np.sqrt(np.diag(np.linalg.inv(hessian))) * np.array([1.0, 1.0, got.sd])
    assert got.se == pytest.approx(errors, rel=1e-2)


def test_points_settle_and_one_is_laplace() -> None:
    data = draw(20, 12, 1.2, 4)
    fits = {
        points: logit("y ~ x + (1 | school)", data, {"y": COIN}, points=points) for points in (1, 7, 15, 31)
    }
    assert fits[15].log_likelihood == pytest.approx(fits[31].log_likelihood, abs=1e-4)
    assert abs(fits[7].log_likelihood - fits[31].log_likelihood) < abs(
        fits[1].log_likelihood - fits[31].log_likelihood
    )
    assert fits[15].coef == pytest.approx(fits[31].coef, abs=1e-3)
    # Laplace: the height at the mode and the expected information there.
    one = fits[1]
    shift, information = one.random.modes(one.theta)
    eta = one.random.design @ one.theta[:-1] + one.sd * shift[data["school"]]
    mu, y = special.expit(eta), data["y"].to_numpy()
    logs = np.log(TABLE[0][y] * (1 - mu) + TABLE[1][y] * mu).sum() - 0.5 * (shift**2).sum()
    assert one.log_likelihood == pytest.approx(logs - 0.5 * np.log(information).sum(), abs=1e-8)


def test_groups_that_do_not_differ_are_said() -> None:
    data = draw(15, 40, 0.0, 8)
    found = [logit("y ~ x + (1 | school)", draw(15, 40, 0.0, seed), {"y": COIN}) for seed in (8, 9, 10)]
    held = [one for one in found if one.sd == 0.0]
    assert held
    assert any("do not differ" in note for note in held[0].notes)
    assert np.isnan(held[0].se[-1])
    assert np.isfinite(held[0].se[:-1]).all()
    plain = logit("y ~ x", data, {"y": COIN})
    if found[0].sd == 0.0:
        assert found[0].coef[:2] == pytest.approx(plain.coef, abs=1e-6)
        assert found[0].se[:2] == pytest.approx(plain.se, rel=1e-3)


def test_repeated_answers_with_a_design_an_item() -> None:
    """Three answers a person, each item with its own mechanism: long format, one row an answer."""
    rng = np.random.default_rng(12)
    designs = {"tax": COIN, "exam": mechanisms.warner(epsilon=3), "shop": None}
    n = 400
    person = np.repeat(np.arange(n), 3)
    item = np.tile(list(designs), n)
    shift = rng.normal(0, 1, n)[person]
    truth = (rng.random(3 * n) < special.expit(-0.5 + shift + 0.5 * (item == "exam"))).astype(int)
    tables = {
        name: np.eye(2) if one is None else np.array(one.analysis.rows) / SCALE
        for name, one in designs.items()
    }
    chance = np.array([tables[name][t, 1] for name, t in zip(item, truth, strict=True)])
    data = pd.DataFrame({"person": person, "item": item, "y": (rng.random(3 * n) < chance).astype(int)})
    got = logit("y ~ C(item) + (1 | person)", data, {"y": "item"}, designs=designs)
    wanted = {"Intercept": 0.0, "C(item)[T.shop]": -0.5, "C(item)[T.tax]": -0.5, "sd(person)": 1.0}
    frame = got.to_frame(everything=True)
    for name, value in wanted.items():
        assert abs(frame.loc[name, "coef"] - value) < 4 * frame.loc[name, "se"], name
    assert len(got.random_effects()) == n


def test_what_follows_from_a_fit() -> None:
    data = draw(25, 30, 1.0, 3)
    got = logit("y ~ x + (1 | school)", data, {"y": COIN})
    smaller = logit("y ~ (1 | school)", data, {"y": COIN})
    test = got.likelihood_ratio_test(smaller)
    assert test.df == 1
    assert got.likelihood_ratio_tests().loc["x", "chi2"] == pytest.approx(test.chi2, abs=1e-3)
    typical = got.predict(pd.DataFrame({"x": [0.0]}))
    assert typical["estimate"].iloc[0] == pytest.approx(special.expit(got.coef[0]))
    assert typical["se"].iloc[0] == pytest.approx(
        got.se[0] * special.expit(got.coef[0]) * special.expit(-got.coef[0]), rel=1e-4
    )
    row = got.to_frame(everything=True).loc["sd(school)"]
    half = 1.959964 * got.se[-1] / got.sd
    assert (row["low"], row["high"]) == pytest.approx((got.sd * np.exp(-half), got.sd * np.exp(half)))
    assert np.isnan(row["p_value"])
    assert "sd(school)" in got.summary()
    assert "random intercept" in got.summary()
    assert json.dumps(got.to_dict())
    assert got.margins().loc[("x", "slope"), "effect"] > 0
    effects = got.random_effects()
    assert effects["shift"].std() < got.sd


def test_a_counted_decoy_adds_its_own_error() -> None:
    """At the counted share the fit is that of a known one; the error of the share comes on top, as refits show."""
    data = draw(30, 25, 1.0, 5, mechanisms.or_poll(decoy_share="0.3"))
    how = "y ~ x + (1 | school)"
    got = logit(how, data, {"y": mechanisms.or_poll(decoy_counts=(60, 200))})
    known = logit(how, data, {"y": mechanisms.or_poll(decoy_share="0.3")})
    assert got.coef == pytest.approx(known.coef, abs=1e-6)
    ends = [
        logit(how, data, {"y": mechanisms.or_poll(decoy_share=str(0.3 + step))}).coef
        for step in (1e-3, -1e-3)
    ]
    drift = (ends[0] - ends[1]) / 2e-3
    assert got.se == pytest.approx(np.sqrt(known.se**2 + drift**2 * 0.3 * 0.7 / 200), rel=1e-3)
    assert "part of these standard errors" in got.notes[0]


@pytest.mark.long
def test_coverage_of_a_random_intercept() -> None:
    inside, truth, repetitions = np.zeros(3), np.array([-0.6, 0.8, 1.0]), 300
    for seed in range(repetitions):
        frame = logit("y ~ x + (1 | school)", draw(60, 20, 1.0, 100 + seed), {"y": COIN}).to_frame(
            everything=True
        )
        inside += (frame["low"].to_numpy() <= truth) & (truth <= frame["high"].to_numpy())
    assert (inside / repetitions).min() > 0.91
    assert (inside / repetitions).max() <= 0.985


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda d: logit("y ~ (1 | school) + (1 | x)", d, {"y": COIN}), "one can be fitted"),
        (lambda d: logit("y ~ x + (1 | nobody)", d, {"y": COIN}), "no column 'nobody'"),
        (lambda d: logit("y ~ x + (1 | one)", d.assign(one=1), {"y": COIN}), "one group only"),
        (lambda d: logit("y ~ x + (1 | school)", d, {"y": COIN}, points=0), "quadrature points"),
        (
            lambda d: logit("y ~ x + (1 | school)", d, {"y": COIN}, clusters="school"),
            "takes no random intercept",
        ),
        (lambda d: linear("x ~ y + (1 | school)", d, {"y": COIN}), "takes no random intercept"),
        (lambda d: multinomial("school ~ x + (1 | y)", d, {}), "takes no random intercept"),
        (lambda d: logit("z ~ y + (1 | school)", d.assign(z=d["y"]), {"y": COIN}), "exact predictors"),
        (
            lambda d: logit(
                "y ~ x + (1 | school)",
                d.assign(g=np.arange(len(d)) % 2),
                "g",
                designs={0: detects_cheating(0.2), 1: detects_cheating(0.5)},
            ),
            "'cheating' of the outcome's design is unknown",
        ),
        (lambda d: logit("y ~ x + (1 | school)", d, {"y": COIN}, population=1000), "give clusters='school'"),
        (lambda d: logit("y ~ x + (x | school)", d, {"y": COIN}), "only a random intercept of one column"),
        (lambda d: logit("y ~ x + (1 | x/school)", d, {"y": COIN}), "only a random intercept of one column"),
    ],
)
def test_odd_random_intercepts_are_explained(call, message: str) -> None:
    with pytest.raises((AnalysisError, NotIdentifiedError), match=message):
        call(draw(5, 20, 1.0, 1))
