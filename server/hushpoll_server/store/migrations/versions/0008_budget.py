"""Margins and locks of single questions in a draft's plan.

Revision ID: 0008_budget
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0008_budget"
down_revision = "0007_release"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("drafts", sa.Column("budget", sa.Text, nullable=False, server_default="{}"))


def downgrade() -> None:
    op.drop_column("drafts", "budget")
