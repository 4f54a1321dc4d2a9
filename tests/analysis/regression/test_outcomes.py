"""Outcomes of several kinds, predictions, marginal effects: statsmodels, brute force and simulation bear them out."""

from __future__ import annotations

import json
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
import statsmodels.formula.api as smf
from hushpoll_analysis import detects_cheating, estimate, impute, logit, multinomial, ordinal, simulate
from hushpoll_analysis.errors import AnalysisError, NotIdentifiedError
from hushpoll_analysis.planning.draft_resolution import read_draft
from hushpoll_analysis.regression import families
from hushpoll_analysis.regression.models import linear
from hushpoll_analysis.regression.reading import read_model
from hushpoll_analysis.sample.distinct_rows import each_row
from hushpoll_analysis.simulation.respondents import simulate_survey
from hushpoll_client import mechanisms
from hushpoll_client.channel import SCALE
from scipy import optimize, special
from statsmodels.miscmodels.ordinal_model import OrderedModel

RESULTS = Path(__file__).parents[2] / "results"
KRR = mechanisms.krr(options=4, epsilon=3)
TABLE = np.array(KRR.analysis.rows) / SCALE
WARNER = mechanisms.warner(truth="3/4")


@pytest.fixture(scope="module")
def sample() -> pd.DataFrame:
    return pd.read_csv(RESULTS / "data" / "synthA.csv")


@pytest.fixture(scope="module")
def answers() -> pd.DataFrame:
    """Four answers: `kind` unordered and `scale` ordered, true and reported."""
    rng = np.random.default_rng(21)
    n = 4000
    x, g = rng.standard_normal(n), rng.choice(["a", "b"], n)
    lines = np.stack([np.zeros(n), 0.3 + 0.5 * x, -0.2 - 0.4 * x, -0.5 + 0.6 * (g == "b")], axis=1)
    kind = (rng.random(n)[:, None] > np.cumsum(special.softmax(lines, axis=1), axis=1)).sum(axis=1)
    latent = 0.8 * x - 0.5 * (g == "b") + rng.logistic(size=n)
    scale = np.searchsorted([-1.0, 0.2, 1.5], latent)

    def reported(truth: np.ndarray) -> np.ndarray:
        return (rng.random(n)[:, None] > np.cumsum(TABLE[truth], axis=1)).sum(axis=1).clip(max=3)

    return pd.DataFrame(
        {"x": x, "g": g, "kind": kind, "scale": scale, "rkind": reported(kind), "rscale": reported(scale)}
    )


def test_exact_multinomial_agrees_with_statsmodels(answers: pd.DataFrame) -> None:
    got = multinomial("kind ~ x + g", answers, {})
    design = sm.add_constant(np.column_stack([answers["x"], answers["g"] == "b"]).astype(float))
    peer = sm.MNLogit(answers["kind"], design).fit(disp=0, tol=1e-10)
    assert got.coef == pytest.approx(peer.params.to_numpy().T.ravel(), abs=1e-5)
    assert got.se == pytest.approx(peer.bse.to_numpy().T.ravel(), abs=1e-5)
    assert got.log_likelihood == pytest.approx(peer.llf, abs=1e-7)
    assert (got.aic, got.bic) == pytest.approx((peer.aic, peer.bic), abs=1e-6)
    assert got.names[:3] == ("1: Intercept", "1: x", "1: g[T.b]")
    chances = got.predict(answers.head(7))
    assert chances.loc[2, "estimate"].to_numpy() == pytest.approx(peer.predict(design[:7])[:, 2], abs=1e-5)
    margins = got.margins(["x"])
    expected = peer.get_margeff().summary_frame()
    assert margins["effect"].to_numpy() == pytest.approx(expected["dy/dx"].to_numpy()[::2], abs=1e-5)
    assert margins["se"].to_numpy() == pytest.approx(expected["Std. Err."].to_numpy()[::2], abs=1e-5)


