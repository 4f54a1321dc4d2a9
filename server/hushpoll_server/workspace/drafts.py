"""Drafts: survey documents that are still being written, each with the plan it is written for.

A draft is kept as the document that a designer would write by hand (see the survey document's description), so that
"definition out" is what is stored. A question whose mechanism has no name follows the draft's slider, and so does
the epsilon of a question that is listed in `linked` (an OR-poll with a coin on top, say).
"""

from __future__ import annotations

import copy
import json
import secrets
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from hushpoll_client import HushpollError, Question, Survey, SurveyError
from hushpoll_client.kind import KINDS
from hushpoll_client.limits import MAX_QUESTIONS
from sqlalchemy import Connection, Row, delete, insert, select, update

from hushpoll_server.people.log import note, now, record
from hushpoll_server.store.surveys import Store
from hushpoll_server.store.workspace_schema import drafts

from . import rules

Document = dict[str, Any]

UNTITLED = "Untitled survey"
DEFAULT_N = 500
DEFAULT_MARGIN = 0.05
DEFAULT_EPSILON = "1"


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

    @property
    def questions(self) -> list[Document]:
        """The questions in order."""
        questions: list[Document] = self.document["questions"]
        return questions

    def question(self, question_id: str) -> Document | None:
        """Give the question of that id."""
        return next((question for question in self.questions if question["id"] == question_id), None)

    def follows_slider(self, question: Mapping[str, Any]) -> bool:
        """Tell whether the question spends the slider's epsilon."""
        return "name" not in question["mechanism"] or question["id"] in self.linked

    def at(self, epsilon: str) -> Draft:
        """Give the draft with the slider at another stop."""
        changed = copy.deepcopy(self.document)
        for question in changed["questions"]:
            if self.follows_slider(question):
                question["mechanism"]["epsilon"] = epsilon
        return replace(self, document=changed, epsilon=epsilon)

    def survey(self, cap: str = "20") -> Survey:
        """Compile the draft as publishing would; SurveyError says what is missing."""
        survey = self.compiled()
        survey.check_cap(cap)
        return survey

    def compiled(self) -> Survey:
        """Compile the draft whatever its total."""
        return compiled(self.document)


def compiled(document: Document) -> Survey:
    """Compile a draft's document; channels that have to be computed come from the analysis."""
    from hushpoll_analysis.designing.resolving import read_draft

    return read_draft(document)


def check_estimable(survey: Survey, question_id: str) -> None:
    """Refuse a question whose reports could not tell what shall be reported of it."""
    from hushpoll_analysis.channel.spread import spread
    from hushpoll_analysis.errors import NotIdentifiedError

    for place, question in enumerate(survey.questions):
        if question.id != question_id:
            continue
        try:
            spread(question.mechanism, question.answers.optimum[0])
        except NotIdentifiedError:
            raise SurveyError(
                ("questions", place, "mechanism", "target"),
                f"the reports of “{question.mechanism.label}” cannot tell this",
                "report something else, or choose another mechanism under “How the answer is randomized”",
                question_id,
            ) from None


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
) -> Draft:
    """Keep a new draft."""
    name = secrets.token_hex(8)
    plan = (expected_n, margin, epsilon, linked)
    draft = Draft(name, owner, document["title"], document, 1, *plan, now(), None)
    with store.write() as tx:
        tx.execute(insert(drafts).values(**_row(draft)))
    return draft


def find(store: Store, draft_id: str) -> Draft | None:
    """Give the draft of that id."""
    with store.read() as tx:
        row = tx.execute(select(drafts).where(drafts.c.id == draft_id)).one_or_none()
    return None if row is None else _draft(row)


def unpublished(store: Store, owner: str | None) -> list[Draft]:
    """Drafts of an owner (None: of everybody) that are not published, the last touched first."""
    query = select(drafts).where(drafts.c.published_hash.is_(None)).order_by(drafts.c.updated_at.desc())
    if owner is not None:
        query = query.where(drafts.c.owner == owner)
    with store.read() as tx:
        return [_draft(row) for row in tx.execute(query)]


def save(store: Store, draft: Draft, revision: int) -> Draft:
    """Write a changed draft over the revision its page was opened at; StaleDraft where another one is there."""
    newer = replace(draft, title=draft.document["title"], revision=revision + 1, updated_at=now())
    mine = (drafts.c.id == draft.id) & (drafts.c.revision == revision) & drafts.c.published_hash.is_(None)
    with store.write() as tx:
        changed = tx.execute(update(drafts).where(mine).values(**_row(newer)))
        if changed.rowcount:
            return newer
        row = tx.execute(select(drafts).where(drafts.c.id == draft.id)).one_or_none()
    if row is not None and row.published_hash is not None:
        raise DraftIsPublished(row.published_hash)
    raise StaleDraft("this draft was changed in another tab or deleted since you opened this page")


