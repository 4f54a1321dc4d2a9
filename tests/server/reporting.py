"""What the tests of reports share: a survey with simulated reports, and clients that are signed in."""

from __future__ import annotations

import json
import secrets

import numpy as np
from flask import Flask
from flask.testing import FlaskClient
from hushpoll_analysis.simulation.respondents import simulate_survey
from hushpoll_client import Survey
from hushpoll_server.collect.seal import seal_due
from hushpoll_server.people import accounts
from hushpoll_server.people.sign_in import sign_in
from hushpoll_server.store.surveys import Store
from sqlalchemy import event

from tests.serving import post_batch

TRUTH = {"cheated": [0.7, 0.3], "reason": [0.4, 0.3, 0.3, 0.0], "tax": [0.9, 0.1]}


def fill(client: FlaskClient, survey: Survey, n: int, seed: int = 4) -> None:
    """Send the reports of n simulated respondents, as devices would."""
    columns = [codes.tolist() for _, codes in simulate_survey(survey, n, TRUTH, seed)]
    rows = np.array(columns).T.tolist()
    lines = [json.dumps({"id": secrets.token_hex(16), "reports": row}) for row in rows]
    answer = post_batch(client, survey, "\n".join(lines).encode())
    assert answer.status_code == 201, answer.text
    # As maintenance does: reading results seals nothing.
    seal_due(client.application.extensions["hushpoll"], wait=False)


def signed_in(app: Flask, store: Store, name: str, role: str) -> FlaskClient:
    """Return a client with the session of a new account."""
    password = accounts.add_user(store, name, role)
    begun = sign_in(store, name, password)
    assert begun is not None
    client = app.test_client()
    with client.session_transaction() as session:
        session["token"] = begun.token
    return client


def statements_that_write(store: Store) -> list[str]:
    """Return a list that grows by every statement that writes to the store's database."""
    statements: list[str] = []

    @event.listens_for(store.engine, "before_cursor_execute")
    def note(connection, cursor, statement, parameters, context, executemany):  # type: ignore[no-untyped-def]
        if statement.lstrip().upper().startswith(("INSERT", "UPDATE", "DELETE")):
            statements.append(statement)

    return statements
