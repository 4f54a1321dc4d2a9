"""Survey documents that are being written: each function returns a changed copy."""

from __future__ import annotations

import copy
from collections import Counter
from typing import Any

from hushpoll_client import Question, Survey, SurveyError
from hushpoll_client.limits import MAX_QUESTIONS
from hushpoll_client.messages import msg

from hushpoll_server.workspace.drafts import anchors, blocks, sections, skip_rules, translations

Document = dict[str, Any]
UNTITLED = "Untitled survey"
DEFAULT_EPSILON = "1"


def compiled(document: Document) -> Survey:
    """Compile a draft's document, without languages that are not finished; the analysis computes channels."""
    from hushpoll_analysis.planning.draft_resolution import read_draft

    return read_draft(translations.compilable(document))


def blank(title: str = UNTITLED) -> Document:
    """Make a document without questions."""
    settings = {"kiosk": False, "invitation": False}
    return {"hushpoll": 1, "title": title, "intro": "", "questions": [], "settings": settings}


def _index(document: Document, question_id: str) -> int:
    for index, question in enumerate(document["questions"]):
        if question["id"] == question_id:
            return index
    raise SurveyError(
        ("questions",),
        msg("has no question {question!r}", question=question_id),
        "open the draft again",
    )


def free_id(document: Document) -> str:
    """Find the first of q1, q2, ... that no question has."""
    used = {question["id"] for question in document["questions"]}
    return next(name for number in range(1, MAX_QUESTIONS + 2) if (name := f"q{number}") not in used)


def with_question(document: Document, question: Document, instead_of: str | None = None) -> Document:
    """Add a question at the end, or replace another; raise SurveyError unless the survey stays sound."""
    changed = copy.deepcopy(document)
    if instead_of is None:
        changed["questions"].append(question)
    else:
        index = _index(changed, instead_of)
        skip_rules.follow(changed, changed["questions"][index], question)
        blocks.follow(changed, instead_of, question["id"])
        sections.follow(changed, changed["questions"][index], question)
        anchors.follow(changed, changed["questions"][index], question)
        changed["questions"][index] = question
    compiled(changed)
    return changed


def alike(document: Document) -> dict[str, int]:
    """Return the questions that ask what an earlier one asks, in the same words, with that one's place."""
    first: dict[str, int] = {}
    again: dict[str, int] = {}
    for index, question in enumerate(document["questions"]):
        words = " ".join(question["text"].casefold().split()).rstrip(" ?!.")
        if first.setdefault(words, index) != index:
            again[question["id"]] = first[words]
    return again


def moved(document: Document, question_id: str, by: int) -> Document:
    """Move a question up (-1) or down (+1), or by more places; at the edge it stays."""
    changed = copy.deepcopy(document)
    listed = changed["questions"]
    index = _index(changed, question_id)
    target = blocks.place_of(changed, question_id, by)
    listed.insert(target, listed.pop(index))
    blocks.reordered(changed)
    sections.reordered(changed, document, question_id, down=by > 0)
    skip_rules.check_order(changed)
    return changed


def duplicated(document: Document, question_id: str) -> Document:
    """Put a copy of a question below it, under a fresh id."""
    changed = copy.deepcopy(document)
    index = _index(changed, question_id)
    twin = {**copy.deepcopy(changed["questions"][index]), "id": free_id(changed)}
    changed["questions"].insert(index + 1, twin)
    blocks.grown(changed, question_id, twin["id"])
    sections.grown(changed, question_id, twin["id"])
    compiled(changed)
    return changed


def without(document: Document, question_id: str, slider: str = DEFAULT_EPSILON) -> Document:
    """Delete a question; what remains of a block of two follows the slider."""
    changed = blocks.shrunk(copy.deepcopy(document), question_id, slider)
    sections.shrunk(changed, question_id)
    del changed["questions"][_index(changed, question_id)]
    if changed.get("anchor", {}).get("question") == question_id:
        del changed["anchor"]
    skip_rules.check_order(changed)
    return changed


def imported(survey: Survey) -> tuple[Document, str]:
    """Return a draft document of a survey from a file or a published one, and where its slider stands.

    Nothing about any question changes. Those with the recommended mechanism are open again, each at its own epsilon;
    the slider stands at the most common one.
    """
    document = survey.as_document(published=False)
    plain = [
        (written, question)
        for written, question in zip(document["questions"], survey.questions, strict=True)
        if _is_recommended(question)
    ]
    epsilons = Counter(written["mechanism"]["epsilon"] for written, _ in plain)
    epsilon: str = epsilons.most_common(1)[0][0] if epsilons else DEFAULT_EPSILON
    for written, question in plain:
        own_keys = ("epsilon", *question.kind.in_mechanism)
        own_values = {key: value for key, value in written["mechanism"].items() if key in own_keys}
        written["mechanism"] = own_values | question.answers.draft_keys()
        written.pop("channel", None)
    return document, epsilon


def _is_recommended(question: Question) -> bool:
    """Return whether a question has the mechanism that an epsilon alone would give it."""
    mechanism = question.mechanism
    if question.block is not None or "epsilon" not in mechanism.parameters:
        return False
    from hushpoll_analysis.planning.precision import recommended

    advised = recommended(question, mechanism.parameters["epsilon"])
    return advised.name == mechanism.name and advised.device == question.channel
