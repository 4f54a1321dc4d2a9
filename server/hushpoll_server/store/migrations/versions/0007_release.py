"""Whether public results are shown while a survey is open, and the day of its last release.

Revision ID: 0007_release
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0007_release"
down_revision = "0006_locked_inbox"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("surveys", sa.Column("results_live", sa.Boolean, nullable=False, server_default=sa.false()))
    op.add_column("surveys", sa.Column("released_on", sa.Date))


def downgrade() -> None:
    op.drop_column("surveys", "released_on")
    op.drop_column("surveys", "results_live")
