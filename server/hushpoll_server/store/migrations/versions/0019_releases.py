"""The files of the last few releases, so that nodes can be upgraded one by one.

Revision ID: 0019_releases
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0019_releases"
down_revision = "0018_identities"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "releases",
        sa.Column("name", sa.String(16), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("content", sa.LargeBinary(), nullable=False),
        sa.Column("mac", sa.String(64), nullable=False),
        sa.PrimaryKeyConstraint("name", name="pk_releases"),
        sa.UniqueConstraint("number", name="uq_releases_number"),
    )


def downgrade() -> None:
    op.drop_table("releases")
