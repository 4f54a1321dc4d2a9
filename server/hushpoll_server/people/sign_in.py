"""Signing in, and asking for the password again."""

from __future__ import annotations

import hmac
import time
import unicodedata
from collections.abc import Callable
from typing import Any, NamedTuple

from sqlalchemy import Row, update

from hushpoll_server.store.surveys import Store
from hushpoll_server.store.workspace_schema import users

from . import audit_log, devices, passkeys, passwords, second_factor, sessions, sign_in_throttle
from .accounts import User, user_row
from .audit_log import Detail, now
from .errors import AccountError


class SignedIn(NamedTuple):
    """A session that has begun, and the cookie of the device it began on."""

    token: str
    device: str


class HalfWay(NamedTuple):
    """The password was right, and a code is asked for; good for five minutes and until the password changes."""

    name: str
    until: int
    proof: str


HALF_WAY_SECONDS = 300


def sign_in(store: Store, name: str, password: str, device: str | None = None) -> SignedIn | HalfWay | None:
    """Begin a session, or ask for the second factor; None where name and password do not fit.

    Raises AccountError while throttled: failures are counted per name tried, whether or not it exists, and the pause
    doubles from the fifth on. A device on which the account has been used is counted for itself.
    """
    row = _right_password(store, name, password, device)
    if row is None:
        return None
    return begin(store, row)


def begin(store: Store, row: Row[Any], how: str | Detail = "") -> SignedIn | HalfWay:
    """Begin a session of an account whose owner has shown who they are, or ask for the second factor."""
    if second_factor.is_on(store, row.name):
        until = now() + HALF_WAY_SECONDS
        return HalfWay(row.name, until, _proof(store, row, until))
    return _begin(store, row, how)


def finish_with_code(store: Store, half: HalfWay, code: str, device: str | None = None) -> SignedIn | None:
    """Begin a session after a correct password; return None if the code is wrong. Raise AccountError as `sign_in`."""
    return _finish(store, half, lambda name: second_factor.use(store, name, code), device)


def finish_with_passkey(
    store: Store, half: HalfWay, credential: str, device: str | None = None
) -> SignedIn | None:
    """Begin a session after a correct password with a passkey's signature instead of a code."""
    return _finish(store, half, lambda name: passkeys.use(store, name, credential), device)


def _finish(
    store: Store, half: HalfWay, use: Callable[[str], Detail | None], device: str | None
) -> SignedIn | None:
    row = half_way_row(store, half)
    if row is None:
        raise AccountError("this took too long, or the password has changed", "begin again", "code")
    number = devices.known(store, row, device)
    purpose = "code"
    if number:
        purpose = f"code, device {number}"
    _count(store, purpose, row.name, row)
    how = use(row.name)
    if how is None:
        audit_log.record(store, row.name, "sign-in failed", row.name, Detail("wrong code"))
        return None
    with store.write() as tx:
        sign_in_throttle.forget(tx, store, purpose, row.name)
    return _begin(store, row, how)


def half_way_row(store: Store, half: HalfWay) -> Row[Any] | None:
    """Return the account whose password was correct and whose code is awaited; None if it is too late."""
    with store.read() as tx:
        row = user_row(tx, half.name)
    if row is None or not row.active or not now() < half.until <= now() + HALF_WAY_SECONDS:
        return None
    if hmac.compare_digest(_proof(store, row, half.until), half.proof):
        return row
    return None


def _proof(store: Store, row: Row[Any], until: int) -> str:
    parts = "\0".join(("half way", row.name, row.password_hash, str(until)))
    return hmac.digest(store.secret, parts.encode("utf-8", "replace"), "sha256").hex()


def _right_password(store: Store, name: str, password: str, device: str | None) -> Row[Any] | None:
    name = unicodedata.normalize("NFC", name.strip())
    with passwords.turn(store.config.data):
        begun = time.monotonic()
        with store.read() as tx:
            row = user_row(tx, name)
        number = devices.known(store, row, device)
        purpose = "sign-in"
        if number:
            purpose = f"device {number}"
        _count(store, purpose, name, row)
        # Who has no password costs as much time as who has one.
        fits = passwords.verify((row.password_hash if row is not None else "") or passwords.NOBODY, password)
    if row is None or not fits or not row.active:
        _note_failure(store, name, row, fits)
        # What is written differs between names that exist and others, and so would the time of the refusal.
        passwords.even_out(begun)
        return None
    with store.write() as tx:
        sign_in_throttle.forget(tx, store, purpose, name)
    return _rehashed(store, row, password)


def _note_failure(store: Store, name: str, row: Row[Any] | None, fits: bool) -> None:
    if row is None:
        # The name is not written down, for it may be a password.
        sign_in_throttle.tally_unknown(store)
    else:
        audit_log.record(
            store, name, "sign-in failed", name, Detail("locked account" if fits else "wrong password")
        )


def _count(store: Store, purpose: str, name: str, row: Row[Any] | None) -> None:
    pause = sign_in_throttle.count(store, purpose, name)
    if pause and row is not None:
        audit_log.record(store, name, "sign-in slowed down", name, Detail("pause", seconds=pause))


def _rehashed(store: Store, row: Row[Any], password: str) -> Row[Any]:
    """Hash a password anew where a stronger way is in use by now."""
    if not passwords.needs_rehash(row.password_hash):
        return row
    with store.write() as tx:
        new_hash = passwords.hash_of(password)
        tx.execute(update(users).where(users.c.name == row.name).values(password_hash=new_hash))
        return user_row(tx, row.name) or row


def _begin(store: Store, row: Row[Any], how: str | Detail = "") -> SignedIn:
    with store.write() as tx:
        audit_log.note(tx, row.name, "signed in", row.name, how)
        token = sessions.begin(tx, row.name)
    return SignedIn(token, devices.issue(store, row.name, row.password_hash))


def password_fits(store: Store, name: str, password: str) -> bool:
    """Return whether this is the password of that account, asked again before it is changed; throttled like signing in.

    Counted separately from sign-ins, so that the holder of a stolen session cannot lock the owner out.
    """
    with passwords.turn(store.config.data):
        sign_in_throttle.count(store, "present-password", name)
        with store.read() as tx:
            row = user_row(tx, name)
        if row is None or not passwords.verify(row.password_hash, password):
            return False
    with store.write() as tx:
        sign_in_throttle.forget(tx, store, "present-password", name)
    return True


def session_user(store: Store, token: str) -> User | None:
    """Whose session this is, while it lasts and the account is active."""
    row = sessions.owner(store, token)
    if row is None:
        return None
    return User.of(row)
