"""Results of scales and numbers: the contract's keys, the same figures in every form, and what is refused."""

from __future__ import annotations

import csv
import io
import json
import math
import re
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hushpoll_analysis import cumulative, estimate, mean, quantiles, report
from hushpoll_analysis.channel.view import channel_view
from hushpoll_analysis.errors import AnalysisError
from hushpoll_analysis.estimand.means import privacy_is_bound
from hushpoll_analysis.estimates import Estimate
from hushpoll_analysis.planning.draft_resolution import read_draft
from hushpoll_analysis.results.curves import PHONE, WIDE, axis_labels
from hushpoll_analysis.results.numbers import BOUND
from hushpoll_analysis.results.survey import SurveyResults
from hushpoll_analysis.sample.columns import randomized_variable
from hushpoll_analysis.sample.sample import read_sample
from hushpoll_analysis.sample.tally import Tally
from hushpoll_analysis.simulation.respondents import simulate_survey
from hushpoll_analysis.tables.means import compare_means
from hushpoll_client import Channel, Survey

N = 4000


def published(channel: Channel) -> dict[str, Any]:
    """A channel as a document carries it."""
    return channel.to_json()


def one_bit(points: int, epsilon: float) -> Channel:
    yes = 0.5 + math.tanh(epsilon / 2) / 2 * np.linspace(-1, 1, points)
    return Channel.from_probabilities(np.stack([1 - yes, yes], axis=1).tolist())


def thresholds(points: int, epsilon: float) -> Channel:
    above = np.tril(np.ones((points, points)), -1)[:, : points - 1] > 0
    columns = np.concatenate(
        [np.where(above, math.exp(epsilon), 1.0), np.where(above, 1.0, math.exp(epsilon))], axis=1
    )
    return Channel.from_probabilities((columns / columns.sum(axis=1, keepdims=True)).tolist())


DRAFT: dict[str, Any] = {
    "hushpoll": 1,
    "title": "Work",
    "questions": [
        {
            "id": "mood",
            "kind": "scale",
            "text": "How often?",
            "points": 5,
            "labels": ["Never", "Always"],
            "mechanism": {"name": "krr", "epsilon": 1},
        },
        {
            "id": "stress",
            "kind": "scale",
            "text": "How much <stress>?",
            "points": 7,
            "mechanism": {"name": "designed", "epsilon": "1.001", "target": "cumulative"},
            "channel": published(thresholds(7, 1.0)),
        },
        {
            "id": "hours",
            "kind": "number",
            "text": "Hours?",
            "min": 0,
            "max": 80,
            "step": 1,
            "unit": "hours",
            "mechanism": {"name": "designed", "epsilon": "1.001", "target": "mean"},
            "channel": published(one_bit(21, 1.0)),
        },
        {
            "id": "age",
            "kind": "number",
            "text": "Age?",
            "min": 18,
            "max": 97,
            "step": 1,
            "unit": "years",
            "mechanism": {"name": "krr", "epsilon": 2, "target": "distribution", "bins": 10},
        },
        {
            "id": "why",
            "kind": "choice",
            "text": "Why?",
            "options": ["a", "b", "c"],
            "mechanism": {"name": "krr", "epsilon": 1},
        },
    ],
}
TRUTH = {
    "mood": [0.1, 0.2, 0.4, 0.2, 0.1],
    "stress": [0.05, 0.1, 0.15, 0.2, 0.2, 0.2, 0.1],
    "hours": np.eye(21)[10].tolist(),
    "age": [0.05, 0.15, 0.2, 0.2, 0.15, 0.1, 0.05, 0.05, 0.03, 0.02],
    "why": [0.5, 0.3, 0.2],
}


@pytest.fixture(scope="module")
def survey() -> Survey:
    return Survey.from_draft(DRAFT)


@pytest.fixture(scope="module")
def counts(survey: Survey) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(8)
    return {
        question.id: rng.multinomial(
            N, channel_view(question.mechanism).forward(np.array(TRUTH[question.id]))
        )
        for question in survey.questions
    }


@pytest.fixture(scope="module")
def results(survey: Survey, counts: dict[str, np.ndarray]) -> SurveyResults:
    return report(survey, Tally.from_counts(survey, counts))


