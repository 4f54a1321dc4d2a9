"""What stays hidden, put to use: posteriors, imputations, sum scores, ratios, power of differences."""

from __future__ import annotations

import json
import math

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
from hushpoll_analysis import (
    answers_for_difference,
    estimate,
    impute,
    linear,
    logit,
    ordinal,
    power_of_difference,
    rubin,
    sum_score,
    weighted_estimate,
)
from hushpoll_analysis.errors import AnalysisError
from hushpoll_analysis.interval.blaker import Blaker
from hushpoll_client import mechanisms
from hushpoll_client.channel import SCALE
from hushpoll_client.cli import main
from scipy import special

COIN = mechanisms.warner(epsilon=2)
TABLE = np.array(COIN.analysis.rows) / SCALE


def reports_of(truth: np.ndarray, mechanism: mechanisms.Mechanism, rng: np.random.Generator) -> np.ndarray:
    edges = np.cumsum(np.array(mechanism.analysis.rows) / SCALE, axis=1)
    return (rng.random(len(truth))[:, None] > edges[truth]).sum(axis=1).clip(max=edges.shape[1] - 1)


@pytest.fixture(scope="module")
def people() -> pd.DataFrame:
    rng = np.random.default_rng(6)
    n = 3000
    x = rng.standard_normal(n)
    truth = (rng.random(n) < special.expit(-0.5 + x)).astype(int)
    t = (rng.random(n) < special.expit(0.5 * x)).astype(int)
    score = 1.0 + 0.8 * t + 0.3 * x + rng.normal(0, 1, n)
    return pd.DataFrame(
        {
            "x": x,
            "truth": truth,
            "y": reports_of(truth, COIN, rng),
            "t": reports_of(t, COIN, rng),
            "score": score,
        }
    )


def test_a_posterior_is_bayes_rule(people: pd.DataFrame) -> None:
    fit = logit("y ~ x", people, {"y": COIN})
    got = fit.posterior()
    mu = special.expit(fit.coef[0] + fit.coef[1] * people["x"])
    yes = mu * TABLE[1][people["y"]]
    assert got[1].to_numpy() == pytest.approx(
        (yes / (yes + (1 - mu) * TABLE[0][people["y"]])).to_numpy(), abs=1e-9
    )
    assert got.sum(axis=1).to_numpy() == pytest.approx(1.0)
    # Calibrated: among people with a chance near .8, about .8 have the trait.
    high = got[1] > 0.7
    assert people.loc[high.to_numpy(), "truth"].mean() == pytest.approx(got.loc[high, 1].mean(), abs=0.05)
    both = linear("score ~ t + x", people, {"t": COIN})
    assert both.posterior("t").sum(axis=1).to_numpy() == pytest.approx(1.0)
    with pytest.raises(AnalysisError, match="not randomized"):
        both.posterior()
    with pytest.raises(AnalysisError, match="not a randomized column"):
        both.posterior("x")


def test_imputations_give_the_fit_back(people: pd.DataFrame) -> None:
    fit = logit("y ~ x", people, {"y": COIN})
    tables = impute(fit, 60, data=people, seed=3)
    assert len(tables) == 60
    assert tables[0] is next(iter(tables))

    def analyse(frame: pd.DataFrame) -> tuple[np.ndarray, np.ndarray]:
        fit = sm.Logit(frame["y"].to_numpy(), sm.add_constant(frame["x"].to_numpy())).fit(disp=0)
        return fit.params, fit.bse**2

    pooled = tables.combine(analyse, ["Intercept", "x"])
    assert np.abs(pooled.estimate - fit.coef).max() < 0.03
    assert pooled.se == pytest.approx(fit.se, rel=0.2)
    assert (pooled.fraction_missing > 0.2).all()
    frame = tables.to_frame()
    assert {"imputation", "row", "x", "y", "score"} <= set(frame.columns)
    assert len(frame) == 60 * len(people)
    assert pooled.to_frame().loc["x", "low"] < 1.0 < pooled.to_frame().loc["x", "high"]
    again = impute(fit, 2, seed=3)
    assert again.frames[0].equals(impute(fit, 2, seed=3).frames[0])