@pytest.mark.parametrize("link", ["logit", "probit", "cloglog"])
def test_exact_ordinal_agrees_with_statsmodels(answers: pd.DataFrame, link: str) -> None:
    got = ordinal("scale ~ x + g", answers, {}, link=link)
    from scipy import stats

    distribution = {"logit": "logit", "probit": "probit", "cloglog": stats.gumbel_l}[link]
    design = np.column_stack([answers["x"], answers["g"] == "b"]).astype(float)
    peer = OrderedModel(answers["scale"], design, distr=distribution).fit(method="bfgs", disp=0, gtol=1e-7)
    cuts = peer.model.transform_threshold_params(peer.params)[1:-1]
    assert got.names == ("x", "g[T.b]", "0|1", "1|2", "2|3")
    assert got.coef[:2] == pytest.approx(peer.params.to_numpy()[:2], abs=2e-4)
    assert got.coef[2:] == pytest.approx(cuts, abs=2e-4)
    assert got.se[:2] == pytest.approx(peer.bse.to_numpy()[:2], abs=2e-4)
    assert got.log_likelihood == pytest.approx(peer.llf, abs=1e-5)
    assert (got.aic, got.bic) == pytest.approx((peer.aic, peer.bic), abs=1e-4)
    chances = got.predict(answers.head(5))["estimate"].to_numpy().reshape(4, 5)
    assert chances.sum(axis=0) == pytest.approx(1.0)
    expected = peer.predict(design[:5])
    assert np.abs(chances.T - expected).max() < 1e-3


def test_cloglog_agrees_with_statsmodels(sample: pd.DataFrame) -> None:
    family = sm.families.Binomial(link=sm.families.links.CLogLog())
    peer = smf.glm("y_true ~ x1 + x2", sample, family=family).fit()
    got = logit("y_true ~ x1 + x2", sample, {}, link="cloglog", information="expected")
    assert got.coef == pytest.approx(peer.params.to_numpy(), abs=1e-6)
    assert got.se == pytest.approx(peer.bse.to_numpy(), abs=1e-6)


@pytest.mark.parametrize("family", ["multinomial", "ordinal"])
def test_randomized_answers_reach_the_maximum(answers: pd.DataFrame, family: str) -> None:
    fit = multinomial if family == "multinomial" else ordinal
    column = "rkind" if family == "multinomial" else "rscale"
    got = fit(f"{column} ~ x + g", answers, {column: KRR})
    seen = TABLE[:, answers[column]].T
    x = np.column_stack([np.ones(len(answers)), answers["x"], answers["g"] == "b"]).astype(float)

    def negative(theta: np.ndarray) -> float:
        if family == "multinomial":
            chances = special.softmax(np.column_stack([np.zeros(len(x)), x @ theta.reshape(3, 3).T]), axis=1)
        else:
            cuts = np.concatenate([theta[2:3], theta[2] + np.cumsum(np.exp(theta[3:]))])
            below = special.expit(cuts - (x[:, 1:] @ theta[:2])[:, None])
            chances = np.diff(np.column_stack([np.zeros(len(x)), below, np.ones(len(x))]), axis=1)
        return -float(np.log((seen * chances).sum(axis=1)).sum())

    start = np.zeros(9) if family == "multinomial" else np.array([0.0, 0.0, -1.0, 0.0, 0.0])
    best = optimize.minimize(negative, start, method="BFGS", options={"gtol": 1e-5})
    assert got.log_likelihood == pytest.approx(-best.fun, abs=1e-6)
    truth = (
        [0.3, 0.5, 0.0, -0.2, -0.4, 0.0, -0.5, 0.0, 0.6]
        if family == "multinomial"
        else [0.8, -0.5, -1.0, 0.2, 1.5]
    )
    assert np.abs((got.coef - truth) / got.se).max() < 4
    assert got.randomized == (column,)