def of(results: SurveyResults, name: str) -> dict[str, Any]:
    value: dict[str, Any] = json.loads(results.to_json())
    return next(question for question in value["questions"] if question["id"] == name)


def test_json_has_the_contracts_keys(results: SurveyResults) -> None:
    for name in ("mood", "stress"):
        question = of(results, name)
        assert {"mean", "cumulative", "quantiles", "iqr"} <= set(question)
        assert {"estimate", "se", "low", "high"} <= set(question["mean"])
        assert len(question["cumulative"]) == len(question["estimates"]) == len(TRUTH[name])
        for entry, share in zip(question["cumulative"], question["estimates"], strict=True):
            assert set(share) - set(entry) <= {"constrained", "dishonest_shift"}
            assert entry["option"] == share["option"]
        assert [set(quantile) for quantile in question["quantiles"]] == [{"p", "estimate", "low", "high"}] * 3
        assert [quantile["p"] for quantile in question["quantiles"]] == [0.25, 0.5, 0.75]
        assert set(question["iqr"]) == {"estimate", "low", "high"}
    hours = of(results, "hours")
    assert "mean" in hours
    assert not {"cumulative", "quantiles", "iqr"} & set(hours)
    assert hours["estimates"] == []
    assert hours["unit"] == "hours"
    age = of(results, "age")
    assert {"cumulative", "quantiles", "iqr", "histogram"} <= set(age)
    assert "mean" not in age
    assert not {"mean", "cumulative", "quantiles", "iqr"} & set(of(results, "why"))


def test_every_number_is_the_public_functions(results: SurveyResults, survey: Survey, counts: Any) -> None:
    question = survey.questions[1]
    numbers = results["stress"].numbers
    assert numbers is not None
    assert numbers.mean == mean(counts["stress"], question.mechanism, range(1, 8))
    assert numbers.cumulative is not None
    distribution = cumulative(counts["stress"], question.mechanism, options=question.options)
    assert numbers.cumulative.estimates == distribution.estimates
    assert numbers.cumulative.band == distribution.band
    assert numbers.quantiles is not None
    assert numbers.quantiles.entries == quantiles(counts["stress"], question.mechanism).entries


def test_the_truth_lies_in_the_intervals(results: SurveyResults) -> None:
    # One fixed sample: the figures below were looked at once, and hold for every seed but few.
    mood, hours, age = (of(results, name) for name in ("mood", "hours", "age"))
    assert mood["mean"]["low"] < 3 < mood["mean"]["high"]
    assert hours["mean"]["low"] < 40 < hours["mean"]["high"]
    assert all(
        quantile["low"] <= true <= quantile["high"]
        for quantile, true in zip(mood["quantiles"], (2, 3, 4), strict=True)
    )
    assert age["quantiles"][1]["low"] <= 46 <= age["quantiles"][1]["high"]
    # Answers of a bin are years: estimates are whole, and limits are first and last years of bins.
    assert all(float(quantile["estimate"]).is_integer() for quantile in age["quantiles"])
    assert {(quantile["low"] - 18) % 8 for quantile in age["quantiles"]} == {0}
    assert {(quantile["high"] - 25) % 8 for quantile in age["quantiles"]} == {0}


def test_a_number_that_was_rounded_has_its_mean_only(
    results: SurveyResults, survey: Survey, counts: Any
) -> None:
    question = results["hours"]
    assert question.shares == ()
    assert question.numbers is not None
    assert question.numbers.quantiles is None
    assert question.numbers.mean is not None
    plain = mean(counts["hours"], survey.questions[2].mechanism, np.arange(0, 81, 4))
    assert question.numbers.mean.se == plain.se
    assert question.numbers.mean.se_privacy == pytest.approx(math.hypot(plain.se_privacy, 2 / math.sqrt(N)))
    assert any("rounded at random to points 4 hours apart" in remark for remark in question.remarks)


