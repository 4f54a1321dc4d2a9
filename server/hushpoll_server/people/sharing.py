"""Whose a survey is, and who else may read its results."""

from __future__ import annotations

from collections.abc import Iterable

from hushpoll_client.messages import msg
from sqlalchemy import delete, insert, select

from hushpoll_server.store.surveys import Store, SurveyState
from hushpoll_server.store.workspace_schema import shares

from .accounts import User, user_row
from .audit_log import Detail, note
from .errors import AccountError


def owner_of(store: Store, survey_hash: str) -> str | None:
    """Return the owner's name; None for a survey that was published on the command line without one."""
    state = store.state(survey_hash)
    if state is None:
        return None
    return state.owner


def shared_with(store: Store, survey_hash: str) -> list[str]:
    """Return the names of the accounts that may read the survey's report, without its owner."""
    query = select(shares.c.user_name).where(shares.c.hash == survey_hash).order_by(shares.c.user_name)
    with store.read() as tx:
        return list(tx.execute(query).scalars())


def can_read(store: Store, user: User | None, survey_hash: str) -> bool:
    """Return whether an account may read the results: admins all, others what they own or what is shared with them."""
    if user is None:
        return False
    return can_edit(store, user, survey_hash) or user.name in shared_with(store, survey_hash)


def readable(store: Store, user: User, states: Iterable[SurveyState]) -> list[SurveyState]:
    """Those surveys of a list that an account may read; the same rule as `can_read`, with one query for all."""
    with store.read() as tx:
        shared = set(tx.execute(select(shares.c.hash).where(shares.c.user_name == user.name)).scalars())
    return [
        state
        for state in states
        if user.role == "admin"
        or state.hash in shared
        or (user.role == "designer" and state.owner == user.name)
    ]


def can_edit(store: Store, user: User | None, survey_hash: str) -> bool:
    """Return whether an account may share, invite and close: the owner and admins may; without an owner, admins."""
    if user is None or user.role == "analyst":
        return False
    owner = owner_of(store, survey_hash)
    return user.role == "admin" or owner == user.name


def check_owner(store: Store, name: str) -> str:
    """Return the name of an account that can own a survey; refuse one that does not exist, is locked or only reads."""
    with store.read() as tx:
        row = user_row(tx, name)
    if row is None or not row.active:
        raise AccountError(
            msg("there is no active account named {name!r}", name=name), "ask an admin to add it"
        )
    if row.role == "analyst":
        raise AccountError(
            msg("{name} is an analyst and owns no surveys", name=name), "name a designer or an admin"
        )
    return name


def share(store: Store, survey_hash: str, name: str, *, actor: str) -> None:
    """Let another account read the survey's report."""
    owner = owner_of(store, survey_hash)
    with store.write() as tx:
        row = user_row(tx, name)
        if row is None or not row.active:
            raise AccountError(
                msg("there is no active account named {name!r}", name=name), "ask an admin to add it"
            )
        if name == owner:
            raise AccountError(msg("{name} owns this survey and reads it already", name=name))
        share = select(shares).where(shares.c.hash == survey_hash, shares.c.user_name == name)
        if tx.execute(share).one_or_none() is None:
            tx.execute(insert(shares).values(hash=survey_hash, user_name=name))
            note(tx, actor, "shared", survey_hash, Detail("with account", name=name))


def unshare(store: Store, survey_hash: str, name: str, *, actor: str) -> None:
    """Take the right to read back."""
    with store.write() as tx:
        gone = tx.execute(delete(shares).where(shares.c.hash == survey_hash, shares.c.user_name == name))
        if gone.rowcount:
            note(tx, actor, "unshared", survey_hash, Detail("with account", name=name))