@pytest.mark.parametrize(
    "family", [families.multinomial(None), families.ordinal("logit"), families.ordinal("cloglog")]
)
def test_derivatives_are_those_of_the_likelihood(answers: pd.DataFrame, family: families.Family) -> None:
    data = answers.head(300).assign(t=np.random.default_rng(2).integers(0, 2, 300))
    channels = {"rkind": KRR, "t": WARNER}
    model = read_model("rkind ~ x * t", each_row(data), channels, family, None, None)
    point = 0.3 * np.random.default_rng(1).standard_normal(len(model.scale))
    at, step = model.likelihood.evaluate(point), 1e-5
    for k in range(len(point)):
        move = step * np.eye(len(point))[k]
        high, low = model.likelihood.evaluate(point + move), model.likelihood.evaluate(point - move)
        slope = (high.log_likelihood - low.log_likelihood) / (2 * step)
        assert at.scores.sum(axis=0)[k] == pytest.approx(slope, rel=1e-5, abs=1e-5)
        bend = -(high.scores.sum(axis=0) - low.scores.sum(axis=0)) / (2 * step)
        assert at.information[k] == pytest.approx(bend, rel=1e-4, abs=2e-4)


def test_the_reference_answer_can_be_chosen(answers: pd.DataFrame) -> None:
    first = multinomial("kind ~ x", answers, {})
    other = multinomial("kind ~ x", answers, {}, reference=2)
    assert other.log_likelihood == pytest.approx(first.log_likelihood, abs=1e-8)
    assert other.to_frame().loc["0: x", "coef"] == pytest.approx(
        -first.to_frame().loc["2: x", "coef"], abs=1e-6
    )


def test_predictions_agree_with_statsmodels(sample: pd.DataFrame) -> None:
    peer = smf.logit("y_true ~ x1 * C(x2)", sample).fit(disp=0)
    got = logit("y_true ~ x1 * C(x2)", sample, {})
    new = pd.DataFrame({"x1": [-1.0, 0.0, 2.0], "x2": [0, 1, 1]})
    expected = peer.get_prediction(new).summary_frame()
    predicted = got.predict(new)
    assert predicted["estimate"].to_numpy() == pytest.approx(expected["predicted"].to_numpy(), abs=1e-6)
    assert predicted["se"].to_numpy() == pytest.approx(expected["se"].to_numpy(), abs=1e-6)
    # statsmodels gives the interval of the linear predictor, mapped: for the logit link that is ours.
    assert predicted["low"].to_numpy() == pytest.approx(expected["ci_lower"].to_numpy(), abs=1e-5)
    assert (got.aic, got.bic) == pytest.approx((peer.aic, peer.bic))
    assert got.predict()["estimate"].mean() == pytest.approx(sample["y_true"].mean(), abs=1e-6)


def test_marginal_effects_agree_with_statsmodels(sample: pd.DataFrame) -> None:
    for link, model in (("logit", smf.logit), ("probit", smf.probit)):
        peer = model("y_true ~ x1 + x2", sample).fit(disp=0)
        got = logit("y_true ~ x1 + x2", sample, {}, link=link).margins()
        expected = peer.get_margeff().summary_frame()
        assert got["effect"].to_numpy() == pytest.approx(expected["dy/dx"].to_numpy(), abs=1e-6)
        assert got["se"].to_numpy() == pytest.approx(expected["Std. Err."].to_numpy(), abs=1e-6)
    steps = smf.logit("y_true ~ x1 + x2", sample).fit(disp=0).get_margeff(dummy=True).summary_frame()
    got = logit("y_true ~ x1 + x2", sample, {}).margins(discrete=["x2"])
    assert got.loc[("x2", "1 - 0"), "effect"] == pytest.approx(steps.loc["x2", "dy/dx"], abs=1e-6)
    assert got.loc[("x2", "1 - 0"), "se"] == pytest.approx(steps.loc["x2", "Std. Err."], abs=1e-6)


