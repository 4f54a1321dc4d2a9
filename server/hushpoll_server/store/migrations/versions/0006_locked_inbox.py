"""Waiting reports are locked, and spent invitations are one value per survey.

Revision ID: 0006_locked_inbox
"""

from __future__ import annotations

import hmac
from itertools import groupby
from typing import Any

import sqlalchemy as sa
from alembic import context, op
from hushpoll_client import HushpollError
from hushpoll_server.store.inbox_cipher import InboxCipher

revision = "0006_locked_inbox"
down_revision = "0005_tokens"
branch_labels = None
depends_on = None

_PART = 10_000


def upgrade() -> None:
    tx = op.get_bind()
    waiting = _locked(tx)
    codes = _places(tx)
    # Tables made anew: what PostgreSQL knows of the old rows' transactions goes with the old files.
    op.drop_table("inbox")
    op.drop_table("invitations")
    inbox = op.create_table(
        "inbox",
        sa.Column("survey", sa.Integer, nullable=False),
        sa.Column("digest", sa.LargeBinary(16), nullable=False),
        sa.Column("tag", sa.LargeBinary(16)),
        sa.Column("box", sa.LargeBinary, nullable=False),
        sa.PrimaryKeyConstraint("survey", "digest", name="pk_inbox"),
        sqlite_with_rowid=False,
    )
    given = sa.text("tag IS NOT NULL")
    op.create_index(
        "uq_inbox_tag", "inbox", ["survey", "tag"], unique=True, sqlite_where=given, postgresql_where=given
    )
    invitations = op.create_table(
        "invitations",
        sa.Column("survey", sa.Integer, nullable=False),
        sa.Column("digest", sa.LargeBinary(32), nullable=False),
        sa.Column("place", sa.Integer, nullable=False),
        sa.PrimaryKeyConstraint("survey", "digest", name="pk_invitations"),
        sa.ForeignKeyConstraint(["survey"], ["surveys.number"], name="fk_invitations_survey"),
        sqlite_with_rowid=False,
    )
    spent = op.create_table(
        "spent",
        sa.Column("survey", sa.Integer, nullable=False),
        sa.Column("bits", sa.LargeBinary, nullable=False),
        sa.PrimaryKeyConstraint("survey", name="pk_spent"),
        sa.ForeignKeyConstraint(["survey"], ["surveys.number"], name="fk_spent_survey"),
        sqlite_with_rowid=False,
    )
    _fill(inbox, waiting)
    _fill(invitations, [row for rows, _ in codes for row in rows])
    _fill(spent, [value for _, value in codes])


def _locked(tx: sa.Connection) -> list[dict[str, Any]]:
    """Lock what waits. Its invitations are spent already: the boxes name none."""
    old = tx.execute(
        sa.text(
            "SELECT inbox.survey, inbox.id, inbox.record, surveys.hash FROM inbox"
            " JOIN surveys ON surveys.number = inbox.survey"
        )
    ).all()
    if not old:
        return []
    secret = context.config.attributes.get("secret")
    if secret is None:
        raise HushpollError("the secret key is needed to lock the reports that wait", "start the server")
    waiting = InboxCipher(secret)
    rows = []
    for row in old:
        named = b"seen:" + bytes.fromhex(row.hash) + bytes(row.id)
        digest = hmac.digest(secret, named, "sha256")[:16]
        box = waiting.lock(row.survey, digest, bytes(row.record))
        rows.append({"survey": row.survey, "digest": digest, "tag": None, "box": box})
    return sorted(rows, key=lambda row: (row["survey"], row["digest"]))


def _places(tx: sa.Connection) -> list[tuple[list[dict[str, Any]], dict[str, Any]]]:
    """Give each survey's invitations their places, and the value that says which are spent."""
    query = sa.text("SELECT survey, digest, spent FROM invitations ORDER BY survey, digest")
    found = []
    for survey, group in groupby(tx.execute(query), key=lambda row: row.survey):
        old = list(group)
        bits = bytearray((len(old) + 7) // 8)
        for place, row in enumerate(old):
            bits[place >> 3] |= bool(row.spent) << (place & 7)
        rows = [{"survey": survey, "digest": row.digest, "place": place} for place, row in enumerate(old)]
        found.append((rows, {"survey": survey, "bits": bytes(bits)}))
    return found


def _fill(table: sa.Table, rows: list[dict[str, Any]]) -> None:
    for start in range(0, len(rows), _PART):
        op.bulk_insert(table, rows[start : start + _PART])


def downgrade() -> None:
    raise NotImplementedError("what waits was locked; restore a backup from before the upgrade")
