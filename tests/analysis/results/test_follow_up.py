"""Follow-up questions: the share among those who were asked comes first, the share of all people second."""

from __future__ import annotations

import csv
import io
import json
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hushpoll_analysis import report, resolve, trend
from hushpoll_analysis.channel.view import channel_view
from hushpoll_analysis.results.follow_up import shares_among_asked
from hushpoll_analysis.results.survey import SurveyResults
from hushpoll_analysis.results.wording import LANGUAGES, wording
from hushpoll_analysis.sample.sample import read_sample
from hushpoll_analysis.simulation.respondents import simulate_survey
from hushpoll_client import Survey

DECIDER = {
    "id": "ever",
    "kind": "yes_no",
    "text": "Ever?",
    "mechanism": {"name": "warner", "epsilon": 3},
}
YES_NO = {"kind": "yes_no", "mechanism": {"epsilon": 3}}
CHOICE = {"kind": "choice", "options": ["x", "y", "z"], "mechanism": {"name": "krr", "epsilon": 3}}
LONG = {
    "kind": "choice",
    "options": [f"o{k}" for k in range(30)],
    "mechanism": {"name": "subset", "epsilon": 3, "size": 2},
}
ASKED = 0.2


def follow_up(kind: dict[str, Any]) -> Survey:
    rule = {"question": "ever", "answers": ["Yes"]}
    return Survey.from_draft(
        resolve(
            {
                "hushpoll": 1,
                "title": "t",
                "questions": [DECIDER, {"id": "again", "text": "Again?", "after": rule, **kind}],
            }
        )
    )


def reports_of(
    survey: Survey, shares: list[float], n: int, seed: int = 3, asked_share: float = ASKED
) -> pd.DataFrame:
    truth = {"ever": [1 - asked_share, asked_share], "again": shares}
    return pd.DataFrame(
        {f"{name}_reported": codes for name, codes in simulate_survey(survey, n, truth, seed=seed)}
    )


@pytest.fixture(scope="module")
def results() -> SurveyResults:
    survey = follow_up(YES_NO)
    return report(survey, reports_of(survey, [0.4, 0.6], 20_000), needed={"again": 0.05})


def test_the_finding_opens_with_the_share_among_those_asked(results: SurveyResults) -> None:
    finding = results.findings()[1]
    first, _, second = finding.text.partition(" Of everybody: ")
    assert first.startswith("Of those asked this question: Yes: 60.1 % (95 % interval ")
    assert second.startswith("Yes: ")
    assert finding.verdict is not None
    assert finding.verdict.text.startswith("Of everybody: Needed ±5 points"), "the margin is of everybody"


def test_it_holds_in_every_language(results: SurveyResults) -> None:
    for language in LANGUAGES:
        say = wording(language)
        opening, everybody = (
            say(key, text="").split("\u2068")[0] for key in ("finding_asked", "finding_everybody")
        )
        text = results.findings(language)[1].text
        assert text.startswith(opening)
        assert text.index(everybody) > 0


def test_json_keeps_estimates_and_adds_a_list_like_it(results: SurveyResults) -> None:
    decider, again = json.loads(results.to_json())["questions"]
    assert "among_asked" not in decider
    assert [entry["option"] for entry in again["estimates"]] == ["No", "Yes", "does not apply"]
    assert [entry["option"] for entry in again["among_asked"]] == ["No", "Yes"]
    assert [*again["among_asked"][0]] == [*again["estimates"][0]]
    no, yes = again["among_asked"]
    everybody = {entry["option"]: entry["estimate"] for entry in again["estimates"]}
    asked_share = everybody["No"] + everybody["Yes"]
    assert yes["estimate"] == pytest.approx(everybody["Yes"] / asked_share)
    assert yes["low"] < 0.6 < yes["high"]
    assert (no["low"], no["high"]) == pytest.approx((1 - yes["high"], 1 - yes["low"]))


def test_a_trend_says_whose_shares_it_follows(results: SurveyResults) -> None:
    """The report opens with 60 % of those asked, and the trend followed 12 %, without a word."""
    note = "Shares are of everybody, including people who were not asked this question."
    assert note in trend([results, results], "Yes", question="again").notes
    assert note not in trend([results, results], question="ever").notes


