"""What the first start makes: a demo survey with the three mechanisms at the heart of hushpoll, and an account."""

from __future__ import annotations

from hushpoll_client import Survey

from hushpoll_server.people import accounts, audit_log
from hushpoll_server.store.surveys import Store

ACCOUNT = "designer"

DRAFT = {
    "hushpoll": 1,
    "title": "Exam honesty",
    "intro": "Three questions that people would rather not answer in the open.",
    "questions": [
        {
            "id": "cheated",
            "kind": "yes_no",
            "text": "Did you cheat at your last exam?",
            "mechanism": {"name": "warner", "epsilon": "1"},
        },
        {
            "id": "reason",
            "kind": "choice",
            "text": "What would be your main reason to cheat?",
            "options": ["Too little time", "Fear of failing", "Everybody does it", "I would not"],
            "mechanism": {"name": "krr", "epsilon": "1"},
        },
        {
            "id": "copied",
            "kind": "yes_no",
            "text": "Have you ever handed in work that somebody else wrote?",
            "mechanism": {
                "name": "or_poll",
                "decoy": "Have you ever visited Brittany?",
                "decoy_counts": [412, 1000],
                # Without it a No would prove a No, and nothing that a newcomer sees first should be unbounded.
                "epsilon": "1",
            },
        },
    ],
}


def demo_survey() -> Survey:
    """Return the survey that a fresh server shows."""
    return Survey.from_draft(DRAFT)


def first_start(store: Store) -> tuple[str, str | None]:
    """Make what a fresh server lacks; give the demo's hash and a new account's password, to be shown once."""
    survey = demo_survey()
    if not store.list_surveys():
        # Public as most results should be: after closing, when they no longer change.
        store.publish(survey, results_public=True, target_n=500)
    password = None
    if not accounts.all_users(store):
        password = accounts.add_user(store, ACCOUNT, "admin", actor=audit_log.FIRST_START)
    return survey.hash, password
