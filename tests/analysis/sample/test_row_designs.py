"""A design for each respondent: direct and randomized questions together, waves, and unknown shares of the design."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hushpoll_analysis import compare, crosstab, estimate, logit, report, trend, weighted_estimate
from hushpoll_analysis.channel.two_group_designs import asks_unknown_decoy, detects_cheating, detects_lies
from hushpoll_analysis.errors import AnalysisError, NotIdentifiedError
from hushpoll_analysis.regression.models import linear
from hushpoll_analysis.validity.two_groups import cheating_detection, lie_detection, unrelated_two_groups
from hushpoll_client import Survey, mechanisms
from hushpoll_client.channel import SCALE
from scipy import optimize, special

RESULTS = Path(__file__).parents[2] / "results"
GOLDEN = json.loads((RESULTS / "univariate.json").read_text(encoding="utf-8"))
ARMS = {"direct": None, "weak": mechanisms.warner(epsilon=2), "strong": mechanisms.warner(epsilon=1)}
TABLES = {
    name: np.eye(2) if mechanism is None else np.array(mechanism.analysis.rows) / SCALE
    for name, mechanism in ARMS.items()
}


def randomized(truth: np.ndarray, arm: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    chance = np.array([TABLES[name][t, 1] for name, t in zip(arm, truth, strict=True)])
    return (rng.random(len(truth)) < chance).astype(int)


@pytest.fixture(scope="module")
def people() -> pd.DataFrame:
    rng = np.random.default_rng(3)
    n = 3000
    x = rng.standard_normal(n)
    truth = (rng.random(n) < special.expit(-0.8 + 0.7 * x)).astype(int)
    arm = rng.choice(list(ARMS), n, p=[0.3, 0.3, 0.4])
    data = pd.DataFrame({"x": x, "arm": arm, "truth": truth, "y": randomized(truth, arm, rng)})
    return data.assign(g=np.where(x + rng.standard_normal(n) > 0, "b", "a"), w=rng.lognormal(0, 0.5, n))


def brute(
    negative, start: np.ndarray, bounds: list[tuple[float | None, float | None]]
) -> optimize.OptimizeResult:
    searches = [
        optimize.minimize(
            negative, start + shift, method="L-BFGS-B", bounds=bounds, options={"ftol": 1e-15, "gtol": 1e-10}
        )
        for shift in (0.0, 0.1, -0.1)
    ]
    return min(searches, key=lambda search: search.fun)


def test_estimates_of_mixed_designs_are_means_of_each_persons_own_weight(people: pd.DataFrame) -> None:
    weights = {name: np.linalg.inv(table)[:, 1] for name, table in TABLES.items()}
    values = np.array([weights[a][z] for a, z in zip(people["arm"], people["y"], strict=True)])
    got = estimate(people["y"], people["arm"], designs=ARMS)
    assert got["Yes"].estimate == pytest.approx(values.mean(), abs=1e-12)
    assert got["Yes"].se == pytest.approx(values.std(ddof=1) / np.sqrt(len(values)), rel=1e-9)
    noise = {
        name: (table * w**2).sum(axis=1) - (table @ w) ** 2
        for (name, table), w in zip(TABLES.items(), weights.values(), strict=True)
    }
    shares = got.shares
    privacy = np.mean([shares @ noise[a] for a in people["arm"]]) / len(people)
    assert got["Yes"].se_privacy == pytest.approx(np.sqrt(privacy), rel=1e-9)
    assert np.isinf(got.epsilon)
    assert "asked directly" in got.epsilon_note
    counts = {name: np.bincount(people.loc[people["arm"] == name, "y"], minlength=2) for name in ARMS}
    assert estimate(counts, designs=ARMS)["Yes"] == got["Yes"]


def test_pooling_by_precision_is_more_precise_and_near_the_likeliest_share(people: pd.DataFrame) -> None:
    alike = estimate(people["y"], people["arm"], designs=ARMS)
    sharp = estimate(people["y"], people["arm"], designs=ARMS, pooling="precision")
    assert sharp["Yes"].se < 0.9 * alike["Yes"].se
    likeliest = logit("y ~ 1", people, "arm", designs=ARMS)
    assert special.expit(likeliest.coef[0]) == pytest.approx(sharp["Yes"].estimate, abs=0.005)
    assert special.expit(likeliest.coef[0]) == pytest.approx(alike.constrained().shares[1], abs=1e-6)
    assert any("same true shares" in note for note in alike.notes)


def test_designs_that_disagree_are_noticed() -> None:
    got = estimate({"direct": [900, 100], "weak": [300, 700]}, designs=ARMS)
    note = next(note for note in got.notes if "same true shares" in note)
    assert float(note.rsplit("p = ", 1)[1].rstrip(".")) < 1e-6


def test_one_design_for_all_is_the_plain_estimate() -> None:
    single = estimate({"weak": [600, 400]}, designs=ARMS)["Yes"]
    plain = estimate([600, 400], ARMS["weak"])["Yes"]
    assert (single.estimate, single.se, single.low, single.high) == pytest.approx(
        (plain.estimate, plain.se, plain.low, plain.high), rel=1e-9
    )


def test_logit_with_a_design_a_row_is_the_maximum(people: pd.DataFrame) -> None:
    got = logit("y ~ x", people, {"y": "arm"}, designs=ARMS)
    no, yes = (
        np.array([TABLES[a][t, z] for a, z in zip(people["arm"], people["y"], strict=True)]) for t in (0, 1)
    )
    x = people["x"].to_numpy()

    def negative(beta: np.ndarray) -> float:
        mu = special.expit(beta[0] + beta[1] * x)
        return -float(np.log(no * (1 - mu) + yes * mu).sum())

    best = brute(negative, np.zeros(2), [(None, None)] * 2)
    assert got.log_likelihood == pytest.approx(-best.fun, abs=1e-7)
    assert got.coef == pytest.approx(best.x, abs=1e-4)
    assert np.abs((got.coef - [-0.8, 0.7]) / got.se).max() < 4
    # The same door, other keys: values of the column, numbers for names, expected information.
    again = logit("y ~ x", people, {"y": people["arm"].to_numpy()}, designs=ARMS)
    assert again.coef == pytest.approx(got.coef, abs=1e-9)
    numbers = people.assign(arm=people["arm"].map({"direct": 0, "weak": 1, "strong": 2}))
    third = logit(
        "y ~ x", numbers, "arm", designs={0: None, 1: ARMS["weak"], 2: ARMS["strong"]}, information="expected"
    )
    assert third.coef == pytest.approx(got.coef, abs=1e-9)
    assert third.se == pytest.approx(got.se, rel=0.05)


def test_the_question_format_can_be_a_predictor(people: pd.DataFrame) -> None:
    """Is the prevalence higher when people are protected? The dummy of RRreg's direct-question group."""
    data = people.assign(asked=np.where(people["arm"] == "direct", "direct", "protected"))
    data.loc[(data["asked"] == "direct") & (np.arange(len(data)) % 2 == 0), "y"] = 0
    got = logit("y ~ x + asked", data, "arm", designs=ARMS).to_frame()
    assert got.loc["asked[T.protected]", "z"] > 4


