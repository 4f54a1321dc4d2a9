"""A forgotten password: a link by mail, good for an hour and once, to choose a new one."""

from __future__ import annotations

import base64
import binascii
import hmac
import logging
import threading
from collections.abc import Callable
from typing import Any

from hushpoll_client.said import said
from sqlalchemy import Row, func, or_, select, update

from hushpoll_server.mail import Letter, MailError, check_address, send
from hushpoll_server.spoken import gettext as _
from hushpoll_server.store.surveys import Store
from hushpoll_server.store.workspace_schema import users

from . import log, tries
from .accounts import set_password, user_row
from .errors import AccountError
from .log import note, now

__all__ = ["check_email", "choose", "email_of", "good_for", "request_link", "set_email"]

SECONDS = 3600
_LOG = logging.getLogger(__name__)


def email_of(store: Store, name: str) -> str:
    """Give the address of an account; nothing where it has none."""
    with store.read() as tx:
        return tx.execute(select(users.c.email).where(users.c.name == name)).scalar_one_or_none() or ""


def check_email(email: str) -> str:
    """Give the address without spaces around it; refuse what can be none."""
    try:
        return check_address(email)
    except MailError as error:
        raise AccountError(error.problem, error.remedy, "email") from None


def set_email(store: Store, name: str, email: str, *, actor: str) -> None:
    """Set or (by nothing) remove the address of an account; the log does not repeat it."""
    address = check_email(email) if email.strip() else None
    with store.write() as tx:
        if not tx.execute(update(users).where(users.c.name == name).values(email=address)).rowcount:
            raise AccountError(
                said("there is no account named {name!r}", name=name), "see the list of accounts"
            )
        note(tx, actor, "e-mail address changed", name, "" if address else "removed")


def request_link(store: Store, given: str, link_to: Callable[[str], str]) -> threading.Thread | None:
    """Send a link to the account of that name or address, if there is one; who asks is not told.

    `link_to` gives the address of the page that takes a token. Gives the thread that sends: whoever waited for the
    letter could tell by the time whether there is such an account.
    """
    given = given.strip()
    # All spellings that find the same address are counted as one.
    tries.count(store, "reset", given.lower())
    wanted = or_(users.c.name == given, func.lower(users.c.email) == given.lower())
    with store.read() as tx:
        rows = tx.execute(select(users).where(wanted, users.c.active, users.c.email.is_not(None))).all()
    letters = []
    for row in rows[:3]:
        link = link_to(_token(store, row, now() + SECONDS))
        letters.append(Letter(row.email, _("A new password for hushpoll"), _text(store, row.name, link)))
        log.record(store, row.name, "password link asked for", row.name)
    if not letters:
        return None
    thread = threading.Thread(target=_send, args=(store, letters), daemon=True)
    thread.start()
    return thread


def _text(store: Store, name: str, link: str) -> str:
    """Write the letter in the language of the page that asked for it."""
    asked = _(
        "Somebody, probably you, asked for a new password of the account %(name)s on %(address)s.",
        name=name,
        address=store.config.address,
    )
    here = _("Choose it here within an hour; the link works once:")
    not_you = _("If it was not you, do nothing: the password stays as it is.")
    return f"{asked}\n\n{here}\n\n{link}\n\n{not_you}\n"


def _send(store: Store, letters: list[Letter]) -> None:
    try:
        for _letter in send(store.config, letters):
            pass
    except MailError as error:
        _LOG.error("a letter was not sent: %s", error.problem)


def good_for(store: Store, token: str) -> str | None:
    """Whose password a link may change; None where it was used, is too old, or never was one."""
    try:
        packed, until, proof = token.split(".")
        name = base64.urlsafe_b64decode(packed + "==").decode()
        late = not until.isdigit() or not now() < int(until) <= now() + SECONDS
    except (ValueError, binascii.Error):
        return None
    with store.read() as tx:
        row = user_row(tx, name)
    if late or row is None or not row.active:
        return None
    expected = _token(store, row, int(until)).rpartition(".")[2]
    return name if hmac.compare_digest(expected, proof) else None


def choose(store: Store, token: str, password: str) -> bool:
    """Set the password that somebody chose by a link; False where the link is not good any more."""
    name = good_for(store, token)
    if name is None:
        return False
    set_password(store, name, password, actor=name)
    return True


def _token(store: Store, row: Row[Any], until: int) -> str:
    """Make a link's token, with the present password's hash and the address in it: a change of either ends it."""
    packed = base64.urlsafe_b64encode(row.name.encode()).decode().rstrip("=")
    parts = "\0".join(("reset", row.name, row.password_hash, row.email or "", str(until)))
    return f"{packed}.{until}.{hmac.digest(store.secret, parts.encode(), 'sha256').hex()}"
