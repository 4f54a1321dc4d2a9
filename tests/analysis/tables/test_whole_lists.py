"""Tick lists and long lists as a whole in tables and models, held against exact enumeration and simulation."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hushpoll_analysis import (
    compare,
    correlate,
    crosstab,
    linear,
    logit,
    multinomial,
    ordinal,
    report,
    simulate,
    weighted_estimate,
)
from hushpoll_analysis.errors import AnalysisError
from hushpoll_analysis.simulation.respondents import simulate_survey
from hushpoll_client import Channel, Survey, mechanisms
from hushpoll_client.channel import SCALE

from tests.analysis.tables.test_kinds import SURVEY, TRUTH, frame, near

__all__ = ["frame"]


def subset_table(channel: Channel) -> tuple[list[str], np.ndarray]:
    """Every set that can be reported, as text, and P(set | answer): the whole table of a small channel."""
    options, size = channel.options, channel.size
    held = channel.weight / SCALE
    names, columns = [], []
    for chosen in itertools.combinations(range(options), size):
        inside, outside = math.comb(options - 1, size - 1), math.comb(options - 1, size)
        names.append(f"{sum(1 << k for k in chosen):0{-(-options // 4)}x}")
        columns.append([held / inside if k in chosen else (1 - held) / outside for k in range(options)])
    return names, np.array(columns).T


SHARES = ([0.4, 0.3, 0.2, 0.1, 0.0], [0.0, 0.1, 0.2, 0.3, 0.4])  # each with variance 1
SMALL = mechanisms.subset(5, 0.8, size=2)


def expected_frame(truth: np.ndarray, times: float) -> pd.DataFrame:
    """Return the expected reports: rows for each pair of a group and a set, as often as expected."""
    names, table = subset_table(SMALL.device)
    rows = []
    for group, shares in zip("ab", truth, strict=True):
        for name, chance in zip(names, shares @ table, strict=True):
            rows += [(group, name)] * round(times * chance)
    return pd.DataFrame(rows, columns=["group", "town"])


def test_a_whole_list_has_the_cells_of_the_inverted_table() -> None:
    """Least squares on the table of all ten sets, too large to list for forty options, give the same cells."""
    truth = np.array([[0.30, 0.05, 0.05, 0.05, 0.05], [0.05, 0.10, 0.15, 0.20, 0.00]])
    data = expected_frame(truth, 40_000)
    crossed = crosstab(data, {"town": SMALL}, "group", "town")
    assert crossed.labels == (("a", "b"), tuple("01234"))
    assert crossed.estimate == pytest.approx(truth, abs=2e-4)
    names, table = subset_table(SMALL.device)
    counts = data.groupby(["group", "town"]).size().unstack(fill_value=0)[names].to_numpy()
    # Each set's weights: the least squares inverse, which by symmetry is the one with the least variance.
    weights = np.linalg.pinv(table)
    shares = counts / counts.sum()
    assert crossed.estimate == pytest.approx(shares @ weights, abs=1e-12)
    squares = shares @ weights**2
    assert crossed.se**2 == pytest.approx((squares - crossed.estimate**2) / (crossed.n - 1), rel=1e-9)
    assert crossed.estimate.sum(axis=1) == pytest.approx(shares.sum(axis=1))


def test_every_option_stands_beside_the_other_question(frame: pd.DataFrame) -> None:
    """The table of a tick list is that of `question[option]`, option by option."""
    table = crosstab(frame, SURVEY, "group", "used")
    assert table.labels == (("a", "b"), ("bus", "car", "bike"))
    for column, option in enumerate(table.labels[1]):
        alone = crosstab(frame, SURVEY, "group", f"used[{option}]")
        assert table.estimate[:, column] == pytest.approx(alone.estimate[:, 1], abs=1e-15)
        assert table.low[:, column] == pytest.approx(alone.low[:, 1], abs=1e-15)
        assert table.tests.loc[option, "p_value"] == alone.test.p_value
        yes = alone.conditional(f"used[{option}]", "group").loc[("b", "Yes")]
        assert table.conditional("used", "group").loc[("b", option)].equals(yes)
        for group in (0, 1):
            true = list(TRUTH.values())[group]["used"][column] / 2
            assert near(table.estimate[group, column], true, table.se[group, column])
    assert table.test.p_value == pytest.approx(min(1, 3 * table.tests["p_value"].min()))
    assert table.table().shape == (2, 3)
    assert table.to_dict()["names"] == ["group", "used"]
    assert "bus" in table._repr_html_()
    turned = crosstab(frame, SURVEY, "used", "group")
    assert turned.estimate == pytest.approx(table.estimate.T)
    within = turned.conditional("group", "used")
    assert near(within.loc[("bus", "b"), "estimate"], 0.75, within.loc[("bus", "b"), "se"])
    together = crosstab(frame, SURVEY, "group", "used", simultaneous=True)
    assert np.all(together.low < table.low)


def test_two_lists_stand_in_one_table(frame: pd.DataFrame) -> None:
    table = crosstab(frame[frame["group"] == "a"], SURVEY, "town", "used")
    assert table.estimate.shape == (40, 3)
    for town, used in ((0, 2), (1, 1), (9, 0)):
        truth = TRUTH["a"]
        true = truth["town"][town] * truth["used"][used]
        assert near(table.estimate[town, used], true, table.se[town, used])
    shares = table.marginal("town")
    assert near(shares.loc["t0", "estimate"], 0.5, shares.loc["t0", "se"])
    both = table.conditional("used", "town")
    assert near(both.loc[("t1", "bike"), "estimate"], 0.8, both.loc[("t1", "bike"), "se"])


@pytest.mark.parametrize("surveys", [40, pytest.param(120, marks=pytest.mark.long)])
def test_cells_of_a_long_list_cover(surveys: int) -> None:
    """Intervals of the cells hold the truth as often as they say."""
    truth = np.array([0.5, 0.3, 0.1, 0.1, 0.0])
    rng, inside = np.random.default_rng(5), []
    for _ in range(surveys):
        group = rng.integers(0, 2, 600)
        answers = rng.choice(5, size=600, p=truth)
        reports = simulate(SMALL, answers, seed=int(rng.integers(1 << 30)))
        table = crosstab(pd.DataFrame({"group": group, "town": reports}), {"town": SMALL}, "group", "town")
        inside.append((table.low <= truth / 2) & (truth / 2 <= table.high))
    coverage = np.mean(inside, axis=0)
    slack = 4 * math.sqrt(0.05 * 0.95 / surveys)
    assert coverage.min() >= 0.93 - slack
    assert coverage.mean() <= 0.975 + slack


def test_who_chose_an_option_is_compared_with_who_did_not(frame: pd.DataFrame) -> None:
    comparison = compare(frame, SURVEY, "did", "used")
    assert [difference.group for difference in comparison.differences] == ["bus", "car", "bike"]
    assert [difference.reference for difference in comparison.differences] == [
        "not bus",
        "not car",
        "not bike",
    ]
    alone = compare(frame, SURVEY, "did", "used[bus]").differences[0]
    assert comparison.differences[0].difference == pytest.approx(alone.difference)
    assert list(comparison.shares.index) == [("bus", "Yes"), ("car", "Yes"), ("bike", "Yes")]
    both = compare(frame, SURVEY, "few", "used")
    assert len(both.differences) == 24
    with pytest.raises(AnalysisError, match="not compared with each other; leave reference= out"):
        compare(frame, SURVEY, "did", "used", reference="bus")


def test_weights_follow_the_people_who_were_asked(frame: pd.DataFrame) -> None:
    """Values passed separately are left out with the rows that were not asked about an option."""
    weights = np.random.default_rng(1).uniform(1, 2, len(frame))
    named = frame.assign(w=weights)
    table = crosstab(named, SURVEY, "group", "used", weights="w")
    beside = crosstab(frame, SURVEY, "group", "used", weights=weights)
    assert beside.estimate == pytest.approx(table.estimate)
    single = crosstab(frame, SURVEY, "group", "used[bus]", weights=weights)
    assert single.estimate[:, 1] == pytest.approx(table.estimate[:, 0])
    fit = logit("`used[bus]` ~ late", frame, SURVEY, weights=weights)
    assert fit.coef == pytest.approx(logit("`used[bus]` ~ late", named, SURVEY, weights="w").coef)


def test_a_tick_list_is_fitted_option_by_option(frame: pd.DataFrame) -> None:
    models: Any = logit("used ~ late", frame, SURVEY)
    assert list(models) == ["bus", "car", "bike"]
    assert len(models) == 3
    for option in models:
        alone = logit(f"`used[{option}]` ~ late", frame, SURVEY)
        assert models[option].coef == pytest.approx(alone.coef)
        assert models.to_frame().loc[(option, "late"), "se"] == pytest.approx(alone.se[1])
    rows = models.to_frame()
    assert near(rows.loc[("bus", "late"), "coef"], math.log(6), rows.loc[("bus", "late"), "se"])
    assert near(rows.loc[("car", "late"), "coef"], 0.0, rows.loc[("car", "late"), "se"])
    assert logit("used ~ late", frame, SURVEY, event="car").coef == pytest.approx(models["car"].coef)
    assert set(models.to_dict()["options"]) == {"bus", "car", "bike"}
    assert models.predict(pd.DataFrame({"late": [0.0, 1.0]})).shape == (6, 4)
    assert "used[bike]" in str(models)
    with pytest.raises(AnalysisError, match='"used" has no option "boat"'):
        models["boat"]
    with pytest.raises(AnalysisError, match='"used" has no option "boat"'):
        logit("used ~ late", frame, SURVEY, event="boat")


def towns(n: int, seed: int) -> tuple[pd.DataFrame, np.ndarray]:
    """Answers by a multinomial logit on x, and their reports; also the true answers."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=n)
    lines = np.stack([np.zeros(n), 0.5 + x, -0.2 - 0.7 * x, 0.3 + 0 * x, -0.5 + 0.4 * x], axis=1)
    chances = np.exp(lines) / np.exp(lines).sum(axis=1, keepdims=True)
    answers = (rng.random((n, 1)) > np.cumsum(chances, axis=1)).sum(axis=1)
    return pd.DataFrame({"town": simulate(SMALL, answers, seed=seed), "x": x}), answers


