"""Backups: one file for either kind of database, made while the server runs and verified by reading it back.

The file is a SQLite database with the tables as they were at one moment, and with a digest of each. The secret key is
not in it: waiting reports stay encrypted, and a backup alone links nothing. An interrupted backup resumes from what
it has written, brought up to the new moment.
"""

from __future__ import annotations

import errno
import fcntl
import hashlib
import os
import stat
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any

import hushpoll_client
from hushpoll_client import HushpollError
from sqlalchemy import (
    URL,
    ColumnElement,
    Connection,
    ExceptionContext,
    MetaData,
    Table,
    create_engine,
    delete,
    event,
    insert,
    inspect,
    select,
    text,
    tuple_,
)
from sqlalchemy.exc import DatabaseError, OperationalError

from .backup_format import Copied, Progress, add_to, columns_of, facts_table, named, plain, read_parts, verify
from .database import SEAL_LOCK, Database
from .migrations import current_revision
from .schema import metadata


def write_backup(database: Database, target: Path, progress: Progress = lambda name, rows: None) -> Copied:
    """Copy the database as it is at this moment into a new file, for its owner's eyes only, and read it back."""
    draft = target.with_name(f".{target.name}.partial")
    try:
        with _alone(target.parent):
            _refuse_taken(target)
            _make_ready(draft)
            copied = _copy_all(database, draft, progress)
            _sync(draft)
            if not draft.stat().st_size:
                raise OSError(errno.EIO, "nothing is in it")
            os.link(draft, target)
            _sync(target.parent)
            draft.unlink()
    except OSError as error:
        # A disk that is full is not left full; whoever was killed finds the draft again.
        _remove(draft)
        raise HushpollError(
            f"{target}: cannot be written ({error.strerror})", "choose another place"
        ) from None
    except OperationalError as error:
        raise HushpollError(
            f"the database cannot be read ({str(error.orig).strip()})",
            "run the same command when it can: it goes on from what was written",
        ) from None
    return copied


def _refuse_taken(target: Path) -> None:
    if target.exists():
        raise HushpollError(
            f"{target}: exists already", "name a new file; a backup never replaces another one"
        )


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Wait until no other backup writes into a folder: two in one draft would damage each other."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        with suppress(OSError):  # some file systems have no locks
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def _make_ready(draft: Path) -> None:
    """Keep a draft that an interrupted backup of ours left, where it can be read; else begin a new one."""
    with suppress(FileNotFoundError):
        status = draft.lstat()
        ours = stat.S_ISREG(status.st_mode) and status.st_uid == os.geteuid() and not status.st_mode & 0o077
        if ours and _is_sound(draft):
            return
        _remove(draft)
    os.close(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))


def _is_sound(draft: Path) -> bool:
    """Return whether a partial backup can be resumed: intact, and with no table or column but today's."""
    engine = create_engine(URL.create("sqlite", database=str(draft)))
    try:
        with engine.connect() as tx:
            is_intact = tx.exec_driver_sql("PRAGMA quick_check").scalar() == "ok"
            reflected = MetaData()
            reflected.reflect(tx)
        known_tables = {**metadata.tables, facts_table.name: facts_table}
        return is_intact and all(
            name in known_tables and set(table.columns.keys()) == set(known_tables[name].columns.keys())
            for name, table in reflected.tables.items()
        )
    except DatabaseError:
        return False
    finally:
        engine.dispose()


def _remove(draft: Path) -> None:
    for path in (draft, draft.with_name(f"{draft.name}-journal")):
        with suppress(OSError):
            path.unlink(missing_ok=True)


def _not_written(context: ExceptionContext) -> None:
    """Raise errors of the partial copy as such, apart from errors of the database that is read."""
    if isinstance(context.sqlalchemy_exception, OperationalError):
        raise OSError(errno.EIO, str(context.original_exception)) from None


