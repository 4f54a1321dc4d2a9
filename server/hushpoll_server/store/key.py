"""The secret key and the database belong together, and the database can tell: it keeps a fingerprint of the key.

A second node with another key would not recognise a report that is sent again, and would count it twice; so would a
server that silently made a new key for a lost one.
"""

from __future__ import annotations

import hmac
from contextlib import suppress

from hushpoll_client import HushpollError
from sqlalchemy import delete, insert, inspect, select
from sqlalchemy.exc import IntegrityError

from hushpoll_server.config import Config

from .database import Database
from .workspace_schema import server_state

ROW = "key"
_HOW = (
    "put the key of this database there (from the first node, or from your own copy of it: backups hold none; "
    "SECRET_KEY_FILE says where to look), or, if it is lost for good, start once with `hushpoll serve --new-key`"
)


def fingerprint(secret: bytes) -> str:
    """Return the part of a key that the database may hold: a keyed hash that does not reveal the key."""
    return hmac.digest(secret, b"hushpoll: fingerprint of the key", "sha256").hex()


def known_fingerprint(database: Database) -> str | None:
    """Return the fingerprint of the key that this database belongs to; None for one that is new or from before."""
    if not inspect(database.engine).has_table(server_state.name):
        return None
    with database.read() as tx:
        query = select(server_state.c.value).where(server_state.c.name == ROW)
        return tx.execute(query).scalar_one_or_none()


def refuse_to_replace(config: Config) -> None:
    """Refuse to go on without a key where the database belongs to one."""
    if config.key_path.exists():
        return
    database = Database(config.url)
    try:
        stored = known_fingerprint(database)
    finally:
        database.close()
    # Looked for again: another process that starts at the same time makes the key first, then its fingerprint.
    if stored is not None and not config.key_path.exists():
        raise HushpollError(f"{config.key_path}: the secret key is missing", _HOW)


def forget(database: Database) -> None:
    """Let the next key that comes be the database's."""
    if inspect(database.engine).has_table(server_state.name):
        with database.write() as tx:
            tx.execute(delete(server_state).where(server_state.c.name == ROW))


def refuse_another(config: Config, secret: bytes, database: Database) -> None:
    """Refuse a key that is not the database's."""
    stored = known_fingerprint(database)
    if stored is not None and stored != fingerprint(secret):
        raise HushpollError(f"{config.key_path}: this is not the key that the database belongs to", _HOW)


def check(config: Config, secret: bytes, database: Database) -> None:
    """Adopt the key where the database has none yet; refuse another one."""
    if known_fingerprint(database) is None:
        # Unless another node is quicker.
        with suppress(IntegrityError), database.write() as tx:
            tx.execute(insert(server_state).values(name=ROW, value=fingerprint(secret)))
    refuse_another(config, secret, database)
