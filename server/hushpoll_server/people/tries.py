"""Tries to sign in: counted per name, so that nobody can go through a list of passwords."""

from __future__ import annotations

import hashlib
import hmac

from sqlalchemy import Connection, delete, update
from sqlalchemy.dialects.postgresql import insert as postgresql_insert
from sqlalchemy.dialects.sqlite import insert as sqlite_insert

from hushpoll_server.store.surveys import Store
from hushpoll_server.store.workspace_schema import sign_in_failures

from .errors import AccountError
from .log import now

FREE_FAILURES = 5
LONGEST_BLOCK = 15 * 60
FORGET_AFTER = 24 * 3600


def forget(tx: Connection, store: Store, purpose: str, name: str) -> None:
    """Begin to count anew."""
    tx.execute(delete(sign_in_failures).where(sign_in_failures.c.name_hash == _digest(store, purpose, name)))


def count(store: Store, purpose: str, name: str) -> None:
    """Count a try before its password is looked at, so that many at once cannot slip through; success forgets it."""
    name_hash = _digest(store, purpose, name)
    mine = sign_in_failures.c.name_hash == name_hash
    put = sqlite_insert if store.database.is_sqlite else postgresql_insert
    fresh = put(sign_in_failures).values(name_hash=name_hash, failures=0, blocked_until=now())
    # Finds the row or makes it, and locks it: PostgreSQL lets many write at once, and they must queue here.
    locked = fresh.on_conflict_do_update(
        index_elements=["name_hash"], set_={"failures": sign_in_failures.c.failures}
    ).returning(sign_in_failures.c.failures, sign_in_failures.c.blocked_until)
    with store.write() as tx:
        tx.execute(delete(sign_in_failures).where(sign_in_failures.c.blocked_until < now() - FORGET_AFTER))
        before = tx.execute(locked).one()
        wait = before.blocked_until - now()
        # A longer one comes from a clock that was ahead: it would lock somebody out for as long.
        if 0 < wait <= LONGEST_BLOCK:
            span = f"{wait} seconds" if wait < 120 else f"{-(-wait // 60)} minutes"
            raise AccountError(
                f"too many tries for this name, by you or by somebody else; wait {span}, then try again"
            )
        tries = before.failures + 1
        pause = 0 if tries < FREE_FAILURES else min(LONGEST_BLOCK, 30 * 2 ** (tries - FREE_FAILURES))
        values = {"failures": tries, "blocked_until": now() + pause}
        tx.execute(update(sign_in_failures).where(mine).values(**values))


def _digest(store: Store, purpose: str, name: str) -> str:
    """A keyed hash: a password may have been typed into the name's field."""
    return hmac.new(store.secret, f"{purpose}:{name}".encode("utf-8", "replace"), hashlib.sha256).hexdigest()
