"""The initial schema.

Earlier databases were brought here step by step; they carry this revision already, and nothing is run for them.

Revision ID: 0017_no_counts
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0017_no_counts"
down_revision = None
branch_labels = None
depends_on = None

# What people sent, and counts of it: PostgreSQL's planner keeps no statistics of these columns, because they would
# outlive the rows.
_NO_STATISTICS = {
    "inbox": ("digest", "tag", "box"),
    "sealed": ("key", "record"),
    "seen": ("digest",),
    "invitations": ("digest", "place"),
    "spent": ("bits",),
    "counts": ("cells",),
}


def upgrade() -> None:
    op.create_table(
        "archived",
        sa.Column("subject", sa.String(64), nullable=False),
        sa.PrimaryKeyConstraint("subject", name="pk_archived"),
    )
    op.create_table(
        "audit_log",
        sa.Column("id", sa.Integer, autoincrement=True, nullable=False),
        sa.Column("at", sa.BigInteger, nullable=False),
        sa.Column("actor", sa.String(64), nullable=False),
        sa.Column("action", sa.String(32), nullable=False),
        sa.Column("subject", sa.Text, nullable=False),
        sa.Column("detail", sa.Text, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_audit_log"),
    )
    op.create_table(
        "counts",
        sa.Column("survey", sa.Integer, autoincrement=False, nullable=False),
        sa.Column("grp", sa.Integer, autoincrement=False, nullable=False),
        sa.Column("by", sa.String(64), nullable=False),
        sa.Column("part", sa.String(64), nullable=False),
        sa.Column("cells", sa.LargeBinary, nullable=False),
        sa.PrimaryKeyConstraint("survey", "grp", "by", "part", name="pk_counts"),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "draft_versions",
        sa.Column("draft", sa.String(32), nullable=False),
        sa.Column("revision", sa.Integer, autoincrement=False, nullable=False),
        sa.Column("state", sa.Text, nullable=False),
        sa.PrimaryKeyConstraint("draft", "revision", name="pk_draft_versions"),
    )
    op.create_table(
        "inbox",
        sa.Column("survey", sa.Integer, autoincrement=False, nullable=False),
        sa.Column("digest", sa.LargeBinary(16), nullable=False),
        sa.Column("tag", sa.LargeBinary(16)),
        sa.Column("box", sa.LargeBinary, nullable=False),
        sa.PrimaryKeyConstraint("survey", "digest", name="pk_inbox"),
        sqlite_with_rowid=False,
    )
    op.create_index(
        "uq_inbox_tag",
        "inbox",
        ["survey", "tag"],
        unique=True,
        sqlite_where=sa.text("tag IS NOT NULL"),
        postgresql_where=sa.text("tag IS NOT NULL"),
    )
    op.create_table(
        "keeping",
        sa.Column("hash", sa.String(64), nullable=False),
        sa.Column("embeddable", sa.Boolean, server_default=sa.false(), nullable=False),
        sa.Column("delete_on", sa.Date),
        sa.Column("deleted_on", sa.Date),
        sa.PrimaryKeyConstraint("hash", name="pk_keeping"),
    )
    op.create_table(
        "logos",
        sa.Column("hash", sa.String(64), nullable=False),
        sa.Column("type", sa.String(32), nullable=False),
        sa.Column("body", sa.LargeBinary, nullable=False),
        sa.PrimaryKeyConstraint("hash", name="pk_logos"),
    )
    op.create_table(
        "mailings",
        sa.Column("hash", sa.String(64), nullable=False),
        sa.Column("box", sa.LargeBinary, nullable=False),
        sa.Column("busy_until", sa.BigInteger, server_default="0", nullable=False),
        sa.PrimaryKeyConstraint("hash", name="pk_mailings"),
    )
    op.create_table(
        "opens",
        sa.Column("hash", sa.String(64), nullable=False),
        sa.Column("day", sa.String(10), nullable=False),
        sa.Column("opened", sa.Integer, nullable=False),
        sa.PrimaryKeyConstraint("hash", "day", name="pk_opens"),
    )
    op.create_table(
        "sealed",
        sa.Column("survey", sa.Integer, autoincrement=False, nullable=False),
        sa.Column("key", sa.LargeBinary(16), nullable=False),
        sa.Column("record", sa.LargeBinary, nullable=False),
        sa.PrimaryKeyConstraint("survey", "key", name="pk_sealed"),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "seen",
        sa.Column("survey", sa.Integer, autoincrement=False, nullable=False),
        sa.Column("digest", sa.LargeBinary(16), nullable=False),
        sa.PrimaryKeyConstraint("survey", "digest", name="pk_seen"),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "server_state",
        sa.Column("name", sa.String(32), nullable=False),
        sa.Column("value", sa.String(64), nullable=False),
        sa.PrimaryKeyConstraint("name", name="pk_server_state"),
    )
    op.create_table(
        "sign_in_failures",
        sa.Column("name_hash", sa.String(64), nullable=False),
        sa.Column("failures", sa.Integer, nullable=False),
        sa.Column("blocked_until", sa.BigInteger, nullable=False),
        sa.PrimaryKeyConstraint("name_hash", name="pk_sign_in_failures"),
    )
    op.create_table(
        "surveys",
        sa.Column("number", sa.Integer, nullable=False),
        sa.Column("hash", sa.String(64), nullable=False),
        sa.Column("document", sa.LargeBinary, nullable=False),
        sa.Column("title", sa.Text, nullable=False),
        sa.Column("owner", sa.String(64)),
        sa.Column("published_on", sa.Date, nullable=False),
        sa.Column("closes_on", sa.Date),
        sa.Column("closes_at", sa.Integer),
        sa.Column("closed_on", sa.Date),
        sa.Column("results_public", sa.Boolean, server_default=sa.false(), nullable=False),
        sa.Column("results_live", sa.Boolean, server_default=sa.false(), nullable=False),
        sa.Column("released_on", sa.Date),
        sa.Column("target_n", sa.Integer),
        sa.Column("minimum_batch", sa.Integer, nullable=False),
        sa.Column("sealed_n", sa.Integer, server_default="0", nullable=False),
        sa.Column("previous", sa.String(64)),
        sa.Column("populations", sa.Text),
        sa.PrimaryKeyConstraint("number", name="pk_surveys"),
        sa.UniqueConstraint("hash", name="uq_surveys_hash"),
    )
    op.create_index("ix_surveys_previous", "surveys", ["previous"], unique=False)
    op.create_table(
        "users",
        sa.Column("name", sa.String(64), nullable=False),
        sa.Column("role", sa.String(16), nullable=False),
        sa.Column("password_hash", sa.Text, nullable=False),
        sa.Column("created_at", sa.BigInteger, nullable=False),
        sa.Column("active", sa.Boolean, server_default=sa.true(), nullable=False),
        sa.Column("email", sa.String(254)),
        sa.PrimaryKeyConstraint("name", name="pk_users"),
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
        sa.Column("budget", sa.Text, server_default="{}", nullable=False),
        sa.ForeignKeyConstraint(["owner"], ["users.name"], name="fk_drafts_owner"),
        sa.PrimaryKeyConstraint("id", name="pk_drafts"),
    )
    op.create_index("ix_drafts_owner", "drafts", ["owner"], unique=False)
    op.create_table(
        "invitations",
        sa.Column("survey", sa.Integer, nullable=False),
        sa.Column("digest", sa.LargeBinary(32), nullable=False),
        sa.Column("place", sa.Integer, nullable=False),
        sa.ForeignKeyConstraint(["survey"], ["surveys.number"], name="fk_invitations_survey"),
        sa.PrimaryKeyConstraint("survey", "digest", name="pk_invitations"),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "recovery_codes",
        sa.Column("user_name", sa.String(64), nullable=False),
        sa.Column("digest", sa.String(64), nullable=False),
        sa.ForeignKeyConstraint(["user_name"], ["users.name"], name="fk_recovery_codes_user_name"),
        sa.PrimaryKeyConstraint("user_name", "digest", name="pk_recovery_codes"),
    )
    op.create_table(
        "second_factors",
        sa.Column("user_name", sa.String(64), nullable=False),
        sa.Column("nonce", sa.String(32), nullable=False),
        sa.Column("last_step", sa.BigInteger, nullable=False),
        sa.ForeignKeyConstraint(["user_name"], ["users.name"], name="fk_second_factors_user_name"),
        sa.PrimaryKeyConstraint("user_name", name="pk_second_factors"),
    )
    op.create_table(
        "sessions",
        sa.Column("token_hash", sa.String(64), nullable=False),
        sa.Column("user_name", sa.String(64), nullable=False),
        sa.Column("created_at", sa.BigInteger, nullable=False),
        sa.Column("expires_at", sa.BigInteger, nullable=False),
        sa.ForeignKeyConstraint(["user_name"], ["users.name"], name="fk_sessions_user_name"),
        sa.PrimaryKeyConstraint("token_hash", name="pk_sessions"),
    )
    op.create_index("ix_sessions_user_name", "sessions", ["user_name"], unique=False)
    op.create_table(
        "shares",
        sa.Column("hash", sa.String(64), nullable=False),
        sa.Column("user_name", sa.String(64), nullable=False),
        sa.ForeignKeyConstraint(["user_name"], ["users.name"], name="fk_shares_user_name"),
        sa.PrimaryKeyConstraint("hash", "user_name", name="pk_shares"),
    )
    op.create_table(
        "spent",
        sa.Column("survey", sa.Integer, nullable=False),
        sa.Column("bits", sa.LargeBinary, nullable=False),
        sa.ForeignKeyConstraint(["survey"], ["surveys.number"], name="fk_spent_survey"),
        sa.PrimaryKeyConstraint("survey", name="pk_spent"),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "tokens",
        sa.Column("id", sa.String(12), nullable=False),
        sa.Column("digest", sa.String(64), nullable=False),
        sa.Column("user_name", sa.String(64), nullable=False),
        sa.Column("label", sa.String(64), nullable=False),
        sa.Column("scopes", sa.String(64), nullable=False),
        sa.Column("created_at", sa.BigInteger, nullable=False),
        sa.ForeignKeyConstraint(["user_name"], ["users.name"], name="fk_tokens_user_name"),
        sa.PrimaryKeyConstraint("id", name="pk_tokens"),
        sa.UniqueConstraint("digest", name="uq_tokens_digest"),
    )
    op.create_index("ix_tokens_user_name", "tokens", ["user_name"], unique=False)
    if op.get_bind().dialect.name == "postgresql":
        for table, columns in _NO_STATISTICS.items():
            for column in columns:
                op.execute(f"ALTER TABLE {table} ALTER COLUMN {column} SET STATISTICS 0")
