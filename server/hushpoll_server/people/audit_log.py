"""The audit log: who did what, never anything that a respondent sent.

An entry has an action, a subject and, where the action needs more, a detail: either a name, a title or a number as it
is, or a `Detail`, whose values are stored and whose words are chosen by the reader's language (see audit_text.py).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field

from sqlalchemy import Connection, insert, select

from hushpoll_server.store.clock import clock
from hushpoll_server.store.schema import surveys
from hushpoll_server.store.surveys import Store
from hushpoll_server.store.workspace_schema import audit_log

COMMAND_LINE, FIRST_START, NOBODY = "command line", "first start", "nobody"
NO_ACCOUNTS = (COMMAND_LINE, FIRST_START, NOBODY)
"""Actors that are not accounts; pages name them in the reader's language."""

Value = str | int


@dataclass(frozen=True, init=False)
class Detail:
    """The detail of an entry as a key of audit_text.DETAILS and the values of its sentence."""

    key: str
    values: Mapping[str, Value]

    def __init__(self, key: str, /, **values: Value) -> None:
        object.__setattr__(self, "key", key)
        object.__setattr__(self, "values", values)


def now() -> int:
    """Return whole seconds since 1970, by the clock of all nodes."""
    return int(clock.now())


def note(tx: Connection, actor: str, action: str, subject: str, detail: str | Detail = "") -> None:
    """Add an entry in the transaction that it describes, so that both are stored or neither is."""
    key, parameters = detail, ""
    if isinstance(detail, Detail):
        key, parameters = detail.key, json.dumps(dict(detail.values), ensure_ascii=False)
    tx.execute(
        insert(audit_log).values(
            at=now(), actor=actor, action=action, subject=subject, detail=key, parameters=parameters
        )
    )


def record(store: Store, actor: str, action: str, subject: str, detail: str | Detail = "") -> None:
    """Add an entry about something that changed nothing in the store."""
    with store.write() as tx:
        note(tx, actor, action, subject, detail)


@dataclass(frozen=True)
class Entry:
    """One line of the audit log; `detail` is a plain text where `values` is None, else a key of audit_text.DETAILS."""

    id: int
    at: int
    actor: str
    action: str
    subject: str
    detail: str
    values: Mapping[str, Value] | None = field(hash=False)
    # Of the survey, where the subject is one.
    title: str | None


def audit_entries(store: Store, limit: int = 100, before: int | None = None) -> list[Entry]:
    """Return the newest entries first; with `before`, only those with a smaller id."""
    query = (
        select(audit_log, surveys.c.title)
        .join_from(audit_log, surveys, surveys.c.hash == audit_log.c.subject, isouter=True)
        .order_by(audit_log.c.id.desc())
        .limit(limit)
    )
    if before is not None:
        query = query.where(audit_log.c.id < before)
    with store.read() as tx:
        rows = tx.execute(query).all()
    return [
        Entry(
            id=row.id,
            at=row.at,
            actor=row.actor,
            action=row.action,
            subject=row.subject,
            detail=row.detail,
            values=json.loads(row.parameters) if row.parameters else None,
            title=row.title,
        )
        for row in rows
    ]
