"""Logos of those who ask, by their SHA-256.

Revision ID: 0014_logos
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0014_logos"
down_revision = "0013_keeping"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "logos",
        sa.Column("hash", sa.String(64), primary_key=True),
        sa.Column("type", sa.String(32), nullable=False),
        sa.Column("body", sa.LargeBinary, nullable=False),
    )


def downgrade() -> None:
    op.drop_table("logos")
