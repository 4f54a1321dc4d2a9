"""The anchor: an answer whose true share is known, which shows how many people answer carelessly."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Self

from hushpoll_client.kind import KINDS

from hushpoll_server.fields import option
from hushpoll_server.workspace.drafts.references import QuestionDocument, QuestionReferences

if TYPE_CHECKING:
    from hushpoll_server.workspace.drafts.draft import Draft

MOST_ANSWERS = 20
"""Questions with more answers are not offered: the list to choose from would be too long."""


@dataclass(frozen=True)
class Anchor(QuestionReferences):
    """The question, the true share, and the answer unless it is Yes; without a question there is no anchor."""

    question: str = ""
    share: str = "0"
    answer: str | None = None

    @classmethod
    def read(cls, entry: Mapping[str, Any]) -> Self:
        """Read the key `anchor` of a survey document."""
        return cls(**entry)

    def as_json(self) -> dict[str, str]:
        """Return the value of the key `anchor`; empty if there is no anchor."""
        if not self.question:
            return {}
        entry = {"question": self.question, "share": self.share}
        if self.answer is not None:
            entry["answer"] = self.answer
        return entry

    def rename(self, before: QuestionDocument, after: QuestionDocument) -> Self:
        """Follow the new id of the question, and the new words of the answer."""
        if self.question != before["id"]:
            return self
        old, new = _labels(before), _labels(after)
        answer = self.answer
        if answer in old and len(old) == len(new):
            answer = new[old.index(answer)]
        return replace(self, question=after["id"], answer=answer)

    def remove(self, question_id: str, draft: Draft) -> Self:
        """Drop the anchor with its question."""
        if self.question == question_id:
            return type(self)()
        return self


# The list of answers in the form ----------------------------------------------------------------------------------


def anchor_choices(draft: Draft) -> Iterator[tuple[str, str]]:
    """List what an anchor can be: a yes/no question, or "question:index" for an answer of another question."""
    for question in draft.questions:
        kind = KINDS[question["kind"]]
        if not kind.in_blocks or draft.rules.of(question["id"]) or "mechanism" not in question:
            continue
        if kind.yes_or_no:
            yield question["id"], question["text"]
            continue
        labels = _labels(question)
        if len(labels) <= MOST_ANSWERS:
            for index, label in enumerate(labels):
                yield f"{question['id']}:{index}", f"{question['text']} – {option(label)}"


def anchor_from_choice(questions: Iterable[QuestionDocument], choice: str, share: str) -> Anchor:
    """Return the anchor for an entry of the list."""
    question_id, _, index = choice.partition(":")
    labels = _labels_of(questions, question_id)
    if index.isdecimal() and int(index) < len(labels):
        return Anchor(question_id, share, labels[int(index)])
    return Anchor(question_id, share)


def choice_of_anchor(questions: Iterable[QuestionDocument], anchor: Anchor) -> str:
    """Return the entry of the list for an anchor."""
    labels = _labels_of(questions, anchor.question)
    if anchor.answer in labels:
        return f"{anchor.question}:{labels.index(anchor.answer)}"
    return anchor.question


def _labels_of(questions: Iterable[QuestionDocument], question_id: str) -> tuple[str, ...]:
    question = next((question for question in questions if question["id"] == question_id), None)
    if question is None:
        return ()
    return _labels(question)


def _labels(question: QuestionDocument) -> tuple[str, ...]:
    return KINDS[question["kind"]].read(question, (), False).labels