def remove(store: Store, draft: Draft, *, actor: str) -> None:
    """Delete a draft; the audit log remembers its title."""
    with store.write() as tx:
        gone = tx.execute(delete(drafts).where(drafts.c.id == draft.id, drafts.c.published_hash.is_(None)))
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
    if not changed.rowcount:
        raise StaleDraft("this draft was changed in another tab or deleted since you opened this page")


def _row(draft: Draft) -> dict[str, Any]:
    named = {question["id"] for question in draft.questions if "name" in question["mechanism"]}
    kept = [name for name in draft.linked if name in named]
    return {
        **vars(draft),
        "document": json.dumps(draft.document, ensure_ascii=False),
        "linked": json.dumps(kept),
    }


def _draft(row: Row[Any]) -> Draft:
    values = dict(row._mapping)
    values["document"] = json.loads(values["document"])
    values["linked"] = tuple(json.loads(values["linked"]))
    return Draft(**values)


# Changing a document: each gives a new one ----------------------------------------------------------------------


def _index(document: Document, question_id: str) -> int:
    for index, question in enumerate(document["questions"]):
        if question["id"] == question_id:
            return index
    raise SurveyError(("questions",), f"has no question {question_id!r}", "open the draft again")


def free_id(document: Document) -> str:
    """Find the first of q1, q2, ... that no question has."""
    taken = {question["id"] for question in document["questions"]}
    return next(name for number in range(1, MAX_QUESTIONS + 2) if (name := f"q{number}") not in taken)


def with_question(document: Document, question: Document, instead_of: str | None = None) -> Document:
    """Add a question at the end, or put it in the place of another; refused unless the survey stays sound."""
    changed = copy.deepcopy(document)
    if instead_of is None:
        changed["questions"].append(question)
    else:
        place = _index(changed, instead_of)
        rules.follow(changed, changed["questions"][place], question)
        changed["questions"][place] = question
    check_estimable(compiled(changed), question["id"])
    return changed


def moved(document: Document, question_id: str, by: int) -> Document:
    """Move a question up (-1) or down (+1); at the edge it stays."""
    changed = copy.deepcopy(document)
    listed = changed["questions"]
    index = _index(changed, question_id)
    place = min(max(index + by, 0), len(listed) - 1)
    listed.insert(place, listed.pop(index))
    rules.check_order(changed)
    return changed


def duplicated(document: Document, question_id: str) -> Document:
    """Put a copy of a question below it, under a fresh id."""
    changed = copy.deepcopy(document)
    index = _index(changed, question_id)
    twin = {**copy.deepcopy(changed["questions"][index]), "id": free_id(changed)}
    changed["questions"].insert(index + 1, twin)
    compiled(changed)
    return changed


def without(document: Document, question_id: str) -> Document:
    """Delete a question."""
    changed = copy.deepcopy(document)
    del changed["questions"][_index(changed, question_id)]
    if changed.get("anchor", {}).get("question") == question_id:
        del changed["anchor"]
    rules.check_order(changed)
    return changed


def imported(survey: Survey) -> tuple[Document, str]:
    """Give a draft document of a survey from a file or a published one, and where its slider stands.

    Nothing about any question changes. Those with the recommended mechanism at the most common epsilon follow the
    slider again.
    """
    document = survey.as_document(published=False)
    plain = [
        written
        for written, question in zip(document["questions"], survey.questions, strict=True)
        if _is_recommended(question)
    ]
    spent = Counter(question["mechanism"]["epsilon"] for question in plain)
    epsilon: str = spent.most_common(1)[0][0] if spent else DEFAULT_EPSILON
    for question in plain:
        if question["mechanism"]["epsilon"] == epsilon:
            own = KINDS[question["kind"]].in_mechanism
            kept = {key: value for key, value in question["mechanism"].items() if key in own}
            question["mechanism"] = {"epsilon": epsilon, **kept}
            question.pop("channel", None)
    return document, epsilon


def _is_recommended(question: Question) -> bool:
    """Tell whether a question has the mechanism that an epsilon alone would give it."""
    mechanism = question.mechanism
    if "epsilon" not in mechanism.parameters:
        return False
    from hushpoll_analysis.designing.designs import recommended

    advised = recommended(question, mechanism.parameters["epsilon"])
    return advised.name == mechanism.name and advised.device == question.channel