def test_a_predictor_may_have_a_design_a_row(people: pd.DataFrame) -> None:
    rng = np.random.default_rng(8)
    data = people.assign(score=1.0 + 0.5 * people["truth"] + rng.normal(0, 0.7, len(people)))
    got = linear("score ~ y", data, {"y": "arm"}, designs=ARMS)
    assert np.abs((got.coef[:2] - [1.0, 0.5]) / got.se[:2]).max() < 4
    sharp = dict.fromkeys(ARMS)
    plain = linear("score ~ truth", data, {"truth": "arm"}, designs=sharp)
    exact = linear("score ~ truth", data, {})
    assert plain.coef[:2] == pytest.approx(exact.coef[:2], abs=1e-6)


def test_tables_and_comparisons_take_a_design_a_row(people: pd.DataFrame) -> None:
    weights = {name: np.linalg.inv(table)[:, 1] for name, table in TABLES.items()}
    values = np.array([weights[a][z] for a, z in zip(people["arm"], people["y"], strict=True)])
    table = crosstab(people, {"y": "arm"}, "g", "y", designs=ARMS)
    for group in ("a", "b"):
        expected = np.mean(values * (people["g"] == group))
        assert table.table().loc[group, 1] == pytest.approx(expected, abs=1e-12)
    assert table.constrained.sum() == pytest.approx(1.0)
    assert table.constrained == pytest.approx(table.estimate, abs=0.02)
    assert table.test.df == (3.0,)
    assert table.test.p_value < 1e-6
    difference = compare(people, "arm", "y", "g", designs=ARMS).differences[0]
    expected = values[people["g"] == "b"].mean() - values[people["g"] == "a"].mean()
    assert difference.difference == pytest.approx(expected, abs=1e-12)
    # A group that went through one design has that design's interval.
    arms = compare(people, "arm", "y", "arm", designs=ARMS).shares
    mine = people.loc[people["arm"] == "strong", "y"]
    alone = estimate(np.bincount(mine, minlength=2), ARMS["strong"])["Yes"]
    assert arms.loc[("strong", "Yes"), "interval"] == "wilson"
    assert arms.loc[("strong", "Yes"), "low"] == pytest.approx(alone.low, abs=1e-12)
    weighted = weighted_estimate(people, {"y": "arm"}, "y", weights="w", designs=ARMS)
    assert weighted.shares[1].estimate == pytest.approx(np.average(values, weights=people["w"]), abs=1e-12)


