"""Drafts whose mechanism is left open: named, computed and published."""

from __future__ import annotations

from typing import Any

import pytest
from hushpoll_analysis import design, resolve
from hushpoll_analysis.documents import parse_survey
from hushpoll_analysis.planning.draft_resolution import read_draft
from hushpoll_client import Channel, Survey, SurveyError
from hushpoll_client.exact import exp_below, read_decimal

SCALE = {"id": "mood", "kind": "scale", "text": "How often?", "points": 5}
HOURS = {"id": "hours", "kind": "number", "text": "Hours?", "min": 0, "max": 80, "step": 1}


def draft(question: dict[str, Any], **mechanism: Any) -> dict[str, Any]:
    return {"hushpoll": 1, "title": "T", "questions": [{**question, "mechanism": mechanism}]}


@pytest.mark.parametrize(
    ("question", "mechanism", "form"),
    [
        (SCALE, {"epsilon": 1}, "columns"),
        (SCALE, {"epsilon": 1, "target": "mean"}, "columns"),
        (SCALE, {"epsilon": 4}, "krr"),
        (SCALE, {"epsilon": 4, "name": "designed"}, "columns"),
        (SCALE | {"points": 2}, {"epsilon": 1}, "krr"),
        (HOURS, {"epsilon": 1}, "matrix"),
        (HOURS, {"epsilon": "0.5", "target": "distribution"}, "columns"),
    ],
)
def test_an_epsilon_alone_becomes_the_best_channel(
    question: dict[str, Any], mechanism: dict[str, Any], form: str
) -> None:
    survey = read_draft(draft(question, **mechanism))
    resolved = survey.questions[0]
    assert resolved.channel.form == form
    assert resolved.channel.ratio <= exp_below(read_decimal(mechanism["epsilon"], "epsilon"))
    assert Survey.from_published(survey.canonical, survey.hash) == survey


def test_a_document_that_carries_its_channel_is_taken_as_it_is() -> None:
    survey = read_draft(draft(SCALE, epsilon=1))
    again = resolve(survey.as_document(published=False))
    assert again == survey.as_document(published=False)
    assert read_draft(again).hash == survey.hash
    other = design(options=5, epsilon="0.9", target="cumulative").channel.to_json()
    document = draft(SCALE, name="designed", epsilon=1)
    document["questions"][0]["channel"] = other
    assert read_draft(document).questions[0].channel.to_json() == other


def test_what_is_wrong_with_a_question_is_said_by_the_survey() -> None:
    for question, mechanism, path in (
        (SCALE | {"points": 20}, {"epsilon": 1}, "points"),
        (SCALE, {"epsilon": -1}, "epsilon"),
        (SCALE, {"epsilon": 1, "target": "median"}, "target"),
        (HOURS | {"min": 90}, {"epsilon": 1}, "min"),
    ):
        with pytest.raises(SurveyError) as refusal:
            read_draft(draft(question, **mechanism))
        assert path in refusal.value.path
    for document in ([], {}, {"questions": 1}, {"questions": [1, {"kind": []}]}, "{", b"\xff"):
        with pytest.raises(SurveyError):
            read_draft(document)  # type: ignore[arg-type]


def test_questions_that_clients_can_read_stay_as_they_are() -> None:
    document = draft({"id": "q", "kind": "yes_no", "text": "?"}, epsilon=1)
    assert resolve(document) == document


@pytest.mark.parametrize(
    ("kind", "target", "refused"),
    [
        ({"kind": "scale", "points": 5}, "cumulative", True),
        ({"kind": "scale", "points": 5}, "shares", True),
        ({"kind": "scale", "points": 5}, "mean", False),
        ({"kind": "number", "min": 0, "max": 4, "step": 1}, "distribution", True),
        ({"kind": "number", "min": 0, "max": 4, "step": 1}, "mean", False),
    ],
)
@pytest.mark.parametrize("name", ["matrix", "designed"])
def test_a_target_that_a_channel_cannot_estimate_is_refused(
    kind: dict[str, Any], target: str, refused: bool, name: str
) -> None:
    """Two reports determine one quantity under every mechanism: the mean here."""
    rows = [[0.7 - 0.1 * point, 0.3 + 0.1 * point] for point in range(5)]
    question = {
        "id": "mood",
        "text": "How often?",
        **kind,
        "mechanism": {"name": name, "epsilon": "1", "target": target},
        "channel": Channel.from_probabilities(rows).to_json(),
    }
    document = {"hushpoll": 1, "title": "Two reports", "questions": [question]}
    if not refused:
        assert read_draft(document).questions[0].channel.outcomes == 2
        return
    with pytest.raises(SurveyError, match="cannot tell this; report something else") as refusal:
        read_draft(document)
    assert refusal.value.path == ("questions", 0, "mechanism", "target")
    published = Survey.from_draft(document).canonical
    with pytest.raises(SurveyError, match="cannot tell this") as refusal:
        parse_survey(published)
    assert refusal.value.path == ("questions", 0, "mechanism", "target")
