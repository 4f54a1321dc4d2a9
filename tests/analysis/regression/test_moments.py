"""Linear regression on randomized predictors by moments: by hand, under any errors, and what a normal fit then says."""

from __future__ import annotations

import json
from collections.abc import Callable

import numpy as np
import pandas as pd
import pytest
from hushpoll_analysis import linear, simulate
from hushpoll_analysis.errors import AnalysisError
from hushpoll_analysis.regression.moments import MomentFit
from hushpoll_analysis.sample.replicates import Replicates
from hushpoll_client import Channel, mechanisms
from hushpoll_client.channel import SCALE

COIN = mechanisms.warner(epsilon=1)
THREE = mechanisms.krr(options=3, epsilon=2)
ERRORS: dict[str, Callable[[np.random.Generator, np.ndarray], np.ndarray]] = {
    "exponential": lambda rng, u: rng.exponential(size=len(u)) - 1,
    "heavy": lambda rng, u: rng.standard_t(3, len(u)),
    "unequal": lambda rng, u: rng.normal(size=len(u)) * np.where(u == 1, 2, 1),
}


def sample_of(errors: str, n: int, rng: np.random.Generator) -> pd.DataFrame:
    """A trait of one in five that has nothing to do with the number."""
    truth = (rng.random(n) < 0.2).astype(int)
    return pd.DataFrame({"y": ERRORS[errors](rng, truth), "u": simulate(COIN.device, truth, seed=rng)})


def inverse(channel: Channel) -> np.ndarray:
    return np.linalg.inv(np.array(channel.rows) / SCALE)


@pytest.fixture(scope="module")
def people() -> pd.DataFrame:
    rng = np.random.default_rng(8)
    n = 3000
    age, habit = rng.normal(size=n), rng.integers(0, 3, n)
    y = 1 + 0.5 * age + np.array([0, 1, -1])[habit] + rng.exponential(size=n)
    w, town = rng.uniform(0.5, 2, n), rng.integers(0, 40, n)
    habit = simulate(THREE.device, habit, seed=9)
    return pd.DataFrame({"y": y, "age": age, "habit": habit, "w": w, "town": town})


def test_it_is_the_formula_by_hand(people: pd.DataFrame) -> None:
    b = inverse(THREE.analysis)[people["habit"]]
    rows = [np.array([[1, age, j == 1, j == 2] for j in range(3)], dtype=float) for age in people["age"]]
    left = [np.einsum("j,ja,jb->ab", row_weights, x, x) for row_weights, x in zip(b, rows, strict=True)]
    right = [
        np.einsum("j,ja->a", row_weights, x) * y
        for row_weights, x, y in zip(b, rows, people["y"], strict=True)
    ]
    expected = np.linalg.solve(np.sum(left, axis=0), np.sum(right, axis=0))
    scores = np.array([r - m @ expected for m, r in zip(left, right, strict=True)])
    bread = np.linalg.inv(np.sum(left, axis=0))
    n = len(people)
    covariance = bread @ (scores.T @ scores) @ bread * n / (n - 1)
    fit = linear("y ~ age + C(habit)", people, {"habit": THREE}, errors="any")
    order = [fit.names.index(name) for name in ("Intercept", "age", "C(habit)[T.1]", "C(habit)[T.2]")]
    assert fit.coef[order] == pytest.approx(expected, rel=1e-9)
    assert fit.covariance[np.ix_(order, order)] == pytest.approx(covariance, rel=1e-8)
    assert fit.coef[order] == pytest.approx([2, 0.5, 1, -1], abs=0.3)


def test_with_direct_answers_it_is_least_squares(people: pd.DataFrame) -> None:
    openly = Channel.from_probabilities(np.eye(3, dtype=int).tolist())
    direct = linear("y ~ age * C(habit)", people, {"habit": openly}, errors="any")
    exact = linear("y ~ age * C(habit)", people, {})
    assert {*direct.names} < {*exact.names}
    order = [exact.names.index(name) for name in direct.names]
    assert direct.coef == pytest.approx(exact.coef[order], abs=1e-5)


