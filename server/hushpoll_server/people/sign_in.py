"""Signing in, and asking for the password again."""

from __future__ import annotations

import unicodedata

from sqlalchemy import update

from hushpoll_server.store.surveys import Store
from hushpoll_server.store.workspace_schema import users

from . import passwords, sessions, tries
from .accounts import User, user_row


def sign_in(store: Store, name: str, password: str) -> str | None:
    """Give a fresh session token, None where name and password do not fit; AccountError while throttled.

    The throttle counts failures per name tried, whether or not it exists, and doubles the pause from the fifth on.
    """
    name = unicodedata.normalize("NFC", name.strip())
    with passwords.turn():
        tries.count(store, "sign-in", name)
        with store.read() as tx:
            row = user_row(tx, name)
        fits = passwords.verify(passwords.NOBODY if row is None else row.password_hash, password)
    if row is None or not fits or not row.active:
        return None
    with store.write() as tx:
        tries.forget(tx, store, "sign-in", name)
        if passwords.needs_rehash(row.password_hash):
            fresh = passwords.hash_of(password)
            tx.execute(update(users).where(users.c.name == name).values(password_hash=fresh))
        return sessions.begin(tx, name)


def password_fits(store: Store, name: str, password: str) -> bool:
    """Whether this is the password of that account, asked again before it is changed; throttled like signing in.

    Counted apart from signing in, so that whoever sits at a stolen session cannot lock the owner out.
    """
    with passwords.turn():
        tries.count(store, "present-password", name)
        with store.read() as tx:
            row = user_row(tx, name)
        if row is None or not passwords.verify(row.password_hash, password):
            return False
    with store.write() as tx:
        tries.forget(tx, store, "present-password", name)
    return True


def session_user(store: Store, token: str) -> User | None:
    """Whose session this is, while it lasts and the account is active."""
    row = sessions.owner(store, token)
    return None if row is None else User.of(row)
