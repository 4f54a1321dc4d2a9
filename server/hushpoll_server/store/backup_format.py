"""What backups and restoring share: the file's account of itself, and reading tables so that both ends agree."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Generator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from hushpoll_client import HushpollError
from sqlalchemy import Column, ColumnElement, Connection, Engine, Integer, MetaData, String, Table, select
from sqlalchemy.exc import DatabaseError

from .migrations import knows
from .schema import metadata
from .workspace_schema import server_state

_PART = 5_000

facts_table = Table(
    "backup_of",
    MetaData(),
    Column("name", String, primary_key=True),
    Column("rows", Integer, nullable=False),
    Column("digest", String, nullable=False),
)

Progress = Callable[[str, int], None]


class Copied(NamedTuple):
    """How many rows were copied, in how many tables."""

    tables: int
    rows: int


def read_parts(tx: Connection, table: Table, skip: int = 0) -> Generator[Sequence[Any]]:
    """Read a table in the order of its key, which is random or says nothing."""
    query = select(*columns_of(table)).order_by(*_order(tx, table)).offset(skip)
    if tx.dialect.name == "sqlite" and skip:
        query = query.limit(-1)
    with tx.execution_options(yield_per=_PART).execute(query) as result:
        yield from result.partitions()


def _order(tx: Connection, table: Table) -> list[ColumnElement[Any]]:
    """Return a table's key so that every database sorts texts by their bytes, whatever its language."""
    columns = list(table.primary_key.columns)
    if tx.dialect.name != "postgresql":
        return [*columns]
    return [column.collate("C") if isinstance(column.type, String) else column for column in columns]


def columns_of(table: Table) -> list[Column[Any]]:
    """Return the columns by name: a migration appends them, a new database has them elsewhere."""
    return sorted(table.columns, key=lambda column: column.name)


def named(table: Table, rows: Sequence[Any]) -> list[dict[str, Any]]:
    names = [column.name for column in columns_of(table)]
    return [dict(zip(names, row, strict=True)) for row in rows]


def add_to(digest: Any, rows: Sequence[Any]) -> None:
    for row in rows:
        digest.update(repr([plain(value) for value in row]).encode())


def plain(value: Any) -> Any:
    if isinstance(value, memoryview):
        return bytes(value)
    if isinstance(value, bool):
        return int(value)
    if isinstance(value, int | float | bytes | str | None):
        return value
    return str(value)


def verify(engine: Engine, path: Path) -> dict[str, tuple[int, str]]:
    """Read a backup from its first byte to its last; give what it says of itself."""
    try:
        with engine.connect() as tx:
            if tx.exec_driver_sql("PRAGMA integrity_check").scalar() != "ok":
                raise _damaged(path)
            facts = {row.name: (row.rows, row.digest) for row in tx.execute(select(facts_table))}
            tables = tables_of(engine, facts)
            if not _is_account(facts, tables):
                raise _no_backup(path)
            if any(digest_of(tx, table) != facts[table.name] for table in tables):
                raise _damaged(path)
    except HushpollError:
        raise
    except (DatabaseError, ValueError, TypeError):
        # Not SQLite's, or with values that are none of their columns': anybody can have written it.
        raise _no_backup(path) from None
    return facts


def _is_account(facts: dict[str, Any], tables: list[Table]) -> bool:
    """Return whether a file speaks of itself as a backup does: of our tables, of all that it has, and of its version.

    A newer version may have tables that this version does not know.
    """
    names = {table.name for table in tables}
    return (
        set(facts) == names | {"hushpoll", "schema"}
        and server_state.name in names
        and (names <= set(metadata.tables) or not knows(facts["schema"][1]))
        and all(isinstance(rows, int) and isinstance(digest, str) for rows, digest in facts.values())
    )


def _no_backup(path: Path) -> HushpollError:
    return HushpollError(f"{path}: is not a backup of hushpoll", "name a file that `hushpoll backup` wrote")


def _damaged(path: Path) -> HushpollError:
    return HushpollError(f"{path}: the backup is damaged", "take another one")


def tables_of(engine: Engine, facts: dict[str, tuple[int, str]]) -> list[Table]:
    """Return the tables of a database that a backup speaks of, those first that others refer to."""
    reflected = MetaData()
    reflected.reflect(engine, only=lambda name, _: name in facts)
    return reflected.sorted_tables


def digest_of(tx: Connection, table: Table) -> tuple[int, str]:
    digest, rows = hashlib.sha256(), 0
    for chunk in read_parts(tx, table):
        add_to(digest, chunk)
        rows += len(chunk)
    return rows, digest.hexdigest()
