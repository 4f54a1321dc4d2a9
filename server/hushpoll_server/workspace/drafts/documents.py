"""Survey documents on their way into a draft: blank, imported from a survey, compiled."""

from __future__ import annotations

from collections import Counter
from typing import Any

from hushpoll_client import Question, Survey
from hushpoll_client.fields import HIDDEN

from hushpoll_server.workspace.drafts.translated_texts import without_unfinished_languages

Document = dict[str, Any]
UNTITLED = "Untitled survey"
DEFAULT_EPSILON = "1"


def compiled(document: Document) -> Survey:
    """Compile a draft's document without unfinished languages; the analysis computes the channels."""
    from hushpoll_analysis.planning.draft_resolution import read_draft

    return read_draft(without_unfinished_languages(document))


def blank(title: str = UNTITLED) -> Document:
    """Return a document without questions."""
    settings = {"kiosk": False, "invitation": False}
    return {"hushpoll": 1, "title": title, "intro": "", "questions": [], "settings": settings}


def in_steps(document: Document) -> Document:
    """Return a new survey's document that asks one question at a time, unless it says how questions are asked."""
    return {**document, "look": {"layout": "steps", **document.get("look", {})}}


def imported(survey: Survey) -> tuple[Document, str]:
    """Return a draft document of a survey from a file or a published one, and its most common epsilon.

    Nothing about any question changes. Questions with the recommended mechanism follow the slider again, each at its
    present epsilon.
    """
    document = survey.as_document(published=False)
    recommended = [
        (entry, question)
        for entry, question in zip(document["questions"], survey.questions, strict=True)
        if _is_recommended(question)
    ]
    for entry, question in recommended:
        keys = ("epsilon", *question.kind.in_mechanism)
        mechanism = {key: value for key, value in entry["mechanism"].items() if key in keys}
        entry["mechanism"] = mechanism | question.answers.draft_keys()
        entry.pop("channel", None)
    epsilons = Counter(entry["mechanism"]["epsilon"] for entry, _ in recommended)
    epsilon = next((epsilon for epsilon, _ in epsilons.most_common(1)), DEFAULT_EPSILON)
    return document, epsilon


def _is_recommended(question: Question) -> bool:
    """Return whether a question has the mechanism that an epsilon alone would give it."""
    mechanism = question.mechanism
    if question.block is not None or "epsilon" not in mechanism.parameters:
        return False
    from hushpoll_analysis.planning.precision import recommended

    advised = recommended(question, mechanism.parameters["epsilon"])
    return advised.name == mechanism.name and advised.device == question.channel


def without_direction_marks(value: Any) -> Any:
    """Return a document without the characters that turn the direction of writing.

    They are refused wherever a text is typed; drafts of early versions may have some.
    """
    if isinstance(value, dict):
        return {key: without_direction_marks(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [without_direction_marks(inner) for inner in value]
    if isinstance(value, str) and not HIDDEN.isdisjoint(value):
        return "".join(sign for sign in value if sign not in HIDDEN)
    return value