def listed() -> tuple[Channel, dict[str, int]]:
    """The same channel with all ten sets as a table, and the number of each set."""
    names, table = subset_table(SMALL.device)
    return Channel.from_probabilities(table.tolist()), {name: k for k, name in enumerate(names)}


def test_a_multinomial_model_of_sets_is_that_of_the_whole_table() -> None:
    data, _ = towns(3000, 4)
    model = multinomial("town ~ x", data, {"town": SMALL})
    channel, number = listed()
    same = multinomial("town ~ x", data.assign(town=data["town"].map(number)), {"town": channel})
    assert model.coef == pytest.approx(same.coef, abs=1e-5)
    assert model.se == pytest.approx(same.se, rel=1e-4)
    assert model.log_likelihood == pytest.approx(same.log_likelihood, abs=1e-4)
    assert model.posterior().to_numpy() == pytest.approx(same.posterior().to_numpy(), abs=1e-5)
    true = [0.5, 1.0, -0.2, -0.7, 0.3, 0.0, -0.5, 0.4]
    assert all(
        near(estimate, value, se) for estimate, value, se in zip(model.coef, true, model.se, strict=True)
    )
    finite = multinomial("town ~ x", data, {"town": SMALL}, population=6000)
    again = multinomial(
        "town ~ x", data.assign(town=data["town"].map(number)), {"town": channel}, population=6000
    )
    assert finite.se == pytest.approx(again.se, rel=1e-4)
    logistic = logit("town ~ x", data, {"town": SMALL}, event="1")
    assert logistic.coef == pytest.approx(logit("`town[1]` ~ x", data, {"town": SMALL}).coef)
    with pytest.raises(AnalysisError, match="several answers; name the one to model with event= "):
        logit("town ~ x", data, {"town": SMALL})


