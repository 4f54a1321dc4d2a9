"""An account's e-mail address, for a link to choose a new password.

Revision ID: 0011_email
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0011_email"
down_revision = "0010_draft_versions"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("users", sa.Column("email", sa.String(254)))


def downgrade() -> None:
    op.drop_column("users", "email")
