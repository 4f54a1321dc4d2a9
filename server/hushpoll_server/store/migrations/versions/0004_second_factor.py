"""The second factor of an account, and its recovery codes.

Revision ID: 0004_second_factor
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0004_second_factor"
down_revision = "0003_server_state"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "second_factors",
        sa.Column("user_name", sa.String(64), nullable=False),
        sa.Column("nonce", sa.String(32), nullable=False),
        sa.Column("last_step", sa.BigInteger, nullable=False),
        sa.PrimaryKeyConstraint("user_name", name="pk_second_factors"),
        sa.ForeignKeyConstraint(["user_name"], ["users.name"], name="fk_second_factors_user_name"),
    )
    op.create_table(
        "recovery_codes",
        sa.Column("user_name", sa.String(64), nullable=False),
        sa.Column("digest", sa.String(64), nullable=False),
        sa.PrimaryKeyConstraint("user_name", "digest", name="pk_recovery_codes"),
        sa.ForeignKeyConstraint(["user_name"], ["users.name"], name="fk_recovery_codes_user_name"),
    )


def downgrade() -> None:
    op.drop_table("recovery_codes")
    op.drop_table("second_factors")
