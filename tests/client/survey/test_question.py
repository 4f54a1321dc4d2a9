"""Skip rules: which questions are asked, and what a skipped one reports."""

from __future__ import annotations

from typing import Any

import pytest
from hushpoll_client import (
    Report,
    ReportError,
    Survey,
    SurveyError,
    read_answers,
)

TICKS = {
    "id": "used",
    "kind": "multiple",
    "text": "Which?",
    "options": [*"abcd"],
    "mechanism": {"epsilon": 1},
}
YES_NO = {"id": "cheated", "kind": "yes_no", "text": "Did you?", "mechanism": {"epsilon": 1}}
WHY = {
    "id": "why",
    "kind": "choice",
    "text": "Why?",
    "options": ["Time", "Fear"],
    "mechanism": {"epsilon": 1},
    "after": {"question": "cheated", "answers": ["Yes"]},
}


def draft(*questions: dict[str, Any]) -> dict[str, Any]:
    return {"hushpoll": 1, "title": "Kinds", "questions": list(questions)}


def read(*questions: dict[str, Any]) -> Survey:
    survey = Survey.from_draft(draft(*questions))
    assert Survey.from_published(survey.canonical, survey.hash) == survey
    return survey


def test_a_skipped_question_reports_that_it_does_not_apply() -> None:
    survey = read(YES_NO, WHY)
    why = survey.questions[1]
    assert why.options == ("Time", "Fear")
    assert why.labels == ("Time", "Fear", "does not apply")
    assert why.channel.options == 3
    assert read_answers(survey, {"cheated": "No"}) == [0, 2]
    assert read_answers(survey, {"cheated": "Yes", "why": "Fear"}) == [1, 1]
    lengths = {
        len(Report.new(survey, read_answers(survey, answers)).to_bytes())
        for answers in ({"cheated": "No"}, {"cheated": "Yes", "why": "Time"})
        for _ in range(50)
    }
    assert len(lengths) == 1


def test_a_yes_no_question_with_a_rule_has_three_answers() -> None:
    caught = YES_NO | {"id": "caught", "after": {"question": "cheated", "answers": ["Yes"]}}
    assert read(YES_NO, caught).questions[1].mechanism.name == "krr"
    with pytest.raises(SurveyError, match="exactly two options, this question has 3"):
        read(YES_NO, caught | {"mechanism": {"name": "warner", "epsilon": 1}})


def test_rules_chain() -> None:
    deeper = WHY | {"id": "fear", "after": {"question": "why", "answers": ["Fear"]}}
    survey = read(YES_NO, WHY, deeper)
    assert read_answers(survey, {"cheated": "No"}) == [0, 2, 2]
    assert read_answers(survey, {"cheated": "Yes", "why": "Time"}) == [1, 0, 2]
    assert read_answers(survey, {"cheated": "Yes", "why": "Fear", "fear": "Fear"}) == [1, 1, 1]


def test_answers_of_skipped_questions_are_refused_and_others_are_needed() -> None:
    survey = read(YES_NO, WHY)
    with pytest.raises(ReportError, match="is not asked after these answers"):
        read_answers(survey, {"cheated": "No", "why": "Fear"})
    with pytest.raises(ReportError, match="has no answer"):
        read_answers(survey, {"cheated": "Yes"})


OR_POLL = {"name": "or_poll", "decoy": "Brittany?", "decoy_share": 0.4, "epsilon": 1}


@pytest.mark.parametrize(
    ("questions", "problem"),
    [
        ((WHY, YES_NO), "not an earlier question"),
        ((WHY | {"after": {"question": "why", "answers": ["Time"]}},), "not an earlier question"),
        ((YES_NO, WHY | {"after": {"question": "cheated", "answers": ["Perhaps"]}}), "not an answer of"),
        ((YES_NO, WHY | {"after": {"question": "cheated", "answers": ["No", "Yes"]}}), "always shown"),
        ((YES_NO, WHY | {"after": {}}), "is empty"),
        ((YES_NO, TICKS | {"after": WHY["after"]}), "always asked"),
        ((YES_NO | {"mechanism": OR_POLL}, WHY), "cannot decide"),
        ((YES_NO, YES_NO | {"id": "b", "mechanism": OR_POLL, "after": WHY["after"]}), "exactly two options"),
    ],
)
def test_bad_rules(questions: tuple[dict[str, Any], ...], problem: str) -> None:
    with pytest.raises(SurveyError, match=problem) as refusal:
        Survey.from_draft(draft(*questions))
    assert refusal.value.remedy