@pytest.mark.parametrize("repeats", [60, pytest.param(200, marks=pytest.mark.long)])
def test_who_got_which_design_is_no_association(repeats: int) -> None:
    """Designs that differ by group make reports depend on the group though the answers do not."""
    rng = np.random.default_rng(5)
    small = 0
    for _ in range(repeats):
        g = rng.integers(0, 2, 800)
        truth = (rng.random(800) < 0.2).astype(int)
        arm = np.where(rng.random(800) < np.where(g == 1, 0.8, 0.2), "direct", "strong")
        data = pd.DataFrame({"g": g, "arm": arm, "y": randomized(truth, arm, rng)})
        small += crosstab(data, {"y": "arm"}, "g", "y", designs=ARMS).test.p_value < 0.05
    assert 0.01 <= small / repeats <= 0.1


def test_a_sample_design_beside_designs_a_row_keeps_the_test_of_independence(people: pd.DataFrame) -> None:
    """There was none, and no word of it."""
    rng = np.random.default_rng(6)
    small = 0
    for _ in range(100):
        arm = rng.choice(["direct", "strong"], 500)
        y = randomized((rng.random(500) < 0.3).astype(int), arm, rng)
        data = pd.DataFrame({"g": rng.integers(0, 3, 500), "arm": arm, "y": y, "w": rng.gamma(2, 1, 500)})
        test = crosstab(data, {"y": "arm"}, "g", "y", designs=ARMS, weights="w").test
        assert test is not None
        small += test.p_value < 0.05
    assert small <= 12
    weighted_test = crosstab(people, {"y": "arm"}, "g", "y", designs=ARMS, weights="w").test
    assert weighted_test is not None
    assert weighted_test.method == "Wald F"
    assert weighted_test.p_value < 0.01


def test_surveys_as_designs_are_waves() -> None:
    def wave(epsilon: float) -> Survey:
        return Survey.from_draft(
            {
                "hushpoll": 1,
                "title": "T",
                "questions": [
                    {
                        "id": "cheated",
                        "kind": "yes_no",
                        "text": "?",
                        "mechanism": {"name": "warner", "epsilon": epsilon},
                    }
                ],
            }
        )

    waves = {2023: wave(1), 2024: wave(2)}
    rng = np.random.default_rng(2)
    frames = []
    for year, survey in waves.items():
        truth = (rng.random(2000) < 0.3).astype(int)
        table = np.array(survey.questions[0].mechanism.analysis.rows) / SCALE
        frames.append(
            pd.DataFrame({"year": year, "cheated_reported": (rng.random(2000) < table[truth, 1]).astype(int)})
        )
    data = pd.concat(frames, ignore_index=True)
    got = compare(data, "year", "cheated", "year", designs=waves)
    alone = [
        report(waves[year], frame)["cheated"].estimate["Yes"]
        for year, frame in zip(waves, frames, strict=True)
    ]
    assert got.shares["estimate"].to_list() == pytest.approx([entry.estimate for entry in alone], abs=1e-12)
    line = trend(
        {year: report(survey, frame) for (year, survey), frame in zip(waves.items(), frames, strict=True)},
        question="cheated",
    )
    assert line.slope == pytest.approx(alone[1].estimate - alone[0].estimate)
    assert line.slope == pytest.approx(got.differences[0].difference)
    assert logit("cheated ~ C(year)", data, "year", designs=waves).n == 4000


