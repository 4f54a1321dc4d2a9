"""Drafts in the database: created, saved over a known revision, undone, published."""

from __future__ import annotations

import json
import secrets
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from hushpoll_client import Survey
from sqlalchemy import Connection, Row, delete, insert, select, update

from hushpoll_server.people import draft_sharing
from hushpoll_server.people.audit_log import Detail, note, now, record
from hushpoll_server.store.surveys import Store
from hushpoll_server.store.workspace_schema import draft_shares, drafts
from hushpoll_server.workspace.drafts import history, stale_translations
from hushpoll_server.workspace.drafts.documents import Document, without_direction_marks
from hushpoll_server.workspace.drafts.draft import Draft, DraftIsPublished, StaleDraft
from hushpoll_server.workspace.drafts.references import ByQuestion, QuestionIds

_BY_QUESTION = ("margins", "locks", "cross_tables")
_COLUMNS = (
    "id",
    "owner",
    "title",
    "revision",
    "expected_n",
    "margin",
    "epsilon",
    "updated_at",
    "published_hash",
)


def create(store: Store, owner: str, document: Document, **plan: Any) -> Draft:
    """Store a new draft of a survey document; `plan` may have the fields that are listed in `PLAN`."""
    fitting = plan.pop("fitting", None) or stale_translations.fitting(document)
    draft = Draft(
        id=secrets.token_hex(8),
        owner=owner,
        revision=1,
        updated_at=now(),
        published_hash=None,
        fitting=fitting,
        **Draft.parts_of(document),
        **_plan(plan),
    )
    with store.write() as tx:
        tx.execute(insert(drafts).values(**_row(draft)))
    return draft