@pytest.mark.parametrize(
    "errors",
    [pytest.param(errors, marks=() if errors == "unequal" else pytest.mark.long) for errors in ERRORS],
)
def test_its_intervals_cover_whatever_the_errors_are(errors: str) -> None:
    rng = np.random.default_rng(11)
    hits = 0
    for _ in range(150):
        row = linear("y ~ u", sample_of(errors, 600, rng), {"u": COIN}, errors="any").to_frame().loc["u"]
        hits += row["low"] <= 0 <= row["high"]
    assert hits / 150 >= 0.93 - 3 * np.sqrt(0.05 * 0.95 / 150)


@pytest.mark.parametrize(("errors", "covers"), [("exponential", 0.8), ("unequal", 0.6)])
def test_a_normal_fit_that_misses_says_so(errors: str, covers: float) -> None:
    """It covered 64 and 36 % without a word."""
    rng = np.random.default_rng(12)
    hits = silent = 0
    for _ in range(25):
        fit = linear("y ~ u", sample_of(errors, 1000, rng), {"u": COIN})
        row = fit.to_frame().loc["u"]
        hit = row["low"] <= 0 <= row["high"]
        hits += hit
        silent += not hit and not any("errors='any'" in note for note in fit.notes)
    assert hits / 25 < covers
    assert silent <= 4


def test_a_normal_fit_of_normal_errors_says_nothing() -> None:
    rng = np.random.default_rng(13)
    noted = 0
    for _ in range(25):
        truth = (rng.random(1000) < 0.3).astype(int)
        data = pd.DataFrame({"y": truth + rng.normal(size=1000), "u": simulate(COIN.device, truth, seed=rng)})
        noted += bool(linear("y ~ u", data, {"u": COIN}).notes)
    assert noted <= 2


def test_a_design_a_row_and_sets_are_predictors(people: pd.DataFrame) -> None:
    rng = np.random.default_rng(14)
    truth, arm = (rng.random(4000) < 0.4).astype(int), rng.choice(["direct", "coin"], 4000)
    reported = np.where(arm == "direct", truth, simulate(COIN.device, truth, seed=rng))
    data = pd.DataFrame({"y": 2 * truth + rng.exponential(size=4000), "u": reported, "arm": arm})
    two_designs = linear("y ~ u", data, {"u": "arm"}, designs={"direct": None, "coin": COIN}, errors="any")
    assert two_designs.to_frame().loc["u", "coef"] == pytest.approx(
        2, abs=4 * two_designs.to_frame().loc["u", "se"]
    )
    long = mechanisms.subset(options=8, epsilon=3, size=2)
    town = rng.integers(0, 8, 4000)
    held = pd.DataFrame(
        {"y": (town == 2) * 3 + rng.exponential(size=4000), "town": simulate(long.device, town, seed=rng)}
    )
    coefficients = linear("y ~ C(town)", held, {"town": long}, errors="any").to_frame()
    assert coefficients.loc["C(town)[T.2]", "coef"] == pytest.approx(
        3, abs=4 * coefficients.loc["C(town)[T.2]", "se"]
    )
    assert coefficients["se"].max() < 1


def test_weights_clusters_and_replicates_reach_it(people: pd.DataFrame) -> None:
    mechanisms_by_name = {"habit": THREE}
    plain = linear("y ~ age", people.drop(columns="habit"), {}, weights="w", clusters="town")
    same = linear("y ~ age", people.drop(columns="habit"), {}, weights="w", clusters="town", errors="any")
    assert same.coef == pytest.approx(plain.coef[:2], abs=1e-6)
    assert same.se == pytest.approx(plain.se[:2], rel=1e-5)
    weighted = linear("y ~ C(habit)", people, mechanisms_by_name, weights="w", clusters="town", errors="any")
    assert weighted.degrees_of_freedom == 37
    towns = np.arange(40)
    left = people["w"].to_numpy()[:, None] * (people["town"].to_numpy()[:, None] != towns) * 40 / 39
    jackknife = linear(
        "y ~ C(habit)",
        people,
        mechanisms_by_name,
        weights="w",
        replicates=Replicates(left, "jk1"),
        errors="any",
    )
    assert jackknife.coef == pytest.approx(weighted.coef)
    assert jackknife.se == pytest.approx(weighted.se, rel=0.1)