# Unknown shares of the design. -----------------------------------------------------------------------------------


def two_groups(n: int, seed: int, chance) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    x, group = rng.standard_normal(n), rng.integers(1, 3, n)
    pi = special.expit(-0.7 + 0.6 * x)
    return pd.DataFrame({"x": x, "group": group, "y": (rng.random(n) < chance(pi, group, rng)).astype(int)})


DECOY = {1: asks_unknown_decoy("0.7"), 2: asks_unknown_decoy("0.3")}
CHEATING = {1: detects_cheating(0.25), 2: detects_cheating(0.75)}
SYMMETRIC = {1: detects_cheating(0.2, 0.1), 2: detects_cheating(0.6, 0.2)}
LIES = {1: detects_lies(0.2), 2: detects_lies(0.8)}
CASES = [
    ("decoy", DECOY, 0.4, lambda p, s, g: np.array([0.7, 0.3])[g - 1] * p + np.array([0.3, 0.7])[g - 1] * s),
    ("cheating", CHEATING, 0.15, lambda p, s, g: p + (1 - p - s) * np.array([0.25, 0.75])[g - 1]),
    (
        "cheating",
        SYMMETRIC,
        0.1,
        lambda p, s, g: p * np.array([0.9, 0.8])[g - 1] + (1 - p - s) * np.array([0.2, 0.6])[g - 1],
    ),
    ("admitting", LIES, 0.7, lambda p, s, g: p * s + (1 - p) * np.array([0.8, 0.2])[g - 1]),
]


@pytest.mark.parametrize(("name", "designs", "share", "chance"), CASES)
def test_an_unknown_share_is_estimated_beside_the_coefficients(name, designs, share: float, chance) -> None:
    data = two_groups(6000, 11, lambda p, g, rng: chance(p, share, g))
    got = logit("y ~ x", data, "group", designs=designs)
    x, y, g = data["x"].to_numpy(), data["y"].to_numpy(), data["group"].to_numpy()

    def negative(theta: np.ndarray) -> float:
        yes = chance(special.expit(theta[0] + theta[1] * x), theta[2], g)
        with np.errstate(invalid="ignore", divide="ignore"):
            value = -float(np.log(np.where(y == 1, yes, 1 - yes)).sum())
        return value if np.isfinite(value) else 1e10

    best = brute(negative, np.array([-0.5, 0.5, 0.5]), [(None, None), (None, None), (0, 1)])
    assert got.names == ("Intercept", "x", name)
    assert got.log_likelihood == pytest.approx(-best.fun, abs=1e-5)
    assert got.coef == pytest.approx(best.x, abs=2e-3)
    assert np.abs((got.coef - [-0.7, 0.6, share]) / got.se).max() < 4
    # Standard errors are those of the Hessian on the scale that people read.
    step = 1e-4
    hessian = np.empty((3, 3))
    for i in range(3):
        for j in range(3):
            moves = [
                np.eye(3)[i] * a * step + np.eye(3)[j] * b * step
                for a, b in ((1, 1), (1, -1), (-1, 1), (-1, -1))
            ]
            f = [negative(got.coef + move) for move in moves]
            hessian[i, j] = (f[0] - f[1] - f[2] + f[3]) / (4 * step**2)
    assert got.se == pytest.approx(np.sqrt(np.diag(np.linalg.inv(hessian))), rel=1e-3)
    assert name in got.summary()


@pytest.mark.parametrize(
    ("name", "designs", "alone", "counts"),
    [
        ("decoy", DECOY, lambda c: unrelated_two_groups(c, truth=(0.7, 0.3)), [(340, 160), (285, 215)]),
        (
            "cheating",
            CHEATING,
            lambda c: cheating_detection(c, forced_yes=(0.25, 0.75)),
            [(300, 200), (180, 320)],
        ),
        ("admitting", LIES, lambda c: lie_detection(c, truth=(0.2, 0.8)), [(150, 350), (330, 170)]),
    ],
)
def test_without_predictors_it_is_the_two_group_design(name, designs, alone, counts) -> None:
    frames = [pd.DataFrame({"group": g, "y": [0] * no + [1] * yes}) for g, (no, yes) in enumerate(counts, 1)]
    data, expected = pd.concat(frames, ignore_index=True), alone(counts)
    got = logit("y ~ 1", data, "group", designs=designs)
    share = special.expit(got.coef[0])
    assert share == pytest.approx(expected["share"].estimate, abs=1e-5)
    assert got.coef[1] == pytest.approx(expected[name].estimate, abs=1e-5)
    # The two-group formulas divide by n - 1.
    assert got.se[0] * share * (1 - share) == pytest.approx(expected["share"].se, rel=3e-3)
    assert got.se[1] == pytest.approx(expected[name].se, rel=3e-3)


