"""Restoring a backup into an empty database; an interrupted restore resumes where it stopped.

Until it is finished, no server starts on the database.
"""

from __future__ import annotations

import hashlib
import os
import stat
from pathlib import Path
from urllib.parse import quote

from hushpoll_client import HushpollError
from sqlalchemy import URL, Connection, Table, create_engine, delete, func, insert, inspect, select, text
from sqlalchemy.exc import DatabaseError

from hushpoll_server.config import SQLITE_FILE, Config

from . import key
from .backup_format import Copied, Progress, digest_of, named, read_parts, tables_of, verify
from .database import Database
from .migrations import current_revision, knows, upgrade
from .workspace_schema import server_state

_MARK = "restoring"
_FRESH = (server_state.name, "alembic_version")


def restore_backup(config: Config, source: Path, progress: Progress = lambda name, rows: None) -> Copied:
    """Put a backup into an empty database, or go on with that; verify it by reading it back."""
    if not source.is_file():
        raise HushpollError(f"{source}: no such file")
    config.make_folder()
    engine = create_engine(_read_only(source))
    database = Database(config.url)
    try:
        facts = verify(engine, source)
        revision = facts["schema"][1]
        if not knows(revision):
            raise HushpollError(
                f"{source}: the backup ({revision}) was made by a newer hushpoll than this one",
                "install that version",
            )
        with engine.connect() as backup:
            _refuse_other_key(config, backup)
            mark = hashlib.sha256(repr(sorted(facts.items())).encode()).hexdigest()
            _prepare(database, revision, mark)
            _fill(database, backup, tables_of(engine, facts), progress)
            _finish(database, backup, tables_of(database.engine, facts), facts, source)
    except DatabaseError as error:
        reason = " ".join(str(error.orig).split())
        raise HushpollError(
            f"{source}: cannot be restored ({reason})",
            "run the same command when the database can be written, or take another backup and an empty database",
        ) from None
    finally:
        engine.dispose()
        database.close()
    return Copied(len(facts) - 2, sum(rows for rows, _ in facts.values()))


def give_to_owner(config: Config) -> list[Path]:
    """Hand files that root has written to the owner of the data folder, as whom the server runs; return these files."""
    if os.geteuid() != 0:
        return []
    files = [*config.data.glob(f"{SQLITE_FILE}*"), config.key_path]
    owner = _owner(config.data)
    return [path for path in sorted(files) if path.parent == config.data and _give(path, *owner)]


def _owner(folder: Path) -> tuple[int, int]:
    status = folder.stat()
    return status.st_uid, status.st_gid


def _give(path: Path, user: int, group: int) -> bool:
    """Hand a file to a user, unless it is theirs. A link is not followed: it may lead to another user's file."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        status = os.fstat(handle)
        if not stat.S_ISREG(status.st_mode) or status.st_nlink != 1 or status.st_uid == user:
            return False
        os.fchown(handle, user, group)
    finally:
        os.close(handle)
    return True


def _read_only(path: Path) -> URL:
    """Name a file as SQLite's own addresses do, whatever signs its name has."""
    name = quote(os.fsencode(path.resolve()))
    return URL.create("sqlite", database=f"file:{name}", query={"mode": "ro", "uri": "true"})


def refuse_half_restored(database: Database) -> None:
    """Refuse a database in which a restore was interrupted."""
    if _mark(database) is not None:
        raise HushpollError("the database is restored half way", "run the same `hushpoll restore` again")


def _refuse_other_key(config: Config, backup: Connection) -> None:
    stored = backup.execute(select(server_state.c.value).where(server_state.c.name == key.ROW)).scalar()
    if stored is None:
        return
    if not config.key_path.exists():
        raise HushpollError(
            f"{config.key_path}: the key of the backup's database is missing",
            "put it there first (mode 0600)",
        )
    if stored != key.fingerprint(config.secret()):
        raise HushpollError(
            f"{config.key_path}: is not the key of the backup's database", "put that one there"
        )


def _prepare(database: Database, revision: str, mark: str) -> None:
    begun = _mark(database)
    if begun is None:
        tables = inspect(database.engine).get_table_names()
        with database.read() as tx:
            for name in {"surveys", "users"} & set(tables):
                if tx.execute(text(f"SELECT count(*) FROM {name}")).scalar():  # noqa: S608
                    raise HushpollError(
                        "the database holds surveys or accounts",
                        "restore into an empty one: another DATA or DATABASE_URL",
                    )
            used = current_revision(tx)
        if tables and used != revision:
            raise HushpollError(
                "the database is empty but of another version", "restore into one that no server has used"
            )
        upgrade(database, revision)
        with database.write() as tx:
            tx.execute(delete(server_state))
            tx.execute(insert(server_state).values(name=_MARK, value=mark))
    elif begun != mark:
        raise HushpollError(
            "another backup was restored half way", "finish that one, or take an empty database"
        )


def _mark(database: Database) -> str | None:
    if not inspect(database.engine).has_table(server_state.name):
        return None
    with database.read() as tx:
        return tx.execute(select(server_state.c.value).where(server_state.c.name == _MARK)).scalar()


def _fill(database: Database, backup: Connection, tables: list[Table], progress: Progress) -> None:
    """Copy part after part, each on the disk before the next; what an earlier try copied is skipped."""
    for table in tables:
        if table.name in _FRESH:
            continue
        with database.read() as tx:
            done = tx.execute(select(func.count()).select_from(table)).scalar_one()
        for chunk in read_parts(backup, table, done):
            with database.write() as tx:
                tx.execute(insert(table), named(table, chunk))
            done += len(chunk)
            progress(table.name, done)


def _finish(
    database: Database,
    backup: Connection,
    tables: list[Table],
    facts: dict[str, tuple[int, str]],
    source: Path,
) -> None:
    with database.read() as tx:
        database.allow_pauses(tx)
        wrong = [
            table.name
            for table in tables
            if table.name not in _FRESH and digest_of(tx, table) != facts[table.name]
        ]
    if wrong:
        raise HushpollError(
            f"{source}: what was written of {', '.join(wrong)} is not what the backup holds",
            "take an empty database",
        )
    with database.write() as tx:
        if not database.is_sqlite:
            for name, column in (("surveys", "number"), ("audit_log", "id")):
                tx.execute(
                    text(
                        f"SELECT setval(pg_get_serial_sequence('{name}', '{column}'), greatest(max({column}), 1))"  # noqa: S608
                        f" FROM {name}"
                    )
                )
        rows = [row._asdict() for row in backup.execute(select(server_state))]
        tx.execute(delete(server_state))
        if rows:
            tx.execute(insert(server_state), rows)