def test_a_list_is_a_predictor_too() -> None:
    data, answers = towns(4000, 6)
    rng = np.random.default_rng(8)
    effect = np.array([0.0, 1.0, -1.0, 0.5, 0.0])
    data["y"] = (rng.random(4000) < 1 / (1 + np.exp(-effect[answers]))).astype(int)
    model = logit("y ~ town", data, {"town": SMALL})
    channel, number = listed()
    same = logit("y ~ town", data.assign(town=data["town"].map(number)), {"town": channel})
    assert model.coef == pytest.approx(same.coef, abs=1e-4)
    assert model.log_likelihood == pytest.approx(same.log_likelihood, abs=1e-4)
    assert near(model.to_frame().loc["town[T.1]", "coef"], 1.0, model.to_frame().loc["town[T.1]", "se"])


def test_a_scale_of_sets_is_ordered_and_a_number() -> None:
    """A scale whose shares are wanted is asked by sets; models take it as any other scale."""
    survey = Survey.from_draft(
        {
            "hushpoll": 1,
            "title": "Scale",
            "questions": [
                {"id": "mood", "kind": "scale", "text": "How?", "points": 5,
                 "mechanism": {"name": "subset", "epsilon": 0.8, "size": 2, "target": "shares"}},
            ],
        }
    )  # fmt: skip
    parts = []
    for seed, shares in enumerate(SHARES):
        simulated = dict(simulate_survey(survey, 4000, {"mood": shares}, seed=seed))
        parts.append(pd.DataFrame({"mood_reported": simulated["mood"], "late": float(seed)}))
    data = pd.concat(parts, ignore_index=True)
    slope = linear("mood ~ late", data, survey).to_frame().loc["late"]
    assert near(slope["coef"], 2.0, slope["se"])
    names, table = subset_table(survey.questions[0].channel)
    weights = np.linalg.pinv(table) @ np.arange(1.0, 6)
    squares = [np.array(shares) @ (table @ weights**2 - np.arange(1.0, 6) ** 2) + 1.0 for shares in SHARES]
    assert len(names) == 10
    assert slope["se"] == pytest.approx(math.sqrt(sum(squares) / 4000), rel=0.03)
    assert linear("mood ~ late", data, survey, population=16_000).to_frame().loc["late", "se"] < slope["se"]
    fit = ordinal("mood ~ late", data, survey)
    assert fit.to_frame().loc["late", "coef"] > 4 * fit.to_frame().loc["late", "se"]
    r = correlate(data, survey, ["mood", "late"]).to_frame().iloc[0]
    true = 1.0 / math.sqrt(1.0 + 1.0)
    assert near(r["r"], true, r["se"])


