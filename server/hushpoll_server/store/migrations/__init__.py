"""Changes of the tables, one file each, run at every start."""

from __future__ import annotations

from alembic import command
from alembic.config import Config as AlembicConfig
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from hushpoll_client import HushpollError
from sqlalchemy import Connection, text

from hushpoll_server.store.database import Database

# Any fixed number: two nodes that start together migrate one after the other.
_LOCK = 0x68757368


def upgrade(database: Database, revision: str = "head", secret: bytes | None = None) -> None:
    """Bring the tables up to date; data stay. Reports that wait unlocked are locked with the server's `secret`."""
    settings = _settings()
    with database.turn(), database.engine.begin() as connection:
        if not database.is_sqlite:
            connection.execute(text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": _LOCK})
        _refuse_newer(settings, connection)
        settings.attributes["connection"] = connection
        settings.attributes["secret"] = secret
        command.upgrade(settings, revision)


def current_revision(connection: Connection) -> str:
    """Give the version of a database's tables."""
    return MigrationContext.configure(connection).get_current_revision() or ""


def knows(revision: str) -> bool:
    """Tell whether this program knows a version of the tables."""
    return revision in _known(_settings())


def _settings() -> AlembicConfig:
    settings = AlembicConfig()
    settings.set_main_option("script_location", "hushpoll_server:store/migrations")
    return settings


def _known(settings: AlembicConfig) -> set[str]:
    return {script.revision for script in ScriptDirectory.from_config(settings).walk_revisions()}


def _refuse_newer(settings: AlembicConfig, connection: Connection) -> None:
    foreign = set(MigrationContext.configure(connection).get_current_heads()) - _known(settings)
    if foreign:
        raise HushpollError(
            f"the database was brought up to date ({', '.join(sorted(foreign))}) by a newer hushpoll than this one",
            "install that version again, or restore a backup from before the upgrade",
        )
