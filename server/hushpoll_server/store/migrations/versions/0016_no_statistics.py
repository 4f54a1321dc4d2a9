"""PostgreSQL's planner keeps no values of what people sent: its statistics outlive the rows.

Revision ID: 0016_no_statistics
"""

from __future__ import annotations

from collections.abc import Iterator

import sqlalchemy as sa
from alembic import op

revision = "0016_no_statistics"
down_revision = "0015_counts"
branch_labels = None
depends_on = None

# Reports, and what belongs to one of them.
TABLES = ("inbox", "sealed", "seen", "invitations", "spent")


def _columns(tx: sa.Connection) -> Iterator[tuple[str, str, str]]:
    if tx.dialect.name != "postgresql":
        return
    for table in TABLES:
        for column in sa.inspect(tx).get_columns(table):
            if column["name"] != "survey":
                yield table, column["name"], column["type"].compile(tx.dialect)


def upgrade() -> None:
    tx = op.get_bind()
    for table, name, kind in list(_columns(tx)):
        # To the same kind: that removes what was kept of it, which only a superuser could do otherwise.
        tx.execute(sa.text(f'ALTER TABLE {table} ALTER COLUMN "{name}" TYPE {kind}'))
        tx.execute(sa.text(f'ALTER TABLE {table} ALTER COLUMN "{name}" SET STATISTICS 0'))


def downgrade() -> None:
    tx = op.get_bind()
    for table, name, _ in list(_columns(tx)):
        tx.execute(sa.text(f'ALTER TABLE {table} ALTER COLUMN "{name}" SET STATISTICS -1'))
