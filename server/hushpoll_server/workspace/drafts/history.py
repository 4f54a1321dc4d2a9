"""Earlier versions of drafts, for undo.

A page that saves by itself is one change, however often it saved: what counts is how the draft was when the page was
opened.
"""

from __future__ import annotations

import json
from typing import Any

from sqlalchemy import Connection, Row, delete, func, insert, select

from hushpoll_server.store.surveys import Store
from hushpoll_server.store.workspace_schema import draft_versions

MOST_VERSIONS = 50
_STATE = ("title", "document", "expected_n", "margin", "epsilon", "linked", "budget")
_of = draft_versions.c.draft


def record_version(tx: Connection, before: Row[Any], opened: int | None = None) -> None:
    """Store a row of `drafts` before it changes; only once for a page that was `opened` at a revision."""
    newest = tx.execute(select(func.max(draft_versions.c.revision)).where(_of == before.id)).scalar()
    if opened is not None and newest is not None and newest >= opened:
        return
    state = json.dumps({name: getattr(before, name) for name in _STATE}, ensure_ascii=False)
    tx.execute(insert(draft_versions).values(draft=before.id, revision=before.revision, state=state))
    old_versions = (
        select(draft_versions.c.revision)
        .where(_of == before.id)
        .order_by(draft_versions.c.revision.desc())
        .offset(MOST_VERSIONS)
    )
    too_old = tx.execute(old_versions).scalars().all()
    if too_old:
        tx.execute(delete(draft_versions).where(_of == before.id, draft_versions.c.revision <= too_old[0]))


def take_latest(tx: Connection, draft_id: str) -> dict[str, Any] | None:
    """Delete and return the latest version as values of the columns of `drafts`; None if there is none."""
    query = select(draft_versions).where(_of == draft_id).order_by(draft_versions.c.revision.desc()).limit(1)
    row = tx.execute(query).one_or_none()
    if row is None:
        return None
    tx.execute(delete(draft_versions).where(_of == draft_id, draft_versions.c.revision == row.revision))
    state: dict[str, Any] = json.loads(row.state)
    return state


def can_undo(store: Store, draft_id: str) -> bool:
    """Return whether the draft has an earlier version."""
    with store.read() as tx:
        return (
            tx.execute(select(draft_versions.c.revision).where(_of == draft_id).limit(1)).first() is not None
        )


def delete_versions(tx: Connection, draft_id: str) -> None:
    """Delete all versions of a draft."""
    tx.execute(delete(draft_versions).where(_of == draft_id))
