"""A forgotten password: a link by mail, good for an hour and once, to choose a new one."""

from __future__ import annotations

import base64
import binascii
import hmac
import logging
import math
import secrets
import threading
import time
from collections.abc import Callable
from typing import Any
from weakref import WeakKeyDictionary

from hushpoll_client.messages import msg
from sqlalchemy import Row, func, or_, select, update
from sqlalchemy.exc import SQLAlchemyError

from hushpoll_server.i18n.translation import gettext as _
from hushpoll_server.mail import Letter, MailError, check_address, send
from hushpoll_server.security import Throttle
from hushpoll_server.store.surveys import Store
from hushpoll_server.store.workspace_schema import users

from . import audit_log
from .accounts import set_password, user_row
from .audit_log import Detail, note, now
from .errors import AccountError

__all__ = ["check_email", "choose", "email_of", "good_for", "request_link", "set_email"]

SECONDS = 3600
LINKS_PER_MINUTE = 60
LINKS_OF_ADDRESS_PER_MINUTE = 10
LINKS_OF_NAME_PER_HOUR = 5
_LOG = logging.getLogger(__name__)


def email_of(store: Store, name: str) -> str:
    """Return the address of an account; nothing where it has none."""
    with store.read() as tx:
        return tx.execute(select(users.c.email).where(users.c.name == name)).scalar_one_or_none() or ""


def check_email(email: str) -> str:
    """Return the address without spaces around it; refuse what can be none."""
    try:
        return check_address(email)
    except MailError as error:
        raise AccountError(error.problem, error.remedy, "email") from None


def set_email(store: Store, name: str, email: str, *, actor: str) -> None:
    """Set or (by nothing) remove the address of an account; the log does not repeat it."""
    address = None
    if email.strip():
        address = check_email(email)
    with store.write() as tx:
        if not tx.execute(update(users).where(users.c.name == name).values(email=address)).rowcount:
            raise AccountError(
                msg("there is no account named {name!r}", name=name), "see the list of accounts"
            )
        note(tx, actor, "e-mail address changed", name, "" if address else Detail("removed"))


class _Limits:
    """How many links may be asked for, in the memory of this process: a flood of names leaves no rows behind."""

    def __init__(self) -> None:
        self.of_all = Throttle(LINKS_PER_MINUTE)
        self.of_address = Throttle(LINKS_OF_ADDRESS_PER_MINUTE)
        self.of_name = Throttle(LINKS_OF_NAME_PER_HOUR, 3600.0)

    def wait(self, name: str, remote: str) -> float:
        """Count a request; return the seconds to wait where it is one too many."""
        # One address must not use up what all have together.
        return self.of_address.wait(remote) or self.of_all.wait("") or self.of_name.wait(name)


_limits: WeakKeyDictionary[Store, _Limits] = WeakKeyDictionary()


def request_link(
    store: Store, name_or_email: str, link_to: Callable[[str], str], remote: str = ""
) -> threading.Thread:
    """Send a link to the account of that name or address, without revealing whether there is one.

    `link_to` returns the address of the page that takes a token. Return the thread that looks for the account and
    sends: the request itself does the same for every name, so that its time reveals nothing.
    """
    name_or_email = name_or_email.strip()
    # All spellings that find the same address are counted as one.
    wait = math.ceil(_limits.setdefault(store, _Limits()).wait(name_or_email.lower(), remote))
    if wait:
        raise AccountError(
            "too many links were requested, by you or by someone else",
            msg("wait {seconds} seconds, then try again", seconds=wait)
            if wait < 120
            else msg("wait {minutes} minutes, then try again", minutes=-(-wait // 60)),
        )
    # Written here, in the language of the page that asked; the rest is filled in by the thread.
    text = _text(store, "{name}", "{link}")
    thread = threading.Thread(
        target=_look_and_send,
        args=(store, name_or_email, link_to("{token}"), _("A new password for hushpoll"), text),
        daemon=True,
    )
    thread.start()
    return thread


def _look_and_send(store: Store, name_or_email: str, link: str, subject: str, text: str) -> None:
    # Not while the request is being answered: both share a processor.
    time.sleep(secrets.randbelow(1000) / 1000)
    is_account = or_(users.c.name == name_or_email, func.lower(users.c.email) == name_or_email.lower())
    try:
        with store.read() as tx:
            # Who signs in at an institution has no password to forget.
            may_have_one = (users.c.active, users.c.email.is_not(None), users.c.password_hash != "")
            rows = tx.execute(select(users).where(is_account, *may_have_one)).all()
        letters = []
        for row in rows[:3]:
            own_link = link.replace("{token}", _token(store, row, now() + SECONDS))
            letters.append(
                Letter(row.email, subject, text.replace("{link}", own_link).replace("{name}", row.name))
            )
            audit_log.record(store, row.name, "password link asked for", row.name)
        if letters:
            _send(store, letters)
    except SQLAlchemyError as error:
        _LOG.error("a letter was not sent: %s", type(error).__name__)


def _text(store: Store, name: str, link: str) -> str:
    """Write the letter in the language of the page that asked for it."""
    request = _(
        "Someone, probably you, asked for a new password for the account %(name)s on %(address)s.",
        name=name,
        address=store.config.address,
    )
    here = _("Choose it here within an hour; the link works once:")
    not_you = _("If it was not you, do nothing: the password stays as it is.")
    return f"{request}\n\n{here}\n\n{link}\n\n{not_you}\n"


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
    """Set a password through a link; return False if the link is no longer valid."""
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