def test_an_upper_bound_of_the_privacy_error_is_said_to_be_one(
    results: SurveyResults, survey: Survey
) -> None:
    """Of a rounded number, and of a one-bit report; where the shares are determined, the error is estimated."""
    assert {question.id for question in results.questions if BOUND in question.remarks} == {"hours"}
    question, shares = survey.questions[2], np.array(TRUTH["hours"])
    view, values = channel_view(question.mechanism), np.arange(0.0, 81.0, 4.0)
    least = math.sqrt(float(view.noise(view.solution(values)) @ shares) / N)
    numbers = results["hours"].numbers
    assert numbers is not None
    assert numbers.mean is not None
    # Nobody was rounded here, so all of the rounding's 2 hours is too much.
    assert least < numbers.mean.se_privacy <= math.hypot(least, 2 / math.sqrt(N)) * 1.2
    for channel, is_bound in ((one_bit(5, 1.0), True), (thresholds(5, 1.0), False)):
        sample = read_sample([200] * channel.outcomes, channel)
        assert privacy_is_bound(sample, [1, 2, 3, 4, 5]) is is_bound


def test_a_median_that_the_reports_do_not_determine_is_refused(results: SurveyResults) -> None:
    assert results["mood"].quantile(0.5).estimate == 3
    with pytest.raises(
        AnalysisError,
        match=r'question "hours", mechanism: its reports do not determine the 0\.5 quantile; set .*"target"',
    ):
        results["hours"].quantile(0.5)
    with pytest.raises(
        AnalysisError, match=r'question "why", kind: its answers have no order; ask for shares'
    ):
        results["why"].quantile(0.5)


def test_reports_that_are_no_answers_are_not_counted_as_such(results: SurveyResults) -> None:
    assert all(entry["reported"] is None for entry in of(results, "stress")["estimates"])
    assert all(entry["reported"] is not None for entry in of(results, "mood")["estimates"])
    square = Survey.from_draft(
        {
            **DRAFT,
            "questions": [{**DRAFT["questions"][1], "points": 2, "channel": published(thresholds(2, 1.0))}],
        }
    )
    square_results = report(square, Tally.from_counts(square, {"stress": [60, 40]}))
    assert [line.reported for line in square_results["stress"].shares] == [None, None]
    assert "reports are not answers: each could come from any answer" in square_results.to_text()
    assert "at most 2.72 times likelier" in square_results.to_text()


def test_text_says_the_same(results: SurveyResults) -> None:
    text = results.to_text()
    numbers = results["mood"].numbers
    assert numbers is not None
    assert numbers.mean is not None
    assert f"{numbers.mean.estimate:.3f}" in text
    assert "median" in text
    assert "interquartile range (years)" in text
    assert "this or less" in text
    assert "mean (hours)" in text


def test_the_method_says_how_bands_and_quantiles_were_made(results: SurveyResults) -> None:
    for words in ("score or normal", "bands of cumulative shares", "Woodruff 1952"):
        assert words in results.method.paragraph
    assert any(work.startswith("Woodruff") for work in results.method.references)


def test_csv_and_frame_have_a_row_for_everything(results: SurveyResults) -> None:
    frame = results.to_frame()
    assert frame["quantity"].value_counts().to_dict() == {
        "share": 5 + 7 + 10 + 3,
        "cumulative": 5 + 7 + 10,
        "mean": 3,
        "quantile": 9,
        "iqr": 3,
    }
    rows = list(csv.DictReader(io.StringIO(results.to_csv())))
    hours = next(row for row in rows if row["question"] == "hours")
    numbers = results["hours"].numbers
    assert numbers is not None
    assert numbers.mean is not None
    assert float(hours["estimate"]) == numbers.mean.estimate
    assert hours["quantity"] == "mean"
    assert len(rows) == len(frame)


def test_html_draws_the_distributions(results: SurveyResults) -> None:
    page = results.to_html()
    folded = re.findall("<details.*?</details>", page, flags=re.DOTALL)
    assert page.count('<figure class="curve">') - "".join(folded).count('<figure class="curve">') == 4
    assert "Share of this answer or less" in page
    assert "Share per unit (years)" in page
    assert "Interquartile range" in page
    assert "style=" not in page
    assert "<stress>" not in page


