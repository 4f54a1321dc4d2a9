"""Counts of sealed reports, made once from what is sealed already.

Revision ID: 0015_counts
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op
from hushpoll_client import Survey
from hushpoll_server.store.counts import Recount, keep_pairs, sealed_parts, write_counts

revision = "0015_counts"
down_revision = "0014_logos"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "counts",
        sa.Column("survey", sa.Integer, nullable=False),
        sa.Column("grp", sa.Integer, nullable=False),
        sa.Column("by", sa.String(64), nullable=False),
        sa.Column("part", sa.String(64), nullable=False),
        sa.Column("cells", sa.LargeBinary, nullable=False),
        sa.PrimaryKeyConstraint("survey", "grp", "by", "part", name="pk_counts"),
        sqlite_with_rowid=False,
    )
    tx = op.get_bind()
    listed = sa.text("SELECT number, document FROM surveys WHERE sealed_n > 0 ORDER BY number")
    for row in tx.execute(listed).all():
        survey = Survey.from_published(bytes(row.document), cap="80")
        pairs = [] if survey.anchor is None else keep_pairs(survey, survey.anchor.question)
        made = Recount(survey, pairs)
        for part in sealed_parts(tx, row.number):
            made.add(part)
        write_counts(tx, row.number, made.cells)


def downgrade() -> None:
    op.drop_table("counts")
