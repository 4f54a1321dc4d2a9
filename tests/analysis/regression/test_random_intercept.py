"""Random intercepts: dense integration and brute-force search, simulation, and edges."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from hushpoll_analysis import (
    asks_unknown_decoy,
    detects_cheating,
    detects_lies,
    impute,
    linear,
    logit,
    multinomial,
)
from hushpoll_analysis.channel.two_group_designs import PartlyKnown
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
    grid = np.linspace(-8, 8, 129)
    weight = stats.norm.pdf(grid) * (grid[1] - grid[0])
    eta = theta[0] + theta[1] * data["x"].to_numpy()[:, None] + np.exp(theta[2]) * grid
    mu = special.expit(eta)
    y = data["y"].to_numpy()
    logs = np.log(table[0][y][:, None] * (1 - mu) + table[1][y][:, None] * mu)
    total = 0.0
    for school in np.unique(data["school"]):
        total += special.logsumexp(logs[data["school"] == school].sum(axis=0), b=weight)
    return float(total)


@pytest.mark.parametrize("mechanism", [COIN, pytest.param(None, marks=pytest.mark.long)])
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
    laplace = fits[1]
    shift, information = laplace.random.modes(laplace.theta)
    eta = laplace.random.design @ laplace.theta[:-1] + laplace.sd * shift[data["school"]]
    mu, y = special.expit(eta), data["y"].to_numpy()
    logs = np.log(TABLE[0][y] * (1 - mu) + TABLE[1][y] * mu).sum() - 0.5 * (shift**2).sum()
    assert laplace.log_likelihood == pytest.approx(logs - 0.5 * np.log(information).sum(), abs=1e-8)


def test_groups_that_do_not_differ_are_said() -> None:
    data = draw(15, 40, 0.0, 8)
    fits = [logit("y ~ x + (1 | school)", draw(15, 40, 0.0, seed), {"y": COIN}) for seed in (8, 9, 10)]
    held = [fit for fit in fits if fit.sd == 0.0]
    assert held
    assert any("do not differ" in note for note in held[0].notes)
    assert np.isnan(held[0].se[-1])
    assert np.isfinite(held[0].se[:-1]).all()
    plain = logit("y ~ x", data, {"y": COIN})
    if fits[0].sd == 0.0:
        assert fits[0].coef[:2] == pytest.approx(plain.coef, abs=1e-6)
        assert fits[0].se[:2] == pytest.approx(plain.se, rel=1e-3)


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
        name: np.eye(2) if mechanism is None else np.array(mechanism.analysis.rows) / SCALE
        for name, mechanism in designs.items()
    }
    chance = np.array([tables[name][t, 1] for name, t in zip(item, truth, strict=True)])
    data = pd.DataFrame({"person": person, "item": item, "y": (rng.random(3 * n) < chance).astype(int)})
    got = logit("y ~ C(item) + (1 | person)", data, {"y": "item"}, designs=designs)
    expected = {"Intercept": 0.0, "C(item)[T.shop]": -0.5, "C(item)[T.tax]": -0.5, "sd(person)": 1.0}
    frame = got.to_frame(everything=True)
    for name, value in expected.items():
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
    # Maximum likelihood takes groups to differ less than they do: the profile that allows for it lies a little higher.
    assert (row["low"], row["high"]) == pytest.approx(got.sd_interval(), rel=1e-6)
    assert 1.0 <= row["low"] / (got.sd * np.exp(-half)) <= 1.1
    assert 1.0 <= row["high"] / (got.sd * np.exp(half)) <= 1.1
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
    exact = logit(how, data, {"y": mechanisms.or_poll(decoy_share="0.3")})
    assert got.coef == pytest.approx(exact.coef, abs=1e-6)
    ends = [
        logit(how, data, {"y": mechanisms.or_poll(decoy_share=str(0.3 + step))}).coef
        for step in (1e-3, -1e-3)
    ]
    drift = (ends[0] - ends[1]) / 2e-3
    assert got.se == pytest.approx(np.sqrt(exact.se**2 + drift**2 * 0.3 * 0.7 / 200), rel=1e-3)
    assert "part of these standard errors" in got.notes[0]


CHEATING = {0: detects_cheating("0.2"), 1: detects_cheating("0.6")}
DECOY = {0: asks_unknown_decoy("0.75"), 1: asks_unknown_decoy("0.3")}
LIES = {0: detects_lies("0.9"), 1: detects_lies("0.6")}


def two_groups(
    designs: dict[int, PartlyKnown], share: float, groups: int, size: int, seed: int
) -> pd.DataFrame:
    """Draw schools that differ, each with people of two designs that have an unknown share in common."""
    data = draw(groups, size, 1.0, seed, None)
    rng = np.random.default_rng(seed + 1)
    arm = np.arange(len(data)) % 2
    chance = np.array(
        [
            np.add(arm_design.fixed_chance, share * np.array(arm_design.slope))
            for arm_design in designs.values()
        ]
    )
    reported_yes = rng.random(len(data)) < chance[arm, data["y"].to_numpy()]
    return data.assign(arm=arm, y=reported_yes.astype(int))


def dense_unknown(
    data: pd.DataFrame, designs: dict[int, PartlyKnown], theta: np.ndarray
) -> tuple[float, np.ndarray]:
    """Return the log-likelihood, summed over the shift on a fine grid, and each person's chance of a true Yes."""
    grid = np.linspace(-6, 6, 97)
    weight = stats.norm.pdf(grid) * (grid[1] - grid[0])
    mu = special.expit(theta[0] + theta[1] * data["x"].to_numpy()[:, None] + np.exp(theta[3]) * grid)
    chance = np.array(
        [
            np.add(arm_design.fixed_chance, special.expit(theta[2]) * np.array(arm_design.slope))
            for arm_design in designs.values()
        ]
    )
    table = np.stack([1 - chance, chance], axis=-1)[data["arm"].to_numpy()]
    y = data["y"].to_numpy()
    no, yes = (table[np.arange(len(y)), truth, y][:, None] for truth in (0, 1))
    likely = no * (1 - mu) + yes * mu
    # Cheaters are none of those who count as Yes, who answer as they are told.
    carriers = np.array(
        [[1 - arm_design.fixed_chance[1], arm_design.fixed_chance[1]] for arm_design in designs.values()]
    )
    if next(iter(designs.values())).unknown == "cheating":
        yes = carriers[data["arm"].to_numpy(), y][:, None]
    total, posterior = 0.0, np.empty(len(y))
    for school in np.unique(data["school"]):
        mine = (data["school"] == school).to_numpy()
        logs = np.log(likely[mine]).sum(axis=0) + np.log(weight)
        by_group = special.logsumexp(logs)
        total += by_group
        posterior[mine] = (np.minimum(yes * mu, likely) / likely)[mine] @ np.exp(logs - by_group)
    return float(total), posterior


