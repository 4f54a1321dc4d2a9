"""Skip rules in a draft: "ask only after ...", written in the editor and kept sound while questions change or move."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from hushpoll_client import Question, Survey, SurveyError
from hushpoll_client.messages import msg

Document = dict[str, Any]


def deciders(survey: Survey | None, before: str | None) -> list[Question]:
    """Return the questions that stand before another (None: at the end) and can decide whether it is asked."""
    questions = []
    for question in survey.questions if survey else ():
        if question.id == before:
            break
        if question.kind.may_be_skipped and not question.mechanism.has_decoy and question.block is None:
            questions.append(question)
    return questions


def write_rule(name: str, ticked: Iterable[str], earlier: Sequence[Question]) -> Document:
    """Return the document's key for the rule that the form describes; nothing where the question is always asked.

    Ticks are written "question:place", so that those under another question do not count.
    """
    if not name:
        return {}
    decider = next((question for question in earlier if question.id == name), None)
    options = decider.options if decider else ()
    chosen = {tick for tick in ticked if tick.startswith(f"{name}:")}
    answers = [option for index, option in enumerate(options) if f"{name}:{index}" in chosen]
    return {"after": {"question": name, "answers": answers}}


def read_rule(question: Mapping[str, Any], earlier: Sequence[Question]) -> Document:
    """Return the form's fields of a question's rule."""
    rule = question.get("after")
    if rule is None:
        return {}
    name = rule["question"]
    options = next(
        (earlier_question.options for earlier_question in earlier if earlier_question.id == name), ()
    )
    ticked = [f"{name}:{index}" for index, option in enumerate(options) if option in rule["answers"]]
    return {"after_question": name, "after_answers": ticked}


def follow(document: Document, before: Document, now: Document) -> None:
    """Let the rules that name a question follow its new name, and the new words of its options, in place."""
    renamed = dict(zip(_options(before), _options(now), strict=False))
    same = len(_options(before)) == len(_options(now))
    for question in document["questions"]:
        rule = question.get("after")
        if rule is not None and rule["question"] == before["id"]:
            answers = [renamed.get(answer, answer) if same else answer for answer in rule["answers"]]
            question["after"] = {"question": now["id"], "answers": answers}


def _options(question: Document) -> list[str]:
    return list(question.get("options", ()))


def dependents(document: Document, question_id: str) -> list[int]:
    """Return the numbers of the questions that are asked only after certain answers to this one."""
    return [
        number
        for number, question in enumerate(document["questions"], 1)
        if question.get("after", {}).get("question") == question_id
    ]


def check_order(document: Document) -> None:
    """Refuse an order of questions in which one would be asked before the question that decides about it."""
    seen: set[str] = set()
    for index, question in enumerate(document["questions"]):
        rule = question.get("after")
        if rule is not None and rule["question"] not in seen:
            raise SurveyError(
                ("questions", index),
                msg(
                    'it is asked only after certain answers to "{question}", which has to come before it',
                    question=rule["question"],
                ),
                "change or remove that rule first",
                question["id"],
            )
        seen.add(question["id"])
