"""Whether a survey was opened again: its results then show what the reports after that say together.

Revision ID: 0022_reopened
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0022_reopened"
down_revision = "0021_draft_sharing"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("surveys", sa.Column("reopened", sa.Boolean(), nullable=False, server_default=sa.false()))


def downgrade() -> None:
    op.drop_column("surveys", "reopened")
