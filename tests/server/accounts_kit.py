"""People for tests of the workspace: accounts with their sessions, drafts and surveys."""

from __future__ import annotations

import html
import re
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from flask import Flask
from flask.testing import FlaskClient
from hushpoll_client import Survey
from hushpoll_server import create_app
from hushpoll_server.config import Config
from hushpoll_server.current_store import get_store
from hushpoll_server.people import accounts, sharing
from hushpoll_server.people.audit_log import now
from hushpoll_server.people.sessions import digest
from hushpoll_server.store.surveys import Store
from hushpoll_server.store.workspace_schema import sessions
from hushpoll_server.workspace.drafts import documents, storage
from hushpoll_server.workspace.drafts.draft import Draft
from sqlalchemy import insert

from tests.serving import close_store, make_ready

PASSWORD = "correct horse battery"
# The accounts and their roles: nothing is shared with the analyst, everything with the reader.
PEOPLE = {
    "owner": "designer",
    "stranger": "designer",
    "analyst": "analyst",
    "reader": "analyst",
    "admin": "admin",
}

QUESTION = {"id": "q1", "kind": "yes_no", "text": "Have you?", "mechanism": {"epsilon": "1"}}
OR_POLL = {
    "id": "o",
    "kind": "yes_no",
    "text": "O?",
    "mechanism": {"name": "or_poll", "decoy": "D?", "decoy_share": "0.4"},
}


@contextmanager
def open_site(folder: Path, **settings: Any) -> Iterator[tuple[Flask, Store]]:
    """Yield an application with all the people, and its store, for a whole module of independent tests."""
    config = Config(data=folder / "data", seal_every=86_400, testing=True, **settings)
    make_ready(config)
    app = create_app(config)
    with app.app_context():
        store = get_store()
    add_people(store)
    yield app, store
    close_store(store)


def add_people(store: Store) -> None:
    """Add one account of each kind, all with the same password."""
    for name, role in PEOPLE.items():
        accounts.add_user(store, name, role, PASSWORD, actor="test")


def signed_in(app: Flask, store: Store, name: str | None) -> FlaskClient:
    """Return a client with a session of that account, without the cost of checking a password."""
    client = app.test_client()
    if name is None:
        return client
    token = secrets.token_urlsafe(16)
    row = {"token_hash": digest(token), "user_name": name, "created_at": 0}
    with store.write() as tx:
        tx.execute(insert(sessions).values(**row, expires_at=now() + 3600))
    with client.session_transaction() as session:
        session["token"] = token
    return client


def token_of(client: FlaskClient, path: str) -> str:
    """Return the CSRF token of a page's forms."""
    match = re.search(r'name="csrf_token"[^>]* value="([^"]+)"', client.get(path).text)
    assert match, f"{path} has no form with a token"
    return match[1]


def submit(client: FlaskClient, path: str, page: str | None = None, **fields: Any) -> Any:
    """Send a form as a browser would, with the token and the revision from its page."""
    form_page = client.get(page or path).text
    hidden = dict(re.findall(r'name="(csrf_token|revision)"[^>]* value="([^"]*)"', form_page))
    return client.post(path, data={**hidden, **fields})


def make_draft(store: Store, owner: str = "owner", *questions: dict[str, Any], **plan: Any) -> Draft:
    """Return a new draft of that owner, with one plain question by default."""
    document = documents.blank(f"Draft {secrets.token_hex(4)}")
    document["questions"] = [dict(question) for question in questions or (QUESTION,)]
    return storage.create(store, owner, document, **plan)


def make_published(store: Store, owner: str | None = "owner", **settings: bool) -> Survey:
    """Return a published survey of that owner, shared with the reader."""
    document = {**documents.blank(f"Survey {secrets.token_hex(4)}"), "questions": [QUESTION]}
    survey = Survey.from_draft({**document, "settings": settings})
    assert store.publish(survey, owner, target_n=100)
    if owner is not None:
        sharing.share(store, survey.hash, "reader", actor="test")
    return survey


def again(store: Store, draft: Draft) -> Draft:
    """Return the draft as it is stored now."""
    current = storage.find(store, draft.id)
    assert current is not None
    return current


def shown_error(page: str, field: str) -> str:
    """Return the error message of a field, which the summary links to."""
    match = re.search(rf'<p class="field-error" id="{field}-error">(.*?)</p>', page, re.DOTALL)
    assert match, f"no message at {field}"
    assert f'href="#{field}"' in page, "the summary links to the field"
    assert f'id="{field}"' in page, "the link leads somewhere"
    return html.unescape(re.sub("<[^>]*>", "", match[1]))
