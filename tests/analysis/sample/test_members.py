"""Questions of a block: estimated from those who were asked, tabulated from those who were asked both."""

from __future__ import annotations

import json
import math
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hushpoll_analysis import (
    AnalysisError,
    compare,
    crosstab,
    estimate,
    linear,
    logit,
    plan_block,
    report,
    simulate,
    sum_score,
)
from hushpoll_analysis.channel.view import channel_view, sampler
from hushpoll_analysis.planning.margins import plan
from hushpoll_analysis.results.export import write_export
from hushpoll_analysis.sample.files import tally
from hushpoll_analysis.sample.members import pair_table
from hushpoll_analysis.sample.weighted import weighted_estimate
from hushpoll_client import SCALE, Survey
from hushpoll_client.mechanism import Member, sampled

from tests.vectors.surveys import member, survey, yes_no

BEST = {1: 5.9, 2: 1.66, 4: 0.54}


def block_of(
    *questions: dict[str, Any], ask: int = 2, epsilon: Any = 2, before: tuple[Any, ...] = ()
) -> Survey:
    names = [question["id"] for question in questions]
    return Survey.from_draft(
        survey(*before, *questions) | {"blocks": [{"questions": names, "ask": ask, "epsilon": epsilon}]}
    )


def of_five(ask: int, epsilon: Any = 2) -> Survey:
    return block_of(*(member(f"q{number}") for number in range(5)), ask=ask, epsilon=epsilon)


CHOICE = {"id": "b", "kind": "choice", "text": "Which?", "options": ["x", "y", "z"]}
SCALE_QUESTION = {"id": "c", "kind": "scale", "text": "How often?", "points": 5}
MIXED = (member("a"), CHOICE, SCALE_QUESTION)


def reports_of(survey: Survey, truth: np.ndarray, seed: int) -> np.ndarray:
    """Reports of one block, for one row of true answers each."""
    return simulate(survey.blocks[0].channel, truth, seed)


def people(shares: list[float], n: int, seed: int) -> np.ndarray:
    """Yes/no answers that hang together: each person has a level that raises all of them."""
    rng = np.random.default_rng(seed)
    level = rng.normal(size=n)
    individual = rng.normal(size=(n, len(shares)))
    cut = np.array([_normal(1 - share) for share in shares])
    return ((level[:, None] + individual) / math.sqrt(2) > cut).astype(np.uint8)


def _normal(p: float) -> float:
    from scipy.stats import norm

    return float(norm.ppf(p))


# Variance -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("epsilon", BEST)
def test_five_questions_have_the_variance_stated_computed_from_the_integers(epsilon: int) -> None:
    """n times the variance of one share at 1/2, from the published integers as fractions."""
    best = plan_block([2] * 5, epsilon)
    block = sampled([2] * 5, str(epsilon), best.ask)
    device = Member.of(block, 0).device
    wrong = Fraction(device.row(0)[1], SCALE)
    assert device.row(0)[1] + device.row(0)[0] == SCALE
    exact = Fraction(5, best.ask) * Fraction(1, 4) / (1 - 2 * wrong) ** 2
    assert exact <= Fraction(str(BEST[epsilon]))
    assert best.recommended.n_variance == pytest.approx(float(exact), rel=1e-12)


