"""The wave before a survey, so that the next one can be found.

Revision ID: 0009_series
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0009_series"
down_revision = "0008_budget"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("surveys", sa.Column("previous", sa.String(64)))
    op.create_index("ix_surveys_previous", "surveys", ["previous"])


def downgrade() -> None:
    op.drop_index("ix_surveys_previous", "surveys")
    op.drop_column("surveys", "previous")