def _copy_all(database: Database, draft: Path, progress: Progress) -> Copied:
    engine = create_engine(URL.create("sqlite", database=str(draft)))
    event.listen(engine, "handle_error", _not_written)
    try:
        with engine.connect() as out:
            begun = bool(inspect(out).get_table_names())
            out.commit()
            metadata.create_all(out)
            facts_table.create(out, checkfirst=True)
            out.execute(delete(facts_table))
            out.commit()
            with _moment(database) as tx:
                facts = [_copy_table(tx, out, table, progress) for table in metadata.sorted_tables]
                facts.append({"name": "hushpoll", "rows": 0, "digest": hushpoll_client.__version__})
                facts.append({"name": "schema", "rows": 0, "digest": current_revision(tx)})
            out.execute(insert(facts_table), facts)
            out.commit()
            if begun:
                # Free pages, and the order of rows within a page, would tell what was written when.
                out.execution_options(isolation_level="AUTOCOMMIT").exec_driver_sql("VACUUM")
        try:
            verify(engine, draft)
        except HushpollError:
            _remove(draft)  # nobody goes on with it
            raise
    finally:
        engine.dispose()
    return Copied(len(facts) - 2, sum(fact["rows"] for fact in facts))


@contextmanager
def _moment(database: Database) -> Iterator[Connection]:
    """Read all tables as they are at one moment, while others go on writing."""
    if database.is_sqlite:
        with database.read() as tx:
            yield tx
        return
    # Sealing truncates tables, which a reader of an older moment would see as empty: it waits. The lock comes first,
    # on a connection of its own, because the moment is that of the first statement.
    with database.autocommit() as lock:
        lock.execute(text("SET lock_timeout = 0"))
        lock.execute(text("SET statement_timeout = 0"))
        lock.execute(text("SELECT pg_advisory_lock(:lock)"), {"lock": SEAL_LOCK})
        try:
            with database.engine.connect().execution_options(isolation_level="REPEATABLE READ") as tx:
                database.allow_pauses(tx)
                yield tx
        finally:
            lock.execute(text("SELECT pg_advisory_unlock(:lock)"), {"lock": SEAL_LOCK})


def _copy_table(tx: Connection, out: Connection, table: Table, progress: Progress) -> dict[str, Any]:
    """Copy a table part by part, each kept before the next; what stands in the draft already is not written again."""
    digest, rows = hashlib.sha256(), 0
    last: tuple[Any, ...] | None = None
    begun = out.execute(select(table).limit(1)).first() is not None
    with closing(read_parts(tx, table)) as chunks:
        for chunk in chunks:
            add_to(digest, chunk)
            rows += len(chunk)
            new = named(table, chunk)
            last, behind = _key(table, new[-1]), last
            if begun:
                new = _changed(out, table, behind, new)
            if new:
                out.execute(insert(table), new)
            out.commit()
            progress(table.name, rows)
    if begun:
        out.execute(delete(table).where(*_between(table, last, None)))
        out.commit()
    return {"name": table.name, "rows": rows, "digest": digest.hexdigest()}


def _changed(
    out: Connection, table: Table, after: tuple[Any, ...] | None, rows: list[dict[str, Any]]
) -> list[dict[str, Any]]:
    """Return the rows of a part that the draft has not as they are; whatever else it has there goes."""
    here = _between(table, after, _key(table, rows[-1]))
    source_rows = {_key(table, row): row for row in rows}
    names = [column.name for column in columns_of(table)]
    copied_rows = {}
    for values in out.execute(select(*columns_of(table)).where(*here)).all():
        copied = dict(zip(names, values, strict=True))
        copied_rows[_key(table, copied)] = copied
    stale = [row_key for row_key, row in copied_rows.items() if not _same(row, source_rows.get(row_key))]
    for row_key in stale:
        out.execute(delete(table).where(*_at(table, row_key)))
        del copied_rows[row_key]
    return [row for row_key, row in source_rows.items() if row_key not in copied_rows]


def _same(row: dict[str, Any], other: dict[str, Any] | None) -> bool:
    return other is not None and all(plain(value) == plain(other[name]) for name, value in row.items())


def _key(table: Table, row: dict[str, Any]) -> tuple[Any, ...]:
    return tuple(plain(row[column.name]) for column in table.primary_key.columns)


def _at(table: Table, key: tuple[Any, ...]) -> list[ColumnElement[bool]]:
    return [column == value for column, value in zip(table.primary_key.columns, key, strict=True)]


def _between(
    table: Table, after: tuple[Any, ...] | None, last: tuple[Any, ...] | None
) -> list[ColumnElement[bool]]:
    """Select what lies behind one key and not behind another, in the order of the table's key."""
    key = tuple_(*table.primary_key.columns)
    bounds = []
    if after is not None:
        bounds = [key > after]
    if last is None:
        return bounds
    return [*bounds, key <= last]


def _sync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