def test_reports_by_a_whole_list_go_through_its_options(frame: pd.DataFrame) -> None:
    data = frame.drop(columns=["late", "group"])
    results = report(SURVEY, data, by="used", only="did")
    alone = report(SURVEY, data, by="used[bus]", only="did")
    (first, *rest) = results.groups
    assert [table.by for table in results.groups] == ["used[bus]", "used[car]", "used[bike]"]
    assert first.shares == alone.groups[0].shares
    assert rest
    for text in (results.to_text(), results.to_html(), str(results.to_dict())):
        assert "used[bike]" in text


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda f: crosstab(f, SURVEY, "used", "used[bus]"),
            "two options of .used. were randomized together",
        ),
        (lambda f: crosstab(f.assign(used_reported=99), SURVEY, "did", "used"), "holds .*99.*not a report"),
        (lambda f: crosstab(f, SURVEY, "group", "used").marginal("group"), "asked of other people"),
        (lambda f: crosstab(f, SURVEY, "group", "used").marginal("did"), "no variable 'did'"),
        (lambda f: crosstab(f, SURVEY, "group", "town").joint, "speaks of several options at once"),
        (lambda f: multinomial("used ~ late", f, SURVEY), "name one option, as in 'used\\[bus\\]'"),
        (
            # Rows that are alike are put together: these are all different.
            lambda f: multinomial("town ~ late", pd.concat([f] * 3).assign(late=range(3 * len(f))), SURVEY),
            "town has 40 answers, too many .* 36,000 rows; model one against the rest, as in logit",
        ),
        (lambda f: logit("did ~ used", f, SURVEY), "name one option, as in 'used\\[bus\\]'"),
        (lambda f: linear("used ~ late", f, SURVEY), "name one option, as in 'used\\[bus\\]'"),
    ],
)
def test_what_cannot_be_says_what_can(frame: pd.DataFrame, call: Any, message: str) -> None:
    with pytest.raises(AnalysisError, match=message):
        call(frame)


