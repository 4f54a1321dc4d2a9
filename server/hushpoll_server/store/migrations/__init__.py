"""Changes of the tables, one file each, run at every start."""

from __future__ import annotations

from alembic import command
from alembic.config import Config as AlembicConfig
from sqlalchemy import text

from hushpoll_server.store.database import Database

# Any fixed number: two nodes that start together migrate one after the other.
_LOCK = 0x68757368


def upgrade(database: Database, revision: str = "head") -> None:
    """Bring the tables up to date; data stay."""
    settings = AlembicConfig()
    settings.set_main_option("script_location", "hushpoll_server:store/migrations")
    with database.turn(), database.engine.begin() as connection:
        if not database.is_sqlite:
            connection.execute(text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": _LOCK})
        settings.attributes["connection"] = connection
        command.upgrade(settings, revision)
