"""Values of the audit log's details beside their sentences' keys, instead of English sentences.

Revision ID: 0020_audit_parameters
"""

from __future__ import annotations

import datetime
import json
import re
from collections.abc import Callable
from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0020_audit_parameters"
down_revision = "0019_releases"
branch_labels = None
depends_on = None

Converted = tuple[str, dict[str, Any]]

_entries = sa.table(
    "audit_log",
    sa.column("id", sa.Integer),
    sa.column("action", sa.String),
    sa.column("detail", sa.Text),
    sa.column("parameters", sa.Text),
)


def upgrade() -> None:
    op.add_column("audit_log", sa.Column("parameters", sa.Text(), nullable=False, server_default=""))
    connection = op.get_bind()
    for row in connection.execute(sa.select(_entries).where(_entries.c.detail != "")).all():
        converted = converted_detail(row.action, row.detail)
        if converted is not None:
            key, values = converted
            parameters = json.dumps(values, ensure_ascii=False)
            change = sa.update(_entries).where(_entries.c.id == row.id)
            connection.execute(change.values(detail=key, parameters=parameters))


def downgrade() -> None:
    op.drop_column("audit_log", "parameters")


def converted_detail(action: str, detail: str) -> Converted | None:
    """Return the key and values of an English detail of before; None for a name, a title or an unknown sentence."""
    match = re.fullmatch(r"(.*?) ?\(token (.*)\)", detail, re.DOTALL)
    if match is None:
        return _without_token(action, detail)
    key, values = _without_token(action, match[1]) or ("text", {"text": match[1]})
    return key, {**values, "token": match[2]}


def _without_token(action: str, detail: str) -> Converted | None:
    for actions, pattern, convert in _SENTENCES:
        match = re.fullmatch(pattern, detail)
        if action in actions and match is not None:
            try:
                return convert(*match.groups())
            except ValueError:  # no day of the calendar
                return None
    return None


def _number(text: str) -> int:
    return int(text.replace(",", ""))


def _account(role: str | None, state: str | None) -> Converted:
    values: dict[str, Any] = {}
    if role:
        values["role"] = role
    if state:
        values["active"] = state == "unlocked"
    return "account", values


def _closes_after(day: str) -> Converted:
    return "closes after", {"day": datetime.datetime.strptime(day, "%d %B %Y").date().isoformat()}


_N = r"(\d{1,3}(?:,\d{3}){1,5}|\d{1,18})"
_FIXED = {
    "signed in": {
        "with a code": "code",
        "with a passkey": "passkey",
        "at the institution": "institution",
    },
    "sign-in failed": {name: name for name in ("wrong code", "wrong password", "locked account")},
    "e-mail address changed": {"removed": "removed"},
    "embedding": {"allowed": "allowed", "ended": "ended"},
    "results public": {"also while it is open": "also while open"},
    "deletion planned": {"never": "never"},
    "closing planned": {"Stays open until you close it.": "stays open"},
}
_SENTENCES: list[tuple[tuple[str, ...], str, Callable[..., Converted]]] = [
    *(
        ((action,), re.escape(text), lambda key=key: (key, {}))
        for action, texts in _FIXED.items()
        for text, key in texts.items()
    ),
    (
        ("account added", "account changed"),
        r"(designer|analyst|admin)?(?:, )?(locked|unlocked)?",
        _account,
    ),
    (("exported",), rf"{_N} reports", lambda count: ("reports", {"count": _number(count)})),
    (
        ("invitations sent", "reminders sent"),
        rf"{_N} letters",
        lambda count: ("letters", {"count": _number(count)}),
    ),
    (("sign-in slowed down",), rf"for {_N} seconds", lambda count: ("pause", {"seconds": _number(count)})),
    (("invitations made",), _N, lambda count: ("invitations", {"count": _number(count)})),
    (
        ("invitations made",),
        rf"{_N}, for a list",
        lambda count: ("invitations for a list", {"count": _number(count)}),
    ),
    (
        ("invitations made",),
        rf"{_N} for (.+)",
        lambda count, group: ("invitations", {"count": _number(count), "group": group}),
    ),
    (
        ("signed in",),
        r"with a recovery code, (\d+) left",
        lambda left: ("recovery code", {"left": int(left)}),
    ),
    (("shared", "unshared"), r"with (.+)", lambda name: ("with account", {"name": name})),
    (("deletion planned",), r"on (\d{4}-\d\d-\d\d)", lambda day: ("on", {"day": day})),
    (("closing planned",), r"Closes after (.+)\.", _closes_after),
    (
        ("closing planned",),
        rf"Closes at {_N} reports\.",
        lambda count: ("closes at", {"count": _number(count)}),
    ),
    (
        ("reports deleted",),
        rf"“(.*)”: {_N} reports and {_N} invitations deleted, 0 reports left",
        lambda title, reports, invitations: (
            "deleted",
            {"title": title, "reports": _number(reports), "invitations": _number(invitations)},
        ),
    ),
]