@pytest.mark.parametrize("question", ["used", "few", "town"])
def test_weighted_shares_of_a_whole_list_are_those_of_its_options(frame: pd.DataFrame, question: str) -> None:
    some = frame.iloc[::8].reset_index(drop=True)
    weighted = some.assign(w=np.random.default_rng(2).uniform(1, 2, len(some)))
    result = weighted_estimate(weighted, SURVEY, question, weights="w")
    options = SURVEY.question(question).options
    assert tuple(share.option for share in result.shares) == tuple(options)
    alone = weighted_estimate(weighted, SURVEY, f"{question}[{options[1]}]", weights="w").shares[1]
    assert (result.shares[1].estimate, result.shares[1].low) == (alone.estimate, alone.low)
    results = report(SURVEY, weighted.drop(columns=["late", "group"]), weights="w", questions=[question])
    lines = {line.option: line.estimate for line in results[question].shares}
    assert {share.option: share.estimate for share in result.shares} == pytest.approx(lines)


def test_a_whole_list_beside_a_column_with_a_design_for_each_row() -> None:
    """One design under two names is that design; a labelled list has its labels, and as many as options."""
    rng = np.random.default_rng(4)
    coin, n = mechanisms.warner(epsilon=2), 3_000
    data = pd.DataFrame({"town": simulate(SMALL.device, rng.integers(0, 5, n), seed=1)}).assign(
        y=rng.integers(0, 2, n), wave=np.where(np.arange(n) % 3, "first", "second")
    )
    designs = {"first": coin, "second": coin}
    for how in ("wave", data["wave"], data["wave"].tolist()):
        mechanisms_by_name = {"town": SMALL, "y": how}
        plain = {"town": SMALL, "y": coin}
        from_designs = crosstab(data, mechanisms_by_name, "town", "y", designs=designs)
        other = crosstab(data, plain, "town", "y")
        assert from_designs.estimate == pytest.approx(other.estimate, abs=1e-12)
        assert from_designs.se == pytest.approx(other.se, rel=1e-9)
        for outcome, by in (("town", "y"), ("y", "town")):
            some = [
                compare(data, mechanisms_by_name, outcome, by, designs=designs),
                compare(data, plain, outcome, by),
            ]
            shares = [[difference.share for difference in comparison.differences] for comparison in some]
            assert shares[0] == pytest.approx(shares[1], abs=1e-12)
    with pytest.raises(AnalysisError, match="town: 2 labels for 5 options"):
        crosstab(data, {"town": SMALL, "y": coin}, "town", "y", labels={"town": ["a", "b"]})