@pytest.mark.parametrize(
    ("designs", "share", "name"),
    [
        (DECOY, 0.4, "decoy"),
        pytest.param(CHEATING, 0.15, "cheating", marks=pytest.mark.long),
        pytest.param(LIES, 0.7, "admitting", marks=pytest.mark.long),
    ],
)
def test_an_unknown_share_beside_a_random_intercept(designs, share: float, name: str) -> None:
    """Coefficients, share, spread and posterior are those of dense integration and a separate search."""
    data = two_groups(designs, share, 25, 48, 3)
    got = logit("y ~ x + (1 | school)", data, "arm", designs=designs)
    assert got.names == ("Intercept", "x", name, "sd(school)")
    at = np.array([*got.coef[:2], special.logit(got.coef[2]), np.log(got.sd)])
    best = optimize.minimize(
        lambda t: -dense_unknown(data, designs, t)[0], at + 0.03, method="BFGS", options={"gtol": 1e-3}
    )
    assert got.log_likelihood == pytest.approx(dense_unknown(data, designs, at)[0], abs=1e-4)
    assert got.log_likelihood == pytest.approx(-best.fun, abs=1e-4)
    assert at == pytest.approx(best.x, abs=5e-3)
    step, hessian, e = 1e-3, np.empty((4, 4)), 1e-3 * np.eye(4)
    for i, j in np.ndindex(4, 4):
        f = [
            dense_unknown(data, designs, at + a * e[i] + b * e[j])[0]
            for a, b in ((1, 1), (1, -1), (-1, 1), (-1, -1))
        ]
        hessian[i, j] = -(f[0] - f[1] - f[2] + f[3]) / (4 * step**2)
    slopes = np.array([1.0, 1.0, got.coef[2] * (1 - got.coef[2]), got.sd])
    assert got.se == pytest.approx(np.sqrt(np.diag(np.linalg.inv(hessian))) * slopes, rel=2e-2)
    # Where carriers and cheaters are everybody the integrand has a bend, which few points see less well.
    near = 1e-3 if name == "cheating" else 1e-4
    assert got.posterior()[1].to_numpy() == pytest.approx(dense_unknown(data, designs, at)[1], abs=near)
    assert abs(got.coef[2] - share) < 4 * got.se[2]
    assert name in got.summary()


