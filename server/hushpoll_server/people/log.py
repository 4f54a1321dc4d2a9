"""The audit log: who did what, never anything that a respondent sent."""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import Connection, insert, select

from hushpoll_server.store.clock import clock
from hushpoll_server.store.schema import surveys
from hushpoll_server.store.surveys import Store
from hushpoll_server.store.workspace_schema import audit_log

COMMAND_LINE, FIRST_START, NOBODY = "command line", "first start", "nobody"
NO_ACCOUNTS = (COMMAND_LINE, FIRST_START, NOBODY)
"""Who does something without an account; pages say it in their language."""


def now() -> int:
    """Return whole seconds since 1970, by the clock of all nodes."""
    return int(clock.now())


def note(tx: Connection, actor: str, action: str, subject: str, detail: str = "") -> None:
    """Write a line in the transaction of what it tells, so that both stand or neither does."""
    tx.execute(insert(audit_log).values(at=now(), actor=actor, action=action, subject=subject, detail=detail))


def record(store: Store, actor: str, action: str, subject: str, detail: str = "") -> None:
    """Write a line about something that changed nothing in the store."""
    with store.write() as tx:
        note(tx, actor, action, subject, detail)


@dataclass(frozen=True)
class Entry:
    """One line of the audit log."""

    id: int
    at: int
    actor: str
    action: str
    subject: str
    detail: str
    # Of the survey, where the subject is one.
    title: str | None


def audit_entries(store: Store, limit: int = 100, before: int | None = None) -> list[Entry]:
    """Return the newest entries first; `before` an id, to page on."""
    query = (
        select(audit_log, surveys.c.title)
        .join_from(audit_log, surveys, surveys.c.hash == audit_log.c.subject, isouter=True)
        .order_by(audit_log.c.id.desc())
        .limit(limit)
    )
    if before is not None:
        query = query.where(audit_log.c.id < before)
    with store.read() as tx:
        return [Entry(*row) for row in tx.execute(query).all()]
