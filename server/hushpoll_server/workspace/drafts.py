"""Drafts: survey documents that are still being written, each with the plan it is written for.

A draft is kept as the document that a designer would write by hand (see the survey document's description), so that
"definition out" is what is stored. A question whose mechanism has no name follows the draft's plan, and so does
the epsilon of a question that is listed in `linked` (an OR-poll with a coin on top, say): the slider moves all of them
that are not locked, and each may have an epsilon of its own.
"""

from __future__ import annotations

import copy
import json
import secrets
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from hushpoll_client import HushpollError, Question, Survey, SurveyError
from hushpoll_client.limits import MAX_QUESTIONS
from hushpoll_client.messages import msg
from sqlalchemy import Connection, Row, delete, insert, select, update

from hushpoll_server.people.audit_log import note, now, record
from hushpoll_server.store.surveys import Store
from hushpoll_server.store.workspace_schema import drafts

from . import about_rules, anchors, block_rules, history, originals, rules

Document = dict[str, Any]

UNTITLED = "Untitled survey"
DEFAULT_N = 500
DEFAULT_MARGIN = 0.05
DEFAULT_EPSILON = "1"
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
        block_rules.spend(changed, epsilons)
        for question in changed["questions"]:
            if self.follows_slider(question) and question["id"] in epsilons:
                question["mechanism"]["epsilon"] = epsilons[question["id"]]
        return replace(self, document=changed)

    def locked(self, locks: Mapping[str, str]) -> Draft:
        """Return the draft with its locks held: a question spends its lock, a block no more than its strictest."""
        epsilons = block_rules.epsilons(self.document)
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


def compiled(document: Document) -> Survey:
    """Compile a draft's document, without languages that are not finished; the analysis computes channels."""
    from hushpoll_analysis.planning.draft_resolution import read_draft

    return read_draft(about_rules.compilable(document))


def blank(title: str = UNTITLED) -> Document:
    """Make a document without questions."""
    settings = {"kiosk": False, "invitation": False}
    return {"hushpoll": 1, "title": title, "intro": "", "questions": [], "settings": settings}


# Keeping --------------------------------------------------------------------------------------------------------


def create(
    store: Store,
    owner: str,
    document: Document,
    expected_n: int = DEFAULT_N,
    margin: float = DEFAULT_MARGIN,
    epsilon: str = DEFAULT_EPSILON,
    linked: tuple[str, ...] = (),
    margins: Mapping[str, float] | None = None,
    locks: Mapping[str, str] | None = None,
    cross_tables: Mapping[str, bool] | None = None,
    fitting: Mapping[str, list[str]] | None = None,
) -> Draft:
    """Keep a new draft."""
    name = secrets.token_hex(8)
    plan = (expected_n, margin, epsilon, linked)
    plans_by_question = (
        margins or {},
        locks or {},
        cross_tables or {},
        fitting or originals.fitting(document),
    )
    draft = Draft(name, owner, document["title"], document, 1, *plan, now(), None, *plans_by_question)
    with store.write() as tx:
        tx.execute(insert(drafts).values(**_row(draft)))
    return draft


def find(store: Store, draft_id: str) -> Draft | None:
    """Return the draft of that id."""
    with store.read() as tx:
        row = tx.execute(select(drafts).where(drafts.c.id == draft_id)).one_or_none()
    return None if row is None else _draft(row)


def of_published(store: Store, survey_hash: str) -> Draft | None:
    """Return the draft that became a published survey, where it was written here."""
    query = select(drafts).where(drafts.c.published_hash == survey_hash).order_by(drafts.c.updated_at)
    with store.read() as tx:
        row = tx.execute(query).first()
    return None if row is None else _draft(row)


def unpublished(store: Store, owner: str | None) -> list[Draft]:
    """Return the unpublished drafts of an owner (None: of all), the last changed first."""
    query = select(drafts).where(drafts.c.published_hash.is_(None)).order_by(drafts.c.updated_at.desc())
    if owner is not None:
        query = query.where(drafts.c.owner == owner)
    with store.read() as tx:
        return [_draft(row) for row in tx.execute(query)]


def save(store: Store, draft: Draft, revision: int, opened: int | None = None) -> Draft:
    """Write a changed draft over the revision that its page has; StaleDraft where another one is there.

    A page that saves by itself says at which revision it was `opened`: all that it saves is undone together.
    """
    newer = replace(draft, title=draft.document["title"], revision=revision + 1, updated_at=now())
    with store.write() as tx:
        history.keep(tx, _write(tx, draft.id, revision, _row(newer)), opened)
    return newer


def undo(store: Store, draft_id: str, revision: int) -> bool:
    """Put a draft back to what it was before its last change; False where there is nothing to go back to."""
    with store.write() as tx:
        state = history.take(tx, draft_id)
        if state is None:
            return False
        _write(tx, draft_id, revision, {**state, "revision": revision + 1, "updated_at": now()})
    return True