def test_effects_of_text_and_randomized_predictors_are_steps(sample: pd.DataFrame) -> None:
    data = sample.assign(town=np.where(sample["x2"] == 1, "north", "south"))
    plain = logit("y_true ~ x1 + x2", sample, {}).margins(["x2"], discrete=["x2"])
    named = logit("y_true ~ x1 + town", data, {}).margins(["town"])
    assert named.loc[("town", "south - north"), "effect"] == pytest.approx(-plain["effect"].iloc[0], abs=1e-8)
    sharp = mechanisms.warner(epsilon=20)
    both = logit("y_true ~ x1 + y2_true", data, {"y2_true": sharp})
    exact = logit("y_true ~ x1 + y2_true", data, {})
    effects = both.margins()
    assert effects.loc[("y2_true", "1 - 0"), "effect"] == pytest.approx(
        exact.margins(discrete=["y2_true"]).loc[("y2_true", "1 - 0"), "effect"], abs=1e-3
    )
    # Predictions for given true answers, and on average over the predictor's own model.
    by_answer = both.predict(pd.DataFrame({"x1": [0.0, 0.0], "y2_true": [0, 1]}))["estimate"].to_numpy()
    assert by_answer == pytest.approx(
        exact.predict(pd.DataFrame({"x1": [0.0, 0.0], "y2_true": [0, 1]}))["estimate"].to_numpy(), abs=1e-3
    )
    mean = both.predict(pd.DataFrame({"x1": [0.0]}))["estimate"].iloc[0]
    assert by_answer[0] < mean < by_answer[1]


def test_effects_of_numbers_taken_as_categories_are_steps(sample: pd.DataFrame) -> None:
    data = sample.assign(grade=np.arange(len(sample)) % 3 + 1)
    effects = logit("y_true ~ x1 + C(grade)", data, {}).margins()
    named = logit("y_true ~ x1 + town", data.assign(town=data["grade"].map(str)), {}).margins()
    assert list(effects.index) == [("grade", "2 - 1"), ("grade", "3 - 1"), ("x1", "slope")]
    expected = named.loc[["town", "x1"]]
    assert effects[["effect", "se"]].to_numpy() == pytest.approx(
        expected[["effect", "se"]].to_numpy(), abs=1e-8
    )


@pytest.mark.parametrize("term", ["C(town)", "town", "C(number)"])
def test_a_category_that_the_model_never_saw_is_refused(sample: pd.DataFrame, term: str) -> None:
    data = sample.assign(number=np.arange(len(sample)) % 3, town=np.array(["a", "b", "c"])[sample.index % 3])
    fit = logit(f"y_true ~ x1 + {term}", data, {})
    new = pd.DataFrame({"x1": [0.0], "town": ["9"], "number": [9]})
    with warnings.catch_warnings():
        warnings.simplefilter("default")  # as at work, where a warning stops nothing
        with pytest.raises(AnalysisError, match=r"not seen .*9") as refused:
            fit.predict(new)
    assert "fitted" in refused.value.remedy


def test_intervals_of_predictions_hold_the_prediction_however_small(sample: pd.DataFrame) -> None:
    far = logit("y_true ~ x1", sample, {}).predict(pd.DataFrame({"x1": [-1e3, -80.0, 0.0, 80.0, 1e3]}))
    assert (far["low"] <= far["estimate"]).all()
    assert (far["estimate"] <= far["high"]).all()


def test_predictions_and_posteriors_keep_the_names_of_the_rows(sample: pd.DataFrame) -> None:
    """They align with the table's rows, also where rows were left out."""
    subset = sample[sample["x2"] == 1].assign(x1=lambda t: t["x1"].where(t["x1"] < 1))
    fit = logit("warner75 ~ x1", subset, {"warner75": WARNER}, na_action="omit")
    rows = subset.index[subset["x1"].notna()]
    assert 0 < len(rows) < len(subset)
    assert fit.predict().index.equals(rows)
    assert fit.posterior().index.equals(rows)
    assert fit.predict()["estimate"].equals(fit.predict(subset.loc[rows])["estimate"])


def test_predictions_of_a_number_are_those_of_least_squares(sample: pd.DataFrame) -> None:
    peer = smf.ols("yc ~ x1 + x2", sample).fit()
    got = linear("yc ~ x1 + x2", sample, {})
    new = pd.DataFrame({"x1": [0.0, 1.0], "x2": [1, 0]})
    expected = peer.get_prediction(new).summary_frame()
    assert got.predict(new)["estimate"].to_numpy() == pytest.approx(expected["mean"].to_numpy(), abs=1e-6)
    larger = np.sqrt(len(sample) / (len(sample) - 3))
    assert got.predict(new)["se"].to_numpy() * larger == pytest.approx(
        expected["mean_se"].to_numpy(), abs=1e-6
    )
    assert got.margins().loc[("x1", "slope"), "effect"] == pytest.approx(peer.params["x1"], abs=1e-6)


