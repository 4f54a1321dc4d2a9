"""What a table by groups shows and says where estimates leave [0, 1], and where the search does not settle."""

from __future__ import annotations

import io
from dataclasses import replace

import hushpoll_analysis.tables.joint
import numpy as np
import pandas as pd
import pytest
from hushpoll_analysis import crosstab, report
from hushpoll_analysis.channel.maximum_likelihood import Maximum, maximise
from hushpoll_analysis.simulation.respondents import simulate_survey
from hushpoll_analysis.tables.within import shown_limits
from hushpoll_client import Survey, mechanisms

SURVEY = Survey.from_draft(
    {
        "hushpoll": 1,
        "title": "Groups",
        "questions": [
            {
                "id": "did",
                "kind": "yes_no",
                "text": "Did you?",
                "mechanism": {"name": "warner", "truth": "3/4"},
            }
        ],
    }
)


def by_town(counts: dict[str, tuple[int, int]]) -> pd.DataFrame:
    """No and Yes reports of each town, one row per respondent."""
    rows = [(town, code) for town, pair in counts.items() for code in (0, 1) for _ in range(pair[code])]
    return pd.DataFrame(rows, columns=["town", "did_reported"])


@pytest.mark.parametrize(("estimate", "half"), [(-0.3, 0.1), (-0.05, 0.04), (1.02, 0.01), (1.4, 0.2)])
def test_an_interval_outside_becomes_the_likelihood_interval_inside(estimate: float, half: float) -> None:
    low, high = shown_limits(estimate, estimate - half, estimate + half)
    grid = np.linspace(0, 1, 1_000_001)
    height = -((grid - estimate) ** 2) / half**2  # twice the log-likelihood, in units of the squared quantile
    inside = grid[height >= height.max() - 1]
    assert (low[0], high[0]) == pytest.approx((inside[0], inside[-1]), abs=2e-6)
    assert low[0] < high[0]


def test_an_interval_that_touches_the_possible_values_is_only_cut() -> None:
    low, high = shown_limits([-0.1, 0.5, 0.95], [-0.3, 0.4, 0.8], [0.1, 0.6, 1.1])
    assert low.tolist() == [0.0, 0.4, 0.8]
    assert high.tolist() == [0.1, 0.6, 1.0]


def test_a_group_far_below_zero_is_not_shown_as_certainly_zero() -> None:
    results = report(SURVEY, by_town({"a": (90, 10), "b": (50, 50)}), by="town")
    (table,) = results.groups
    (low,) = (share for share in table.shares if share.group == "a")
    assert low.high < 0
    assert low.shown_estimate == low.shown_low == 0
    assert low.shown_high > 0.01
    notes = " ".join(table.notes)
    assert "whole interval of Yes in a lies outside" in notes
    assert "so that differences agree with it" in notes


def test_a_group_whose_reports_are_all_the_same_is_named() -> None:
    results = report(SURVEY, by_town({"a": (0, 60), "b": (50, 50), "c": (40, 60)}), by="town")
    notes = " ".join(results.groups[0].notes)
    assert "All reports of a are the same" in notes
    assert "2 intervals and p-values of differences hold one by one, not together" in notes


def test_a_tiny_p_value_is_not_printed_as_zero() -> None:
    text = report(SURVEY, by_town({"a": (700, 300), "b": (300, 700)}), by="town").to_text()
    assert "p < 0.0001" in text
    assert "p = 0.0000" not in text


def test_csv_has_the_groups_that_were_asked_for() -> None:
    results = report(SURVEY, by_town({"a": (90, 10), "b": (50, 50)}), by="town")
    table = pd.read_csv(io.StringIO(results.to_csv()))
    assert table["group"].tolist()[1:] == ["a", "b"]
    assert table["by"].isna().tolist() == [True, False, False]
    shares = results.groups[0].shares
    assert table["estimate"].tolist()[1:] == pytest.approx([share.estimate for share in shares])
    assert table["shown_high"].tolist()[1:] == pytest.approx([share.shown_high for share in shares])
    assert "group" not in pd.read_csv(io.StringIO(report(SURVEY, by_town({"a": (90, 10)})).to_csv()))


def test_a_constrained_table_that_did_not_settle_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    coin = mechanisms.warner(epsilon=1)
    counts = np.array([[400, 150], [150, 300]])
    assert crosstab(counts, {"a": coin, "b": coin}, "a", "b").notes == ()

    def unsettled(*inputs: object) -> Maximum:
        return replace(maximise(*inputs), gap=0.25, converged=False)  # type: ignore[arg-type]

    monkeypatch.setattr(hushpoll_analysis.tables.joint, "maximise", unsettled)
    table = crosstab(counts, {"a": coin, "b": coin}, "a", "b")
    (note,) = table.to_dict()["notes"]
    assert "did not settle" in note
    assert "250" in note  # a quarter per report, 1,000 reports


def test_a_long_list_by_groups_is_folded() -> None:
    """Three hundred options by two groups would be a page of ninety thousand pixels."""
    options = [f"Town {number}" for number in range(30)]
    town = {"id": "town", "kind": "choice", "text": "Where?", "options": options, "mechanism": {"epsilon": 4}}
    cheated = {"id": "cheated", "kind": "yes_no", "text": "Did you?", "mechanism": {"epsilon": 1}}
    survey = Survey.from_draft({"hushpoll": 1, "title": "T", "questions": [cheated, town]})
    truth = {"cheated": [0.7, 0.3], "town": [1 / 30] * 30}
    data = {f"{name}_reported": codes for name, codes in simulate_survey(survey, 3000, truth, seed=1)}
    page = report(survey, data, by="cheated").to_html()
    start = page.index("All 30 options")
    assert page.rindex("<details", 0, start) < start < page.index("</details>", start)
