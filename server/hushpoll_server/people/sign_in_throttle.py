"""Failed sign-ins, counted per name: a list of passwords cannot be tried."""

from __future__ import annotations

import hashlib
import hmac
from typing import Any
from weakref import WeakKeyDictionary

from hushpoll_client.messages import msg
from sqlalchemy import Connection, delete, select, update
from sqlalchemy.dialects.postgresql import insert as postgresql_insert
from sqlalchemy.dialects.sqlite import insert as sqlite_insert

from hushpoll_server.store.surveys import Store
from hushpoll_server.store.workspace_schema import sign_in_failures

from .audit_log import now
from .errors import AccountError

FREE_FAILURES = 5
LONGEST_BLOCK = 15 * 60
FORGET_AFTER = 24 * 3600
PRUNE_EVERY = 60
_pruned: WeakKeyDictionary[Store, int] = WeakKeyDictionary()


def forget(tx: Connection, store: Store, purpose: str, name: str) -> None:
    """Begin to count anew."""
    tx.execute(delete(sign_in_failures).where(sign_in_failures.c.name_hash == _digest(store, purpose, name)))


def count(store: Store, purpose: str, name: str) -> int:
    """Count a try before its password is looked at, so that many at once cannot slip through; success forgets it.

    Gives the seconds for which the next one will be refused, should this one fail.
    """
    name_hash = _digest(store, purpose, name)
    mine = sign_in_failures.c.name_hash == name_hash
    # PostgreSQL lets many write at once, and they must queue here.
    locked = _find_or_make(store, name_hash, sign_in_failures.c.failures + 1).returning(
        sign_in_failures.c.failures, sign_in_failures.c.blocked_until
    )
    with store.write() as tx:
        _prune(tx, store)
        tried = tx.execute(locked).one()
        wait = tried.blocked_until - now()
        # A longer one comes from a clock that was ahead: it would lock somebody out for as long.
        if 0 < wait <= LONGEST_BLOCK:
            raise AccountError(
                "too many attempts with this name, by you or by someone else",
                msg("wait {seconds} seconds, then try again", seconds=wait)
                if wait < 120
                else msg("wait {minutes} minutes, then try again", minutes=-(-wait // 60)),
            )
        beyond = tried.failures - FREE_FAILURES
        pause = 0
        if beyond >= 0:
            pause = min(LONGEST_BLOCK, 30 * 2 ** min(beyond, 20))
        tx.execute(update(sign_in_failures).where(mine).values(blocked_until=now() + pause))
    return pause


def _prune(tx: Connection, store: Store) -> None:
    """Forget old tries, at most once a minute: every row is looked at, and others wait to write."""
    if now() - _pruned.get(store, 0) >= PRUNE_EVERY:
        _pruned[store] = now()
        tx.execute(delete(sign_in_failures).where(sign_in_failures.c.blocked_until < now() - FORGET_AFTER))


def tally_unknown(store: Store) -> None:
    """Count a try for a name that belongs to no account."""
    with store.write() as tx:
        tx.execute(_find_or_make(store, _unknown(store), sign_in_failures.c.failures + 1))


def unknown_names(store: Store) -> int:
    """Count such tries in the last day."""
    query = select(sign_in_failures.c.failures).where(
        sign_in_failures.c.name_hash == _unknown(store),
        sign_in_failures.c.blocked_until > now() - FORGET_AFTER,
    )
    with store.read() as tx:
        return int(tx.execute(query).scalar_one_or_none() or 0)


def _unknown(store: Store) -> str:
    return _digest(store, "unknown names", "")


def _find_or_make(store: Store, name_hash: str, failures: Any) -> Any:
    """Return a statement that finds the row or makes it, and locks it."""
    put: Any = postgresql_insert
    if store.database.is_sqlite:
        put = sqlite_insert
    new_row = put(sign_in_failures).values(name_hash=name_hash, failures=1, blocked_until=now())
    return new_row.on_conflict_do_update(index_elements=["name_hash"], set_={"failures": failures})


def _digest(store: Store, purpose: str, name: str) -> str:
    """Return a keyed hash: a password may have been typed into the name's field."""
    return hmac.new(store.secret, f"{purpose}:{name}".encode("utf-8", "replace"), hashlib.sha256).hexdigest()