def test_nested_models_are_tested(sample: pd.DataFrame) -> None:
    large = logit("warner75 ~ x1 + x2", sample, {"warner75": WARNER})
    small = logit("warner75 ~ x1", sample, {"warner75": WARNER})
    got = large.likelihood_ratio_test(small)
    assert got.df == 1
    assert got.chi2 == pytest.approx(2 * (large.log_likelihood - small.log_likelihood))
    assert got.p_value == pytest.approx(large.likelihood_ratio_tests().loc["x2", "p_value"], rel=1e-4)
    with pytest.raises(AnalysisError, match="not part of the larger"):
        small.likelihood_ratio_test(large)
    other = logit("y_true ~ x1", sample, {})
    with pytest.raises(AnalysisError, match="differ in outcome"):
        large.likelihood_ratio_test(other)


@pytest.mark.parametrize("counts", [(41, 100), (412, 1000)])
def test_a_counted_decoy_is_part_of_the_standard_errors(counts: tuple[int, int]) -> None:
    """Without predictors, the standard error of the share is that of `estimate`."""
    poll = mechanisms.or_poll(decoy_counts=counts)
    data = pd.DataFrame({"y": [0] * 400 + [1] * 600})
    got = logit("y ~ 1", data, {"y": poll})
    share = special.expit(got.coef[0])
    plain = estimate([400, 600], poll)["Yes"]
    assert share == pytest.approx(plain.estimate, abs=1e-8)
    assert got.se[0] * share * (1 - share) == pytest.approx(plain.se, rel=1e-3)
    assert "part of these standard errors" in got.notes[0]
    # As a predictor: the share of its own model has the same error.
    rng = np.random.default_rng(3)
    linked = data.assign(score=rng.normal(0, 1, 1000) + 0.4 * data["y"])
    as_predictor = linear("score ~ y", linked, {"y": poll})
    exact = linear("score ~ y", linked, {"y": mechanisms.or_poll(decoy_share=str(counts[0] / counts[1]))})
    assert as_predictor.coef == pytest.approx(exact.coef, abs=1e-6)
    assert as_predictor.se[2] > exact.se[2]


@pytest.mark.long
def test_coverage_with_a_counted_decoy() -> None:
    rng, inside, without = np.random.default_rng(12), 0, 0
    for _ in range(1500):
        x = rng.standard_normal(1500)
        truth = rng.random(1500) < special.expit(-0.6 + 0.7 * x)
        reported = (truth | (rng.random(1500) < 0.4)).astype(int)
        yes = int(rng.binomial(100, 0.4))
        data = pd.DataFrame({"x": x, "y": reported})
        frame = logit("y ~ x", data, {"y": mechanisms.or_poll(decoy_counts=(yes, 100))}).to_frame()
        inside += frame.loc["Intercept", "low"] <= -0.6 <= frame.loc["Intercept", "high"]
        uncorrected = logit("y ~ x", data, {"y": mechanisms.or_poll(decoy_share=str(yes / 100))}).to_frame()
        without += uncorrected.loc["Intercept", "low"] <= -0.6 <= uncorrected.loc["Intercept", "high"]
    print(inside / 1500, without / 1500)
    assert 0.93 <= inside / 1500 <= 0.98
    assert without / 1500 < 0.85


def test_a_summary_reads_like_those_of_other_programs(sample: pd.DataFrame, answers: pd.DataFrame) -> None:
    got = logit("warner75 ~ x1 + x2", sample, {"warner75": WARNER})
    text = got.summary()
    assert str(got) == text
    for phrase in (
        "warner75 ~ x1 + x2",
        "1,500",
        "-994.493",
        "std err",
        "P>|z|",
        "[0.025",
        "0.975]",
        "-0.7024",
        "0.1574",
    ):
        assert phrase in text
    assert max(map(len, text.splitlines())) <= 110
    design = pd.read_csv(RESULTS / "data" / "synthA_design.csv")
    weighted = logit("warner75 ~ x1", design, {"warner75": WARNER}, weights="w", clusters="cluster").summary()
    assert "P>|t|" in weighted
    assert "Log-likelihood" not in weighted
    assert "Also estimated:" in ordinal("scale ~ x", answers, {}).summary()
    assert "penalized" in logit("warner75 ~ x1", sample, {"warner75": WARNER}, penalty="log-f").summary()