def _write(tx: Connection, draft_id: str, revision: int, values: dict[str, Any]) -> Row[Any]:
    """Write values over that revision of a draft, and give the row as it was."""
    row = tx.execute(select(drafts).where(drafts.c.id == draft_id)).one_or_none()
    if row is not None and row.published_hash is not None:
        raise DraftIsPublished(row.published_hash)
    mine = (drafts.c.id == draft_id) & (drafts.c.revision == revision) & drafts.c.published_hash.is_(None)
    changed = tx.execute(update(drafts).where(mine).values(**values))
    if row is None or not changed.rowcount:
        raise StaleDraft("this draft was changed in another tab or deleted since you opened this page")
    return row


def remove(store: Store, draft: Draft, *, actor: str) -> None:
    """Delete a draft; the audit log remembers its title."""
    with store.write() as tx:
        gone = tx.execute(delete(drafts).where(drafts.c.id == draft.id, drafts.c.published_hash.is_(None)))
        history.forget(tx, draft.id)
    if gone.rowcount:
        record(store, actor, "draft deleted", draft.id, draft.title)


def publish(store: Store, draft: Draft, survey: Survey, owner: str) -> bool:
    """Publish a draft in one transaction: the survey, the frozen draft, the line in the log; False if it was before."""
    with store.write() as tx:
        new = store.publish_within(tx, survey, owner, target_n=draft.expected_n, results_public=False)
        if new:
            _freeze(tx, draft, survey.hash)
            note(tx, owner, "published", survey.hash, survey.title)
    return new


def mark_published(store: Store, draft: Draft, survey_hash: str) -> None:
    """Freeze a draft whose definition was published before."""
    with store.write() as tx:
        _freeze(tx, draft, survey_hash)


def _freeze(tx: Connection, draft: Draft, survey_hash: str) -> None:
    """Make the draft the published survey's past."""
    mine = (drafts.c.id == draft.id) & (drafts.c.revision == draft.revision)
    changed = tx.execute(update(drafts).where(mine).values(published_hash=survey_hash, updated_at=now()))
    history.forget(tx, draft.id)
    if not changed.rowcount:
        raise StaleDraft("this draft was changed in another tab or deleted since you opened this page")


def _row(draft: Draft) -> dict[str, Any]:
    named = {question["id"] for question in draft.questions if "name" in question.get("mechanism", {})}
    linked = [name for name in draft.linked if name in named]
    there = {question["id"] for question in draft.questions}
    plans = {
        field: {name: value for name, value in getattr(draft, field).items() if name in there}
        for field in _OWN
    }
    plans["fitting"] = dict(draft.fitting)
    return {key: value for key, value in vars(draft).items() if key not in plans} | {
        "document": json.dumps(draft.document, ensure_ascii=False),
        "linked": json.dumps(linked),
        "budget": json.dumps({field: values for field, values in plans.items() if values}),
    }


def _draft(row: Row[Any]) -> Draft:
    values = dict(row._mapping)
    values["document"] = about_rules.mended(json.loads(values["document"]))
    values["linked"] = tuple(json.loads(values["linked"]))
    plans = json.loads(values.pop("budget"))
    return Draft(**values, **plans)


# Changing a document: each gives a new one ----------------------------------------------------------------------


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
        rules.follow(changed, changed["questions"][index], question)
        block_rules.follow(changed, instead_of, question["id"])
        about_rules.follow(changed, changed["questions"][index], question)
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
    target = block_rules.place_of(changed, question_id, by)
    listed.insert(target, listed.pop(index))
    block_rules.reordered(changed)
    about_rules.reordered(changed, document, question_id, down=by > 0)
    rules.check_order(changed)
    return changed


def duplicated(document: Document, question_id: str) -> Document:
    """Put a copy of a question below it, under a fresh id."""
    changed = copy.deepcopy(document)
    index = _index(changed, question_id)
    twin = {**copy.deepcopy(changed["questions"][index]), "id": free_id(changed)}
    changed["questions"].insert(index + 1, twin)
    block_rules.grown(changed, question_id, twin["id"])
    about_rules.grown(changed, question_id, twin["id"])
    compiled(changed)
    return changed


def without(document: Document, question_id: str, slider: str = DEFAULT_EPSILON) -> Document:
    """Delete a question; what remains of a block of two follows the slider."""
    changed = block_rules.shrunk(copy.deepcopy(document), question_id, slider)
    about_rules.shrunk(changed, question_id)
    del changed["questions"][_index(changed, question_id)]
    if changed.get("anchor", {}).get("question") == question_id:
        del changed["anchor"]
    rules.check_order(changed)
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
