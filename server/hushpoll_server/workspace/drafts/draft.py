"""A draft: a survey that is being written, with the plan that it is written for.

A question whose mechanism has no name follows the plan, and so does the epsilon of a question that is listed in
`linked` (an OR-poll with a coin on top, say). The slider moves all of them that are not locked; each may have its own
epsilon.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import Any, Self

from hushpoll_client import HushpollError, Survey, SurveyError
from hushpoll_client.limits import MAX_QUESTIONS
from hushpoll_client.messages import msg

from hushpoll_server.workspace.drafts.anchor import Anchor
from hushpoll_server.workspace.drafts.block import Block, Blocks
from hushpoll_server.workspace.drafts.documents import DEFAULT_EPSILON, Document, compiled
from hushpoll_server.workspace.drafts.references import (
    ByQuestion,
    QuestionDocument,
    QuestionIds,
    QuestionReferences,
)
from hushpoll_server.workspace.drafts.sections import Sections
from hushpoll_server.workspace.drafts.skip_rules import SkipRule, SkipRules
from hushpoll_server.workspace.drafts.translations import Translations

LARGEST_N = 100_000_000
DEFAULT_N = 500
DEFAULT_MARGIN = 0.05


class StaleDraft(HushpollError):
    """The draft was changed since the page was opened; nothing was written."""


class DraftIsPublished(HushpollError):
    """The draft became a published survey, which cannot be changed."""

    def __init__(self, survey_hash: str) -> None:
        super().__init__("this draft is published and cannot be changed; make a copy")
        self.hash = survey_hash


@dataclass(frozen=True)
class Draft:
    """One draft as it was read; saving needs the revision it was read at.

    Every field that refers to questions is a `QuestionReferences`, so that it follows when a question is edited,
    moved, copied or removed.
    """

    id: str
    owner: str
    revision: int
    updated_at: int
    published_hash: str | None
    details: Mapping[str, Any]
    """The keys of the survey document that refer to no question: title, intro, settings and so on."""
    questions: tuple[QuestionDocument, ...]
    rules: SkipRules
    blocks: Blocks
    sections: Sections
    anchor: Anchor
    translations: Translations
    expected_n: int = DEFAULT_N
    """The number of answers that the designer expects."""
    margin: float = DEFAULT_MARGIN
    """The margin that every question needs, unless it has its own in `margins`."""
    epsilon: str = DEFAULT_EPSILON
    """Where the slider stands."""
    linked: QuestionIds = field(default_factory=QuestionIds)
    """Questions with a named mechanism whose epsilon follows the slider."""
    margins: ByQuestion[float] = field(default_factory=ByQuestion)
    locks: ByQuestion[str] = field(default_factory=ByQuestion)
    """The protection that a question keeps, as it was typed: an epsilon, or an odds factor."""
    cross_tables: ByQuestion[bool] = field(default_factory=ByQuestion)
    """Whether the designer wants cross-tables inside a block, by the id of its first question."""
    fitting: Mapping[str, list[str]] = field(default_factory=dict)
    """By language, the translations that fit their originals: see `stale_translations`."""

    # The survey document ------------------------------------------------------------------------------------------

    @classmethod
    def parts_of(cls, document: Document) -> dict[str, Any]:
        """Return the fields of a draft that a survey document describes."""
        questions = tuple({**question} for question in document["questions"])
        rules = {
            question["id"]: SkipRule.read(question.pop("after"))
            for question in questions
            if "after" in question
        }
        order = [question["id"] for question in questions]
        return {
            "details": {key: value for key, value in document.items() if key not in _PARTS},
            "questions": questions,
            "rules": SkipRules(rules),
            "blocks": Blocks(map(Block.read, document.get("blocks", []))),
            "sections": Sections.read(document.get("sections", []), order),
            "anchor": Anchor.read(document.get("anchor", {})),
            "translations": Translations(document.get("translations")),
        }

    @cached_property
    def document(self) -> Document:
        """The survey document, as a designer would write it by hand; not to be changed."""
        parts = {
            "blocks": [block.as_json() for block in self.blocks],
            "sections": [section.as_json() for section in self.sections],
            "anchor": self.anchor.as_json(),
            "translations": dict(self.translations),
        }
        return {
            **self.details,
            "questions": [self._question_as_json(question) for question in self.questions],
            **{key: value for key, value in parts.items() if value},
        }

    def _question_as_json(self, question: QuestionDocument) -> QuestionDocument:
        rule = self.rules.of(question["id"])
        if rule is None:
            return question
        return {**question, "after": rule.as_json()}

    def compiled(self) -> Survey:
        """Compile the draft whatever its total epsilon."""
        return compiled(self.document)

    def survey(self, cap: str = "20") -> Survey:
        """Compile the draft as publishing would; SurveyError says what is missing."""
        survey = self.compiled()
        survey.check_cap(cap)
        return survey

    @property
    def title(self) -> str:
        """The title of the survey."""
        return str(self.details["title"])

    def with_details(self, **changes: Any) -> Self:
        """Return the draft with other details; empty ones are left out, but for the introduction."""
        details = {key: value for key, value in self.details.items() if key not in changes}
        details |= {key: value for key, value in changes.items() if value or key in _ALWAYS}
        return replace(self, details=details)

    # Questions ----------------------------------------------------------------------------------------------------

    @property
    def order(self) -> list[str]:
        """The ids of the questions in order."""
        return [question["id"] for question in self.questions]

    def question(self, question_id: str | None) -> QuestionDocument | None:
        """Return the question of that id; None if there is none."""
        return next((question for question in self.questions if question["id"] == question_id), None)

    def free_id(self) -> str:
        """Return the first of q1, q2, ... that no question has."""
        used = set(self.order)
        return next(name for number in range(1, MAX_QUESTIONS + 2) if (name := f"q{number}") not in used)

    def repeated_questions(self) -> dict[str, int]:
        """Return the questions with the same words as an earlier one, with the index of that one."""
        first_index: dict[str, int] = {}
        repeated: dict[str, int] = {}
        for index, question in enumerate(self.questions):
            words = " ".join(question["text"].casefold().split()).rstrip(" ?!.")
            if first_index.setdefault(words, index) != index:
                repeated[question["id"]] = first_index[words]
        return repeated

    def with_question(self, question: QuestionDocument, rule: SkipRule | None = None) -> Self:
        """Return the draft with one more question at the end; SurveyError if the survey is not sound then."""
        changed = replace(
            self,
            questions=(*self.questions, question),
            rules=self.rules.with_rule(question["id"], rule),
        )
        changed.compiled()
        return changed

    def with_edited(self, question_id: str, question: QuestionDocument, rule: SkipRule | None) -> Self:
        """Return the draft with one question replaced by another; SurveyError if the survey is not sound then."""
        index = self._index(question_id)
        before = self.questions[index]
        changed = self._with_references(lambda references: references.rename(before, question))
        changed = replace(
            changed,
            questions=(*self.questions[:index], question, *self.questions[index + 1 :]),
            rules=changed.rules.with_rule(question["id"], rule),
        )
        changed.compiled()
        return changed

    def with_moved(self, question_id: str, by: int) -> Self:
        """Return the draft with a question moved up (negative) or down; at the edge it stays."""
        index = self._index(question_id)
        target = self.blocks.index_after_move(question_id, by, self.order)
        questions = list(self.questions)
        questions.insert(target, questions.pop(index))
        order = [question["id"] for question in questions]
        changed = self._with_references(lambda references: references.move(question_id, order, self))
        return replace(changed, questions=tuple(questions))

    def with_copy(self, question_id: str) -> Self:
        """Return the draft with a copy of a question below it, under a new id."""
        index = self._index(question_id)
        copied = {**copy.deepcopy(self.questions[index]), "id": self.free_id()}
        changed = self._with_references(lambda references: references.copy(question_id, copied["id"]))
        changed = replace(
            changed, questions=(*self.questions[: index + 1], copied, *self.questions[index + 1 :])
        )
        changed.compiled()
        return changed

    def without_question(self, question_id: str) -> Self:
        """Return the draft without a question; what remains of a block of two follows the slider."""
        index = self._index(question_id)
        changed = self._with_references(lambda references: references.remove(question_id, self))
        changed = replace(changed, questions=(*self.questions[:index], *self.questions[index + 1 :]))
        return changed._with_mechanisms()

    def _index(self, question_id: str) -> int:
        for index, question in enumerate(self.questions):
            if question["id"] == question_id:
                return index
        raise SurveyError(
            ("questions",),
            msg("has no question {question!r}", question=question_id),
            "open the draft again",
        )

    def _with_references(self, change: Callable[[QuestionReferences], QuestionReferences]) -> Self:
        """Return the draft with a change of every part that refers to questions."""
        changes: dict[str, Any] = {}
        for entry in fields(self):
            value = getattr(self, entry.name)
            if isinstance(value, QuestionReferences):
                changes[entry.name] = change(value)
        return replace(self, **changes)

    # Blocks -------------------------------------------------------------------------------------------------------

    def with_block(self, block: Block, *, replacing: int | None = None) -> Self:
        """Return the draft with a block, new or replacing another; its questions lose their mechanisms."""

        def as_member(question: QuestionDocument) -> QuestionDocument:
            if question["id"] in block.questions:
                return _without_mechanism(question)
            return question

        remaining = self
        if replacing is not None:
            remaining = self.without_block(replacing)
        return replace(
            remaining,
            questions=tuple(map(as_member, remaining.questions)),
            blocks=remaining.blocks.with_block(block, self.order),
            linked=self.linked.without(*block.questions),
        )

    def without_block(self, index: int) -> Self:
        """Return the draft without a block; its questions follow the slider again."""
        return replace(self, blocks=self.blocks.without(index))._with_mechanisms()

    def _with_mechanisms(self) -> Self:
        """Make questions that are no longer in a block follow the slider."""

        def with_mechanism(question: QuestionDocument) -> QuestionDocument:
            if "mechanism" in question or self.blocks.index_of(question["id"]) is not None:
                return question
            return {**question, "mechanism": {"epsilon": self.epsilon}}

        return replace(self, questions=tuple(map(with_mechanism, self.questions)))

    # Epsilons -----------------------------------------------------------------------------------------------------

    def is_recommended(self, question: QuestionDocument) -> bool:
        """Return whether a question gets the mechanism that is recommended for its epsilon."""
        return "mechanism" in question and "name" not in question["mechanism"]

    def follows_slider(self, question: QuestionDocument) -> bool:
        """Return whether the plan may set the question's epsilon."""
        return self.is_recommended(question) or question["id"] in self.linked

    def epsilon_of(self, question: QuestionDocument | None) -> str:
        """Return the epsilon that the plan gave a question; for a new one that of the slider."""
        if question is None or not self.follows_slider(question):
            return self.epsilon
        return str(question["mechanism"]["epsilon"])

    @property
    def _free_questions(self) -> list[QuestionDocument]:
        return [
            question
            for question in self.questions
            if self.follows_slider(question) and question["id"] not in self.locks
        ]

    @property
    def has_one_epsilon(self) -> bool:
        """Whether all questions that follow the slider and are not locked have its epsilon."""
        return all(question["mechanism"]["epsilon"] == self.epsilon for question in self._free_questions)

    def with_slider_at(self, epsilon: str) -> Self:
        """Return the draft with the slider at another epsilon: it moves what is not locked."""
        moved = {question["id"]: epsilon for question in self._free_questions}
        return replace(self.with_epsilons(moved), epsilon=epsilon)

    def with_epsilons(self, epsilons: Mapping[str, str]) -> Self:
        """Return the draft with other epsilons, by question: of questions that follow the slider, and of blocks."""

        def with_epsilon(question: QuestionDocument) -> QuestionDocument:
            epsilon = epsilons.get(question["id"])
            if epsilon is None or not self.follows_slider(question):
                return question
            return {**question, "mechanism": {**question["mechanism"], "epsilon": epsilon}}

        return replace(
            self,
            blocks=self.blocks.spending(epsilons),
            questions=tuple(map(with_epsilon, self.questions)),
        )

    def with_locks_held(self, locks: Mapping[str, str]) -> Self:
        """Return the draft with every question at its lock, and every block at its strictest lock or below."""
        in_blocks = self.blocks.epsilons
        return self.with_epsilons(
            {name: min(lock, in_blocks.get(name, lock), key=float) for name, lock in locks.items()}
        )

    @property
    def plan(self) -> dict[str, Any]:
        """What the survey is planned for, as `storage.create` takes it."""
        return {name: getattr(self, name) for name in PLAN}


PLAN = ("expected_n", "margin", "epsilon", "linked", "margins", "locks", "cross_tables", "fitting")
"""The fields of a draft that are no part of the survey document."""
_PARTS = ("questions", "blocks", "sections", "anchor", "translations")
_ALWAYS = ("title", "intro", "settings")


def _without_mechanism(question: QuestionDocument) -> QuestionDocument:
    """Return a question as a member of a block; one with a decoy keeps it, for the survey's check to refuse."""
    if "decoy" in question.get("mechanism", {}):
        return question
    return {key: value for key, value in question.items() if key not in ("mechanism", "channel")}
