"""Tokens: by them a program acts for an account, within the scopes they were made for. Only hashes are kept."""

from __future__ import annotations

import secrets
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from hushpoll_client.messages import msg
from sqlalchemy import Row, delete, insert, select

from hushpoll_server.store.surveys import Store
from hushpoll_server.store.workspace_schema import tokens, users

from .accounts import User, user_row
from .audit_log import note, now
from .errors import AccountError
from .sessions import digest

SCOPES = {
    "publish": "publish surveys",
    "invite": "make invitations",
    "results": "read estimates",
    "export": "download sealed reports",
    "batch": "send many reports at once",
}
MOST_TOKENS = 20
# So that a token in the wrong place (a log, a repository) is found by those who look for such things.
_PREFIX = "hush_"


@dataclass(frozen=True)
class Token:
    """A token as it may be shown: everything but what opens the door."""

    id: str
    user_name: str
    label: str
    scopes: tuple[str, ...]
    created_at: int

    @classmethod
    def of(cls, row: Row[Any]) -> Token:
        """Read a row of the table."""
        return cls(row.id, row.user_name, row.label, tuple(row.scopes.split()), row.created_at)


def make(store: Store, name: str, label: str, scopes: Iterable[str], *, actor: str) -> str:
    """Make a token for an account and give it; it is kept nowhere."""
    label, requested = label.strip(), set(scopes)
    chosen = [scope for scope in SCOPES if scope in requested]
    if not 1 <= len(label) <= 64 or not label.isprintable():
        raise AccountError(
            "the label must have 1 to 64 printable characters", "say what the token is for", "label"
        )
    if not chosen or requested - set(SCOPES):
        raise AccountError(
            "a token needs scopes that exist",
            msg("choose from {scopes}", scopes=", ".join(SCOPES)),
            "scopes",
        )
    token = _PREFIX + secrets.token_urlsafe(32)
    values = {"id": secrets.token_hex(6), "digest": digest(token), "scopes": " ".join(chosen)}
    with store.write() as tx:
        if user_row(tx, name) is None:
            raise AccountError(
                msg("there is no account named {name!r}", name=name), "see the list of accounts"
            )
        if len(tx.execute(select(tokens.c.id).where(tokens.c.user_name == name)).all()) >= MOST_TOKENS:
            raise AccountError(
                msg("{name} has {most} tokens already", name=name, most=MOST_TOKENS),
                "revoke one first",
                "label",
            )
        tx.execute(insert(tokens).values(**values, user_name=name, label=label, created_at=now()))
        note(tx, actor, "token made", name, f"{label}: {', '.join(chosen)}")
    return token


def revoke(store: Store, token_id: str, *, actor: str, name: str | None = None) -> Token:
    """End a token, of this account where a name is given."""
    mine = tokens.c.id == token_id
    if name is not None:
        mine &= tokens.c.user_name == name
    with store.write() as tx:
        row = tx.execute(select(tokens).where(mine)).one_or_none()
        if row is None:
            raise AccountError(
                msg("there is no token {token!r}", token=token_id[:12]), "see the list of tokens"
            )
        tx.execute(delete(tokens).where(mine))
        note(tx, actor, "token revoked", row.user_name, row.label)
    return Token.of(row)


def of_account(store: Store, name: str | None = None) -> list[Token]:
    """Return the tokens of an account, or of all, the oldest first."""
    query = select(tokens).order_by(tokens.c.created_at, tokens.c.id)
    if name is not None:
        query = query.where(tokens.c.user_name == name)
    with store.read() as tx:
        return [Token.of(row) for row in tx.execute(query).all()]


def bearer(store: Store, token: str, scope: str) -> tuple[User, Token] | None:
    """For whom a token speaks; None where it is unknown, or made for something else, or the account is locked."""
    if not token.startswith(_PREFIX):
        return None
    query = select(tokens, users).join(users, users.c.name == tokens.c.user_name)
    with store.read() as tx:
        row = tx.execute(query.where(tokens.c.digest == digest(token), users.c.active)).one_or_none()
    if row is None or scope not in row.scopes.split():
        return None
    user = User(row.name, row.role, row._mapping[users.c.created_at])
    stored_token = Token(
        row.id, row.user_name, row.label, tuple(row.scopes.split()), row._mapping[tokens.c.created_at]
    )
    return user, stored_token
