"""Anchors: an answer whose true share is known, so that careless answers show."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from hushpoll_client.errors import MechanismError, SurveyError
from hushpoll_client.exact import read_share, spell
from hushpoll_client.fields import read_fields, short
from hushpoll_client.messages import msg

from .question import Question

__all__ = ["Anchor", "read_anchor"]


@dataclass(frozen=True)
class Anchor:
    """A question of whose answers one has a known share: of a yes/no question Yes, otherwise the one that is named.

    People may be instructed which answer to give: then its share is 1, and the question holds nothing sensitive.
    """

    question: str
    share: Fraction
    answer: str | None = None

    def document(self) -> dict[str, Any]:
        """Return the anchor as JSON."""
        named = {}
        if self.answer is not None:
            named = {"answer": self.answer}
        return {"question": self.question, "share": spell(self.share), **named}


def read_anchor(value: object, questions: Sequence[Question], published: bool) -> Anchor:
    """Read which answer's true share is known; what careless people give as often would tell nothing."""
    fields = read_fields(
        value, ("anchor",), ("question", "share"), published=published, omittable=("answer",)
    )
    question = next((candidate for candidate in questions if candidate.id == fields["question"]), None)
    if question is None or not _tells_one_answer(question):
        raise SurveyError(
            ("anchor", "question"),
            msg(
                "{question} is not a question with one answer of a few that everybody is asked",
                question=short(fields["question"]),
            ),
            "name one: yes/no, a choice or a scale",
        )
    answer = _read_answer(fields, question)
    try:
        share = read_share(fields["share"], "share")
    except MechanismError as error:
        raise SurveyError(
            ("anchor", "share"), error.problem, error.remedy or "write a share such as 0"
        ) from None
    if share * len(question.options) == 1:
        problem = msg("{share} tells nothing: careless people give this answer as often", share=share)
        raise SurveyError(("anchor", "share"), problem, "choose a question of another share")
    if published and fields["share"] != spell(share):
        raise SurveyError(
            ("anchor", "share"), "is not in its published spelling", "ask the owner to publish it again"
        )
    return Anchor(question.id, share, answer)


def _tells_one_answer(question: Question) -> bool:
    """Return whether all people are asked for one of the labels that are shown, and each report stands for itself."""
    alone = question.after is None and question.block is None
    return alone and question.kind.in_blocks and question.channel.listed


def _read_answer(fields: dict[str, Any], question: Question) -> str | None:
    """Read the answer whose share is known; of a yes/no question it is Yes, and nothing is written."""
    answer = fields.get("answer")
    if question.kind.yes_or_no:
        if answer is not None:
            raise SurveyError(
                ("anchor", "answer"), "a yes/no question's share is that of Yes", "leave it out"
            )
        return None
    if answer is None:
        raise SurveyError(
            ("anchor", "question"),
            msg(
                "{question} has {count} answers, and none is named",
                question=short(question.id),
                count=len(question.options),
            ),
            'add "answer", the one whose share is known',
        )
    if answer not in question.options:
        named = ", ".join(question.options)
        raise SurveyError(
            ("anchor", "answer"),
            msg("{answer} is none of its answers", answer=short(answer)),
            msg("use one of: {known}", known=named),
        )
    return str(answer)
