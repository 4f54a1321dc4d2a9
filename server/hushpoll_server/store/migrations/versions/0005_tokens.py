"""Tokens, by which programs act for an account.

Revision ID: 0005_tokens
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0005_tokens"
down_revision = "0004_second_factor"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "tokens",
        sa.Column("id", sa.String(12), nullable=False),
        sa.Column("digest", sa.String(64), nullable=False),
        sa.Column("user_name", sa.String(64), nullable=False),
        sa.Column("label", sa.String(64), nullable=False),
        sa.Column("scopes", sa.String(64), nullable=False),
        sa.Column("created_at", sa.BigInteger, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_tokens"),
        sa.UniqueConstraint("digest", name="uq_tokens_digest"),
        sa.ForeignKeyConstraint(["user_name"], ["users.name"], name="fk_tokens_user_name"),
    )
    op.create_index("ix_tokens_user_name", "tokens", ["user_name"])


def downgrade() -> None:
    op.drop_table("tokens")
