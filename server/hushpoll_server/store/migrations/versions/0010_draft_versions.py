"""Earlier versions of drafts, so that a change can be undone.

Revision ID: 0010_draft_versions
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0010_draft_versions"
down_revision = "0009_series"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "draft_versions",
        sa.Column("draft", sa.String(32), nullable=False),
        sa.Column("revision", sa.Integer, nullable=False, autoincrement=False),
        sa.Column("state", sa.Text, nullable=False),
        sa.PrimaryKeyConstraint("draft", "revision", name="pk_draft_versions"),
    )


def downgrade() -> None:
    op.drop_table("draft_versions")
