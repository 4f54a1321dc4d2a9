"""Tokens: each scope opens one thing and nothing else; shown once, kept as hashes, revocable, in the log."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from flask import Flask
from flask.testing import FlaskClient
from hushpoll_client import Survey
from hushpoll_server.people import accounts, audit_log, tokens
from hushpoll_server.people.errors import AccountError
from hushpoll_server.store import workspace_schema
from hushpoll_server.store.surveys import Store
from sqlalchemy import select

from tests.command import run_command
from tests.server.accounts_kit import PASSWORD, make_published, signed_in, submit
from tests.serving import DRAFT, new_report, post_batch


@pytest.fixture
def backend(request: pytest.FixtureRequest) -> str:
    """SQLite, unless a test asks for both kinds of database."""
    return str(getattr(request, "param", "sqlite"))


def header(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


def calls(client: FlaskClient, survey: Survey, headers: dict[str, str]) -> dict[str, int]:
    """Return the status of each request that a token may open, by the scope that it needs."""
    path = f"/api/surveys/{survey.hash}"
    with client.get(f"/surveys/{survey.hash}/export.zip", headers=headers) as export:
        exported = export.status_code
    return {
        "publish": client.post("/api/surveys", json=DRAFT, headers=headers).status_code,
        "invite": client.post(f"{path}/invitations", json={"number": 2}, headers=headers).status_code,
        "results": client.get(f"{path}/results", headers=headers).status_code,
        "export": exported,
        "batch": post_batch(client, survey, b"{}", headers=headers).status_code,
    }


CLOSED = {"publish": 401, "invite": 401, "results": 403, "export": 302, "batch": 401}
OPEN = {"publish": 201, "invite": 201, "results": 200, "export": 422, "batch": 422}


@pytest.mark.parametrize(
    "backend", ["sqlite", pytest.param("postgresql", marks=pytest.mark.postgres)], indirect=True
)
def test_each_scope_opens_one_thing(client: FlaskClient, people: Store) -> None:
    survey = make_published(people, invitation=True)
    assert calls(client, survey, {}) == CLOSED
    for scope in tokens.SCOPES:
        token = tokens.make(people, "owner", scope, [scope], actor="owner")
        assert calls(client, survey, header(token)) == {**CLOSED, scope: OPEN[scope]}, scope


def test_a_token_opens_no_page_and_no_other_survey(client: FlaskClient, people: Store) -> None:
    survey = make_published(people, invitation=True)
    token = header(tokens.make(people, "stranger", "all", tokens.SCOPES, actor="stranger"))
    assert client.get("/surveys", headers=token).status_code == 302
    assert client.get("/account", headers=token).status_code == 302
    refused = {**OPEN, "invite": 403, "results": 403, "export": 404}
    assert calls(client, survey, token) == refused
    analyst = header(tokens.make(people, "analyst", "all", tokens.SCOPES, actor="analyst"))
    assert client.post("/api/surveys", json=DRAFT, headers=analyst).status_code == 403


def test_an_anonymous_batch_is_refused_with_a_remedy(app: Flask, client: FlaskClient, people: Store) -> None:
    survey = make_published(people)
    line = new_report(survey).to_bytes()
    refused = post_batch(client, survey, line, headers={})
    assert (refused.status_code, refused.content_type) == (401, "application/problem+json")
    assert refused.headers["WWW-Authenticate"] == "Bearer"
    assert "scope batch" in refused.get_json()["detail"]
    assert people.count(survey.hash) == 0
    assert post_batch(signed_in(app, people, "analyst"), survey, line, headers={}).status_code == 201


@pytest.mark.parametrize(
    "value", ["Bearer", "Bearer x", "Bearer hush_", "Basic aHVzaF86", "hush_", "Bearer é", ""]
)
def test_what_is_no_token_opens_nothing(client: FlaskClient, people: Store, value: str) -> None:
    survey = make_published(people)
    assert post_batch(client, survey, b"{}", headers={"Authorization": value}).status_code == 401


def test_a_token_ends_with_revoking_locking_and_in_the_clear(client: FlaskClient, people: Store) -> None:
    survey = make_published(people)
    token = tokens.make(people, "owner", "all", tokens.SCOPES, actor="owner")

    def status(**options: Any) -> int:
        return int(post_batch(client, survey, b"{}", headers=header(token), **options).status_code)

    assert status() == 422
    assert status(environ_base={"REMOTE_ADDR": "192.0.2.7"}) == 401
    accounts.change_account(people, "owner", actor="admin", active=False)
    assert status() == 401
    accounts.change_account(people, "owner", actor="admin", active=True)
    assert status() == 422
    (stored,) = tokens.of_account(people, "owner")
    with pytest.raises(AccountError, match="no token"):
        tokens.revoke(people, stored.id, actor="stranger", name="stranger")
    tokens.revoke(people, stored.id, actor="owner", name="owner")
    assert status() == 401
    with people.read() as tx:
        assert tx.execute(select(workspace_schema.tokens)).all() == []


def test_only_a_hash_is_stored_and_the_log_has_an_entry(client: FlaskClient, people: Store) -> None:
    token = tokens.make(people, "owner", "nightly", ["publish"], actor="owner")
    with people.read() as tx:
        assert token not in str(tx.execute(select(workspace_schema.tokens)).all())
    published = client.post("/api/surveys", json=DRAFT, headers=header(token)).get_json()
    assert client.post("/api/surveys", json=DRAFT, headers=header(token)).get_json()["new"] is False
    state = people.state(published["hash"])
    assert state is not None
    assert state.owner == "owner"
    publishing, making = audit_log.audit_entries(people, 2)
    assert (publishing.actor, publishing.action) == ("owner", "published")
    assert publishing.values == {"text": DRAFT["title"], "token": "nightly"}
    assert (making.actor, making.action, making.detail) == ("owner", "token made", "nightly: publish")


@pytest.mark.parametrize(
    "body", [b"", b"[]", b"{}", b'{"number": "5"}', b'{"number": true}', b"[" * 1000, b'{"number": 0}']
)
def test_hostile_numbers_of_invitations(client: FlaskClient, people: Store, body: bytes) -> None:
    survey = make_published(people, invitation=True)
    token = header(tokens.make(people, "owner", "invite", ["invite"], actor="owner"))
    path = f"/api/surveys/{survey.hash}/invitations"
    answer = client.post(path, data=body, content_type="application/json", headers=token)
    assert answer.status_code == 422


def test_tokens_are_made_and_revoked_under_ones_account(app: Flask, people: Store) -> None:
    owner = signed_in(app, people, "owner")
    wish = {"label": "paper <forms>", "scopes": ["batch", "results"], "present": PASSWORD}
    assert submit(owner, "/account/tokens", **{**wish, "present": "wrong"}).status_code == 422
    assert submit(owner, "/account/tokens", **{**wish, "scopes": []}).status_code == 422
    assert submit(owner, "/account/tokens", **{**wish, "scopes": ["everything"]}).status_code == 422
    response = submit(owner, "/account/tokens", **wish)
    token = re.search(r"hush_[\w-]+", response.text)
    assert token
    assert tokens.bearer(people, token[0], "batch")
    page = owner.get("/account/tokens").text
    assert token[0] not in page, "shown once"
    assert "paper &lt;forms&gt;" in page
    (stored,) = tokens.of_account(people, "owner")
    submit(signed_in(app, people, "stranger"), "/account/tokens/revoke", "/account/tokens", id=stored.id)
    assert tokens.bearer(people, token[0], "batch"), "not the stranger's to revoke"
    submit(owner, "/account/tokens/revoke", "/account/tokens", id=stored.id)
    assert tokens.bearer(people, token[0], "batch") is None


def test_tokens_on_the_command_line(
    people: Store, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("DATA", str(people.config.data))
    monkeypatch.setenv("DATABASE_URL", people.config.database_url)

    def run(*arguments: str) -> tuple[int, str]:
        return run_command(capsys, "user", "token", *arguments)[:2]

    scopes = ("--scope", "batch", "--scope", "results")
    status, out = run("add", "owner", *scopes, "--label", "nightly", "--json")
    assert status == 0
    assert tokens.bearer(people, json.loads(out)["token"], "results")
    (listed,) = json.loads(run("list", "--json")[1])["tokens"]
    assert (listed["name"], listed["label"], listed["scopes"]) == ("owner", "nightly", ["results", "batch"])
    assert run("add", "nobody", "--scope", "batch")[0] == 2
    assert run("add", "owner", "--scope", "everything")[0] == 2
    assert "nightly" in run("list", "owner")[1]
    assert json.loads(run("revoke", listed["id"], "--json")[1]) == {**listed, "revoked": True}
    assert run("revoke", listed["id"])[0] == 2
    actions = [(entry.actor, entry.action) for entry in audit_log.audit_entries(people)][:2]
    assert actions == [("command line", "token revoked"), ("command line", "token made")]