def test_the_gradient_is_that_of_the_height() -> None:
    data = two_groups(CHEATING, 0.15, 12, 20, 4)
    random = logit("y ~ x + (1 | school)", data, "arm", designs=CHEATING, points=25).random
    theta = np.array([-0.4, 0.5, -1.2, 0.1])
    _, slope = random.evaluate(theta)
    moves = 1e-5 * np.eye(4)
    numeric = [(random.log_likelihood(theta + m) - random.log_likelihood(theta - m)) / 2e-5 for m in moves]
    assert slope == pytest.approx(numeric, rel=1e-3, abs=1e-3)


def test_a_share_at_its_edge_is_held_there() -> None:
    data = two_groups(CHEATING, 0.0, 20, 30, 6)
    fits = [
        logit("y ~ x + (1 | school)", two_groups(CHEATING, 0.0, 20, 30, seed), "arm", designs=CHEATING)
        for seed in (6, 7, 8, 9)
    ]
    held = [fit for fit in fits if np.isnan(fit.se[2])]
    assert held
    assert held[0].coef[2] == pytest.approx(0, abs=1e-6)
    assert any("'cheating' is at its edge, 0" in note for note in held[0].notes)
    assert np.isfinite(held[0].se[:2]).all()
    assert len(data) == held[0].n


def test_a_prior_holds_the_coefficients_as_brute_force_says() -> None:
    data = draw(20, 15, 1.0, 5).assign(x=lambda d: np.where(d["x"] > 0, 1.0, -1.0))
    got = logit("y ~ x + (1 | school)", data, {"y": COIN}, penalty="log-f")

    def penalized(theta: np.ndarray) -> float:
        return dense(data, TABLE, theta) + float(np.sum(theta[:2] / 2 - np.logaddexp(0, theta[:2])))

    best = optimize.minimize(
        lambda theta: -penalized(theta), [-0.5, 0.5, 0.0], method="BFGS", options={"gtol": 1e-4}
    ).x
    assert got.coef == pytest.approx([best[0], best[1], np.exp(best[2])], abs=2e-3)
    assert got.log_likelihood == pytest.approx(dense(data, TABLE, best), abs=1e-3)
    assert got.penalized
    assert any("as asked" in note for note in got.notes)
    low, high = got.likelihood_intervals().loc["x"]
    assert low < got.coef[1] < high