@pytest.mark.parametrize(
    "options",
    [
        ["1 (Not at all)", *map(str, range(2, 11)), "11 (Completely)"],
        [f"{20 * step + 1} to {20 * step + 20}" for step in range(20)],
        ["a very long label indeed", "b", "another one that is long", "d"],
        ["1", "2", "3", "4", "5"],
        ["no", "yes"],
    ],
)
@pytest.mark.parametrize(("letter", "pixels"), [(PHONE, 188), (WIDE, 560)])
def test_labels_below_a_picture_never_touch(options: list[str], letter: float, pixels: int) -> None:
    """A letter is 7 of the pixels that a drawing has at least: on a phone of 320 pixels, and on a wider screen."""
    edges = [100 * index / len(options) for index in range(len(options) + 1)]
    spans = []
    for at, anchor, text in axis_labels(options, edges, letter):
        width = 100 * 7 * len(text) / pixels
        start = float(at[:-1]) - {"start": 0.0, "middle": width / 2, "end": width}[anchor]
        spans.append((start, start + width))
    assert spans[0][0] == pytest.approx(0)
    assert spans[-1][1] == pytest.approx(100)
    assert all(span[1] + 1 < other[0] for span, other in pairwise(spans))
    assert len(spans) == (5 if options[0] == "1" else 2 if options[0] == "no" else len(spans))


def test_a_wide_screen_names_every_point_of_a_scale() -> None:
    """The label of the last point took the place of the one before it, with half of the axis empty."""
    options = ["1 (Never)", "2", "3", "4", "5 (Always)"]
    edges = [20.0 * index for index in range(6)]
    assert [text for _, _, text in axis_labels(options, edges)] == options
    assert [text for _, _, text in axis_labels(options, edges, PHONE)] == ["1 (Never)", "3", "5 (Always)"]


def test_too_few_reports_give_no_numbers(survey: Survey, counts: Any) -> None:
    few = {name: np.eye(len(row), dtype=int)[0] * 20 for name, row in counts.items()}
    results = report(survey, Tally.from_counts(survey, few))
    assert "mean" not in of(results, "mood")
    assert results["mood"].numbers is None


def test_a_question_that_may_not_apply_shows_that_share_too() -> None:
    survey = Survey.from_draft(
        {
            "hushpoll": 1,
            "title": "Skip",
            "questions": [
                {"id": "cheated", "kind": "yes_no", "text": "Cheated?", "mechanism": {"epsilon": 1}},
                {
                    "id": "often",
                    "kind": "yes_no",
                    "text": "Often?",
                    "after": {"question": "cheated", "answers": ["Yes"]},
                    "mechanism": {"epsilon": 1},
                },
            ],
        }
    )
    results = report(survey, Tally.from_counts(survey, {"cheated": [600, 400], "often": [300, 200, 500]}))
    labels = [line.option for line in results["often"].shares]
    assert labels == ["No", "Yes", "does not apply"]
    direct = estimate([300, 200, 500], survey.questions[1].mechanism, options=labels)
    assert [Estimate.to_dict(share) for share in results["often"].shares] == [
        entry.to_dict() for entry in direct.estimates
    ]


def people(survey: Survey, groups: list[list[float]], n: int) -> pd.DataFrame:
    """Reports of the first two questions and the hours of two exact groups, whose numbers differ."""
    rng = np.random.default_rng(11)
    parts = []
    for index, truth in enumerate(groups):
        columns: dict[str, Any] = {"town": [f"town {index}"] * n}
        for question in survey.questions:
            shares = np.array(truth if question.id == "hours" else TRUTH[question.id])
            odds = channel_view(question.mechanism).forward(shares)
            columns[f"{question.id}_reported"] = rng.choice(len(odds), size=n, p=odds / odds.sum())
        parts.append(pd.DataFrame(columns))
    return pd.concat(parts, ignore_index=True)


