"""What a published survey was planned for: the margin that each question needs."""

from __future__ import annotations

import json

from hushpoll_client import Survey
from sqlalchemy import select

from hushpoll_server.store.surveys import Store
from hushpoll_server.store.workspace_schema import drafts

__all__ = ["planned_margins"]


def planned_margins(store: Store, survey: Survey) -> dict[str, float]:
    """Return the margins of the draft that became this survey, by question; none where it came from a file."""
    plan = select(drafts.c.margin, drafts.c.budget).where(drafts.c.published_hash == survey.hash)
    with store.read() as tx:
        row = tx.execute(plan.order_by(drafts.c.updated_at).limit(1)).one_or_none()
    if row is None:
        return {}
    margins = json.loads(row.budget).get("margins", {})
    return {question.id: margins.get(question.id, row.margin) for question in survey.questions}