@pytest.mark.parametrize("answers", [lambda d: 1, lambda d: 0, lambda d: (d["x"] > 0).astype(int)])
def test_a_likelihood_without_a_maximum_is_held_and_said(answers) -> None:
    """All reports alike gave an intercept of 16 with a standard error of 148, and not a word."""
    data = draw(30, 10, 1.0, 3).assign(y=answers)
    got = logit("y ~ x + (1 | school)", data, {"y": COIN})
    plain = logit("y ~ x", data, {"y": COIN})
    assert (got.penalized, plain.penalized) == (True, True)
    assert any("no maximum" in note for note in got.notes)
    assert np.abs(got.coef[:2]) == pytest.approx(np.abs(plain.coef), rel=0.2)
    assert got.log_likelihood <= 0.0
    with pytest.raises(NotIdentifiedError, match=r"no maximum|not identified"):
        logit("y ~ x + (1 | school)", data, {"y": COIN}, penalty="none")


@pytest.mark.parametrize("imputations", [8, pytest.param(30, marks=pytest.mark.long)])
def test_posterior_and_imputations_know_the_group(imputations: int) -> None:
    """Given all reports of the group, and complete tables whose answers hang together within groups."""
    data = draw(40, 30, 1.5, 5)
    got = logit("y ~ x + (1 | school)", data, {"y": COIN})
    chance = got.posterior()
    assert chance.sum(axis=1).to_numpy() == pytest.approx(1)
    # The same report weighs more in a group that is high anyway.
    shift = got.random_effects()["shift"].reindex(data["school"]).to_numpy()
    yes_near_zero = (data["y"] == 1).to_numpy() & (np.abs(data["x"]) < 0.3).to_numpy()
    assert np.corrcoef(shift[yes_near_zero], chance[1][yes_near_zero])[0, 1] > 0.8
    tables = impute(got, imputations, data=data, seed=1)
    shares = [table["y"].mean() for table in tables]
    assert np.mean(shares) == pytest.approx(
        chance[1].mean(), abs=4 * np.std(shares) / np.sqrt(imputations) + 0.01
    )
    # Complete data, refitted, have the coefficients and the spread between groups that were imputed from.
    pooled = tables.combine(
        lambda t: (lambda fit: (fit.coef, fit.se**2))(logit("y ~ x + (1 | school)", t, {})), got.names
    )
    assert np.abs(pooled.estimate - got.coef).max() < 0.25
    assert pooled.se == pytest.approx(got.se, rel=0.5)


def test_mixed_against_plain() -> None:
    """The edge halves the p-value; the statistic is that of the two likelihoods."""
    data = draw(25, 30, 1.0, 3)
    got, plain = (logit(f"y ~ x{more}", data, {"y": COIN}) for more in (" + (1 | school)", ""))
    test = got.likelihood_ratio_test(plain)
    assert test.chi2 == pytest.approx(2 * (got.log_likelihood - plain.log_likelihood))
    assert test.df == 1
    assert test.p_value == pytest.approx(stats.chi2.sf(test.chi2, 1) / 2)
    assert test.distribution == "0.5 chi2(0) + 0.5 chi2(1)"
    both = got.likelihood_ratio_test(logit("y ~ 1", data, {"y": COIN}))
    assert both.distribution == "0.5 chi2(1) + 0.5 chi2(2)"
    assert both.p_value == pytest.approx((stats.chi2.sf(both.chi2, 1) + stats.chi2.sf(both.chi2, 2)) / 2)
    assert got.likelihood_ratio_test(logit("y ~ (1 | school)", data, {"y": COIN})).distribution == "chi2(1)"
    same = draw(15, 40, 0.0, 8)
    flat, base = (logit(f"y ~ x{more}", same, {"y": COIN}) for more in (" + (1 | school)", ""))
    assert flat.sd > 0 or flat.likelihood_ratio_test(base).p_value == 1.0
    with pytest.raises(AnalysisError, match="not part of the larger one"):
        logit("y ~ (1 | school)", data, {"y": COIN}).likelihood_ratio_test(plain)