@pytest.mark.parametrize(
    "epsilon", [pytest.param(epsilon, marks=() if epsilon == 2 else pytest.mark.long) for epsilon in BEST]
)
def test_five_questions_have_the_variance_stated_measured(epsilon: int) -> None:
    """Within 3 %: 4,000 surveys of 400 people, five questions each."""
    ask = plan_block([2] * 5, epsilon).ask
    survey = of_five(ask, epsilon)
    n, times, rng = 400, 4000, np.random.default_rng(epsilon)
    truth = rng.integers(0, 2, size=(n * times, 5), dtype=np.uint8)
    reports = reports_of(survey, truth, epsilon).reshape(times, n)
    estimates = np.empty((times, 5))
    for column, member_part in enumerate(sampler(survey.blocks[0].channel).parts):
        codes = (
            sampler(survey.blocks[0].channel).part_codes(member_part, reports.reshape(-1)).reshape(times, n)
        )
        yes, answered = (codes == 1).sum(axis=1), (codes >= 0).sum(axis=1)
        wrong = member_part.channel.row(0)[1] / SCALE
        estimates[:, column] = (yes / answered - wrong) / (1 - 2 * wrong)
    measured = n * estimates.var(axis=0, ddof=1).mean()
    assert measured == pytest.approx(plan_block([2] * 5, epsilon).recommended.n_variance, rel=0.03)
    assert abs(estimates.mean() - 0.5) < 0.003


def test_the_planner_compares_splitting_one_and_the_best_number() -> None:
    """Figures of the design notes: split, one and best at epsilon .5, 1, 2, 4 for five yes/no questions."""
    for epsilon, split, split_one, best, ask in (
        (0.5, 100, 20.8, 20.8, 1), (1, 25, 5.9, 5.9, 1), (2, 6.4, 2.16, 1.65, 2), (4, 1.7, 1.35, 0.53, 4),
    ):  # fmt: skip
        block_plan = plan_block([2] * 5, epsilon)
        assert block_plan.ask == ask
        assert block_plan.split.n_variance == pytest.approx(split, rel=0.02)
        assert block_plan.one.n_variance == pytest.approx(split_one, rel=0.01)
        assert block_plan.recommended.n_variance == pytest.approx(best, rel=0.01)
        assert block_plan.options[0].respondents == 1
        labels = {way.ask: way.label for way in block_plan.options}
        assert labels[4] == "4 of 5 questions, drawn by chance, answered jointly"
        assert labels[5] == "All 5 questions, answered jointly", "nothing is drawn"
    tables = plan_block([2] * 5, 1, cross_tables=True)
    assert tables.ask == 2
    assert (
        "Cross-tables need two questions of each person and cost 1.2 times as many people." in tables.reason
    )
    assert "3.9 times as many people" in plan_block([2] * 5, 2).reason
    assert json.loads(json.dumps(tables.to_dict()))["ask"] == 2
    with pytest.raises(AnalysisError, match="a block of 1 questions"):
        plan_block([2], 1)
    with pytest.raises(AnalysisError, match="epsilon"):
        plan_block([2, 2], 0)
    for sizes, size in (([1, 2], "1"), ([2, 0, 3], "0")):
        with pytest.raises(AnalysisError, match="needs at least two answers, got one with") as error:
            plan_block(sizes, 1)
        assert str(error.value).endswith(f"got one with {size}; add answers to it, or leave it out")
    with pytest.raises(AnalysisError, match=r"must be a whole number, got 2\.5"):
        plan_block([2, 2.5], 1)  # type: ignore[list-item]


def test_the_planner_s_margin_is_that_of_the_people_asked() -> None:
    survey = of_five(2)
    margin_plan = plan(survey.questions[0].mechanism, n=1000)
    view = channel_view(survey.questions[0].mechanism)
    weights = view.solution(view.unit(1))
    spread = float(view.backward(weights**2).mean())  # of No and Yes, half of the people each
    assert margin_plan.margin == pytest.approx(1.959964 * math.sqrt((spread - 0.25) / 400), rel=1e-6)


# Estimates ------------------------------------------------------------------------------------------------------