def test_rrreg_decoy_share_of_the_golden_counts() -> None:
    golden = GOLDEN["uqtunknown_1"]["output"]
    frames = [
        pd.DataFrame({"group": 1, "y": [1] * 160 + [0] * 340}),
        pd.DataFrame({"group": 2, "y": [1] * 215 + [0] * 285}),
    ]
    got = logit("y ~ 1", pd.concat(frames), "group", designs=DECOY)
    assert special.expit(got.coef[0]) == pytest.approx(golden["pi"], abs=1e-6)
    assert got.coef[1] == pytest.approx(golden["piUQ"], abs=1e-6)


def test_people_asked_directly_join_a_design_with_an_unknown() -> None:
    data = two_groups(4000, 4, lambda p, g, rng: CASES[1][3](p, 0.15, g))
    rng = np.random.default_rng(1)
    extra = pd.DataFrame({"x": rng.standard_normal(2000), "group": 0})
    extra["y"] = (rng.random(2000) < special.expit(-0.7 + 0.6 * extra["x"])).astype(int)
    both = pd.concat([data, extra], ignore_index=True)
    alone = logit("y ~ x", data, "group", designs=CHEATING)
    more = logit("y ~ x", both, "group", designs={0: None, **CHEATING})
    assert more.se[1] < alone.se[1]
    assert np.abs((more.coef - [-0.7, 0.6, 0.15]) / more.se).max() < 4


def test_a_share_at_its_edge_is_held_there_and_said() -> None:
    data = two_groups(3000, 8, lambda p, g, rng: CASES[1][3](p, -0.04, g))
    got = logit("y ~ x", data, "group", designs=CHEATING)
    assert got.coef[2] == pytest.approx(0.0, abs=1e-9)
    assert np.isnan(got.se[2])
    assert np.isfinite(got.se[:2]).all()
    assert any("at its edge, 0" in note for note in got.notes)
    plain = logit(
        "y ~ x",
        data,
        "group",
        designs={1: mechanisms.forced(["0", "0.25"]), 2: mechanisms.forced(["0", "0.75"])},
    )
    assert got.coef[:2] == pytest.approx(plain.coef, abs=1e-6)
    assert got.se[:2] == pytest.approx(plain.se, rel=1e-4)
    assert json.dumps(got.to_dict())
    assert got.predict(pd.DataFrame({"x": [0.0]}))["se"].notna().all()


def test_one_group_does_not_determine_an_unknown_share() -> None:
    data = two_groups(500, 3, lambda p, g, rng: CASES[0][3](p, 0.4, g)).query("group == 1")
    with pytest.raises(NotIdentifiedError):
        logit("y ~ 1", data, "group", designs=DECOY, penalty="none")


