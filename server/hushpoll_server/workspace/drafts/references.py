"""How the parts of a draft follow its questions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Self, TypeVar

if TYPE_CHECKING:
    from hushpoll_server.workspace.drafts.draft import Draft

QuestionDocument = dict[str, Any]
"""A question as a survey document has it, without its skip rule."""

Value = TypeVar("Value")


def new_id(question_id: str, before: QuestionDocument, after: QuestionDocument) -> str:
    """Return an id after one question, perhaps another, was replaced."""
    if question_id == before["id"]:
        return str(after["id"])
    return question_id


class QuestionReferences:
    """A part of a draft that refers to questions by their ids.

    Each method returns the part as it is after a change of one question; a part that the change does not concern
    returns itself. SurveyError says why a change is impossible.
    """

    def rename(self, before: QuestionDocument, after: QuestionDocument) -> Self:
        """Follow a question that was edited: its id, its answers or both may be different."""
        return self

    def move(self, question_id: str, order: Sequence[str], draft: Draft) -> Self:
        """Follow a question that was moved: `order` is the new order of all questions, `draft` the draft before."""
        return self

    def copy(self, question_id: str, copy_id: str) -> Self:
        """Add what belongs to the copy of a question."""
        return self

    def remove(self, question_id: str, draft: Draft) -> Self:
        """Remove what belongs to a question; `draft` is the draft before."""
        return self


class ByQuestion(Mapping[str, Value], QuestionReferences):
    """Values of single questions, by question id; a copied question starts without one."""

    def __init__(self, values: Mapping[str, Value] | None = None) -> None:
        self._values = dict(values or {})

    def __getitem__(self, question_id: str) -> Value:
        return self._values[question_id]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def rename(self, before: QuestionDocument, after: QuestionDocument) -> Self:
        """Keep the value under the new id."""
        return type(self)({new_id(name, before, after): value for name, value in self.items()})

    def remove(self, question_id: str, draft: Draft) -> Self:
        """Drop the value."""
        return type(self)({name: value for name, value in self.items() if name != question_id})


class QuestionIds(tuple[str, ...], QuestionReferences):
    """Ids of some questions; the copy of a question is not among them."""

    def rename(self, before: QuestionDocument, after: QuestionDocument) -> Self:
        """Keep the question under its new id."""
        return type(self)(new_id(name, before, after) for name in self)

    def remove(self, question_id: str, draft: Draft) -> Self:
        """Drop the question."""
        return self.without(question_id)

    def without(self, *question_ids: str) -> Self:
        """Return the ids without some of them."""
        return type(self)(name for name in self if name not in question_ids)