def test_members_are_counted_from_the_reports_that_asked_them() -> None:
    survey = block_of(*MIXED, before=(yes_no("x", {"name": "warner", "epsilon": 1}),))
    rng = np.random.default_rng(1)
    truth = np.stack([rng.integers(0, size, 6000) for size in (2, 3, 5)], axis=1)
    frame = pd.DataFrame(
        {"x_reported": rng.integers(0, 2, 6000), "block1_reported": reports_of(survey, truth, 1)}
    )
    counted = tally(survey, frame)
    assert counted.n == 6000
    assert sum(int(counted.counts[name].sum()) for name in "abc") == 12_000
    # The same reports one by one, taken apart as the codebook says.
    channel: Any = survey.blocks[0].channel
    asked_counts, code_counts = np.zeros(3, dtype=int), np.zeros(2, dtype=int)
    for code in frame["block1_reported"]:
        members = channel.members(int(code) // channel.largest)
        asked_counts[list(members)] += 1
        if 0 in members:
            code_counts[int(code) % channel.largest // channel.sizes[members[1]]] += 1
    assert [int(counted.counts[name].sum()) for name in "abc"] == asked_counts.tolist()
    assert counted.counts["a"].reshape(-1, 2).sum(axis=0).tolist() == code_counts.tolist()
    results = report(survey, frame)
    assert [question.id for question in results.questions] == ["x", "a", "b", "c"]
    assert results["b"].n == asked_counts[1]
    assert results.to_dict()["epsilon_total"] == pytest.approx(3)
    assert "The 3 answers of one person add up to ε = 3" in results.privacy
    entry = results.to_dict()["questions"][1]
    assert entry["block"] == "block1"
    assert entry["n"] == asked_counts[0]
    assert "people were asked this" in results.to_text()
    assert "block1" not in results.to_html().split("<table")[1]


# Ibis 12 itself calls names that DuckDB 2 and pandas 3 have deprecated.
@pytest.mark.filterwarnings(r"ignore:fetch_arrow_table\(\) is deprecated:DeprecationWarning")
@pytest.mark.filterwarnings("ignore:The 'future.infer_string' option is deprecated")
def test_counts_files_records_and_engines_agree(tmp_path: Path) -> None:
    survey = block_of(*MIXED)
    truth = np.stack([np.arange(3000) % size for size in (2, 3, 5)], axis=1)
    frame = pd.DataFrame({"block1_reported": reports_of(survey, truth, 3)})
    expected = tally(survey, frame).counts
    write_export(survey, frame, tmp_path)
    records = frame["block1_reported"].to_numpy().astype("<u1").tobytes()
    import ibis

    table = ibis.duckdb.connect().read_parquet(tmp_path / "reports.parquet")
    for source in (tmp_path / "reports.csv", tmp_path / "reports.parquet", [records], table):
        source_tally = tally(survey, source)
        assert {name: counts.tolist() for name, counts in source_tally.counts.items()} == {
            name: counts.tolist() for name, counts in expected.items()
        }
    book = (tmp_path / "codebook.md").read_text(encoding="utf-8")
    assert "each person was asked 2" in book
    assert "r div 15" in book
    assert report(survey, tmp_path / "reports.csv").n == 3000
    within, by_engine = tally(survey, frame, by="a"), tally(survey, table, by="a")
    assert by_engine.n == within.n
    for name, counts in within.counts.items():
        assert np.array_equal(by_engine.counts[name], counts), name


def test_few_people_asked_give_no_estimate() -> None:
    survey = of_five(1)
    frame = pd.DataFrame({"block1_reported": reports_of(survey, np.zeros((100, 5), dtype=np.uint8), 1)})
    assert all(not question.shares for question in report(survey, frame).questions)
    assert all(question.shares for question in report(survey, frame, minimum=2).questions)


# Tables and models ----------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def many() -> tuple[Survey, np.ndarray, pd.DataFrame]:
    """Many people whose answers hang together."""
    survey = of_five(3, 3)
    truth = people([0.1, 0.3, 0.5, 0.7, 0.2], 150_000, 5)
    age = np.random.default_rng(2).normal(size=len(truth))
    old = (np.random.default_rng(3).random(len(truth)) < 1 / (1 + np.exp(-(age - 1)))).astype(np.uint8)
    truth[:, 4] = old
    return survey, truth, pd.DataFrame({"block1_reported": reports_of(survey, truth, 5), "age": age})


def test_a_table_of_two_members_is_that_of_the_truth(many: tuple[Survey, np.ndarray, pd.DataFrame]) -> None:
    survey, truth, frame = many
    for rows, columns in (("q1", "q3"), ("q3", "q1")):
        table = crosstab(frame, survey, rows, columns)
        a, b = truth[:, int(rows[1])], truth[:, int(columns[1])]
        expected = np.array([[np.mean((a == i) & (b == j)) for j in (0, 1)] for i in (0, 1)])
        assert np.abs(table.estimate - expected).max() < 4 * table.se.max()
        assert table.n == pytest.approx(45_000, rel=0.02)  # 3 of 10 pairs
        assert table.test is not None
        assert table.test.p_value < 1e-6
        assert np.all((table.low < table.estimate) & (table.estimate < table.high))


def test_counts_and_rows_give_the_same_table(many: tuple[Survey, np.ndarray, pd.DataFrame]) -> None:
    survey, _, frame = many
    counted = tally(survey, frame[["block1_reported"]])
    table = pair_table(survey, "q3", "q1", counted.counts["block1"])
    by_counts, by_rows = crosstab(table, survey, "q3", "q1"), crosstab(frame, survey, "q3", "q1")
    assert np.allclose(by_counts.estimate, by_rows.estimate)
    assert np.allclose(by_counts.low, by_rows.low)
    weighted = crosstab(frame.assign(w=1.0), survey, "q3", "q1", weights="w")
    assert np.allclose(weighted.estimate, by_rows.estimate)
    assert np.allclose(weighted.se, by_rows.se, rtol=1e-3)
    finite = crosstab(frame, survey, "q3", "q1", population=10**9)
    assert np.allclose(finite.se, by_rows.se, rtol=1e-2)


def test_groups_of_a_member_in_the_report(many: tuple[Survey, np.ndarray, pd.DataFrame]) -> None:
    survey, truth, frame = many
    results = report(survey, frame[["block1_reported"]], by="q2")
    inside = next(table for table in results.groups if table.id == "q1")
    for share in inside.shares:
        mask = truth[:, 2] == (share.group == "Yes")
        assert share.estimate == pytest.approx(float(truth[mask, 1].mean()), abs=5 * share.se)
    difference = compare(frame, survey, "q1", "q2")
    assert difference.differences[0].difference == pytest.approx(
        inside.of_option("Yes")[1].estimate - inside.of_option("Yes")[0].estimate
    )
    alone = of_five(1)
    few = pd.DataFrame({"block1_reported": reports_of(alone, truth[:2000], 5)})
    notes = report(alone, few, by="q2").groups[0].notes
    advice = "ask two or more questions of the block to each person, to see two of them together."
    assert notes == (f'Nobody is asked "q2" and "q0" together; {advice}',)
    with pytest.raises(AnalysisError, match="nobody is asked"):
        crosstab(few, alone, "q0", "q1")


def test_models_take_a_member_as_outcome_or_predictor(many: tuple[Survey, np.ndarray, pd.DataFrame]) -> None:
    survey, truth, frame = many
    subset = frame.iloc[:30_000]
    fit = logit("q4 ~ age", subset, survey)
    slope = fit.to_frame().loc["age"]
    assert abs(slope["coef"] - 1) < 4 * slope["se"]
    assert fit.n == pytest.approx(18_000, rel=0.03)
    coefficients = linear("age ~ q4", subset, survey).to_frame()
    assert coefficients.loc["q4", "coef"] == pytest.approx(
        float(frame["age"][truth[:, 4] == 1].mean() - frame["age"][truth[:, 4] == 0].mean()), abs=0.1
    )
    with pytest.raises(AnalysisError, match=r"q1 and q4"):
        logit("q4 ~ q1", subset, survey)


def test_a_scale_of_a_block_is_the_outcome_of_a_linear_model_as_outside_of_one() -> None:
    survey = block_of(*MIXED, ask=2, epsilon=5, before=(yes_no("x", {"name": "warner", "epsilon": 3}),))
    rng = np.random.default_rng(8)
    n = 40_000
    age = rng.normal(size=n)
    scale = np.clip(np.round(2 + 0.7 * age + rng.normal(size=n)), 0, 4).astype(np.uint8)
    group = (age > 0).astype(np.uint8)
    truth = np.stack([group, rng.integers(0, 3, n).astype(np.uint8), scale], axis=1)
    frame = pd.DataFrame(
        {
            "x_reported": simulate(survey.questions[0].mechanism, group, 7),
            "block1_reported": reports_of(survey, truth, 7),
            "age": age,
            "town": np.where(group == 1, "A", "B"),
            "w": 1.0 + 0.1 * group,
        }
    )
    exact = np.polyfit(age, scale + 1.0, 1)[0]
    fit = linear("c ~ age", frame, survey)
    slope = fit.to_frame().loc["age"]
    assert fit.n == pytest.approx(n * 2 / 3, rel=0.03), "those who were asked"
    assert abs(slope["coef"] - exact) < 4 * slope["se"]
    assert slope["se"] < 0.1
    weighted = linear("c ~ age", frame, survey, weights="w").to_frame().loc["age"]
    assert abs(weighted["coef"] - exact) < 4 * weighted["se"] + 0.02
    # Compared by an exact column, and by a question outside the block.
    for by in ("town", "x"):
        comparison = compare(frame, survey, "a", by=by)
        gap = comparison.differences[0]
        assert gap.low - 0.02 < (1.0 if gap.difference > 0 else -1.0) < gap.high + 0.02


def test_members_of_several_sizes_stand_in_tables_with_other_questions() -> None:
    survey = block_of(*MIXED, epsilon=4, before=(yes_no("x", {"name": "warner", "epsilon": 3}),))
    rng = np.random.default_rng(4)
    n = 60_000
    a = rng.integers(0, 2, n)
    truth = np.stack([a, np.where(a == 1, 2, rng.integers(0, 3, n)), rng.integers(0, 5, n)], axis=1)
    frame = pd.DataFrame(
        {
            "x_reported": simulate(survey.questions[0].mechanism, a, 7),
            "block1_reported": reports_of(survey, truth, 7),
        }
    )
    for rows, columns, first, second in (("x", "b", a, truth[:, 1]), ("b", "a", truth[:, 1], a)):
        table = crosstab(frame, survey, rows, columns)
        expected = np.array(
            [
                [np.mean((first == i) & (second == j)) for j in range(table.estimate.shape[1])]
                for i in range(table.estimate.shape[0])
            ]
        )
        assert np.abs(table.estimate - expected).max() < 4.5 * table.se.max()
    weighted = report(survey, frame.assign(w=1.0), weights="w")
    plain = report(survey, frame)
    assert weighted["c"].shares[0].estimate == pytest.approx(plain["c"].shares[0].estimate, abs=0.01)


def test_a_long_list_in_a_block_of_several_sizes_is_estimated_too() -> None:
    """More columns than a table may have: joint sizes are then not distinguished."""
    long = {**CHOICE, "options": [f"o{number}" for number in range(40)]}
    survey = block_of(member("a"), long, SCALE_QUESTION, epsilon=6)
    rng = np.random.default_rng(6)
    truth = np.stack([rng.integers(0, size, 40_000) for size in (2, 40, 5)], axis=1)
    question = report(survey, pd.DataFrame({"block1_reported": reports_of(survey, truth, 6)}))["b"]
    for line in question.shares:
        assert abs(line.estimate - 1 / 40) < 5 * line.se


# Coverage -------------------------------------------------------------------------------------------------------


def coverage(survey: Survey, truth_of: Any, n: int, times: int, seed: int) -> tuple[float, float]:
    """How often intervals of the members' shares, and of the cells of a pair, hold the truth of the population."""
    population = truth_of(200_000, 1)
    rng, hits = np.random.default_rng(seed), [[0, 0], [0, 0]]
    first, second = survey.blocks[0].questions[:2]
    a, b = population[:, 0], population[:, 1]
    sizes = [len(question.options) for question in survey.questions[:2]]
    cells = np.array([[np.mean((a == i) & (b == j)) for j in range(sizes[1])] for i in range(sizes[0])])
    for number in range(times):
        sample = population[rng.integers(0, len(population), n)]
        codes = reports_of(survey, sample, seed * 100_003 + number)
        counted = tally(survey, {"block1_reported": codes})
        for column, question in enumerate(survey.questions[:2]):
            result = estimate(counted.counts[question.id], question.mechanism)
            truths = np.bincount(population[:, column], minlength=len(question.options)) / len(population)
            truths = truths[1:] if len(result.estimates) == 1 else truths
            for entry, true in zip(result.estimates, truths, strict=True):
                hits[0][0] += entry.low <= true <= entry.high
                hits[0][1] += 1
        if survey.blocks[0].ask > 1:
            table = crosstab(
                pair_table(survey, first, second, counted.counts["block1"]), survey, first, second
            )
            hits[1][0] += int(((table.low <= cells) & (cells <= table.high)).sum())
            hits[1][1] += cells.size
    return hits[0][0] / hits[0][1], hits[1][0] / max(1, hits[1][1])


def yes_no_people(n: int, seed: int) -> np.ndarray:
    return people([0.2, 0.35, 0.5, 0.6, 0.1], n, seed)


def mixed_people(n: int, seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    a = (rng.random(n) < 0.3).astype(np.int64)
    b = np.where(rng.random(n) < 0.4, a, rng.integers(0, 3, n))
    return np.stack([a, b, rng.integers(0, 5, n)], axis=1)


@pytest.mark.parametrize("kind", ["yes_no", pytest.param("mixed", marks=pytest.mark.long)])
def test_intervals_of_members_and_of_pairs_hold_as_often_as_stated(kind: str) -> None:
    """One place of the grid: 93.0 to 97.5 %."""
    survey = of_five(2) if kind == "yes_no" else block_of(*MIXED)
    alone, pair = coverage(survey, yes_no_people if kind == "yes_no" else mixed_people, 1500, 400, 11)
    assert 0.93 <= alone <= 0.975
    assert 0.93 <= pair <= 0.975


@pytest.mark.long
@pytest.mark.parametrize("epsilon", [0.5, 1, 2, 4])
@pytest.mark.parametrize("ask", [1, 2, 3])
@pytest.mark.parametrize("n", [400, 2000])
@pytest.mark.parametrize("kind", ["yes_no", "mixed"])
def test_intervals_hold_over_the_whole_grid(kind: str, n: int, ask: int, epsilon: float) -> None:
    survey = of_five(ask, epsilon) if kind == "yes_no" else block_of(*MIXED, ask=ask, epsilon=epsilon)
    seed = int(10 * epsilon) + 100 * ask + n
    alone, pair = coverage(survey, yes_no_people if kind == "yes_no" else mixed_people, n, 2000, seed)
    print(f"{kind} n={n} ask={ask} epsilon={epsilon}: members {alone:.4f}, cells {pair:.4f}")
    assert 0.93 <= alone <= 0.975
    assert ask == 1 or 0.93 <= pair <= 0.975


@pytest.mark.parametrize("times", [200, pytest.param(1000, marks=pytest.mark.long)])
def test_the_test_of_independence_keeps_its_level(times: int) -> None:
    """Two independent questions of one block: 5 % of the p-values lie below .05, though the reports hang together."""
    survey, rng = of_five(2), np.random.default_rng(8)
    small = 0
    for number in range(times):
        truth = (rng.random((1500, 5)) < [0.3, 0.4, 0.5, 0.6, 0.2]).astype(np.uint8)
        counted = tally(survey, {"block1_reported": reports_of(survey, truth, number)})
        table = crosstab(pair_table(survey, "q0", "q1", counted.counts["block1"]), survey, "q0", "q1")
        assert table.test is not None
        small += table.test.p_value < 0.05
    assert abs(small / times - 0.05) <= 3 * np.sqrt(0.05 * 0.95 / times)


def test_the_audit_enumerates_the_whole_report() -> None:
    from hushpoll_analysis.simulation.whole_report import audit_person, parts_of

    survey = block_of(member("a"), CHOICE, epsilon=1, before=(yes_no("x", {"name": "warner", "epsilon": 1}),))
    audit = audit_person(parts_of(survey), [entry.channel.ratio for entry in survey.entries])
    assert audit.passed
    assert audit.epsilon == pytest.approx(2, abs=1e-9)
    assert audit.epsilon <= 2


def test_numbers_of_a_block_under_weights() -> None:
    """A scale of a block: only who was asked counts, with equal weights as without."""
    from hushpoll_analysis.planning.draft_resolution import read_draft
    from hushpoll_analysis.simulation.respondents import simulate_survey

    survey = read_draft(
        {
            "hushpoll": 1,
            "title": "Block",
            "questions": [
                {"id": "mood", "kind": "scale", "text": "?", "points": 4},
                {"id": "calm", "kind": "scale", "text": "?", "points": 4},
                {"id": "left", "kind": "yes_no", "text": "?"},
            ],
            "blocks": [{"questions": ["mood", "calm", "left"], "ask": 1, "epsilon": 2.0}],
        }
    )
    truth = {"mood": [0.1, 0.4, 0.3, 0.2], "calm": [0.25] * 4, "left": [0.7, 0.3]}
    frame = pd.DataFrame(dict(simulate_survey(survey, 2000, truth, seed=3))).add_suffix("_reported")
    plain, weighted = report(survey, frame), report(survey, frame.assign(one=1.0), weights="one")
    a, b = plain["mood"].numbers, weighted["mood"].numbers
    assert b.mean.estimate == pytest.approx(a.mean.estimate, abs=1e-9)
    assert b.mean.se == pytest.approx(a.mean.se, rel=5e-3)
    assert weighted["mood"].n == plain["mood"].n < 2000


@pytest.mark.parametrize(("ask", "named"), [(2, True), (3, False)])
def test_a_coin_is_named_only_where_one_draws(ask: int, named: bool) -> None:
    survey = block_of(*MIXED, ask=ask, epsilon=4)
    truth = np.random.default_rng(5).integers(0, 2, (600, 3))
    text = report(survey, pd.DataFrame({"block1_reported": reports_of(survey, truth, 6)})).to_text()
    assert ("by an open coin" in " ".join(text.split())) is named
    assert ("by an open coin" in survey.blocks[0].text) is named


def test_a_member_has_weighted_shares_and_a_place_in_a_sum() -> None:
    survey = block_of(*MIXED, ask=1, epsilon=3, before=(yes_no("o", {"name": "warner", "epsilon": 3}),))
    rng = np.random.default_rng(7)
    truth = rng.integers(0, 2, (3000, 3))
    before = simulate(survey.questions[0].mechanism.device, truth[:, 0], seed=8)
    frame = pd.DataFrame({"o_reported": before, "block1_reported": reports_of(survey, truth, 9)})
    weights = rng.lognormal(size=3000)
    expected = report(survey, frame.assign(w=weights), weights="w")["a"].shares[0]
    result = weighted_estimate(frame, survey, "a", weights=weights)
    assert (result.n, result.shares[1].estimate) == (
        int(report(survey, frame)["a"].n),
        pytest.approx(expected.estimate),
    )
    assert result.shares[1].se == pytest.approx(expected.se)
    score = sum_score(frame, survey, ["o", "a"])
    assert score.n == result.n
    assert abs(score.mean - 1) < 4 * score.se
    with pytest.raises(AnalysisError, match="randomized one by one"):
        sum_score(frame, survey, ["a", "c"])