@pytest.mark.long
@pytest.mark.parametrize(("name", "designs", "share", "chance"), CASES)
def test_coverage_with_an_unknown_share(name, designs, share: float, chance) -> None:
    inside, repetitions, truth = np.zeros(3), 1000, np.array([-0.7, 0.6, share])
    for seed in range(repetitions):
        data = two_groups(3000, 1000 + seed, lambda p, g, rng: chance(p, share, g))
        frame = logit("y ~ x", data, "group", designs=designs).to_frame(everything=True)
        inside += (frame["low"].to_numpy() <= truth) & (truth <= frame["high"].to_numpy())
    print(f"{name}: {inside / repetitions}")
    assert (inside / repetitions).min() > 0.93
    assert (inside / repetitions).max() < 0.975


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda d: logit("y ~ x", d, {"y": "arm"}), "give designs="),
        (lambda d: logit("y ~ x", d, {"y": "nobody"}, designs=ARMS), "no column 'nobody' of designs"),
        (lambda d: logit("y ~ x", d, {"y": "arm"}, designs={"direct": None}), "nothing is given for"),
        (lambda d: logit("y ~ x", d, {"y": "arm"}, designs={**ARMS, "weak": 3}), "is a int"),
        (lambda d: logit("y ~ x", d, {"y": ["weak"]}, designs=ARMS), "1 names of designs for 3000"),
        (lambda d: logit("y ~ x", d.assign(arm=None), {"y": "arm"}, designs=ARMS), "no name of a design"),
        (lambda d: logit("y ~ x", d, ARMS["weak"], designs=ARMS), "a column of their names"),
        (lambda d: crosstab(d, "arm", "g", "y", designs=ARMS), "name the randomized column"),
        (lambda d: crosstab([[1, 2], [3, 4]], {"y": "arm"}, "g", "y", designs=ARMS), "table of respondents"),
        (lambda d: compare(d.assign(y=d["y"] + 1), "arm", "y", "g", designs=ARMS), "not report codes"),
        (
            lambda d: compare(d, "arm", "y", "g", designs={**ARMS, "weak": mechanisms.krr(3, 1)}),
            "different numbers",
        ),
        (
            lambda d: compare(d, "arm", "y", "g", designs=dict.fromkeys(ARMS, DECOY[1])),
            "only logit can estimate",
        ),
        (lambda d: estimate(d["y"], designs=ARMS), "tell which row used which"),
        (lambda d: estimate(d["y"], d["arm"], designs=ARMS, pooling="best"), "pooling"),
        (lambda d: estimate({"weak": [1, 2]}, ARMS["weak"], designs=ARMS), "leave the second argument out"),
        (lambda d: estimate({"weak": "many"}, designs=ARMS), "whole numbers"),
        (lambda d: detects_cheating(0.6, 0.6), "more than 1"),
        (lambda d: detects_lies("many"), "give a probability"),
        (lambda d: asks_unknown_decoy(1.2), "from 0 to 1"),
    ],
)
def test_odd_designs_are_explained(people: pd.DataFrame, call, message: str) -> None:
    with pytest.raises(AnalysisError, match=message):
        call(people)


# Trends. ---------------------------------------------------------------------------------------------------------


def test_a_trend_is_weighted_least_squares() -> None:
    import statsmodels.api as sm

    waves = {
        2020: estimate([700, 300], ARMS["strong"]),
        2021: estimate([650, 350], ARMS["weak"]),
        2023: estimate([1200, 800], ARMS["weak"]),
    }
    got = trend(waves)
    values = np.array([wave["Yes"].estimate for wave in waves.values()])
    errors = np.array([wave["Yes"].se for wave in waves.values()])
    peer = sm.WLS(values, sm.add_constant(np.array([2020.0, 2021.0, 2023.0])), weights=errors**-2).fit(
        cov_type="fixed scale"
    )
    # The package weights waves by their variances at one common share, which here differ little from their own.
    assert got.slope == pytest.approx(peer.params[1], rel=0.05)
    assert got.slope_se == pytest.approx(peer.bse[1], rel=0.05)
    frame = got.to_frame()
    assert frame.index.to_list() == [2020, 2021, 2023]
    assert np.isnan(frame.loc[2020, "change"])
    assert frame.loc[2021, "change"] == pytest.approx(values[1] - values[0])
    assert frame.loc[2021, "change_low"] < frame.loc[2021, "change"] < frame.loc[2021, "change_high"]
    assert got.bent_p is not None
    assert json.loads(json.dumps(got.to_dict()))["option"] == "Yes"
    assert "2021" in got._repr_html_()


@pytest.mark.parametrize("repeats", [100, pytest.param(400, marks=pytest.mark.long)])
def test_a_trend_holds_its_level(repeats: int) -> None:
    rng = np.random.default_rng(6)
    flat = bent = covered = 0
    for _ in range(repeats):
        waves = []
        for share, arm in ((0.2, "strong"), (0.2, "weak"), (0.2, "strong"), (0.2, "weak")):
            chance = TABLES[arm][0, 1] + share * (TABLES[arm][1, 1] - TABLES[arm][0, 1])
            yes = rng.binomial(600, chance)
            waves.append(estimate([600 - yes, yes], ARMS[arm]))
        got = trend(waves)
        flat += got.changed_p < 0.05
        bent += got.bent_p < 0.05
        covered += got.slope_low <= 0.0 <= got.slope_high
    # Three standard errors around 5 % and 95 %.
    three_errors = 3 * np.sqrt(0.05 * 0.95 / repeats)
    assert abs(flat / repeats - 0.05) <= three_errors
    assert abs(bent / repeats - 0.05) <= three_errors
    assert covered / repeats >= 0.95 - three_errors


