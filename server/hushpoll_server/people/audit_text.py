"""The texts of the audit log: entries hold actions and values, and these are their sentences in each language."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Mapping

from flask_babel import lazy_gettext as later

from hushpoll_server.i18n.translation import day, gettext, localize_number, ngettext, translate

from .audit_log import Entry

__all__ = ["ACTIONS", "DETAILS", "detail_text"]

ACTIONS = (
    later("account added"),
    later("account changed"),
    later("backed up"),
    later("closed"),
    later("closing planned"),
    later("deletion planned"),
    later("draft deleted"),
    later("draft handed over"),
    later("draft link made"),
    later("draft link revoked"),
    later("draft shared"),
    later("draft unshared"),
    later("e-mail address changed"),
    later("embedding"),
    later("exported"),
    later("group sizes"),
    later("institution connected"),
    later("institution disconnected"),
    later("invitations made"),
    later("invitations sent"),
    later("passkey added"),
    later("passkey removed"),
    later("password changed"),
    later("password link asked for"),
    later("published"),
    later("recovery codes renewed"),
    later("reminders sent"),
    later("reopened"),
    later("reports deleted"),
    later("restored"),
    later("results private"),
    later("results public"),
    later("second factor off"),
    later("second factor on"),
    later("shared"),
    later("sign-in failed"),
    later("sign-in slowed down"),
    later("signed in"),
    later("signed out everywhere"),
    later("token made"),
    later("token revoked"),
    later("unshared"),
)
"""Every action, as it is stored."""

# Names of roles and actors that are stored as they are.
_NAMES = (
    later("admin"),
    later("analyst"),
    later("designer"),
    later("command line"),
    later("first start"),
    later("nobody"),
)


def detail_text(entry: Entry) -> str:
    """Return the detail of an entry in the reader's language; a name, a title or an older line stays as it is."""
    if entry.values is None or entry.detail not in DETAILS:
        return entry.detail
    values = dict(entry.values)
    token = values.pop("token", None)
    text = DETAILS[entry.detail](**values)
    if token is None:
        return text
    return gettext("%(detail)s (token %(token)s)", detail=text, token=token).strip()


def _number(count: int) -> str:
    return localize_number(f"{count:,}")


def _day(iso: str) -> str:
    return day(datetime.date.fromisoformat(iso))


def _account(role: str = "", active: bool | None = None) -> str:
    parts = []
    if role:
        parts.append(translate(role))
    if active is not None:
        parts.append(gettext("unlocked") if active else gettext("locked"))
    return ", ".join(parts)


def _invitations(count: int, group: str = "") -> str:
    if group:
        return gettext("%(n)s for %(group)s", n=_number(count), group=group)
    return _number(count)


def _receipt(title: str, reports: int, invitations: int) -> str:
    return gettext(
        "“%(title)s”: %(n)s reports and %(codes)s invitations deleted, 0 reports left",
        title=title,
        n=_number(reports),
        codes=_number(invitations),
    )


DETAILS: Mapping[str, Callable[..., str]] = {
    "text": lambda text: str(text),
    "account": _account,
    "invitations": _invitations,
    "invitations for a list": lambda count: gettext("%(n)s, for a list", n=_number(count)),
    "deleted": _receipt,
    "reports": lambda count: ngettext("%(n)s report", "%(n)s reports", count, n=_number(count)),
    "letters": lambda count: ngettext("%(n)s letter", "%(n)s letters", count, n=_number(count)),
    "pause": lambda seconds: ngettext("for %(n)s second", "for %(n)s seconds", seconds, n=seconds),
    "code": lambda: gettext("with a code"),
    "passkey": lambda: gettext("with a passkey"),
    "recovery code": lambda left: gettext("with a recovery code, %(n)s left", n=left),
    "institution": lambda: gettext("at the institution"),
    "wrong code": lambda: gettext("wrong code"),
    "wrong password": lambda: gettext("wrong password"),
    "locked account": lambda: gettext("locked account"),
    "with account": lambda name: gettext("with %(name)s", name=name),
    "removed": lambda: gettext("removed"),
    "allowed": lambda: gettext("allowed"),
    "ended": lambda: gettext("ended"),
    "also while open": lambda: gettext("also while it is open"),
    "on": lambda day: gettext("on %(day)s", day=_day(day)),
    "never": lambda: gettext("never"),
    "closes after": lambda day: gettext("Closes after %(day)s.", day=_day(day)),
    "closes at": lambda count: gettext("Closes at %(n)s reports.", n=_number(count)),
    "stays open": lambda: gettext("Stays open until you close it."),
}
"""The sentence of each detail, by its key; the arguments are the values that are stored with it."""
