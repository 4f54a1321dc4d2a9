"""Every test of the server runs on SQLite and on PostgreSQL unless it asks for neither."""

from tests.serving import app, backend, client, config, database_url, folder, live, postgres, store, survey

__all__ = [
    "app",
    "backend",
    "client",
    "config",
    "database_url",
    "folder",
    "live",
    "postgres",
    "store",
    "survey",
]
