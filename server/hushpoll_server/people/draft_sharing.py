"""Who else works on a draft, and the links by which people without an account read it."""

from __future__ import annotations

import datetime
import secrets
from dataclasses import dataclass

from hushpoll_client.messages import msg
from sqlalchemy import Connection, delete, insert, select

from hushpoll_server.store.surveys import Store
from hushpoll_server.store.workspace_schema import draft_links, draft_shares

from .accounts import user_row
from .audit_log import Detail, note, now
from .errors import AccountError
from .sessions import digest

DAY = 86_400
MOST_LINKS = 20


@dataclass(frozen=True)
class Link:
    """A link to read a draft, as it may be shown: everything but what opens it."""

    id: str
    created_at: int
    expires_at: int

    @property
    def last_day(self) -> datetime.date:
        """The day on which it stops to open the draft."""
        return datetime.datetime.fromtimestamp(self.expires_at, datetime.UTC).date()


def shared_with(store: Store, draft_id: str) -> dict[str, bool]:
    """Return the accounts that may read a draft, and whether each may edit it."""
    query = select(draft_shares).where(draft_shares.c.draft == draft_id).order_by(draft_shares.c.user_name)
    with store.read() as tx:
        return {row.user_name: row.may_edit for row in tx.execute(query)}


def may_edit(store: Store, draft_id: str, name: str) -> bool:
    """Return whether a draft is shared with an account for editing."""
    return shared_with(store, draft_id).get(name, False)


def share(store: Store, draft_id: str, owner: str, name: str, *, editing: bool, actor: str) -> None:
    """Let another account read a draft, or edit it as well."""
    with store.write() as tx:
        row = user_row(tx, name)
        if row is None or not row.active:
            raise AccountError(
                msg("there is no active account named {name!r}", name=name), "ask an admin to add it"
            )
        if name == owner:
            raise AccountError(msg("{name} owns this draft", name=name), "name another account")
        if editing and row.role == "analyst":
            raise AccountError(
                msg("{name} is an analyst and edits no surveys", name=name), "share it for reading"
            )
        mine = (draft_shares.c.draft == draft_id) & (draft_shares.c.user_name == name)
        tx.execute(delete(draft_shares).where(mine))
        tx.execute(insert(draft_shares).values(draft=draft_id, user_name=name, may_edit=editing))
        note(tx, actor, "draft shared", draft_id, Detail("with account", name=name))


def unshare(store: Store, draft_id: str, name: str, *, actor: str) -> None:
    """Stop sharing a draft with an account."""
    mine = (draft_shares.c.draft == draft_id) & (draft_shares.c.user_name == name)
    with store.write() as tx:
        if tx.execute(delete(draft_shares).where(mine)).rowcount:
            note(tx, actor, "draft unshared", draft_id, Detail("with account", name=name))


def replace_owner(tx: Connection, draft_id: str, before: str, after: str) -> None:
    """Let the owner before edit a draft; the new one needs no share."""
    tx.execute(
        delete(draft_shares).where(
            draft_shares.c.draft == draft_id, draft_shares.c.user_name.in_([before, after])
        )
    )
    tx.execute(insert(draft_shares).values(draft=draft_id, user_name=before, may_edit=True))


def end(tx: Connection, draft_id: str) -> None:
    """Stop sharing a draft that is deleted or published."""
    tx.execute(delete(draft_shares).where(draft_shares.c.draft == draft_id))
    tx.execute(delete(draft_links).where(draft_links.c.draft == draft_id))


def make_link(store: Store, draft_id: str, days: int, *, actor: str) -> str:
    """Return what opens a new link to read a draft, good for some days; only its hash is kept."""
    token = secrets.token_urlsafe(24)
    values = {"id": secrets.token_hex(6), "draft": draft_id, "digest": digest(token)}
    mine = draft_links.c.draft == draft_id
    with store.write() as tx:
        tx.execute(delete(draft_links).where(mine & (draft_links.c.expires_at <= now())))
        if len(tx.execute(select(draft_links.c.id).where(mine)).all()) >= MOST_LINKS:
            raise AccountError(
                msg("this draft has {most} links already", most=MOST_LINKS), "revoke one first"
            )
        tx.execute(insert(draft_links).values(**values, created_at=now(), expires_at=now() + days * DAY))
        note(tx, actor, "draft link made", draft_id)
    return token


def revoke_link(store: Store, draft_id: str, link_id: str, *, actor: str) -> None:
    """End a link of a draft."""
    mine = (draft_links.c.draft == draft_id) & (draft_links.c.id == link_id)
    with store.write() as tx:
        if tx.execute(delete(draft_links).where(mine)).rowcount:
            note(tx, actor, "draft link revoked", draft_id)


def links(store: Store, draft_id: str) -> list[Link]:
    """Return the links of a draft that have not expired, the newest first."""
    mine = (draft_links.c.draft == draft_id) & (draft_links.c.expires_at > now())
    query = select(draft_links).where(mine).order_by(draft_links.c.created_at.desc(), draft_links.c.id)
    with store.read() as tx:
        return [Link(row.id, row.created_at, row.expires_at) for row in tx.execute(query)]


def linked_draft(store: Store, token: str) -> str | None:
    """Return the id of the draft that a link opens; None where it is unknown, revoked or expired."""
    mine = (draft_links.c.digest == digest(token)) & (draft_links.c.expires_at > now())
    with store.read() as tx:
        return tx.execute(select(draft_links.c.draft).where(mine)).scalar_one_or_none()
