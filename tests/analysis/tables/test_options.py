"""Groups by one option, means compared by `compare`, and what to name where a whole question will not do."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hushpoll_analysis import compare, crosstab, logit, report, simulate
from hushpoll_analysis.channel.view import channel_view
from hushpoll_analysis.errors import AnalysisError
from hushpoll_analysis.planning.draft_resolution import read_draft
from hushpoll_client import mechanisms

N = 8000
SURVEY = read_draft(
    {
        "hushpoll": 1,
        "title": "Options",
        "questions": [
            {
                "id": "used",
                "kind": "multiple",
                "text": "Which?",
                "options": ["a", "b", "c"],
                "mechanism": {"name": "sampled", "epsilon": 4, "ask": 2},
            },
            {
                "id": "town",
                "kind": "choice",
                "text": "Where?",
                "options": [f"t{k}" for k in range(12)],
                "mechanism": {"name": "subset", "epsilon": 2},
            },
            {
                "id": "hours",
                "kind": "number",
                "text": "Hours?",
                "min": 0,
                "max": 80,
                "step": 1,
                "unit": "hours",
                "mechanism": {"epsilon": 2, "target": "mean"},
            },
            {
                "id": "late",
                "kind": "yes_no",
                "text": "Late?",
                "mechanism": {"name": "warner", "epsilon": 2},
            },
        ],
    }
)


@pytest.fixture(scope="module")
def frame() -> pd.DataFrame:
    """People who ticked a are late in 70 of 100 cases and work 40 hours; the others in 20, and 20 hours."""
    rng = np.random.default_rng(3)
    a = rng.random(N) < 0.4
    ticks = np.stack([a, rng.random(N) < 0.3, rng.random(N) < 0.6], axis=1)
    late = rng.random(N) < np.where(a, 0.7, 0.2)
    used, town, hours, late_question = SURVEY.questions
    grid = np.where(a, 10, 5)
    return pd.DataFrame(
        {
            "used_reported": simulate(used.channel, ticks.astype(np.int64), seed=1),
            "town_reported": simulate(town.channel, np.where(late, 3, 5), seed=2),
            "hours_reported": simulate(hours.channel, grid, seed=3),
            "late_reported": simulate(late_question.channel, late.astype(np.int64), seed=4),
            "site": np.where(a, "north", "south"),
            "w": rng.uniform(0.5, 2, N),
        }
    )


@pytest.mark.parametrize("weights", [None, "w"])
def test_one_option_makes_groups(frame: pd.DataFrame, weights: str | None) -> None:
    results = report(SURVEY, frame, by="used[a]", **({"weights": weights} if weights else {}))
    tables = {table.id: table for table in results.groups}
    assert set(tables) == {"town", "hours", "late"}
    late = {share.group: share for share in tables["late"].shares if share.option == "Yes"}
    assert list(late) == ["No", "Yes"]
    assert abs(late["Yes"].estimate - 0.7) < 4 * late["Yes"].se
    assert abs(late["No"].estimate - 0.2) < 4 * late["No"].se
    assert late["Yes"].se < 0.1
    assert tables["late"].randomized
    if weights is None:
        (gap,) = tables["hours"].mean_differences
        assert abs(gap.difference - 20) < 4 * gap.se
    assert "used[a]" in results.to_text()
    assert "Which? a" in results.to_html()


def test_a_file_gives_the_same_groups(frame: pd.DataFrame, tmp_path: Path) -> None:
    path = tmp_path / "reports.parquet"
    frame.drop(columns=["site", "w"]).to_parquet(path)
    groups = report(SURVEY, path, by="used[a]").to_dict()["groups"]
    assert groups == report(SURVEY, frame, by="used[a]").to_dict()["groups"]


def test_what_makes_no_groups_is_refused_with_what_does(frame: pd.DataFrame) -> None:
    with pytest.raises(
        AnalysisError, match=r"do not determine shares, so they cannot form groups.*group by another"
    ):
        report(SURVEY, frame, by="hours")
    with pytest.raises(AnalysisError, match='"used" has no option "z"; its options are a, b, c'):
        report(SURVEY, frame, by="used[z]")


def test_compare_gives_the_difference_of_means_of_a_number(frame: pd.DataFrame) -> None:
    exact = compare(frame, SURVEY, "hours", "site", reference="south")
    by_question = compare(frame, SURVEY, "hours", "late", reference="No")
    by_option = compare(frame, SURVEY, "hours", "used[a]", reference="No")
    (difference,) = exact.differences
    assert abs(difference.difference - 20) < 4 * difference.se
    assert list(exact.to_frame().index) == [("north", "south")]
    assert exact.to_dict()["means"][0]["group"] == "north"
    (other,) = by_question.differences
    assert 0 < other.difference < 20
    (ticked,) = by_option.differences
    assert abs(ticked.difference - 20) < 4 * ticked.se
    assert difference.se < ticked.se
    weighted = compare(frame.assign(w=1.0), SURVEY, "hours", "site", reference="south", weights="w")
    assert weighted.differences[0].difference == pytest.approx(difference.difference)
    assert weighted.differences[0].se == pytest.approx(difference.se, rel=0.01)


def test_means_are_compared_within_the_options_of_a_list(frame: pd.DataFrame) -> None:
    comparison = compare(frame, SURVEY, "hours", "used")
    alone = compare(frame, SURVEY, "hours", "used[a]", reference="No").differences[0]
    assert [(difference.group, difference.reference) for difference in comparison.differences] == [
        ("a", "not a"),
        ("b", "not b"),
        ("c", "not c"),
    ]
    assert comparison.differences[0].difference == alone.difference
    assert [mean.group for mean in comparison.means] == ["a", "b", "c"]


def test_tables_and_models_take_a_whole_list_or_one_option(frame: pd.DataFrame) -> None:
    table_of_all = crosstab(frame, SURVEY, "town", "late")
    table = crosstab(frame, SURVEY, "town[t3]", "late")
    assert abs(float(table.estimate[1, 1]) - 0.4) < 4 * float(table.se[1, 1])
    assert table_of_all.estimate[3].tolist() == table.estimate[1].tolist()
    assert crosstab(frame, SURVEY, "late", "used").estimate.shape == (2, 3)
    with pytest.raises(AnalysisError, match=r"name one option, as in 'used\[a\]'"):
        logit("late ~ used", frame, SURVEY)
    with pytest.raises(AnalysisError, match=r"question\[option\]"):
        channel_view(mechanisms.subset(options=12, epsilon=1))
