"""Archived drafts and surveys, embedding and retention, and to whom invitations went.

Revision ID: 0013_keeping
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0013_keeping"
down_revision = "0012_populations"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "archived",
        sa.Column("subject", sa.String(64), nullable=False),
        sa.PrimaryKeyConstraint("subject", name="pk_archived"),
    )
    op.create_table(
        "keeping",
        sa.Column("hash", sa.String(64), nullable=False),
        sa.Column("embeddable", sa.Boolean, nullable=False, server_default=sa.false()),
        sa.Column("delete_on", sa.Date),
        sa.Column("deleted_on", sa.Date),
        sa.PrimaryKeyConstraint("hash", name="pk_keeping"),
    )
    op.create_table(
        "mailings",
        sa.Column("hash", sa.String(64), nullable=False),
        sa.Column("box", sa.LargeBinary, nullable=False),
        sa.Column("busy_until", sa.BigInteger, nullable=False, server_default="0"),
        sa.PrimaryKeyConstraint("hash", name="pk_mailings"),
    )


def downgrade() -> None:
    for table in ("mailings", "keeping", "archived"):
        op.drop_table(table)