@pytest.mark.long
def test_mixed_against_plain_is_calibrated() -> None:
    """Without groups that differ, about half the statistics are 0 and 5 % of the p-values are below .05."""
    tests = []
    for seed in range(300):
        data = draw(30, 20, 0.0, 1000 + seed)
        got, plain = (logit(f"y ~ x{more}", data, {"y": COIN}) for more in (" + (1 | school)", ""))
        tests.append(got.likelihood_ratio_test(plain))
    small = np.mean([test.p_value < 0.05 for test in tests])
    zero = np.mean([test.chi2 < 1e-6 for test in tests])
    print(small, zero)
    assert 0.015 < small < 0.09
    assert 0.4 < zero < 0.7


@pytest.mark.long
def test_coverage_of_an_unknown_share_beside_a_random_intercept() -> None:
    inside, truth, repetitions = np.zeros(4), np.array([-0.6, 0.8, 0.2, 1.0]), 150
    for seed in range(repetitions):
        data = two_groups(CHEATING, 0.2, 40, 40, 100 + seed)
        frame = logit("y ~ x + (1 | school)", data, "arm", designs=CHEATING).to_frame(everything=True)
        inside += (frame["low"].to_numpy() <= truth) & (truth <= frame["high"].to_numpy())
    print(inside / repetitions)
    assert (inside / repetitions).min() > 0.9
    assert (inside / repetitions).max() <= 0.99


@pytest.mark.long
def test_coverage_of_a_random_intercept() -> None:
    inside, truth, repetitions = np.zeros(3), np.array([-0.6, 0.8, 1.0]), 300
    for seed in range(repetitions):
        frame = logit("y ~ x + (1 | school)", draw(60, 20, 1.0, 100 + seed), {"y": COIN}).to_frame(
            everything=True
        )
        inside += (frame["low"].to_numpy() <= truth) & (truth <= frame["high"].to_numpy())
    print(inside / repetitions)
    assert (inside / repetitions).min() > 0.91
    assert (inside / repetitions).max() <= 0.985


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda d: logit("y ~ (1 | school) + (1 | x)", d, {"y": COIN}), "one can be fitted"),
        (lambda d: logit("y ~ x + (1 | nobody)", d, {"y": COIN}), "no column 'nobody'"),
        (lambda d: logit("y ~ x + (1 | one)", d.assign(one=1), {"y": COIN}), "one group only"),
        (
            lambda d: logit("y ~ x + (1 | each)", d.assign(each=range(len(d))), {"y": COIN}),
            "every group of each has one report only",
        ),
        (
            lambda d: logit("y ~ x + (1 | school)", d, {"y": COIN}, information="opg"),
            "the opg information takes no random intercept",
        ),
        (lambda d: logit("y ~ x + (1 | school)", d, {"y": COIN}, points=0), "quadrature points"),
        (
            lambda d: logit("y ~ x + (1 | school)", d, {"y": COIN}, clusters="school"),
            "takes no random intercept",
        ),
        (lambda d: linear("x ~ y + (1 | school)", d, {"y": COIN}), "takes no random intercept"),
        (lambda d: multinomial("school ~ x + (1 | y)", d, {}), "takes no random intercept"),
        (lambda d: logit("z ~ y + (1 | school)", d.assign(z=d["y"]), {"y": COIN}), "exact predictors"),
        (lambda d: logit("y ~ x + (1 | school)", d, {"y": COIN}, population=1000), "give clusters='school'"),
        (lambda d: logit("y ~ x + (x | school)", d, {"y": COIN}), "only a random intercept of one column"),
        (lambda d: logit("y ~ x + (1 | x/school)", d, {"y": COIN}), "only a random intercept of one column"),
    ],
)
def test_odd_random_intercepts_are_explained(call, message: str) -> None:
    with pytest.raises((AnalysisError, NotIdentifiedError), match=message):
        call(draw(5, 20, 1.0, 1))
