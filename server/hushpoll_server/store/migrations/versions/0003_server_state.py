"""What the server knows about itself: the fingerprint of its key, the mark of its last look at its health.

Revision ID: 0003_server_state
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0003_server_state"
down_revision = "0002_workspace"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "server_state",
        sa.Column("name", sa.String(32), nullable=False),
        sa.Column("value", sa.String(64), nullable=False),
        sa.PrimaryKeyConstraint("name", name="pk_server_state"),
    )


def downgrade() -> None:
    op.drop_table("server_state")