def test_the_method_says_how_it_is_computed(results: SurveyResults) -> None:
    title = "Share among those asked a follow-up question"
    (step,) = [step for step in results.method.formulas if step.title == title]
    again = results["again"]
    everybody = {line.option: line.estimate for line in again.shares}
    assert step.formula == "ĝ_k = ĥ_k / (1 − ĥ_K)"
    for share in again.among_asked:
        expected = everybody[share.option] / (1 - everybody["does not apply"])
        assert share.estimate == pytest.approx(expected)
    assert title in results.to_html()
    alone = Survey.from_draft({"hushpoll": 1, "title": "t", "questions": [DECIDER]})
    plain = report(alone, pd.DataFrame({"ever_reported": [0, 1] * 50}))
    assert title not in [step.title for step in plain.method.formulas]


def test_tables_and_files_have_it_first(results: SurveyResults) -> None:
    rows = [row for row in csv.DictReader(io.StringIO(results.to_csv())) if row["question"] == "again"]
    assert [row["quantity"] for row in rows] == ["share among asked"] * 2 + ["share"] * 3
    text = results.to_text()
    assert text.index("among those asked") < text.index("of everybody")
    page = results.to_html()
    assert (
        page.index("Among those asked this question")
        < page.index('<p class="report-caption">Of everybody')
        < page.index("does not apply</div>")
    )
    picture = results.to_svg("again")
    assert (
        picture.index("Among those asked this question")
        < picture.index(">Of everybody<")
        < picture.index("does not apply")
    )


@pytest.mark.parametrize(("kind", "answers"), [(CHOICE, 3), (LONG, 30)], ids=["krr", "subset"])
def test_every_form_has_it_also_under_a_sample_design(kind: dict[str, Any], answers: int) -> None:
    survey = follow_up(kind)
    shares = [0.6, *([0.4 / (answers - 1)] * (answers - 1))]
    people = reports_of(survey, shares, 20_000)
    plain = report(survey, people)["again"].among_asked
    weights = np.random.default_rng(77).uniform(0.9, 1.1, len(people))
    weighted = report(survey, people.assign(w=weights), weights="w")["again"].among_asked
    for lines in (plain, weighted):
        assert len(lines) == answers
        first = lines[0]
        assert abs(first.estimate - 0.6) < 4 * first.se
        assert first.low < first.estimate < first.high
        assert lines[0].simultaneous.high > first.high
        assert sum(line.estimate for line in lines) == pytest.approx(1.0)
    assert weighted[0].se == pytest.approx(plain[0].se, rel=0.05)


def test_where_nearly_nobody_was_asked_no_share_is_claimed() -> None:
    survey = follow_up(YES_NO)
    people = pd.DataFrame({"ever_reported": [0, 1] * 100, "again_reported": [0] * 10 + [1] * 10 + [2] * 180})
    results = report(survey, people)
    assert results.findings()[1].text.startswith("Too few people were asked this question to say")
    entries = json.loads(results.to_json())["questions"][1]["among_asked"]
    assert len(entries) == 2
    for entry in entries:
        assert (entry["low"], entry["high"]) == (None, None)
        assert (entry["shown"]["low"], entry["shown"]["high"]) == (0, 1)
    assert "any value" in results.to_html()


def coverage(n: int, epsilon: float, asked_share: float, share: float, surveys: int, seed: int) -> float:
    """Return how often the interval of Yes among those asked holds its share."""
    survey = follow_up({"kind": "yes_no", "mechanism": {"epsilon": epsilon}})
    question = survey.questions[1]
    rng = np.random.default_rng(seed)
    truth = np.array([asked_share * (1 - share), asked_share * share, 1 - asked_share])
    counts = rng.multinomial(n, channel_view(question.mechanism).forward(truth), size=surveys)
    held = 0
    for survey_counts in counts:
        entries = shares_among_asked(question, read_sample(survey_counts, question.mechanism), 0.95, "auto")
        held += not entries or entries[1][0].low <= share <= entries[1][0].high
    return held / surveys


def test_the_interval_among_those_asked_holds() -> None:
    assert 0.92 <= coverage(300, 2, 0.4, 0.2, 250, 5) <= 0.98


@pytest.mark.long
@pytest.mark.parametrize("n", [150, 400, 1500])
@pytest.mark.parametrize("epsilon", [1, 2, 4])
@pytest.mark.parametrize(("asked_share", "share"), [(0.2, 0.6), (0.5, 0.1), (0.5, 0.5)])
def test_intervals_among_those_asked_hold_at_least_at_their_level(
    n: int, epsilon: float, asked_share: float, share: float
) -> None:
    assert coverage(n, epsilon, asked_share, share, 2000, 11) >= 0.93
