"""The audit log in the reader's language: it is written in English, whoever acts, and said again when it is read."""

from __future__ import annotations

import datetime
import re
from collections.abc import Callable

from flask_babel import lazy_gettext as later

from hushpoll_server.spoken import day, gettext, in_digits, in_words, ngettext

__all__ = ["ACTIONS", "told_detail"]

ACTIONS = (
    later("account added"),
    later("account changed"),
    later("backed up"),
    later("closed"),
    later("closing planned"),
    later("deletion planned"),
    later("draft deleted"),
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
"""Everything that is written down, as it is written down."""

_WORDS = (
    later("admin"),
    later("allowed"),
    later("also while it is open"),
    later("at the institution"),
    later("analyst"),
    later("designer"),
    later("ended"),
    later("first start"),
    later("locked"),
    later("locked account"),
    later("nobody"),
    later("removed"),
    later("unlocked"),
    later("never"),
    later("command line"),
    later("Stays open until you close it."),
    later("wrong code"),
    later("wrong password"),
)


def told_detail(detail: str) -> str:
    """Return the detail of an entry; what is a name, a title or a number stays."""
    found = _TOKEN.fullmatch(detail)
    if found:
        return gettext("%(detail)s (token %(token)s)", detail=told_detail(found[1]), token=found[2]).strip()
    for pattern, tell in _PATTERNS.items():
        found = re.fullmatch(pattern, detail)
        if found:
            return tell(*found.groups())
    return ", ".join(map(in_words, detail.split(", "))) if detail in _LISTED else in_words(detail)


def _number(text: str) -> int:
    return int(text.replace(",", ""))


def _day(text: str, form: str) -> str:
    """Write a day that was written down in that form; what is none stays."""
    try:
        return day(datetime.datetime.strptime(text, form).date())
    except ValueError:
        return text


_LISTED = {
    f"{role}, {state}" for role in ("designer", "analyst", "admin") for state in ("locked", "unlocked")
}
_TOKEN = re.compile(r"(.*?) ?\(token (.*)\)")
# A number as it is written down; what a designer called something may look like one.
_N = r"(\d{1,3}(?:,\d{3}){1,5}|\d{1,18})"
# Sentences with numbers and names in them, by what they look like.
_PATTERNS: dict[str, Callable[..., str]] = {
    rf"{_N} reports": lambda n: ngettext("%(n)s report", "%(n)s reports", _number(n), n=in_digits(n)),
    rf"{_N} letters": lambda n: ngettext("%(n)s letter", "%(n)s letters", _number(n), n=in_digits(n)),
    rf"for {_N} seconds": lambda n: ngettext("for %(n)s second", "for %(n)s seconds", _number(n), n=n),
    rf"{_N}, for a list": lambda n: gettext("%(n)s, for a list", n=n),
    rf"{_N} for (.+)": lambda n, group: gettext("%(n)s for %(group)s", n=n, group=group),
    r"with a code": lambda: gettext("with a code"),
    r"with a passkey": lambda: gettext("with a passkey"),
    r"with a recovery code, (\d+) left": lambda n: gettext("with a recovery code, %(n)s left", n=n),
    r"with (.+)": lambda name: gettext("with %(name)s", name=name),
    r"on (\d{4}-\d\d-\d\d)": lambda day: gettext("on %(day)s", day=_day(day, "%Y-%m-%d")),
    r"Closes after (.+)\.": lambda day: gettext("Closes after %(day)s.", day=_day(day, "%d %B %Y")),
    rf"Closes at {_N} reports\.": lambda n: gettext("Closes at %(n)s reports.", n=in_digits(n)),
    rf"“(.*)”: {_N} reports and {_N} invitations deleted, 0 reports left": lambda title, n, codes: gettext(
        "“%(title)s”: %(n)s reports and %(codes)s invitations deleted, 0 reports left",
        title=title,
        n=in_digits(n),
        codes=in_digits(codes),
    ),
}
