"""Sessions: rows, not only signed cookies, so that signing out really ends them, everywhere if asked."""

from __future__ import annotations

import hashlib
import secrets
from typing import Any

from sqlalchemy import Connection, Row, delete, insert, select

from hushpoll_server.store.surveys import Store
from hushpoll_server.store.workspace_schema import sessions, users

from .audit_log import note, now

SESSION_SECONDS = 12 * 3600


def begin(tx: Connection, name: str) -> str:
    """Begin a session and give its token, of which only a hash is kept."""
    token = secrets.token_urlsafe(32)
    tx.execute(delete(sessions).where(sessions.c.expires_at < now()))
    times = {"created_at": now(), "expires_at": now() + SESSION_SECONDS}
    tx.execute(insert(sessions).values(token_hash=digest(token), user_name=name, **times))
    return token


def owner(store: Store, token: str) -> Row[Any] | None:
    """Return the account whose session this is, while it lasts and the account is active."""
    # A session from a clock that was ahead would last for longer than any does.
    lasts = sessions.c.expires_at.between(now(), now() + SESSION_SECONDS)
    query = (
        select(users)
        .join(sessions, sessions.c.user_name == users.c.name)
        .where(sessions.c.token_hash == digest(token), lasts, users.c.active)
    )
    with store.read() as tx:
        return tx.execute(query).one_or_none()


def begun_at(store: Store, token_hash: str, name: str) -> int | None:
    """Return when an account's session began; None where it has ended."""
    mine = (sessions.c.token_hash == token_hash) & (sessions.c.user_name == name)
    lasts = sessions.c.expires_at.between(now(), now() + SESSION_SECONDS)
    with store.read() as tx:
        return tx.execute(select(sessions.c.created_at).where(mine, lasts)).scalar_one_or_none()


def end(store: Store, token: str) -> None:
    """Sign out here."""
    with store.write() as tx:
        tx.execute(delete(sessions).where(sessions.c.token_hash == digest(token)))


def end_all(store: Store, name: str, *, actor: str) -> None:
    """Sign out everywhere."""
    with store.write() as tx:
        end_others(tx, name, None)
        note(tx, actor, "signed out everywhere", name)


def end_others(tx: Connection, name: str, keep: str | None) -> None:
    """End the sessions of an account, but for the one with token `keep`."""
    statement = delete(sessions).where(sessions.c.user_name == name)
    if keep is not None:
        statement = statement.where(sessions.c.token_hash != digest(keep))
    tx.execute(statement)


def digest(token: str) -> str:
    """Return the digest that is stored of a random token."""
    return hashlib.sha256(token.encode("utf-8", "replace")).hexdigest()
