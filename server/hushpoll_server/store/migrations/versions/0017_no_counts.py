"""PostgreSQL's planner keeps no counts either: those of an earlier release beside today's tell what came in between.

Revision ID: 0017_no_counts
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0017_no_counts"
down_revision = "0016_no_statistics"
branch_labels = None
depends_on = None


def upgrade() -> None:
    tx = op.get_bind()
    if tx.dialect.name == "postgresql":
        # To the same kind: that removes what was kept of it, which only a superuser could do otherwise.
        tx.execute(sa.text("ALTER TABLE counts ALTER COLUMN cells TYPE BYTEA"))
        tx.execute(sa.text("ALTER TABLE counts ALTER COLUMN cells SET STATISTICS 0"))


def downgrade() -> None:
    tx = op.get_bind()
    if tx.dialect.name == "postgresql":
        tx.execute(sa.text("ALTER TABLE counts ALTER COLUMN cells SET STATISTICS -1"))