def test_what_it_gives_is_read_like_any_fit(people: pd.DataFrame) -> None:
    fit = linear("y ~ age + C(habit)", people, {"habit": THREE}, errors="any")
    assert isinstance(fit, MomentFit)
    assert list(fit.to_frame().columns) == ["coef", "se", "z", "p_value", "low", "high"]
    assert json.loads(json.dumps(fit.to_dict()))["errors"] == "any"
    assert fit.vcov().loc["age", "age"] == pytest.approx(fit.se[fit.names.index("age")] ** 2)
    assert "age" in fit._repr_html_()
    assert fit.plot() is not None


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"errors": "t"}, "errors 't' is not one of normal, any"),
        ({"errors": "any", "population": 9000}, "knows no finite population"),
        ({"errors": "any", "clusters": "half"}, "too many for the clusters"),
    ],
)
def test_what_it_cannot_do_is_explained(
    people: pd.DataFrame, options: dict[str, object], message: str
) -> None:
    with pytest.raises(AnalysisError, match=message):
        linear("y ~ C(habit)", people.assign(half=people.index % 2), {"habit": THREE}, **options)


def test_few_people_are_named() -> None:
    """With 20 carriers and skewed errors it covered 87 %, and said nothing."""
    rng = np.random.default_rng(15)
    truth = (np.arange(2000) < 20).astype(int)
    clear = mechanisms.warner(epsilon=6)
    data = pd.DataFrame({"y": rng.exponential(size=2000), "u": simulate(clear.device, truth, seed=rng)})
    few = linear("y ~ u", data, {"u": clear}, errors="any")
    estimated = inverse(clear.analysis)[data["u"], 1].sum()
    assert few.notes[0].startswith(f"about {round(estimated)} people are estimated to have the rarest answer")
    assert linear("y ~ u", sample_of("heavy", 600, rng), {"u": COIN}, errors="any").notes == ()


def test_a_counted_decoy_is_refused() -> None:
    poll = mechanisms.or_poll(decoy_counts=(30, 100))
    data = pd.DataFrame({"y": np.arange(50.0), "u": np.arange(50) % 2})
    with pytest.raises(AnalysisError, match="decoy share of u was counted"):
        linear("y ~ u", data, {"u": poll}, errors="any")


def test_a_fit_by_moments_has_what_other_fits_have(people: pd.DataFrame) -> None:
    fit = linear("y ~ age + habit", people, {"habit": THREE}, errors="any")
    frame = fit.to_frame()
    assert fit.conf_int().equals(frame[["low", "high"]])
    narrow, wide = fit.conf_int(0.5), fit.conf_int(0.99)
    assert (narrow["low"] > wide["low"]).all()
    assert (narrow["high"] < wide["high"]).all()
    text = fit.summary()
    assert text == str(fit)
    assert "Linear regression by moments" in text
    assert "robust, for errors of any shape" in text
    assert all(name in text for name in fit.names)
    rows = pd.DataFrame({"age": [0.0, 1.0], "habit": [0, 2]})
    predicted = fit.predict(rows)
    assert predicted["estimate"].to_list() == pytest.approx(
        [fit.coef[0], fit.coef[0] + fit.coef[1] + fit.coef[3]]
    )
    assert predicted["se"].iloc[0] == pytest.approx(fit.se[0])
    assert predicted["low"].iloc[0] == pytest.approx(frame["low"].iloc[0])
    assert fit.predict(rows, 0.5)["low"].iloc[0] > predicted["low"].iloc[0]
    with pytest.raises(AnalysisError, match=r"true answers to habit are hidden.*give data"):
        fit.predict()
    with pytest.raises(AnalysisError, match="there is no column 'habit'"):
        fit.predict(rows[["age"]])
    exact = linear("y ~ town", people, {}, errors="any", weights="w")
    assert exact.predict().index.equals(people.index)
    assert "Degrees of freedom" in exact.summary()