def test_a_hidden_predictor_is_imputed_with_the_outcome(people: pd.DataFrame) -> None:
    fit = linear("score ~ t + x", people, {"t": COIN})
    tables = impute(fit, 40, seed=5)

    def analyse(frame: pd.DataFrame) -> tuple[np.ndarray, np.ndarray]:
        x = np.column_stack([np.ones(len(frame)), frame["t"], frame["x"]]).astype(float)
        fit = sm.OLS(people["score"].to_numpy(), x).fit()
        return fit.params, fit.bse**2

    pooled = tables.combine(analyse)
    assert np.abs((pooled.estimate - [1.0, 0.8, 0.3]) / pooled.se).max() < 4
    assert pooled.se[1] == pytest.approx(fit.se[1], rel=0.25)


def test_ordered_answers_are_imputed() -> None:
    rng = np.random.default_rng(9)
    x = rng.standard_normal(1500)
    four = mechanisms.krr(options=4, epsilon=3)
    truth = np.searchsorted([-1, 0, 1], x + rng.logistic(size=1500))
    fit = ordinal("y ~ x", pd.DataFrame({"x": x, "y": reports_of(truth, four, rng)}), {"y": four})
    shares = np.mean(
        [np.bincount(frame["y"], minlength=4) / 1500 for frame in impute(fit, 20, seed=1)], axis=0
    )
    assert shares == pytest.approx(np.bincount(truth, minlength=4) / 1500, abs=0.05)


def test_rubins_rules_by_hand() -> None:
    got = rubin([[1.0], [2.0], [3.0]], [[0.5], [0.5], [0.5]])
    assert got.estimate[0] == 2.0
    assert got.se[0] == pytest.approx(np.sqrt(0.5 + 4 / 3))
    assert got.degrees_of_freedom[0] == pytest.approx(2 * (1 + 0.5 / (4 / 3)) ** 2)
    with pytest.raises(AnalysisError, match="two imputations"):
        rubin([[1.0]], [[1.0]])
    for odd in (-0.1, math.nan, math.inf):
        with pytest.raises(AnalysisError, match="variances") as refused:
            rubin([[1.0], [1.1]], [[odd], [0.1]])
        assert "0 or more" in refused.value.remedy


def test_a_sum_score_adds_its_items() -> None:
    rng = np.random.default_rng(4)
    n = 4000
    trait = rng.standard_normal(n)
    three = mechanisms.krr(options=3, epsilon=2)
    truths = {k: (trait + rng.normal(0, 1, n) > 0.3 * i).astype(int) for i, k in enumerate("ab")}
    truths["c"] = np.digitize(trait + rng.normal(0, 1, n), [-0.5, 0.8])
    how = {"a": COIN, "b": COIN, "c": three}
    data = pd.DataFrame({name: reports_of(truth, how[name], rng) for name, truth in truths.items()})
    got = sum_score(data, how, ["a", "b", "c"])
    sums = sum(truths.values())
    parts = [weighted_estimate(data, how, name) for name in "abc"]
    expected = sum(code * share.estimate for item in parts for code, share in enumerate(item.shares))
    assert got.mean == pytest.approx(expected, abs=1e-12)
    assert abs(got.mean - sums.mean()) < 4 * got.se
    assert got.sd == pytest.approx(sums.std(), rel=0.15)
    items = np.stack(list(truths.values()), axis=1)
    alpha = 1.5 * (1 - items.var(axis=0).sum() / sums.var())
    assert got.reliability == pytest.approx(alpha, abs=0.1)
    doubled = sum_score(data, how, ["a", "b", "c"], values={"a": [0, 2]})
    assert doubled.mean > got.mean
    census = sum_score(data, how, ["a", "b", "c"], population=n)
    assert census.se < got.se
    assert json.dumps(got.to_dict())
    for wrong, message in ((["a"], "two items"), (["a", "z"], "no column 'z'")):
        with pytest.raises(AnalysisError, match=message):
            sum_score(data, how, wrong)
    with pytest.raises(AnalysisError, match="give one for each"):
        sum_score(data, how, ["a", "b"], values={"a": [1]})


