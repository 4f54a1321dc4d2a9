"""Accounts of people whom an institution vouches for, found by issuer and subject, never by name or e-mail address."""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping
from typing import Any

from hushpoll_client.messages import msg
from sqlalchemy import Connection, Row, delete, insert, select, update
from sqlalchemy.exc import IntegrityError

from hushpoll_server.config import Config
from hushpoll_server.store.surveys import Store
from hushpoll_server.store.workspace_schema import identities, users

from . import sessions
from .accounts import ROLES, is_last_admin, user_row
from .audit_log import NO_ACCOUNTS, Detail, note, now
from .errors import AccountError

__all__ = ["account_for", "accounts_with", "connect", "disconnect", "has_password", "is_connected"]

LONGEST_NAME = 64
_NO_PASSWORD = ""
"""In place of a hash: no password fits it."""
_STRENGTH = {"analyst": 0, "designer": 1, "admin": 2}


def account_for(store: Store, issuer: str, claims: Mapping[str, Any]) -> Row[Any]:
    """Return the account of a person who signed in at the institution; create one for a newcomer.

    Roles come at each sign-in from the claim that the settings name. If they name none, a newcomer is a locked analyst
    until an admin unlocks the account. Raise AccountError if the person may not sign in.
    """
    subject = str(claims["sub"])
    role = _role(store.config, claims)
    try:
        row = _find_or_create(store, issuer, subject, claims, role)
    except IntegrityError:
        # Somebody signed in twice at the same moment: the other one has made the account.
        row = _find_or_create(store, issuer, subject, claims, role)
    if role == "":
        with store.write() as tx:
            sessions.end_others(tx, row.name, None)
        raise _no_role()
    if not row.active:
        raise AccountError(
            msg("the account {name!r} is locked", name=row.name), "an admin can unlock it under “Accounts”"
        )
    return row


def _find_or_create(
    store: Store, issuer: str, subject: str, claims: Mapping[str, Any], role: str | None
) -> Row[Any]:
    with store.write() as tx:
        row = _row_of(tx, issuer, subject)
        if row is None:
            if role == "":
                raise _no_role()
            row = _make(tx, issuer, subject, _free_name(tx, claims), role)
        elif role and role != row.role and not is_last_admin(tx, row):
            tx.execute(update(users).where(users.c.name == row.name).values(role=role))
            note(tx, row.name, "account changed", row.name, Detail("account", role=role))
        account = user_row(tx, row.name)
        assert account is not None
        return account


def _row_of(tx: Connection, issuer: str, subject: str) -> Row[Any] | None:
    mine = (identities.c.issuer == issuer) & (identities.c.subject == subject)
    query = select(users).join(identities, identities.c.user_name == users.c.name).where(mine)
    return tx.execute(query).one_or_none()


def _make(tx: Connection, issuer: str, subject: str, name: str, role: str | None) -> Row[Any]:
    values = {"name": name, "role": role or "analyst", "password_hash": _NO_PASSWORD}
    tx.execute(insert(users).values(**values, created_at=now(), active=role is not None))
    tx.execute(insert(identities).values(issuer=issuer, subject=subject, user_name=name))
    if role:
        detail = Detail("account", role=role)
    else:
        detail = Detail("account", role="analyst", active=False)
    note(tx, name, "account added", name, detail)
    row = user_row(tx, name)
    assert row is not None
    return row


def _role(config: Config, claims: Mapping[str, Any]) -> str | None:
    """Return the strongest role of the claim, "" where it gives none, None where admins give roles."""
    if not config.oidc_role_claim:
        return None
    value: Any = claims
    # Some providers nest: realm_access.roles
    keys = [config.oidc_role_claim]
    if config.oidc_role_claim not in claims:
        keys = config.oidc_role_claim.split(".")
    for key in keys:
        if not isinstance(value, Mapping):
            return ""
        value = value.get(key)
    values = value
    if isinstance(value, str):
        values = [value]
    if not isinstance(values, list):
        return ""
    roles = [role for text, role in config.oidc_roles if text in values]
    return max(roles, key=_STRENGTH.__getitem__, default="")


def _free_name(tx: Connection, claims: Mapping[str, Any]) -> str:
    """Return a name that no account has, made from what the institution calls the person."""
    for claim in ("preferred_username", "name", "sub"):
        text = claims.get(claim)
        name = ""
        if isinstance(text, str):
            name = _readable(text)
        if name:
            break
    else:
        name = "member"
    candidate, number = name, 1
    while candidate in NO_ACCOUNTS or user_row(tx, candidate) is not None:
        number += 1
        candidate = f"{name} {number}"
    return candidate


def _readable(text: str) -> str:
    line = " ".join(unicodedata.normalize("NFC", text).split())
    plain = "".join(sign for sign in line if sign.isprintable())
    # Room for a number behind it.
    return plain[: LONGEST_NAME - 8].strip()


def _no_role() -> AccountError:
    return AccountError("your institution gives you no role on this server", "ask its operator for one")


def connect(store: Store, name: str, issuer: str, subject: str) -> None:
    """Connect an account to a sign-in at the institution."""
    with store.write() as tx:
        row = _row_of(tx, issuer, subject)
        if row is not None and row.name != name:
            raise AccountError(
                msg("your sign-in at the institution belongs to the account {name!r}", name=row.name),
                "sign in there, or ask an admin",
            )
        if row is None:
            tx.execute(insert(identities).values(issuer=issuer, subject=subject, user_name=name))
            note(tx, name, "institution connected", name)


def disconnect(store: Store, name: str, *, actor: str) -> None:
    """Let an account sign in by its password only; refused where it has none."""
    with store.write() as tx:
        row = user_row(tx, name)
        if row is None or not row.password_hash:
            raise AccountError("this account has no password", "an admin can give it one")
        if tx.execute(delete(identities).where(identities.c.user_name == name)).rowcount:
            note(tx, actor, "institution disconnected", name)


def is_connected(store: Store, name: str) -> bool:
    """Return whether an account can sign in at the institution."""
    return name in accounts_with(store)


def accounts_with(store: Store) -> set[str]:
    """Return the names of the accounts that can sign in at the institution."""
    query = select(identities.c.user_name).where(identities.c.issuer == store.config.oidc_issuer)
    with store.read() as tx:
        return set(tx.execute(query).scalars())


def has_password(store: Store, name: str) -> bool:
    """Return whether an account can sign in by a password."""
    with store.read() as tx:
        row = user_row(tx, name)
    return row is not None and row.password_hash != _NO_PASSWORD


assert set(_STRENGTH) == set(ROLES)
