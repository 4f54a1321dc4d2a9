"""Alembic's entry: runs on the connection it is given, in that connection's transaction."""

from __future__ import annotations

from alembic import context

from hushpoll_server.store.schema import metadata

context.configure(connection=context.config.attributes["connection"], target_metadata=metadata)
context.run_migrations()