def test_a_sum_score_covers() -> None:
    rng = np.random.default_rng(14)
    inside = 0
    for _ in range(400):
        truths = [(rng.random(300) < p).astype(int) for p in (0.2, 0.4)]
        data = pd.DataFrame({"a": reports_of(truths[0], COIN, rng), "b": reports_of(truths[1], COIN, rng)})
        got = sum_score(data, {"a": COIN, "b": COIN}, ["a", "b"])
        inside += got.low <= 0.6 <= got.high
    assert 0.92 <= inside / 400 <= 0.98


def test_a_ratio_within_a_question() -> None:
    three = mechanisms.krr(options=3, epsilon=2)
    names = ["No", "Yes", "Declined"]
    result = estimate([500, 300, 200], three, options=names)
    got = result.ratio(["Yes"], ["No", "Yes"])
    h = [share.estimate for share in result.estimates]
    assert got.estimate == pytest.approx(h[1] / (h[0] + h[1]))
    v = result.covariance()
    slope = np.array([-h[1], h[0], 0.0]) / (h[0] + h[1]) ** 2
    assert got.se == pytest.approx(np.sqrt(slope @ v @ slope), rel=1e-6)
    assert got.low < got.estimate < got.high
    assert (got.shown.low, got.shown.high, got.misfit) == (got.low, got.high, None)
    assert json.dumps(got.to_dict())
    for call, message in (
        (lambda: result.ratio(["Maybe"], ["No"]), "not an answer"),
        (lambda: result.ratio(["Yes"], ["No"]), "not all among"),
        (lambda: estimate([20, 20, 20], three, options=names).ratio(["No"], ["No"]).low, ""),
    ):
        if message:
            with pytest.raises(AnalysisError, match=message):
                call()
    # To refuse where the share below is not clear of 0 would leave the others as a selection that covers too rarely.
    faint = estimate([10, 10, 180], three, options=names).ratio(["Yes"], ["No", "Yes"])
    assert (faint.low, faint.high) == (-np.inf, np.inf)


@pytest.mark.parametrize(("counts", "edge"), [([500, 0, 0], 0.0), ([0, 500, 0], 1.0)])
def test_a_ratio_of_equal_reports_is_shown_where_it_can_be(counts: list[int], edge: float) -> None:
    """The interval lies beyond 0 or 1: the design makes other reports by chance, and there are none."""
    result = estimate(counts, mechanisms.krr(options=3, epsilon=4), options=["No", "Yes", "Declined"])
    got = result.ratio(["Yes"], ["No", "Yes"])
    assert not got.low <= edge <= got.high
    assert got.shown.estimate == edge
    assert 0.0 <= got.shown.low < got.shown.high <= 1.0
    assert got.shown.high - got.shown.low > 0.003
    assert got.misfit is not None
    assert got.misfit < 0.001
    assert json.dumps(got.to_dict())


@pytest.mark.parametrize("samples", [60, pytest.param(200, marks=pytest.mark.long)])
def test_ratios_cover_at_the_edges(samples: int) -> None:
    rng = np.random.default_rng(3)
    three = mechanisms.krr(options=3, epsilon=2)
    table = np.array(three.analysis.rows) / SCALE
    for h in ([0.6, 0.1, 0.3], [0.75, 0.0, 0.25]):
        inside = 0
        for _ in range(samples):
            result = estimate(
                rng.multinomial(600, np.array(h) @ table), three, options=["No", "Yes", "Declined"]
            )
            got = result.ratio(["Yes"], ["No", "Yes"])
            inside += got.low <= h[1] / (h[0] + h[1]) <= got.high
        assert inside / samples >= 0.95 - 2 * np.sqrt(0.05 * 0.95 / samples)


