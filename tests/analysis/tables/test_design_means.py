"""Means within groups under a sample design: weights, strata, clusters, margins and finite populations count."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hushpoll_analysis import Replicates, compare, linear, report
from hushpoll_analysis.errors import AnalysisError
from hushpoll_analysis.planning.draft_resolution import read_draft
from hushpoll_analysis.simulation.respondents import simulate_survey

SURVEY = read_draft(
    {
        "hushpoll": 1,
        "title": "T",
        "questions": [
            {
                "id": "hours",
                "kind": "number",
                "text": "?",
                "min": 0,
                "max": 80,
                "step": 1,
                "unit": "h",
                "mechanism": {"epsilon": 3, "target": "mean"},
            },
            {
                "id": "mood",
                "kind": "scale",
                "text": "?",
                "points": 5,
                "mechanism": {"name": "krr", "epsilon": 3},
            },
            {"id": "a", "kind": "yes_no", "text": "?", "mechanism": {"epsilon": 3}},
        ],
    }
)
TRUTH = {"hours": {"values": [10.0, 50.0], "shares": [0.5, 0.5]}, "mood": [0.2] * 5, "a": [0.5, 0.5]}
N = 1500


def people(n: int, seed: int) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    reports = {f"{name}_reported": column for name, column in simulate_survey(SURVEY, n, TRUTH, seed)}
    rows = pd.DataFrame(reports).assign(
        site=rng.choice(["p", "q", "r"], n), stratum=rng.choice(["n", "s"], n), cluster=rng.integers(0, 60, n)
    )
    rows["cluster"] = 2 * rows["cluster"] + (rows["stratum"] == "s")
    # Weights go with the answers, as those of people who answer more rarely do.
    return rows.assign(w=np.where(rows["hours_reported"] > 0, 4.0, 0.5) * rng.gamma(4.0, 0.25, n))


@pytest.fixture(scope="module")
def table() -> pd.DataFrame:
    return people(N, 1)


def means_of(data: Any, question: str, by: str, **keys: Any) -> Any:
    results = report(SURVEY, data, by=by, only=question, **keys)
    return results.groups[0].numbers


DESIGNS: list[dict[str, Any]] = [
    {"weights": "w"},
    {"weights": "w", "strata": "stratum"},
    {"weights": "w", "strata": "stratum", "clusters": "cluster"},
    {"weights": "w", "margins": {"stratum": {"n": 0.3, "s": 0.7}}},
]


@pytest.mark.parametrize("design", DESIGNS, ids=str)
def test_means_of_exact_groups_agree_with_a_linear_model(table: pd.DataFrame, design: dict[str, Any]) -> None:
    numbers = means_of(table, "hours", "site", **design)
    model = linear("hours ~ site", table, SURVEY, **design).to_frame()
    assert numbers.means[0].estimate == pytest.approx(model["coef"].iloc[0])
    assert numbers.means[0].se == pytest.approx(model["se"].iloc[0], rel=1e-6)
    for difference, (_, coefficient) in zip(numbers.differences, model.iloc[1:3].iterrows(), strict=True):
        assert [difference.difference, difference.se] == pytest.approx(
            [coefficient["coef"], coefficient["se"]], rel=1e-6
        )


@pytest.mark.parametrize("question", ["hours", "mood"])
@pytest.mark.parametrize("by", ["site", "a"])
def test_equal_weights_give_the_means_of_a_simple_random_sample(
    table: pd.DataFrame, question: str, by: str
) -> None:
    plain = means_of(table, question, by)
    weighted = means_of(table.assign(w=2.0), question, by, weights="w")
    for mean, other in zip(weighted.means, plain.means, strict=True):
        assert mean.estimate == pytest.approx(other.estimate)
        assert [mean.se, mean.low, mean.high] == pytest.approx([other.se, other.low, other.high], rel=0.02)
    for gap, expected in zip(weighted.differences, plain.differences, strict=True):
        assert [gap.difference, gap.se] == pytest.approx([expected.difference, expected.se], rel=0.02)
        assert gap.p_value == pytest.approx(expected.p_value, abs=0.01)


@pytest.mark.parametrize("by", ["site", "a"])
def test_the_same_people_twice_in_clusters_are_no_more_people(table: pd.DataFrame, by: str) -> None:
    person = table.assign(person=np.arange(N))
    twice = pd.concat([person, person], ignore_index=True)
    once, twice_clustered = (
        means_of(data, "mood", by, weights="w", clusters="person") for data in (person, twice)
    )
    for difference, other in zip(twice_clustered.differences, once.differences, strict=True):
        assert [difference.difference, difference.se] == pytest.approx([other.difference, other.se], rel=1e-6)


def test_the_whole_population_leaves_the_randomization_alone(table: pd.DataFrame) -> None:
    free, census = (means_of(table, "mood", "site", population=size) for size in (10**9, N))
    for mean, other in zip(census.means, free.means, strict=True):
        assert 0.3 * other.se < mean.se < other.se


def test_replicate_weights_give_the_errors_of_means(table: pd.DataFrame) -> None:
    rng = np.random.default_rng(2)
    resampled = rng.multinomial(N, np.full(N, 1 / N), 200).T * table["w"].to_numpy()[:, None]
    replicated = means_of(table, "mood", "site", weights="w", replicates=Replicates(resampled))
    other = means_of(table, "mood", "site", weights="w")
    for got, linearized in zip(replicated.differences, other.differences, strict=True):
        assert got.se == pytest.approx(linearized.se, rel=0.15)


def test_compare_gives_the_same_means_of_a_table_and_of_a_file(table: pd.DataFrame, tmp_path: Path) -> None:
    expected = means_of(table, "hours", "site", weights="w")
    comparison = compare(table, SURVEY, "hours", "site", reference="p", weights="w")
    assert [vars(difference) for difference in comparison.differences] == [
        vars(difference) for difference in expected.differences
    ]
    table.to_csv(tmp_path / "r.csv", index=False)
    from_file = compare(str(tmp_path / "r.csv"), SURVEY, "hours", "site", reference="p", weights="w")
    for difference, other in zip(from_file.differences, expected.differences, strict=True):
        figures = ("difference", "se", "low", "high", "p_value")
        assert [getattr(difference, key) for key in figures] == pytest.approx(
            [getattr(other, key) for key in figures]
        )


@pytest.mark.parametrize("keys", [{}, {"weights": "w"}], ids=str)
def test_differences_of_means_hold_together_where_that_is_asked_for(
    table: pd.DataFrame, keys: dict[str, str]
) -> None:
    alone, both = (compare(table, SURVEY, "hours", "site", simultaneous=s, **keys) for s in (False, True))
    for joint, other in zip(both.differences, alone.differences, strict=True):
        # Three differences: the level of each is 1 - 0.05 / 3, z = 2.394 instead of 1.960.
        assert (joint.high - joint.low) / (other.high - other.low) == pytest.approx(2.394 / 1.960, rel=0.01)
        assert joint.se == pytest.approx(other.se)
    assert both.means == alone.means


def test_a_mean_has_no_option_to_compare(table: pd.DataFrame) -> None:
    with pytest.raises(AnalysisError, match="tell the mean only"):
        compare(table, SURVEY, "hours", "site", option="many")


@pytest.mark.parametrize("by", ["site", pytest.param("a", marks=pytest.mark.long)])
def test_intervals_of_differences_cover_nothing_where_groups_are_alike(by: str) -> None:
    held, rng = 0, np.random.default_rng(8)
    for seed in range(80):
        sample = people(400, 1000 + seed).assign(w=rng.gamma(2.0, 0.5, 400))
        gap = compare(sample, SURVEY, "hours", by, weights="w", clusters="cluster").differences[0]
        held += gap.low <= 0.0 <= gap.high
    assert held / 80 == pytest.approx(0.95, abs=0.06)


@pytest.mark.parametrize(
    ("kind", "mechanism"),
    [
        ("number", {"name": "one_bit", "epsilon": 2}),
        ("number", {"epsilon": 2}),
        ("scale", {"name": "one_bit", "epsilon": 2}),
    ],
)
def test_means_of_few_values_are_compared_too(kind: str, mechanism: dict[str, Any]) -> None:
    """Nothing is rounded where there are few values, and still the reports tell the mean only."""
    values = {"min": 1, "max": 11, "step": 1} if kind == "number" else {"points": 11}
    question = {"id": "nu", "kind": kind, "text": "?", **values, "mechanism": {**mechanism, "target": "mean"}}
    yes = {"id": "yn", "kind": "yes_no", "text": "?", "mechanism": {"name": "warner", "epsilon": 3}}
    survey = read_draft({"hushpoll": 1, "title": "t", "questions": [question, yes]})
    shares = {"values": [1, 11], "shares": [0.5, 0.5]} if kind == "number" else [0.5, *[0.0] * 9, 0.5]
    columns = simulate_survey(survey, 2000, {"nu": shares, "yn": [0.5, 0.5]}, 1)
    data = pd.DataFrame({f"{name}_reported": codes for name, codes in columns}).assign(g=np.arange(2000) % 2)
    exact, weighted = (
        compare(data, survey, "nu", "g"),
        compare(data.assign(w=1.0), survey, "nu", "g", weights="w"),
    )
    slope = linear("nu ~ g", data, survey).to_frame().loc["g"]
    assert exact.differences[0].difference == pytest.approx(slope["coef"])
    assert weighted.differences[0].difference == pytest.approx(slope["coef"])
    assert (
        compare(data, survey, "nu", "yn").differences[0].low
        < 0.0
        < compare(data, survey, "nu", "yn").differences[0].high
    )
