"""Signing in at an institution, and passkeys.

Revision ID: 0018_identities
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0018_identities"
down_revision = "0017_no_counts"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "identities",
        sa.Column("issuer", sa.String(255), nullable=False),
        sa.Column("subject", sa.String(255), nullable=False),
        sa.Column("user_name", sa.String(64), nullable=False),
        sa.ForeignKeyConstraint(["user_name"], ["users.name"], name="fk_identities_user_name"),
        sa.PrimaryKeyConstraint("issuer", "subject", name="pk_identities"),
    )
    op.create_index("ix_identities_user_name", "identities", ["user_name"])
    op.create_table(
        "passkeys",
        sa.Column("id", sa.String(1400), nullable=False),
        sa.Column("user_name", sa.String(64), nullable=False),
        sa.Column("public_key", sa.LargeBinary(), nullable=False),
        sa.Column("sign_count", sa.BigInteger(), nullable=False),
        sa.Column("label", sa.String(64), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(["user_name"], ["users.name"], name="fk_passkeys_user_name"),
        sa.PrimaryKeyConstraint("id", name="pk_passkeys"),
    )
    op.create_index("ix_passkeys_user_name", "passkeys", ["user_name"])
    op.create_table(
        "passkey_challenges",
        sa.Column("digest", sa.String(64), nullable=False),
        sa.Column("user_name", sa.String(64), nullable=False),
        sa.Column("purpose", sa.String(16), nullable=False),
        sa.Column("expires_at", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(["user_name"], ["users.name"], name="fk_passkey_challenges_user_name"),
        sa.PrimaryKeyConstraint("digest", name="pk_passkey_challenges"),
    )


def downgrade() -> None:
    op.drop_table("passkey_challenges")
    op.drop_index("ix_passkeys_user_name", "passkeys")
    op.drop_table("passkeys")
    op.drop_index("ix_identities_user_name", "identities")
    op.drop_table("identities")
