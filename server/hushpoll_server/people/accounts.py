"""Accounts: who may sign in, and in which role."""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass
from typing import Any

from hushpoll_client.messages import msg
from sqlalchemy import Connection, Row, insert, select, update

from hushpoll_server.store.surveys import Store
from hushpoll_server.store.workspace_schema import users

from . import sessions, sign_in_throttle
from .audit_log import COMMAND_LINE, Detail, note, now
from .errors import AccountError
from .passwords import check_password, hash_of, new_password

ROLES = ("designer", "analyst", "admin")


@dataclass(frozen=True)
class User:
    """An account that can sign in."""

    name: str
    role: str
    created_at: int
    active: bool = True

    @classmethod
    def of(cls, row: Row[Any]) -> User:
        """Read a row of the table."""
        return cls(row.name, row.role, row.created_at, bool(row.active))


def _clean_name(name: str) -> str:
    name = unicodedata.normalize("NFC", name.strip())
    if not 1 <= len(name) <= 64 or not name.isprintable():
        raise AccountError("the name must have 1 to 64 printable characters", "choose another")
    return name


def add_user(
    store: Store,
    name: str,
    role: str = "designer",
    password: str | None = None,
    *,
    actor: str = COMMAND_LINE,
) -> str:
    """Make an account and give its password, which is generated where none is given and kept nowhere."""
    name = _clean_name(name)
    if role not in ROLES:
        raise AccountError(
            msg("role {role!r} is unknown", role=role),
            msg("choose one of {roles}", roles=", ".join(ROLES)),
            "role",
        )
    if password is None:
        password = new_password()
    check_password(password)
    password_hash = hash_of(password)
    with store.write() as tx:
        if user_row(tx, name) is not None:
            raise AccountError(
                msg("there is already an account named {name!r}", name=name), "choose another name"
            )
        tx.execute(
            insert(users).values(
                name=name, role=role, password_hash=password_hash, created_at=now(), active=1
            )
        )
        note(tx, actor, "account added", name, Detail("account", role=role))
    return password


def all_users(store: Store) -> list[User]:
    """Return every account, by name."""
    with store.read() as tx:
        rows = tx.execute(select(users).order_by(users.c.name)).all()
    return [User.of(row) for row in rows]


def user_row(tx: Connection, name: str) -> Row[Any] | None:
    """Return the account as the table has it."""
    return tx.execute(select(users).where(users.c.name == name)).one_or_none()


def set_password(store: Store, name: str, password: str, *, actor: str, keep: str | None = None) -> None:
    """Change a password and end every session of the account but the one with token `keep`."""
    check_password(password)
    password_hash = hash_of(password)
    with store.write() as tx:
        changed = tx.execute(update(users).where(users.c.name == name).values(password_hash=password_hash))
        if not changed.rowcount:
            raise AccountError(
                msg("there is no account named {name!r}", name=name), "see the list of accounts"
            )
        sessions.end_others(tx, name, keep)
        # Whoever was locked out by somebody else's tries gets in with the new one.
        sign_in_throttle.forget(tx, store, "sign-in", name)
        note(tx, actor, "password changed", name)


def change_account(
    store: Store, name: str, *, actor: str, role: str | None = None, active: bool | None = None
) -> None:
    """Change a role, or lock or unlock an account; either ends its sessions."""
    values: dict[str, object] = {}
    if role is not None:
        if role not in ROLES:
            raise AccountError(
                msg("role {role!r} is unknown", role=role),
                msg("choose one of {roles}", roles=", ".join(ROLES)),
                "role",
            )
        values["role"] = role
    if active is not None:
        values["active"] = active
    with store.write() as tx:
        row = user_row(tx, name)
        if row is None:
            raise AccountError(
                msg("there is no account named {name!r}", name=name), "see the list of accounts"
            )
        loses_admin = role not in (None, "admin") or active is False
        if loses_admin and is_last_admin(tx, row):
            raise AccountError(
                msg("{name} is the last active admin", name=name), "make another one first", "role"
            )
        tx.execute(update(users).where(users.c.name == name).values(**values))
        sessions.end_others(tx, name, None)
        changes: dict[str, str | int] = {}
        if role is not None:
            changes["role"] = role
        if active is not None:
            changes["active"] = active
        note(tx, actor, "account changed", name, Detail("account", **changes))


def is_last_admin(tx: Connection, row: Row[Any]) -> bool:
    """Return whether an account is the only active admin's."""
    if row.role != "admin" or not row.active:
        return False
    other_admins = select(users.c.name).where(
        users.c.role == "admin", users.c.active, users.c.name != row.name
    )
    return tx.execute(other_admins).first() is None