def test_answers_for_a_difference(capsys: pytest.CaptureFixture[str]) -> None:
    first, second = answers_for_difference(COIN, 0.8, (0.1, 0.2))
    assert first == second
    assert power_of_difference(COIN, (first, second), (0.1, 0.2)) >= 0.8
    assert power_of_difference(COIN, (first - 1, second - 1), (0.1, 0.2)) < 0.8
    smaller, larger = answers_for_difference(COIN, 0.8, (0.1, 0.2), ratio=2.0)
    assert larger == 2 * smaller
    assert smaller < first < larger
    rng = np.random.default_rng(2)
    seen = 0
    for _ in range(400):
        z = []
        for share, n in ((0.1, first), (0.2, second)):
            yes = rng.binomial(n, TABLE[0, 1] + share * (TABLE[1, 1] - TABLE[0, 1]))
            z.append(estimate([n - yes, yes], COIN)["Yes"])
        seen += abs(z[1].estimate - z[0].estimate) / np.hypot(z[0].se, z[1].se) > 1.96
    assert 0.74 <= seen / 400 <= 0.86
    base = ["power", "--mechanism=warner", "--epsilon=2", "--share=.1"]
    for extra, check in (
        (["--other=.2", "--power=.8", "--json"], lambda out: json.loads(out)["n"] == [first, second]),
        (["--null=.05", "--n=1000", "--json"], lambda out: 0 < json.loads(out)["power"] < 1),
        (["--null=.05", "--power=.9"], lambda out: "answers tell 0.1 from 0.05" in out),
    ):
        with pytest.raises(SystemExit) as ended:
            main([*base, *extra])
        assert not ended.value.code
        assert check(capsys.readouterr().out)
    with pytest.raises(SystemExit) as ended:
        main(base)
    assert ended.value.code == 2
    for wrong in ((1.2, (0.1, 0.2), 1.0), (0.8, (0.1, 0.1), 1.0), (0.8, (0.1, 0.2), 0.0)):
        with pytest.raises(AnalysisError):
            answers_for_difference(COIN, wrong[0], wrong[1], ratio=wrong[2])