def _plan(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return a plan as the fields of a draft."""
    kinds = {"linked": QuestionIds, **dict.fromkeys(_BY_QUESTION, ByQuestion)}
    return {name: kinds[name](value) if name in kinds else value for name, value in values.items()}


def find(store: Store, draft_id: str) -> Draft | None:
    """Return the draft of that id."""
    with store.read() as tx:
        row = tx.execute(select(drafts).where(drafts.c.id == draft_id)).one_or_none()
    if row is None:
        return None
    return _draft(row)


def find_published(store: Store, survey_hash: str) -> Draft | None:
    """Return the draft that became a published survey; None if the survey was not written in the workspace."""
    query = select(drafts).where(drafts.c.published_hash == survey_hash).order_by(drafts.c.updated_at)
    with store.read() as tx:
        row = tx.execute(query).first()
    if row is None:
        return None
    return _draft(row)


def unpublished(store: Store, owner: str | None) -> list[Draft]:
    """Return the unpublished drafts of an owner (None: of all), the last changed first."""
    query = select(drafts).where(drafts.c.published_hash.is_(None)).order_by(drafts.c.updated_at.desc())
    if owner is not None:
        query = query.where(drafts.c.owner == owner)
    with store.read() as tx:
        return [_draft(row) for row in tx.execute(query)]


def shared_with(store: Store, name: str) -> list[tuple[Draft, bool]]:
    """Return the unpublished drafts of others that an account may read, and whether it may edit each."""
    query = select(drafts, draft_shares.c.may_edit).join(draft_shares, draft_shares.c.draft == drafts.c.id)
    mine = (draft_shares.c.user_name == name) & drafts.c.published_hash.is_(None)
    with store.read() as tx:
        rows = tx.execute(query.where(mine).order_by(drafts.c.updated_at.desc())).all()
    return [(_draft(row), row.may_edit) for row in rows]


def hand_over(store: Store, draft: Draft, name: str, *, actor: str) -> None:
    """Make another account the owner of a draft; the one before may still edit it."""
    with store.write() as tx:
        # Another revision, so that no page that was open before saves the owner it knew.
        _write(tx, draft.id, draft.revision, {"owner": name, "revision": draft.revision + 1})
        draft_sharing.replace_owner(tx, draft.id, draft.owner, name)
        note(tx, actor, "draft handed over", draft.id, Detail("with account", name=name))


def save(store: Store, draft: Draft, revision: int, opened: int | None = None) -> Draft:
    """Save a changed draft over a known revision; StaleDraft if it has another revision by now.

    `opened` is the revision at which a page that saves by itself was opened: all that it saves is undone together.
    """
    newer = replace(draft, revision=revision + 1, updated_at=now())
    with store.write() as tx:
        history.record_version(tx, _write(tx, draft.id, revision, _row(newer)), opened)
    return newer


def undo(store: Store, draft_id: str, revision: int) -> bool:
    """Restore a draft as it was before its last change; False if there is no earlier version."""
    with store.write() as tx:
        state = history.take_latest(tx, draft_id)
        if state is None:
            return False
        _write(tx, draft_id, revision, {**state, "revision": revision + 1, "updated_at": now()})
    return True


def _write(tx: Connection, draft_id: str, revision: int, values: dict[str, Any]) -> Row[Any]:
    """Write values over a known revision of a draft; return the row before."""
    row = tx.execute(select(drafts).where(drafts.c.id == draft_id)).one_or_none()
    if row is not None and row.published_hash is not None:
        raise DraftIsPublished(row.published_hash)
    mine = (drafts.c.id == draft_id) & (drafts.c.revision == revision) & drafts.c.published_hash.is_(None)
    changed = tx.execute(update(drafts).where(mine).values(**values))
    if row is None or not changed.rowcount:
        raise StaleDraft("this draft was changed in another tab or deleted since you opened this page")
    return row


def remove(store: Store, draft: Draft, *, actor: str) -> None:
    """Delete a draft and record its title in the audit log."""
    with store.write() as tx:
        gone = tx.execute(delete(drafts).where(drafts.c.id == draft.id, drafts.c.published_hash.is_(None)))
        history.delete_versions(tx, draft.id)
        draft_sharing.end(tx, draft.id)
    if gone.rowcount:
        record(store, actor, "draft deleted", draft.id, draft.title)


def publish(store: Store, draft: Draft, survey: Survey, owner: str) -> bool:
    """Publish a draft in one transaction; False if the same survey is already published."""
    with store.write() as tx:
        new = store.publish_within(tx, survey, owner, target_n=draft.expected_n, results_public=False)
        if new:
            _freeze(tx, draft, survey.hash)
            note(tx, owner, "published", survey.hash, survey.title)
    return new


def mark_published(store: Store, draft: Draft, survey_hash: str) -> None:
    """Freeze a draft whose definition is already published."""
    with store.write() as tx:
        _freeze(tx, draft, survey_hash)


def _freeze(tx: Connection, draft: Draft, survey_hash: str) -> None:
    """Mark a draft as published; it cannot be changed after that."""
    mine = (drafts.c.id == draft.id) & (drafts.c.revision == draft.revision)
    changed = tx.execute(update(drafts).where(mine).values(published_hash=survey_hash, updated_at=now()))
    history.delete_versions(tx, draft.id)
    if not changed.rowcount:
        raise StaleDraft("this draft was changed in another tab or deleted since you opened this page")
    draft_sharing.end(tx, draft.id)


def _row(draft: Draft) -> dict[str, Any]:
    budget = {name: dict(getattr(draft, name)) for name in (*_BY_QUESTION, "fitting")}
    return {
        **{name: getattr(draft, name) for name in _COLUMNS},
        "document": json.dumps(draft.document, ensure_ascii=False),
        "linked": json.dumps(draft.linked),
        "budget": json.dumps({name: values for name, values in budget.items() if values}),
    }


def _draft(row: Row[Any]) -> Draft:
    document = without_direction_marks(json.loads(row.document))
    budget = json.loads(row.budget)
    return Draft(
        id=row.id,
        owner=row.owner,
        revision=row.revision,
        updated_at=row.updated_at,
        published_hash=row.published_hash,
        expected_n=row.expected_n,
        margin=row.margin,
        epsilon=row.epsilon,
        **Draft.parts_of(document),
        **_plan({"linked": json.loads(row.linked), **budget}),
    )
