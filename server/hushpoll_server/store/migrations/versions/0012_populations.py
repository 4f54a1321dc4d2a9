"""How many people there are in each group of a survey, where somebody said so.

Revision ID: 0012_populations
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0012_populations"
down_revision = "0011_email"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("surveys", sa.Column("populations", sa.Text))


def downgrade() -> None:
    op.drop_column("surveys", "populations")