@pytest.mark.parametrize("ratio", ["0", "-3", "inf", "nan"])
@pytest.mark.parametrize("option", ["--n=10", "--power=.8"])
def test_power_refuses_a_ratio_that_is_no_size(
    ratio: str, option: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """With --n it gave the second group two people, without a word."""
    with pytest.raises(SystemExit) as ended:
        main(
            [
                "power",
                "--mechanism=warner",
                "--epsilon=2",
                "--share=.1",
                "--other=.3",
                option,
                f"--ratio={ratio}",
            ]
        )
    assert ended.value.code == 2
    output = capsys.readouterr()
    assert not output.out
    assert output.err.startswith(f"hushpoll: ratio is {ratio}; ")
    assert output.err.count("\n") == 1


def test_odd_imputations_are_explained(people: pd.DataFrame) -> None:
    fit = logit("y ~ x", people, {"y": COIN})
    for call, message in (
        (lambda: impute(fit, 0), "number of completed tables"),
        (lambda: impute(logit("truth ~ x", people, {})), "nothing is hidden"),
        (lambda: impute(fit, data=people.head(3)), "3 rows"),
    ):
        with pytest.raises(AnalysisError, match=message):
            call()


def test_a_score_carries_the_error_of_a_counted_decoy() -> None:
    rng = np.random.default_rng(3)
    data = pd.DataFrame({"a": rng.integers(0, 2, 500), "b": rng.integers(0, 2, 500)})
    coin = mechanisms.warner(epsilon=2)
    got = sum_score(data, {"a": mechanisms.or_poll(decoy_counts=(60, 200)), "b": coin}, ["a", "b"])
    exact = sum_score(data, {"a": mechanisms.or_poll(decoy_share="0.3"), "b": coin}, ["a", "b"])
    assert got.mean == pytest.approx(exact.mean, abs=1e-12)
    # The mean of a is (z - q)/(1 - q), so it moves by (z - 1)/(1 - q)^2 with q.
    slope = (data["a"].mean() - 1) / 0.7**2
    assert got.se == pytest.approx(np.sqrt(exact.se**2 + slope**2 * 0.3 * 0.7 / 200), rel=1e-9)


def test_a_sum_score_of_equal_reports_says_that_its_error_says_nothing() -> None:
    coin = mechanisms.warner(truth="3/4")
    data = pd.DataFrame({"a": [0] * 20, "b": [0] * 20})
    score = sum_score(data, {"a": coin, "b": coin}, ["a", "b"])
    assert score.se == 0
    assert "says nothing; the interval holds" in score.note
    # Nobody of 20 said Yes: by Blaker's limits up to 16.0 % would, and nobody knows how the two items go together.
    assert score.high == pytest.approx(2 * (Blaker().of(0, 20, 0.95)[1] - 0.25) / 0.5)
    assert score.low == score.mean
    assert "says nothing" in score._repr_html_()
    assert sum_score(data.assign(a=[0, 1] * 10), {"a": coin, "b": coin}, ["a", "b"]).note == ""


def test_impute_takes_the_table_with_the_rows_that_were_left_out() -> None:
    rng = np.random.default_rng(2)
    coin = mechanisms.warner(epsilon=2)
    people = pd.DataFrame({"y": rng.integers(0, 2, 300), "x": rng.normal(size=300), "town": np.arange(300)})
    people.loc[[3, 70, 299], "x"] = np.nan
    people.loc[[5, 70], "y"] = np.nan
    fit = logit("y ~ x", people, {"y": coin}, na_action="omit")
    (completed,) = impute(fit, 1, data=people, seed=1)
    complete = people.dropna()
    assert completed.index.equals(complete.index)
    assert completed["town"].equals(complete["town"])
    assert completed["x"].equals(complete["x"])
    assert completed["y"].isin(["No", "Yes", 0, 1]).all()
    with pytest.raises(AnalysisError, match="give the table that was fitted"):
        impute(fit, 1, data=people.fillna(0.0), seed=1)  # nobody lacks a value there


def test_imputed_rows_are_matched_by_their_names(people: pd.DataFrame) -> None:
    fit = logit("y ~ x", people, {"y": COIN})
    (imputed,) = impute(fit, 1, data=people, seed=3)
    shuffled = people.sort_values("score")
    (other,) = impute(fit, 1, data=shuffled, seed=3)
    assert other.index.equals(shuffled.index), "rows come back in the order of the data"
    assert other.loc[imputed.index].equals(imputed)
    assert other["score"].corr(other["y"]) == pytest.approx(imputed["score"].corr(imputed["y"]))


def test_rows_that_cannot_be_matched_are_refused(people: pd.DataFrame) -> None:
    fit = logit("y ~ x", people, {"y": COIN})
    renumbered = people.sort_values("x").reset_index(drop=True)
    with pytest.raises(AnalysisError, match=r"other rows than the fit.*'x'.*give the table that was fitted"):
        impute(fit, 1, data=renumbered)
    foreign = people[["score"]].set_axis(range(5, 5 + len(people)))
    with pytest.raises(AnalysisError, match=r"index.*is not the one that was fitted"):
        impute(fit, 1, data=foreign)
    named = people.set_axis([f"p{k}" for k in range(len(people))])
    assert impute(fit, 1, data=named, seed=3)[0].index.equals(named.index), "the model's columns agree"
