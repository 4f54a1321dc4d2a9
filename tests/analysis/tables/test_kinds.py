"""Cross-tables, comparisons and models take every kind: options one by one, scales and numbers as numbers."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hushpoll_analysis import compare, crosstab, estimate, linear, logit, report
from hushpoll_analysis.channel.view import channel_view, sampler
from hushpoll_analysis.errors import AnalysisError
from hushpoll_analysis.results import picture
from hushpoll_analysis.simulation.respondents import simulate_survey
from hushpoll_client import Survey, mechanisms

N = 6000
SURVEY = Survey.from_draft(
    {
        "hushpoll": 1,
        "title": "Kinds",
        "questions": [
            {
                "id": "town",
                "kind": "choice",
                "text": "Where?",
                "options": [f"t{k}" for k in range(40)],
                "mechanism": {"epsilon": 2},
            },
            {
                "id": "used",
                "kind": "multiple",
                "text": "Which?",
                "options": ["bus", "car", "bike"],
                "mechanism": {"name": "sampled", "epsilon": 2, "ask": 2},
            },
            {
                "id": "few",
                "kind": "multiple",
                "text": "Which two?",
                "options": [*"abcdefgh"],
                "at_most": 2,
                "mechanism": {"epsilon": 2},
            },
            {
                "id": "mood",
                "kind": "scale",
                "text": "How?",
                "points": 5,
                "mechanism": {"name": "krr", "epsilon": 3},
            },
            {"id": "did", "kind": "yes_no", "text": "Did you?", "mechanism": {"epsilon": 2}},
        ],
    }
)
TRUTH = {
    "a": {"town": [0.5, 0.5, *[0.0] * 38], "used": [0.2, 0.5, 0.8], "mood": [0.4, 0.3, 0.2, 0.1, 0.0],
          "few": {"sets": [["a"], ["a", "b"]], "shares": [0.5, 0.5]}, "did": [0.8, 0.2]},
    "b": {"town": [0.1, 0.9, *[0.0] * 38], "used": [0.6, 0.5, 0.8], "mood": [0.0, 0.1, 0.2, 0.3, 0.4],
          "few": {"sets": [["b"], ["h"]], "shares": [0.5, 0.5]}, "did": [0.4, 0.6]},
}  # fmt: skip


@pytest.fixture(scope="module")
def frame() -> pd.DataFrame:
    parts = []
    for seed, (group, truth) in enumerate(TRUTH.items(), 3):
        reports = {f"{name}_reported": codes for name, codes in simulate_survey(SURVEY, N, truth, seed=seed)}
        parts.append(pd.DataFrame(reports).assign(group=group, late=float(group == "b")))
    return pd.concat(parts, ignore_index=True)


def near(value: float, true: float, se: float) -> bool:
    return abs(value - true) < 4.5 * se


def test_options_are_compared_one_by_one(frame: pd.DataFrame) -> None:
    comparison = compare(frame, SURVEY, "used", "group", reference="a")
    assert [difference.option for difference in comparison.differences] == ["bus", "car", "bike"]
    for difference, true in zip(comparison.differences, (0.4, 0.0, 0.0), strict=True):
        assert near(difference.difference, true, difference.se)
    assert comparison.shares.index.names == ["group", "used"]
    assert near(
        comparison.shares.loc[("b", "bus"), "estimate"], 0.6, comparison.shares.loc[("b", "bus"), "se"]
    )
    (alone,) = compare(frame, SURVEY, "used", "group", reference="a", option="bus").differences
    assert alone == comparison.differences[0]
    together = compare(frame, SURVEY, "used", "group", reference="a", simultaneous=True).differences[0]
    assert together.low < comparison.differences[0].low


def test_a_long_list_is_compared_too(frame: pd.DataFrame) -> None:
    by_option = {
        difference.option: difference
        for difference in compare(frame, SURVEY, "town", "group", reference="a").differences
    }
    assert len(by_option) == 40
    assert near(by_option["t0"].difference, -0.4, by_option["t0"].se)
    assert near(by_option["t39"].difference, 0.0, by_option["t39"].se)


@pytest.mark.parametrize(
    ("option", "true"), [("few[a]", (1.0, 0.0)), ("used[bus]", (0.2, 0.6)), ("town[t0]", (0.5, 0.1))]
)
def test_one_option_stands_in_a_cross_table(
    frame: pd.DataFrame, option: str, true: tuple[float, float]
) -> None:
    table = crosstab(frame, SURVEY, "group", option)
    assert table.labels == (("a", "b"), ("No", "Yes"))
    for row, share in enumerate(true):
        assert near(table.estimate[row, 1] * 2, share, table.se[row, 1] * 2 + 0.02)


def test_who_was_not_asked_is_left_out(frame: pd.DataFrame) -> None:
    answered = crosstab(frame, SURVEY, "did", "used[bus]").n
    report_sampler = sampler(SURVEY.questions[1].channel)
    codes, _ = report_sampler.read(frame["used_reported"].to_numpy())
    assert answered == int((report_sampler.part_codes(report_sampler.parts[0], codes) >= 0).sum())
    assert near(answered / len(frame), 2 / 3, math.sqrt(2 / 9 / len(frame)))


def test_reports_by_groups_have_every_kind(frame: pd.DataFrame) -> None:
    for by in ("group", "did"):
        results = report(SURVEY, frame.drop(columns="late"), by=by)
        tables = {table.id: table for table in results.groups}
        assert len(tables["used"].shares) == 6
        assert len(tables["town"].shares) == 80
        assert len(tables["mood"].means) == 2
        assert "mean" in results.to_text()
        assert results.to_html()
    gap = report(SURVEY, frame.drop(columns="late"), by="group", only="mood").groups[0].mean_differences[0]
    assert near(gap.difference, 2.0, gap.se)


def test_models_take_an_option_and_a_scale_as_numbers(frame: pd.DataFrame) -> None:
    fit = logit("`used[bus]` ~ late", frame, SURVEY).to_frame()
    assert near(fit.loc["late", "coef"], math.log(0.6 / 0.4) - math.log(0.2 / 0.8), fit.loc["late", "se"])
    seen = logit("did ~ `used[bus]` + late", frame, SURVEY)
    assert "late" in seen.to_frame().index
    slope = linear("mood ~ late", frame, SURVEY).to_frame()
    assert near(slope.loc["late", "coef"], 2.0, slope.loc["late", "se"])
    assert near(slope.loc["Intercept", "coef"], 2.0, slope.loc["Intercept", "se"])


def test_robust_errors_of_a_randomized_number_are_as_the_theory_says(frame: pd.DataFrame) -> None:
    """The slope on two equal groups is a difference of means, with the variance of both."""
    view = channel_view(SURVEY.questions[3].mechanism)
    weights = view.solution(np.arange(1.0, 6))
    variance = sum(
        float(np.array(truth["mood"]) @ view.backward(weights**2) - (np.arange(1.0, 6) @ truth["mood"]) ** 2)
        / N
        for truth in TRUTH.values()
    )
    slope = linear("mood ~ late", frame, SURVEY).to_frame()
    assert slope.loc["late", "se"] == pytest.approx(math.sqrt(variance), rel=0.05)


def test_a_long_list_has_a_table_of_its_largest(frame: pd.DataFrame) -> None:
    results = report(SURVEY, frame.drop(columns=["late", "group"]))
    town_results = results["town"]
    assert [share.option for share in town_results.top[:2]] == ["t1", "t0"]
    assert [share.estimate for share in town_results.top] == sorted(
        (share.estimate for share in town_results.shares), reverse=True
    )[:10]
    assert results["mood"].top == ()
    assert len(town_results.to_dict()["top"]) == 10
    assert "the 10 largest" in results.to_text()
    page = results.to_html()
    town = page[page.index('id="question-town"') :]
    visible, folded = town.split("</details>")[0].split("<details", 1)
    assert "The 10 largest shares" in visible
    assert sum(f">{option}<" in visible for option in town_results.question.labels) == 10
    assert all(f">{option}<" in folded for option in town_results.question.labels)
    # They are a picture, as every other share is, and what can be downloaded has the same intervals.
    first = town_results.top[0].shown
    limits = f"{100 * first.low:.1f} – {100 * first.high:.1f} %"
    assert visible.count('class="dot') == 10
    assert limits in visible
    assert limits in picture.as_svg(results, "town").replace("</tspan>", "")
    assert "so their intervals miss more often" in page
    two_answers = Survey.from_draft(
        {
            "hushpoll": 1,
            "title": "Two answers",
            "questions": [{"id": "did", "kind": "yes_no", "text": "Did you?", "mechanism": {"epsilon": 2}}],
        }
    )
    assert "are wider than in the figures" not in report(two_answers, frame[["did_reported"]]).to_html()
    listed = estimate([300, *[100] * 29], mechanisms.krr(options=30, epsilon=1)).top(3)
    assert listed[0].option == "0"
    assert listed[0].low > 0


def test_pairs_of_options_are_estimated_where_the_design_allows(frame: pd.DataFrame) -> None:
    mine = frame[frame["group"] == "a"]
    report_sampler = sampler(SURVEY.questions[1].channel)
    cells = report_sampler.tally(report_sampler.read(mine["used_reported"].to_numpy())[0])
    result: Any = estimate(cells, SURVEY.questions[1].mechanism, options=["bus", "car", "bike"])
    names = {cell.option: cell for cell in result.pair("bus", "bike")}
    assert set(names) == {"neither", "only bike", "only bus", "both"}
    for option, true in (("both", 0.16), ("only bike", 0.64), ("only bus", 0.04), ("neither", 0.16)):
        assert near(names[option].estimate, true, names[option].se)
    assert {cell.option: cell.estimate for cell in result.pair("bike", "bus")} == pytest.approx(
        {option: cell.estimate for option, cell in names.items()}
    )
    with pytest.raises(AnalysisError, match=r"no report speaks of .* together; name two options"):
        result.pair("bus", "bus")
    few = SURVEY.questions[2]
    alone: Any = estimate(np.full(10, 100), few.mechanism, options=list("abcdefgh"))
    with pytest.raises(AnalysisError, match="published with ask of 2 or more"):
        alone.pair("a", "b")


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda f: crosstab(f, SURVEY, "did", "used[boat]"),
            'used\\[boat\\]: "used" has no option "boat"; its options are bus',
        ),
        (
            lambda f: crosstab(f, SURVEY, "used[bus]", "used[car]"),
            "two options of .used. were randomized together",
        ),
        (lambda f: linear("mood ~ did", f, SURVEY), "mood and did were both randomized"),
        (
            lambda f: crosstab(f.assign(used_reported=99), SURVEY, "did", "used[bus]"),
            "holds .*99.*not a report",
        ),
    ],
)
def test_bad_requests_say_what_to_do(frame: pd.DataFrame, call: Any, message: str) -> None:
    with pytest.raises(AnalysisError, match=message):
        call(frame)