def test_weights_carry_over_to_predictions_and_effects() -> None:
    design = pd.read_csv(RESULTS / "data" / "synthA_design.csv")
    got = logit("warner75 ~ x1 + x2", design, {"warner75": WARNER}, weights="w", clusters="cluster")
    effects = got.margins()
    mu = got.predict()["estimate"].to_numpy()
    expected = np.average(mu * (1 - mu), weights=design["w"]) * got.coef[1]
    assert effects.loc[("x1", "slope"), "effect"] == pytest.approx(expected, rel=1e-5)
    with pytest.raises(AnalysisError, match="no likelihood"):
        _ = got.aic


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda d: multinomial("x2 ~ x1", d, {}), "use logit"),
        (lambda d: ordinal("warner75 ~ x1", d, {"warner75": WARNER}), "use logit"),
        (lambda d: ordinal("cluster ~ 1", d, {}), "beside the intercept"),
        (lambda d: ordinal("cluster ~ x1", d, {}, link="cauchit"), "link 'cauchit'"),
        (lambda d: multinomial("cluster ~ x1", d, {}, reference="Mars"), "no answer 'Mars'"),
        (lambda d: logit("x2 ~ x1", d, {}).predict(pd.DataFrame({"x3": [1]})), "no column 'x1'"),
        (lambda d: logit("x2 ~ x1", d, {}).predict([1]), "expected a pandas DataFrame"),
        (lambda d: logit("x2 ~ x1", d, {}).predict(d.head(0)), "no rows"),
        (lambda d: logit("x2 ~ x1", d, {}).predict(pd.DataFrame({"x1": [np.nan]})), "missing values"),
        (lambda d: logit("x2 ~ C(group)", d, {}).predict(pd.DataFrame({"group": [9]})), "cannot be computed"),
        (lambda d: logit("x2 ~ x1", d, {}).margins(["x9"]), "not a predictor"),
        (lambda d: logit("x2 ~ 1", d, {}).margins(), "no predictors"),
        (
            lambda d: logit("x2 ~ warner75", d, {"warner75": WARNER}).predict(
                pd.DataFrame({"warner75": ["?"]})
            ),
            "no answer",
        ),
    ],
)
def test_odd_requests_are_explained(sample: pd.DataFrame, call, message: str) -> None:
    with pytest.raises(AnalysisError, match=message):
        call(sample)


def test_fits_are_json(answers: pd.DataFrame) -> None:
    for got in (
        multinomial("rkind ~ x", answers, {"rkind": KRR}),
        ordinal("rscale ~ x", answers, {"rscale": KRR}),
    ):
        again = json.loads(json.dumps(got.to_dict()))
        assert again["family"] == got.family
        assert len(again["coefficients"]) == got.parameters


def test_answers_that_nobody_gave_are_no_crash() -> None:
    """Four of six bins are empty: the cut points between them run away, and the error says so."""
    hours = {"id": "hours", "kind": "number", "text": "?", "min": 0, "max": 80, "step": 1}
    target = {"mechanism": {"epsilon": 4, "target": "distribution", "bins": 6}}
    survey = read_draft({"hushpoll": 1, "title": "Hours", "questions": [hours | target]})
    truth = {"hours": {"values": [10, 40], "shares": [0.5, 0.5]}}
    data = pd.DataFrame(dict(simulate_survey(survey, 200, truth, seed=1))).add_suffix("_reported")
    data["age"] = np.random.default_rng(1).integers(18, 80, len(data))
    with pytest.raises(NotIdentifiedError, match=r"put rare answers together|simplify the model"):
        ordinal("hours ~ age", data, survey)


