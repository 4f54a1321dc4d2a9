"""Backups: one file for either kind of database, made while the server runs and verified by reading it back.

The file is a SQLite database with the tables as they were at one moment, and with a digest of each. The secret key is
not in it: reports that wait stay locked, and whoever finds a backup alone links nothing. A restore goes on where an
earlier one was interrupted; until it is finished, no server starts on the database.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

from hushpoll_client import HushpollError, __version__
from sqlalchemy import (
    Column,
    Connection,
    Engine,
    Integer,
    MetaData,
    String,
    Table,
    create_engine,
    delete,
    func,
    insert,
    inspect,
    select,
    text,
)
from sqlalchemy.exc import DatabaseError

from hushpoll_server.config import Config

from . import key
from .database import SEAL_LOCK, Database
from .migrations import current_revision, knows, upgrade
from .schema import metadata
from .workspace_schema import server_state

_PART = 5_000
_MARK = "restoring"
_FRESH = (server_state.name, "alembic_version")

_facts = Table(
    "backup_of",
    MetaData(),
    Column("name", String, primary_key=True),
    Column("rows", Integer, nullable=False),
    Column("digest", String, nullable=False),
)

Told = Callable[[str, int], None]


class Copied(NamedTuple):
    """How many rows were copied, in how many tables."""

    tables: int
    rows: int


# Writing ---------------------------------------------------------------------------------------------------------


def write_backup(database: Database, target: Path, told: Told = lambda name, rows: None) -> Copied:
    """Copy the database as it is at this moment into a new file, for its owner's eyes only, and read it back."""
    if target.exists():
        raise HushpollError(
            f"{target}: exists already", "name a new file; a backup never replaces another one"
        )
    draft = target.with_name(f".{target.name}.partial")
    try:
        draft.unlink(missing_ok=True)
        os.close(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
        copied = _copy_all(database, draft, told)
        _sync(draft)
        os.link(draft, target)
        _sync(target.parent)
    except OSError as error:
        raise HushpollError(
            f"{target}: cannot be written ({error.strerror})", "choose another place"
        ) from None
    finally:
        with suppress(OSError):
            draft.unlink(missing_ok=True)
    return copied


def _copy_all(database: Database, draft: Path, told: Told) -> Copied:
    engine = create_engine(f"sqlite:///{draft}")
    try:
        with engine.begin() as out:
            out.exec_driver_sql("PRAGMA journal_mode=MEMORY")
            metadata.create_all(out)
            _facts.create(out)
            with _moment(database) as tx:
                facts = [_copy_table(tx, out, table, told) for table in metadata.sorted_tables]
                facts.append({"name": "hushpoll", "rows": 0, "digest": __version__})
                facts.append({"name": "schema", "rows": 0, "digest": current_revision(tx)})
            out.execute(insert(_facts), facts)
        _verify(engine, draft)
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
        lock.execute(text("SELECT pg_advisory_lock(:lock)"), {"lock": SEAL_LOCK})
        try:
            with database.engine.connect().execution_options(isolation_level="REPEATABLE READ") as tx:
                yield tx
        finally:
            lock.execute(text("SELECT pg_advisory_unlock(:lock)"), {"lock": SEAL_LOCK})
            lock.execute(text("RESET lock_timeout"))


def _copy_table(tx: Connection, out: Connection, table: Table, told: Told) -> dict[str, Any]:
    digest, rows = hashlib.sha256(), 0
    for part in _parts(tx, table):
        _add(digest, part)
        rows += len(part)
        out.execute(insert(table), _named(table, part))
        told(table.name, rows)
    return {"name": table.name, "rows": rows, "digest": digest.hexdigest()}


def _parts(tx: Connection, table: Table, skip: int = 0) -> Iterator[Sequence[Any]]:
    """Read a table in the order of its key, which is random or says nothing."""
    query = select(*_columns(table)).order_by(*table.primary_key.columns).offset(skip)
    if tx.dialect.name == "sqlite" and skip:
        query = query.limit(-1)
    yield from tx.execution_options(yield_per=_PART).execute(query).partitions()


def _columns(table: Table) -> list[Column[Any]]:
    """Give the columns by name: a migration appends them, a new database has them elsewhere."""
    return sorted(table.columns, key=lambda column: column.name)


def _named(table: Table, rows: Sequence[Any]) -> list[dict[str, Any]]:
    names = [column.name for column in _columns(table)]
    return [dict(zip(names, row, strict=True)) for row in rows]


def _add(digest: Any, rows: Sequence[Any]) -> None:
    for row in rows:
        digest.update(repr([_plain(value) for value in row]).encode())


def _plain(value: Any) -> Any:
    if isinstance(value, memoryview):
        return bytes(value)
    if isinstance(value, bool):
        return int(value)
    return value if isinstance(value, int | float | bytes | str | None) else str(value)


def _sync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


# Reading ---------------------------------------------------------------------------------------------------------


def _verify(engine: Engine, path: Path) -> dict[str, tuple[int, str]]:
    """Read a backup from its first byte to its last; give what it says of itself."""
    try:
        with engine.connect() as tx:
            if tx.exec_driver_sql("PRAGMA integrity_check").scalar() != "ok":
                raise _damaged(path)
            facts = {row.name: (row.rows, row.digest) for row in tx.execute(select(_facts))}
            tables = _tables(engine, facts)
            if any(_digest(tx, table) != facts[table.name] for table in tables):
                raise _damaged(path)
    except DatabaseError:
        raise HushpollError(
            f"{path}: is no backup of hushpoll", "name a file that `hushpoll backup` wrote"
        ) from None
    return facts


def _damaged(path: Path) -> HushpollError:
    return HushpollError(f"{path}: the backup is damaged", "take another one")


def _tables(engine: Engine, facts: dict[str, tuple[int, str]]) -> list[Table]:
    """Give the tables of a database that a backup speaks of, those first that others refer to."""
    found = MetaData()
    found.reflect(engine, only=lambda name, _: name in facts)
    return found.sorted_tables


def _digest(tx: Connection, table: Table) -> tuple[int, str]:
    digest, rows = hashlib.sha256(), 0
    for part in _parts(tx, table):
        _add(digest, part)
        rows += len(part)
    return rows, digest.hexdigest()


# Restoring -------------------------------------------------------------------------------------------------------


def restore_backup(config: Config, source: Path, told: Told = lambda name, rows: None) -> Copied:
    """Put a backup into an empty database, or go on with that; verify it by reading it back."""
    if not source.is_file():
        raise HushpollError(f"{source}: no such file")
    config.make_folder()
    engine = create_engine(f"sqlite:///file:{source.resolve()}?mode=ro&uri=true")
    database = Database(config.url)
    try:
        facts = _verify(engine, source)
        revision = facts["schema"][1]
        if not knows(revision):
            raise HushpollError(
                f"{source}: the backup ({revision}) was made by a newer hushpoll than this one",
                "install that version",
            )
        with engine.connect() as given:
            _refuse_other_key(config, given)
            mark = hashlib.sha256(repr(sorted(facts.items())).encode()).hexdigest()
            _prepare(database, revision, mark)
            rows = _fill(database, given, _tables(engine, facts), told)
            _finish(database, given, _tables(database.engine, facts), facts, source)
    finally:
        engine.dispose()
        database.close()
    return Copied(len(facts) - 2, rows)


def refuse_half_restored(database: Database) -> None:
    """Refuse a database in which a restore was interrupted."""
    if _mark(database) is not None:
        raise HushpollError("the database is restored half way", "run the same `hushpoll restore` again")


def _refuse_other_key(config: Config, given: Connection) -> None:
    known = given.execute(select(server_state.c.value).where(server_state.c.name == key.ROW)).scalar()
    if known is None:
        return
    if not config.key_path.exists():
        raise HushpollError(
            f"{config.key_path}: the key of the backup's database is missing",
            "put it there first (mode 0600)",
        )
    if known != key.fingerprint(config.secret()):
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
        if tables and current_of(database) != revision:
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


def current_of(database: Database) -> str:
    """Give the version of a database's tables."""
    with database.read() as tx:
        return current_revision(tx)


def _mark(database: Database) -> str | None:
    if not inspect(database.engine).has_table(server_state.name):
        return None
    with database.read() as tx:
        return tx.execute(select(server_state.c.value).where(server_state.c.name == _MARK)).scalar()


def _fill(database: Database, given: Connection, tables: list[Table], told: Told) -> int:
    """Copy part after part, each on the disk before the next; what an earlier try copied is skipped."""
    total = 0
    for table in tables:
        if table.name in _FRESH:
            continue
        with database.read() as tx:
            done = tx.execute(select(func.count()).select_from(table)).scalar_one()
        for part in _parts(given, table, done):
            with database.write() as tx:
                tx.execute(insert(table), _named(table, part))
            done += len(part)
            told(table.name, done)
        total += done
    return total


def _finish(
    database: Database,
    given: Connection,
    tables: list[Table],
    facts: dict[str, tuple[int, str]],
    source: Path,
) -> None:
    with database.read() as tx:
        wrong = [
            table.name
            for table in tables
            if table.name not in _FRESH and _digest(tx, table) != facts[table.name]
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
        rows = [row._asdict() for row in given.execute(select(server_state))]
        tx.execute(delete(server_state))
        if rows:
            tx.execute(insert(server_state), rows)
