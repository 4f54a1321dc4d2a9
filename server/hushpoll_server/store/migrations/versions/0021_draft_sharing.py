"""Drafts that several accounts work on, and links by which anybody can read one.

Revision ID: 0021_draft_sharing
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0021_draft_sharing"
down_revision = "0020_audit_parameters"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "draft_shares",
        sa.Column("draft", sa.String(32), nullable=False),
        sa.Column("user_name", sa.String(64), nullable=False),
        sa.Column("may_edit", sa.Boolean(), nullable=False),
        sa.PrimaryKeyConstraint("draft", "user_name", name="pk_draft_shares"),
        sa.ForeignKeyConstraint(["user_name"], ["users.name"], name="fk_draft_shares_user_name_users"),
    )
    op.create_table(
        "draft_links",
        sa.Column("id", sa.String(12), nullable=False),
        sa.Column("draft", sa.String(32), nullable=False),
        sa.Column("digest", sa.String(64), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("expires_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_draft_links"),
        sa.UniqueConstraint("digest", name="uq_draft_links_digest"),
    )
    op.create_index("ix_draft_links_draft", "draft_links", ["draft"])


def downgrade() -> None:
    op.drop_table("draft_links")
    op.drop_table("draft_shares")