@pytest.mark.parametrize(
    ("waves", "options", "message"),
    [
        ([estimate([60, 40], ARMS["weak"])], {}, "at least two waves"),
        ("both", {}, "list of results"),
        ([1, 2], {}, "a wave is a int"),
        ([estimate([60, 40], ARMS["weak"])] * 2, {"option": "Maybe"}, "no answer 'Maybe'"),
        ([estimate([60, 40], ARMS["weak"])] * 2, {"times": [1]}, "1 times for 2 waves"),
        ([estimate([60, 40], ARMS["weak"])] * 2, {"times": [2, 1]}, "increase"),
        ([estimate([60, 40, 50], mechanisms.krr(3, 1))] * 2, {}, "several answers"),
    ],
)
def test_odd_trends_are_explained(waves, options, message: str) -> None:
    with pytest.raises(AnalysisError, match=message):
        trend(waves, **options)


def test_names_of_designs_are_read_by_the_labels_of_their_rows(people: pd.DataFrame) -> None:
    shuffled = people["arm"].sample(frac=1, random_state=2)
    expected = estimate(people["y"], people["arm"], designs=ARMS)["Yes"].estimate
    assert estimate(people["y"], shuffled, designs=ARMS)["Yes"].estimate == expected
    by_name = logit("y ~ x", people, "arm", designs=ARMS).coef
    assert logit("y ~ x", people, {"y": shuffled}, designs=ARMS).coef == pytest.approx(by_name)


def test_a_report_that_does_not_fit_is_named_plainly(people: pd.DataFrame) -> None:
    with pytest.raises(AnalysisError, match="the first is 2 in row"):
        weighted_estimate(people.assign(y=people["y"] + 1), {"y": ARMS["weak"]}, "y")


@pytest.mark.parametrize(
    "designs",
    [
        {"a": detects_cheating(0.25), "b": detects_cheating(0.25)},
        {"a": detects_cheating(0.2, 0.2), "b": detects_cheating(0.1, 0.6)},
        {"a": asks_unknown_decoy(0.6), "b": asks_unknown_decoy("3/5")},
        {"a": detects_lies(0.7), "b": detects_lies(0.7)},
        {"a": detects_cheating(0.25), "b": detects_lies(0.7)},
    ],
)
def test_designs_that_leave_their_unknown_open_are_refused(designs: dict[str, object]) -> None:
    """A predictor would hold such a model by the shape of its curve alone: all cheat, and most have the trait."""
    rng = np.random.default_rng(2)
    data = pd.DataFrame({"g": ["a", "b"] * 200, "x": rng.normal(size=400), "y": rng.integers(0, 2, 400)})
    with pytest.raises(NotIdentifiedError, match="asked in too few ways to tell the unknown share"):
        logit("y ~ x", data, "g", designs=designs)


def test_one_group_alone_does_not_tell_an_unknown_share() -> None:
    data = pd.DataFrame({"g": "a", "x": np.linspace(-1, 1, 100), "y": [0, 1] * 50})
    designs = {"a": detects_cheating(0.25), "b": detects_cheating(0.75)}
    with pytest.raises(NotIdentifiedError, match="too few ways"):
        logit("y ~ x", data, "g", designs=designs)


def test_counts_of_a_design_are_named_as_those_of_one_mechanism() -> None:
    first, second = mechanisms.warner(1.0), mechanisms.warner(2.0)
    by_name = {"first": {"No": 70, "Yes": 30}, "second": {"Yes": 60, "No": 140}}
    in_order = {"first": [70, 30], "second": [140, 60]}
    designs = {"first": first, "second": second}
    assert estimate(by_name, designs=designs) == estimate(in_order, designs=designs)
    three = mechanisms.krr(3, 1.0)
    counts = {"one": {"a": 5, "c": 9, "b": 6}}
    result = estimate(counts, designs={"one": three}, options=["a", "b", "c"])
    assert result.counts == (5, 6, 9)
    with pytest.raises(AnalysisError, match=r"the key 'Perhaps' is not a report code .* No, Yes"):
        estimate({"first": {"No": 70, "Perhaps": 30}}, designs=designs)
