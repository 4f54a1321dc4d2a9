"""The audit log: entries with values, their sentences, and the English lines of before."""

from __future__ import annotations

from typing import Any

import pytest
from flask import Flask
from flask_babel import force_locale
from hushpoll_server.config import Config
from hushpoll_server.i18n import translation
from hushpoll_server.people import audit_log
from hushpoll_server.people.audit_log import Detail, audit_entries
from hushpoll_server.people.audit_text import DETAILS, detail_text
from hushpoll_server.store.migrations import upgrade
from hushpoll_server.store.surveys import Store, open_store
from sqlalchemy import text

OLD_LINES = [
    ("exported", "1,200 reports", "1,200 reports", "1.200 Meldungen"),
    ("reminders sent", "1 letters", "1 letter", "1 Brief"),
    ("sign-in slowed down", "for 2 seconds", "for 2 seconds", "für 2 Sekunden"),
    ("invitations made", "40", "40", "40"),
    ("invitations made", "40 for Arts", "40 for Arts", "40 für Arts"),
    ("invitations made", "40, for a list", "40, for a list", "40, für eine Liste"),
    ("signed in", "with a code", "with a code", "mit einem Code"),
    (
        "signed in",
        "with a recovery code, 7 left",
        "with a recovery code, 7 left",
        "mit einem Wiederherstellungscode, 7 übrig",
    ),
    ("shared", "with ada", "with ada", "mit ada"),
    ("deletion planned", "on 2030-01-31", "on 31 January 2030", "am 31. Januar 2030"),
    ("closing planned", "Closes after 31 January 2030.", "Closes after 31 January 2030.", None),
    (
        "closing planned",
        "Closes at 1,200 reports.",
        "Closes at 1,200 reports.",
        "Schließt bei 1.200 Meldungen.",
    ),
    ("account changed", "analyst, locked", "analyst, locked", None),
    ("account changed", "unlocked", "unlocked", None),
    ("exported", "60 reports (token weekly)", "60 reports (token weekly)", "60 Meldungen (Token weekly)"),
    ("published", "Title (token weekly)", "Title (token weekly)", "Title (Token weekly)"),
    (
        "reports deleted",
        "“On, reports”: 60 reports and 1,000 invitations deleted, 0 reports left",
        "“On, reports”: 60 reports and 1,000 invitations deleted, 0 reports left",
        None,
    ),
    ("closing planned", "Closes after 31 February 2030.", "Closes after 31 February 2030.", None),
    ("draft deleted", "12 reports", "12 reports", "12 reports"),
    ("published", "never", "never", "never"),
]


@pytest.fixture
def backend() -> str:
    """One database is enough: the values are JSON in a text."""
    return "sqlite"


@pytest.fixture
def translator() -> Flask:
    """An application that does nothing but translate."""
    app = Flask("hushpoll_server")
    translation.init_app(app)
    return app


def texts(translator: Flask, store: Store, language: str) -> list[str]:
    """The details from the oldest to the newest entry."""
    with translator.test_request_context("/"), force_locale(language):
        return [detail_text(entry) for entry in reversed(audit_entries(store))]


def test_lines_of_before_stay_readable_and_are_translated(config: Config, translator: Flask) -> None:
    before = Store(config)
    upgrade(before.database, "0019_releases")
    with before.write() as tx:
        for action, detail, _, _ in OLD_LINES:
            tx.execute(
                text(
                    "INSERT INTO audit_log (at, actor, action, subject, detail)"
                    " VALUES (1, 'ada', :action, 'x', :detail)"
                ),
                {"action": action, "detail": detail},
            )
    before.close()
    store = open_store(config)
    assert texts(translator, store, "en") == [english for _, _, english, _ in OLD_LINES]
    for text_, (_, detail, _, german) in zip(texts(translator, store, "de"), OLD_LINES, strict=True):
        assert german is None or text_ == german, detail
    store.close()


EXAMPLES: list[tuple[Detail, str]] = [
    (Detail("text", text="a title"), "a title"),
    (Detail("account", role="designer"), "designer"),
    (Detail("account", role="admin", active=False), "admin, locked"),
    (Detail("account", active=True), "unlocked"),
    (Detail("invitations", count=1200), "1,200"),
    (Detail("invitations", count=5, group="Arts"), "5 for Arts"),
    (Detail("invitations for a list", count=5), "5, for a list"),
    (
        Detail("deleted", title="T", reports=60, invitations=0),
        "“T”: 60 reports and 0 invitations deleted, 0 reports left",
    ),
    (Detail("reports", count=1), "1 report"),
    (Detail("letters", count=2), "2 letters"),
    (Detail("pause", seconds=4), "for 4 seconds"),
    (Detail("code"), "with a code"),
    (Detail("passkey"), "with a passkey"),
    (Detail("recovery code", left=3), "with a recovery code, 3 left"),
    (Detail("institution"), "at the institution"),
    (Detail("wrong code"), "wrong code"),
    (Detail("wrong password"), "wrong password"),
    (Detail("locked account"), "locked account"),
    (Detail("with account", name="ada"), "with ada"),
    (Detail("removed"), "removed"),
    (Detail("allowed"), "allowed"),
    (Detail("ended"), "ended"),
    (Detail("also while open"), "also while it is open"),
    (Detail("on", day="2030-01-31"), "on 31 January 2030"),
    (Detail("never"), "never"),
    (Detail("closes after", day="2030-01-31"), "Closes after 31 January 2030."),
    (Detail("closes at", count=1200), "Closes at 1,200 reports."),
    (Detail("stays open"), "Stays open until you close it."),
]


def test_every_detail_has_a_sentence_with_its_values(store: Store, translator: Flask) -> None:
    assert {detail.key for detail, _ in EXAMPLES} == set(DETAILS)
    for detail, _ in EXAMPLES:
        audit_log.record(store, "ada", "closed", "x", detail)
    assert texts(translator, store, "en") == [english for _, english in EXAMPLES]
    assert all(texts(translator, store, "de"))


def test_a_detail_of_a_newer_version_is_shown_by_its_key(store: Store, translator: Flask) -> None:
    details: list[Any] = [Detail("added in a later version", count=3), "a plain text", ""]
    for detail in details:
        audit_log.record(store, "ada", "closed", "x", detail)
    assert texts(translator, store, "de") == ["added in a later version", "a plain text", ""]
