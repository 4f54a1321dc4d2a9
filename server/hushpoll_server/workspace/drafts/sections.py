"""Sections: a title and a text before a question, for it and the questions up to the next section."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Self

from hushpoll_client import SurveyError
from hushpoll_client.messages import msg

from hushpoll_server.workspace.drafts.references import QuestionDocument, QuestionReferences, new_id

if TYPE_CHECKING:
    from hushpoll_server.workspace.drafts.draft import Draft


@dataclass(frozen=True)
class Section:
    """A section begins before a question."""

    before: str
    title: str
    text: str = ""

    @classmethod
    def read(cls, entry: Mapping[str, Any]) -> Self:
        """Read a section of a survey document."""
        return cls(entry["before"], entry.get("title", ""), entry.get("text", ""))

    def as_json(self) -> dict[str, str]:
        """Return the section as a survey document has it."""
        values = {"before": self.before, "title": self.title, "text": self.text}
        return {key: value for key, value in values.items() if value}


class Sections(tuple[Section, ...], QuestionReferences):
    """The sections of a draft, in the order of its questions."""

    @classmethod
    def read(cls, entries: Sequence[Mapping[str, Any]], order: Sequence[str]) -> Self:
        """Read the sections of a survey document.

        Drafts of early versions may have sections out of order or before a question that no longer exists.
        """
        by_question = {entry["before"]: Section.read(entry) for entry in entries}
        return cls(by_question[name] for name in order if name in by_question)

    def index_by_question(self, order: Sequence[str]) -> dict[str, int]:
        """Return the index of the section that every question is in; -1 before the first section."""
        starts = {section.before: index for index, section in enumerate(self)}
        index_of, index = {}, -1
        for name in order:
            index = starts.get(name, index)
            index_of[name] = index
        return index_of

    def emptied_by_removing(self, question_id: str, order: Sequence[str]) -> int | None:
        """Return the index of the section whose only question this is; None if there is none."""
        index_of = self.index_by_question(order)
        index = index_of.get(question_id, -1)
        if index < 0 or list(index_of.values()).count(index) > 1:
            return None
        return index

    def rename(self, before: QuestionDocument, after: QuestionDocument) -> Self:
        """Follow the new id of a question."""
        return type(self)(replace(section, before=new_id(section.before, before, after)) for section in self)

    def move(self, question_id: str, order: Sequence[str], draft: Draft) -> Self:
        """Let every section begin at the first of its questions.

        All other questions stay in their section; the question that moved joins the section of its new place.
        """
        if list(order) == draft.order:
            return self
        index_of = self.index_by_question(draft.order)
        index = order.index(question_id)
        if index > draft.order.index(question_id):
            neighbour = order[index - 1]
        else:
            neighbour = order[index + 1]
        index_of[question_id] = index_of[neighbour]
        sections = []
        for index, section in enumerate(self):
            first = next((name for name in order if index_of[name] == index), None)
            if first is None:
                raise SurveyError(
                    ("sections", index),
                    msg("“{section}” would have no question left", section=section.title),
                    "put another question into this section, or remove it under “Around the questions”",
                )
            sections.append(replace(section, before=first))
        return type(self)(sections)

    def remove(self, question_id: str, draft: Draft) -> Self:
        """Begin the question's section at its next question, or drop the section if there is none."""
        emptied = self.emptied_by_removing(question_id, draft.order)
        if emptied is not None:
            return type(self)(section for index, section in enumerate(self) if index != emptied)
        if question_id not in draft.order[:-1]:
            return self
        following = draft.order[draft.order.index(question_id) + 1]
        return self.rename({"id": question_id}, {"id": following})