def test_a_model_of_a_long_list_is_refused_before_it_fills_the_memory() -> None:
    names = [f"Town {number}" for number in range(300)]
    town = {"id": "town", "kind": "choice", "text": "?", "options": names, "mechanism": {"epsilon": 2}}
    survey = read_draft({"hushpoll": 1, "title": "Towns", "questions": [town]})
    simulated = dict(simulate_survey(survey, 600, {"town": [1 / 300] * 300}, seed=1))
    data = pd.DataFrame({"town_reported": simulated["town"].tolist(), "age": np.arange(600) % 60})
    for model in (ordinal, multinomial):
        with pytest.raises(AnalysisError, match=r"too many for a model of all of them.*event="):
            model("town ~ age", data, survey)


@pytest.mark.parametrize("family", ["linear", "logit"])
def test_the_effect_of_a_predictor_leaves_hidden_answers_as_they_are(family: str) -> None:
    """What a randomized predictor carries of an exact one is not the exact one's own effect."""
    rng = np.random.default_rng(7)
    n, coin = 6_000, mechanisms.warner(epsilon=3)
    x = rng.normal(size=n)
    t = (rng.random(n) < special.expit(1.5 * x)).astype(int)
    data = pd.DataFrame(
        {"t": simulate(coin.device, t, seed=2), "x": x, "c": np.where(x > 0.3, "high", "low")}
    )
    if family == "linear":
        data["y"] = 1 + 0.8 * t + rng.normal(size=n)
        for term in ("x", "c"):
            fit = linear(f"y ~ t + {term}", data, {"t": coin})
            name = "x" if term == "x" else "c[T.low]"
            effect = fit.margins().loc[term].iloc[0]
            assert effect["effect"] == pytest.approx(fit.to_frame().loc[name, "coef"], rel=1e-6)
            assert effect["se"] == pytest.approx(fit.to_frame().loc[name, "se"], rel=1e-4)
        return
    data["y"] = (rng.random(n) < special.expit(-0.5 + 1.2 * t)).astype(int)
    fit = logit("y ~ t + x", data, {"t": coin})
    effect = fit.margins(["x"]).iloc[0]
    # By hand: the slope of each person's chance, averaged over who they may be.
    base, on_t, on_x = (fit.to_frame().loc[name, "coef"] for name in ("Intercept", "t", "x"))
    other = fit.to_frame(everything=True)
    gamma = other[~other.index.isin(["Intercept", "t", "x"])]["coef"].to_numpy()
    class_one = special.expit(gamma[0] + gamma[1] * x)
    slopes = [special.expit(base + on_t * k + on_x * x) for k in (0, 1)]
    by_hand = (
        np.mean(sum(w * p * (1 - p) for w, p in zip((1 - class_one, class_one), slopes, strict=True))) * on_x
    )
    assert effect["effect"] == pytest.approx(by_hand, rel=1e-5)
    assert abs(effect["effect"]) < 3 * effect["se"]


def test_who_detects_cheating_takes_no_honest_carrier_for_a_no() -> None:
    """An honest carrier says Yes whatever the coin shows, so people who said No are not carriers."""
    rng = np.random.default_rng(1)
    n = 4_000
    x, group = rng.normal(size=n), rng.integers(1, 3, n)
    share = special.expit(-1 + 0.5 * x)
    carrier = rng.random(n) < share
    cheats = ~carrier & (rng.random(n) < 0.15 / (1 - share))
    forced = rng.random(n) < np.where(group == 1, 0.25, 0.75)
    said_yes = np.where(carrier, True, np.where(cheats, False, forced))
    data = pd.DataFrame({"y": said_yes.astype(int), "x": x, "g": group})
    designs = {1: detects_cheating(0.25), 2: detects_cheating(0.75)}
    fit = logit("y ~ x", data, "g", designs=designs)
    chance = fit.posterior().iloc[:, -1].to_numpy()
    assert chance[~said_yes].max() < 1e-9
    assert chance[said_yes].mean() == pytest.approx(carrier[said_yes].mean(), abs=0.04)
    assert chance.mean() == pytest.approx(fit.predict()["estimate"].mean(), abs=0.01)
    imputed = impute(fit, 3, seed=1)
    assert all(frame.loc[~said_yes, "y"].sum() == 0 for frame in imputed.frames)
