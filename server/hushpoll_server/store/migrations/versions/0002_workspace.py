"""Accounts, sessions, drafts, shares, opens by day, the audit log.

Revision ID: 0002_workspace
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0002_workspace"
down_revision = "0001_collect"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "users",
        sa.Column("name", sa.String(64), nullable=False),
        sa.Column("role", sa.String(16), nullable=False),
        sa.Column("password_hash", sa.Text, nullable=False),
        sa.Column("created_at", sa.BigInteger, nullable=False),
        sa.Column("active", sa.Boolean, nullable=False, server_default=sa.true()),
        sa.PrimaryKeyConstraint("name", name="pk_users"),
    )
    op.create_table(
        "sessions",
        sa.Column("token_hash", sa.String(64), nullable=False),
        sa.Column("user_name", sa.String(64), nullable=False),
        sa.Column("created_at", sa.BigInteger, nullable=False),
        sa.Column("expires_at", sa.BigInteger, nullable=False),
        sa.PrimaryKeyConstraint("token_hash", name="pk_sessions"),
        sa.ForeignKeyConstraint(["user_name"], ["users.name"], name="fk_sessions_user_name"),
    )
    op.create_index("ix_sessions_user_name", "sessions", ["user_name"])
    op.create_table(
        "sign_in_failures",
        sa.Column("name_hash", sa.String(64), nullable=False),
        sa.Column("failures", sa.Integer, nullable=False),
        sa.Column("blocked_until", sa.BigInteger, nullable=False),
        sa.PrimaryKeyConstraint("name_hash", name="pk_sign_in_failures"),
    )
    op.create_table(
        "drafts",
        sa.Column("id", sa.String(32), nullable=False),
        sa.Column("owner", sa.String(64), nullable=False),
        sa.Column("title", sa.Text, nullable=False),
        sa.Column("document", sa.Text, nullable=False),
        sa.Column("revision", sa.Integer, nullable=False),
        sa.Column("expected_n", sa.Integer, nullable=False),
        sa.Column("margin", sa.Float, nullable=False),
        sa.Column("epsilon", sa.String(32), nullable=False),
        sa.Column("linked", sa.Text, nullable=False),
        sa.Column("updated_at", sa.BigInteger, nullable=False),
        sa.Column("published_hash", sa.String(64)),
        sa.PrimaryKeyConstraint("id", name="pk_drafts"),
        sa.ForeignKeyConstraint(["owner"], ["users.name"], name="fk_drafts_owner"),
    )
    op.create_index("ix_drafts_owner", "drafts", ["owner"])
    op.create_table(
        "shares",
        sa.Column("hash", sa.String(64), nullable=False),
        sa.Column("user_name", sa.String(64), nullable=False),
        sa.PrimaryKeyConstraint("hash", "user_name", name="pk_shares"),
        sa.ForeignKeyConstraint(["user_name"], ["users.name"], name="fk_shares_user_name"),
    )
    op.create_table(
        "opens",
        sa.Column("hash", sa.String(64), nullable=False),
        sa.Column("day", sa.String(10), nullable=False),
        sa.Column("opened", sa.Integer, nullable=False),
        sa.PrimaryKeyConstraint("hash", "day", name="pk_opens"),
    )
    op.create_table(
        "audit_log",
        sa.Column("id", sa.Integer, nullable=False),
        sa.Column("at", sa.BigInteger, nullable=False),
        sa.Column("actor", sa.String(64), nullable=False),
        sa.Column("action", sa.String(32), nullable=False),
        sa.Column("subject", sa.Text, nullable=False),
        sa.Column("detail", sa.Text, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_audit_log"),
    )


def downgrade() -> None:
    for name in ("audit_log", "opens", "shares", "drafts", "sign_in_failures", "sessions", "users"):
        op.drop_table(name)
