"""Changes of the tables, one file each, named as its revision; a start runs those that are missing.

Alembic is loaded only where there is something to do: nearly every start finds its tables up to date.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from hushpoll_client import HushpollError
from sqlalchemy import Connection, inspect, text

from hushpoll_server.store.database import BUSY_SECONDS, Database

if TYPE_CHECKING:
    from alembic.config import Config as AlembicConfig

# Any fixed number: two nodes that start together migrate one after the other.
_LOCK = 0x68757368


def upgrade(database: Database, revision: str = "head") -> None:
    """Bring the tables up to date; data stay."""
    with database.read() as connection:
        if revision == "head" and current_revision(connection) == newest():
            return
    from alembic import command

    settings = _settings()
    with database.turn(), database.engine.begin() as connection:
        if not database.is_sqlite:
            # However long another node takes: it has begun what this one would begin again.
            connection.execute(text("SET LOCAL lock_timeout = 0"))
            connection.execute(text("SET LOCAL statement_timeout = 0"))
            connection.execute(text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": _LOCK})
            connection.execute(text(f"SET LOCAL lock_timeout = '{BUSY_SECONDS}s'"))
        database.allow_pauses(connection)
        _refuse_newer(settings, connection)
        settings.attributes["connection"] = connection
        command.upgrade(settings, revision)


def newest() -> str:
    """Return the version of the tables that this program uses."""
    return max(path.stem for path in (Path(__file__).parent / "versions").glob("[0-9]*.py"))


def current_revision(connection: Connection) -> str:
    """Return the version of a database's tables; empty where it has none."""
    if not inspect(connection).has_table("alembic_version"):
        return ""
    return ", ".join(connection.execute(text("SELECT version_num FROM alembic_version")).scalars())


def knows(revision: str) -> bool:
    """Return whether this program knows a version of the tables."""
    return revision in _known(_settings())


def _settings() -> AlembicConfig:
    from alembic.config import Config as AlembicConfig

    settings = AlembicConfig()
    settings.set_main_option("script_location", "hushpoll_server:store/migrations")
    return settings


def _known(settings: AlembicConfig) -> set[str]:
    from alembic.script import ScriptDirectory

    return {script.revision for script in ScriptDirectory.from_config(settings).walk_revisions()}


def _refuse_newer(settings: AlembicConfig, connection: Connection) -> None:
    from alembic.migration import MigrationContext

    foreign = set(MigrationContext.configure(connection).get_current_heads()) - _known(settings)
    if foreign:
        raise HushpollError(
            f"the database was brought up to date ({', '.join(sorted(foreign))}) by a newer hushpoll than this one",
            "install that version again, or restore a backup from before the upgrade",
        )
