"""A draft as it was read: its document, its plan, and what the slider may set in it."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from hushpoll_client import HushpollError, Survey

from hushpoll_server.workspace.drafts import blocks
from hushpoll_server.workspace.drafts.documents import Document, compiled

DEFAULT_N = 500
DEFAULT_MARGIN = 0.05
_OWN = ("margins", "locks", "cross_tables")


class StaleDraft(HushpollError):
    """The draft was changed since the page was opened; nothing was written."""


class DraftIsPublished(HushpollError):
    """The draft became a published survey, which cannot be changed."""

    def __init__(self, survey_hash: str) -> None:
        super().__init__("this draft is published and cannot be changed; make a copy")
        self.hash = survey_hash


@dataclass(frozen=True)
class Draft:
    """One draft as it was read; saving needs the revision it was read at."""

    id: str
    owner: str
    title: str
    document: Document
    revision: int
    expected_n: int
    margin: float
    epsilon: str
    linked: tuple[str, ...]
    updated_at: int
    published_hash: str | None
    margins: Mapping[str, float] = field(default_factory=dict)
    """The margin that a question needs, where it is not the survey's."""
    locks: Mapping[str, str] = field(default_factory=dict)
    """The protection that a question keeps, as it was typed: an epsilon, or an odds factor."""
    cross_tables: Mapping[str, bool] = field(default_factory=dict)
    """Whether cross-tables are wanted inside a block, by the id of its first question."""
    fitting: Mapping[str, list[str]] = field(default_factory=dict)
    """By language, the translations that fit their originals: see `originals`."""

    @property
    def questions(self) -> list[Document]:
        """The questions in order."""
        questions: list[Document] = self.document["questions"]
        return questions

    def question(self, question_id: str) -> Document | None:
        """Return the question of that id."""
        return next((question for question in self.questions if question["id"] == question_id), None)

    def follows_slider(self, question: Mapping[str, Any]) -> bool:
        """Return whether the plan may set the question's epsilon."""
        return "name" not in question.get("mechanism", {"name": ""}) or question["id"] in self.linked

    def own_epsilon(self, question: Mapping[str, Any] | None) -> str:
        """Return the epsilon that the plan gave a question; for a new one what the slider says."""
        if question is None or not self.follows_slider(question):
            return self.epsilon
        return str(question["mechanism"]["epsilon"])

    @property
    def plan(self) -> dict[str, Any]:
        """What the survey is planned for, as `create` takes it."""
        names = ("expected_n", "margin", "epsilon", "linked", *_OWN, "fitting")
        return {name: getattr(self, name) for name in names}

    @property
    def at_one_epsilon(self) -> bool:
        """Whether all questions that are free to move spend what the slider says."""
        free = [
            question
            for question in self.questions
            if self.follows_slider(question) and question["id"] not in self.locks
        ]
        return all(free_question["mechanism"]["epsilon"] == self.epsilon for free_question in free)

    def at(self, epsilon: str) -> Draft:
        """Return the draft with the slider at another stop: it moves what is not locked."""
        free = [
            question["id"]
            for question in self.questions
            if self.follows_slider(question) and question["id"] not in self.locks
        ]
        return replace(self.spending(dict.fromkeys(free, epsilon)), epsilon=epsilon)

    def spending(self, epsilons: Mapping[str, str]) -> Draft:
        """Return the draft with other epsilons of what the plan may set: questions, and blocks by their questions."""
        changed = copy.deepcopy(self.document)
        blocks.spend(changed, epsilons)
        for question in changed["questions"]:
            if self.follows_slider(question) and question["id"] in epsilons:
                question["mechanism"]["epsilon"] = epsilons[question["id"]]
        return replace(self, document=changed)

    def locked(self, locks: Mapping[str, str]) -> Draft:
        """Return the draft with its locks held: a question spends its lock, a block no more than its strictest."""
        epsilons = blocks.epsilons(self.document)
        return self.spending(
            {name: min(lock, epsilons.get(name, lock), key=float) for name, lock in locks.items()}
        )

    def renamed(self, before: str | None, after: str) -> Draft:
        """Return the draft whose plan knows a question by its new id."""
        if before in (None, after):
            return self

        def moved(values: Mapping[str, Any]) -> dict[str, Any]:
            return {after if name == before else name: value for name, value in values.items()}

        changes: dict[str, Any] = {field: moved(getattr(self, field)) for field in _OWN}
        return replace(self, **changes)

    def survey(self, cap: str = "20") -> Survey:
        """Compile the draft as publishing would; SurveyError says what is missing."""
        survey = self.compiled()
        survey.check_cap(cap)
        return survey

    def compiled(self) -> Survey:
        """Compile the draft whatever its total."""
        return compiled(self.document)


LARGEST_N = 100_000_000
