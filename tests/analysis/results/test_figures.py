"""Pictures of shares and means: axes, ends and positions."""

from __future__ import annotations

from typing import Any

import pandas as pd
import pytest
from hushpoll_analysis import report
from hushpoll_analysis.planning.draft_resolution import read_draft
from hushpoll_analysis.results.figures import NumberAxis
from hushpoll_analysis.simulation.respondents import simulate_survey


def number_draft(least: str, largest: str, step: str) -> dict[str, Any]:
    """A survey with one number question that reports the average."""
    question = {
        "id": "litres",
        "kind": "number",
        "text": "How many litres?",
        "min": least,
        "max": largest,
        "step": step,
        "mechanism": {"name": "one_bit", "epsilon": 1, "target": "mean"},
    }
    return {"hushpoll": 1, "title": "Water", "questions": [question]}


@pytest.mark.parametrize(
    ("least", "largest", "step"),
    [
        ("0", "2.5", "0.1"),
        ("0", "10.5", "0.25"),
        ("-2.5", "0.75", "0.05"),
        ("0", "1", "1"),
        ("0", "2000000", "1000"),
    ],
)
def test_a_mean_with_ends_that_are_not_whole_is_drawn_in_every_format(
    least: str, largest: str, step: str
) -> None:
    survey = read_draft(number_draft(least, largest, step))
    values = [float(least), float(largest)]
    truth = {"litres": {"values": values, "shares": [0.5, 0.5]}}
    reports = simulate_survey(survey, 400, truth, seed=1)
    results = report(survey, pd.DataFrame({f"{name}_reported": codes for name, codes in reports}))

    page = results.to_html()
    assert all(f">{end:.10g}</text>" in page for end in values), (
        "the axis ends at the least and largest answer"
    )
    assert "<svg" in results.to_svg("litres")
    assert "mean" in results.to_csv()
    assert results.to_text()
    assert results.to_dict()["questions"][0]["mean"]["estimate"] == pytest.approx(
        sum(values) / 2, abs=0.6 * values[1] + 1.5
    )


def test_an_axis_of_fractions_ends_at_them() -> None:
    survey = read_draft(number_draft("0", "2.5", "0.1"))
    axis = NumberAxis.of(survey.questions[0].answers.values or ())
    assert (axis.low, axis.high) == (0.0, 2.5)
