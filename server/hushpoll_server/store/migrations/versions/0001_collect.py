"""Surveys, waiting and sealed reports, ids seen, invitations.

Revision ID: 0001_collect
"""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0001_collect"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "surveys",
        sa.Column("number", sa.Integer, nullable=False),
        sa.Column("hash", sa.String(64), nullable=False),
        sa.Column("document", sa.LargeBinary, nullable=False),
        sa.Column("title", sa.Text, nullable=False),
        sa.Column("owner", sa.String(64)),
        sa.Column("published_on", sa.Date, nullable=False),
        sa.Column("closes_on", sa.Date),
        sa.Column("closes_at", sa.Integer),
        sa.Column("closed_on", sa.Date),
        sa.Column("results_public", sa.Boolean, nullable=False, server_default=sa.false()),
        sa.Column("target_n", sa.Integer),
        sa.Column("minimum_batch", sa.Integer, nullable=False),
        sa.Column("sealed_n", sa.Integer, nullable=False, server_default="0"),
        sa.PrimaryKeyConstraint("number", name="pk_surveys"),
        sa.UniqueConstraint("hash", name="uq_surveys_hash"),
    )
    _keyed("inbox", sa.Column("id", sa.LargeBinary(16)), sa.Column("record", sa.LargeBinary, nullable=False))
    _keyed(
        "sealed", sa.Column("key", sa.LargeBinary(16)), sa.Column("record", sa.LargeBinary, nullable=False)
    )
    _keyed("seen", sa.Column("digest", sa.LargeBinary(16)))
    _keyed(
        "invitations",
        sa.Column("digest", sa.LargeBinary(32)),
        sa.Column("spent", sa.Boolean, nullable=False, server_default=sa.false()),
        sa.ForeignKeyConstraint(["survey"], ["surveys.number"], name="fk_invitations_survey"),
    )


def _keyed(name: str, key: sa.Column[bytes], *more: Any) -> None:
    """Make a table of one survey's things, without SQLite's rowid, which would keep the order of arrival."""
    op.create_table(
        name,
        sa.Column("survey", sa.Integer, nullable=False),
        key,
        *more,
        sa.PrimaryKeyConstraint("survey", key.name, name=f"pk_{name}"),
        sqlite_with_rowid=False,
    )


def downgrade() -> None:
    for name in ("invitations", "seen", "sealed", "inbox", "surveys"):
        op.drop_table(name)