def test_every_kind_can_be_shown_by_groups(survey: Survey) -> None:
    data = people(survey, [np.eye(21)[5].tolist(), np.eye(21)[15].tolist()], 4000)
    results = report(survey, data, by="town")
    tables = {table.id: table for table in results.groups}
    assert set(tables) == {"mood", "stress", "hours", "age", "why"}
    hours = tables["hours"]
    assert hours.shares == ()
    assert [mean.group for mean in hours.means] == ["town 0", "town 1"]
    assert hours.means[0].low < 20 < hours.means[0].high
    (gap,) = hours.mean_differences
    assert gap.low < 40 < gap.high
    assert gap.p_value < 1e-4
    direct = [
        mean(
            data[data["town"] == town]["hours_reported"].value_counts(),
            survey.questions[2].mechanism,
            range(0, 81, 4),
        )
        for town in ("town 0", "town 1")
    ]
    assert [(mean.estimate, mean.low) for mean in hours.means] == [
        (mean.estimate, mean.low) for mean in direct
    ]
    assert tables["mood"].means
    assert tables["mood"].shares
    assert tables["why"].means == ()
    assert "mean (hours)" in results.to_text()
    assert "Differences of means, in hours" in results.to_html()
    value = next(table for table in json.loads(results.to_json())["groups"] if table["question"] == "hours")
    assert len(value["means"]) == 2
    assert set(value["mean_differences"][0]) >= {
        "group",
        "reference",
        "difference",
        "se",
        "low",
        "high",
        "p_value",
    }
    rows = [
        row
        for row in csv.DictReader(io.StringIO(results.to_csv()))
        if row["quantity"] == "mean" and row["group"]
    ]
    assert {row["question"] for row in rows} == {"mood", "stress", "hours"}


def test_means_within_randomized_groups_are_unbiased(survey: Survey) -> None:
    """Groups by a randomized question: each has its own mean, and the interval holds it about as often as it says."""
    by, question = survey.questions[4], survey.questions[2]
    views = channel_view(by.mechanism), channel_view(question.mechanism)
    points = np.arange(0, 81, 4.0)
    means = (20.0, 40.0, 60.0)
    joint = sum(
        share * np.outer(views[0].forward(np.eye(3)[g]), views[1].forward(np.eye(21)[int(m // 4)]))
        for g, (share, m) in enumerate(zip((0.4, 0.3, 0.3), means, strict=True))
    )
    assert isinstance(joint, np.ndarray)
    groups = randomized_variable("why", survey)
    assert groups is not None
    rng = np.random.default_rng(2)
    inside, gaps = np.zeros(3), 0
    for _ in range(200):
        counts = rng.multinomial(20_000, joint.ravel()).reshape(joint.shape)
        comparison = compare_means(counts, groups, question.mechanism, points, reference="a")
        inside += [mean.low <= true <= mean.high for mean, true in zip(comparison.means, means, strict=True)]
        gaps += comparison.differences[0].low <= 20 <= comparison.differences[0].high
    assert np.all(inside / 200 >= 0.87)
    assert gaps / 200 >= 0.87


def test_a_question_of_a_mean_makes_no_groups(survey: Survey) -> None:
    data = people(survey, [np.eye(21)[5].tolist()], 200)
    with pytest.raises(
        AnalysisError, match=r'question "hours", mechanism: .* cannot form groups; group by another'
    ):
        report(survey, data, by="hours")


def test_a_mean_alone_is_a_picture_too() -> None:
    """A number that is asked for its mean shows it between its least and largest answer, with its interval."""
    survey = read_draft(
        {
            "hushpoll": 1,
            "title": "Hours",
            "questions": [
                {
                    "id": "hours",
                    "kind": "number",
                    "text": "Hours?",
                    "min": 20,
                    "max": 60,
                    "step": 1,
                    "unit": "hours",
                    "mechanism": {"epsilon": 2, "target": "mean"},
                }
            ],
        }
    )
    simulated = dict(
        simulate_survey(survey, 1000, {"hours": {"values": [30, 50], "shares": [0.5, 0.5]}}, seed=1)
    )
    results = report(survey, pd.DataFrame(simulated).add_suffix("_reported"))
    displayed = results["hours"].numbers.mean.shown
    card = results.to_html().split('id="question-hours"')[1].split("<details")[0]
    assert f'cx="{100 * (displayed.estimate - 20) / 40:.2f}%"' in card
    for end in (displayed.low, displayed.high):
        assert f'x1="{100 * (end - 20) / 40:.2f}%"' in card
    assert results.findings()[0].text in card


def test_a_label_is_cut_only_where_there_is_no_room() -> None:
    """On a phone, “9100 to 100…” after “0 to 1000” reads as if it ended at 100."""
    options = ["0 to 1000", *(f"{k}100 to {k + 1}000" for k in range(1, 10))]
    edges = [10.0 * index for index in range(11)]
    labels = [text for _, _, text in axis_labels(options, edges, PHONE)]
    assert (labels[0], labels[-1]) == ("0 to 1000", "9100 to 10000")
