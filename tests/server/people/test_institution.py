"""Signing in at an institution by OpenID Connect: who is let in, as whom, in which role, and what is refused."""

from __future__ import annotations

import re
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
import requests
from flask import Flask
from flask.testing import FlaskClient
from hushpoll_client import HushpollError
from hushpoll_server import checks
from hushpoll_server.config import Config
from hushpoll_server.people import (
    account_pages,
    accounts,
    audit_log,
    identities,
    openid,
    password_reset,
    second_factor,
)
from hushpoll_server.store.surveys import Store
from hushpoll_server.store.workspace_schema import identities as table
from hushpoll_server.store.workspace_schema import users
from sqlalchemy import select, update

from tests.provider import CLIENT_ID, Provider, running_provider
from tests.server.accounts_kit import PASSWORD, open_site, signed_in, submit

RETURN = "/sign-in/institution/return"


@pytest.fixture
def provider() -> Iterator[Provider]:
    with running_provider() as running:
        yield running


@contextmanager
def server_with(tmp_path: Path, provider: Provider, **settings: Any) -> Iterator[tuple[Flask, Store]]:
    more = {"public_url": "http://127.0.0.1", **provider.settings(), **settings}
    with open_site(tmp_path / secrets.token_hex(4), **more) as site:
        yield site


@pytest.fixture
def site(tmp_path: Path, provider: Provider) -> Iterator[tuple[Flask, Store]]:
    with server_with(tmp_path, provider) as started:
        yield started


def to_provider_and_back(client: FlaskClient, start: str) -> str:
    """Follow the redirect to the provider; return the address to which it sends the browser back."""
    answer = requests.get(start, allow_redirects=False, timeout=30)
    assert answer.status_code == 302
    parts = urlsplit(answer.headers["Location"])
    return f"{parts.path}?{parts.query}"


def come_back(client: FlaskClient, **question: str) -> Any:
    """Sign in at the institution with a browser's cookies; return the page at which the browser arrives."""
    begun = client.get("/sign-in/institution", query_string=question)
    assert begun.status_code == 302, begun.text
    return client.get(to_provider_and_back(client, begun.location))


def target(page: Any) -> str:
    """Return the address to which a page of arrival leads."""
    match = re.search(r'content="0; url=([^"]+)"', page.text)
    assert page.status_code == 200, page.text
    assert match, page.text
    return match[1]


def name_of(client: FlaskClient) -> str:
    match = re.search(r"signed in as <strong>([^<]+)</strong>, (\w+)", client.get("/account").text)
    assert match
    return f"{match[1]} ({match[2]})"


def unlock(store: Store, name: str, role: str = "designer") -> None:
    accounts.change_account(store, name, actor="admin", role=role, active=True)


def test_a_newcomer_waits_for_an_admin_and_is_recognised_afterwards(
    site: tuple[Flask, Store], provider: Provider
) -> None:
    app, store = site
    client = app.test_client()
    assert "Sign in with Example University" in client.get("/sign-in").text
    page = come_back(client)
    assert (page.status_code, "is locked" in page.text) == (403, True)
    assert client.get("/account").status_code == 302
    assert "institution</span>" in signed_in(app, store, "admin").get("/accounts").text
    unlock(store, "jane")
    assert target(come_back(client, next="/account")) == "/account"
    assert name_of(client) == "jane (designer)"
    provider.person["preferred_username"] = "jane.married"
    assert target(come_back(client)) == "/surveys"
    assert name_of(client) == "jane (designer)", "the subject counts, not the name"
    assert len(accounts.all_users(store)) == 6
    details = [entry.detail for entry in audit_log.audit_entries(store) if entry.actor == "jane"]
    assert details == ["institution"] * 2 + ["account"]


def test_the_request_to_the_provider_carries_what_it_should(
    site: tuple[Flask, Store], provider: Provider
) -> None:
    client = site[0].test_client()
    begun = client.get("/sign-in/institution")
    fields = {name: values[0] for name, values in parse_qs(urlsplit(begun.location).query).items()}
    assert fields["response_type"] == "code"
    assert fields["client_id"] == CLIENT_ID
    assert fields["redirect_uri"] == f"http://127.0.0.1{RETURN}"
    assert set(fields["scope"].split()) == {"openid", "profile"}, "no e-mail address is asked for"
    assert fields["code_challenge_method"] == "S256"
    cookie = begun.headers["Set-Cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=Lax" in cookie
    assert "Path=/sign-in" in cookie
    assert provider.settings()["oidc_client_secret"] not in cookie + begun.location


@pytest.mark.parametrize(
    "wrong",
    [
        {"aud": "another client"},
        {"aud": [CLIENT_ID, "another client"]},
        {"azp": "another client"},
        {"iss": "https://evil.example"},
        {"nonce": "another attempt's"},
        {"exp": 1_000_000},
        {"iat": 9_000_000_000},
        {"nbf": 9_000_000_000},
        {"sub": ""},
        {"sub": 17},
        {"sub": "x" * 256},
    ],
    ids=str,
)
def test_an_id_token_with_a_wrong_claim_is_refused(
    site: tuple[Flask, Store], provider: Provider, wrong: dict[str, Any], caplog: pytest.LogCaptureFixture
) -> None:
    app, store = site
    provider.wrong = wrong
    page = come_back(app.test_client())
    assert (page.status_code, "cannot be used" in page.text) == (403, True)
    assert len(accounts.all_users(store)) == 5, "no account was made"
    assert "a sign-in at the institution failed" in caplog.text
    assert "jane" not in caplog.text


@pytest.mark.parametrize("missing", ["sub", "aud", "iss", "exp", "iat", "nonce"])
def test_an_id_token_without_a_claim_is_refused(
    site: tuple[Flask, Store], provider: Provider, missing: str
) -> None:
    app, store = site
    provider.leaves_out = {missing}
    assert come_back(app.test_client()).status_code == 403
    assert len(accounts.all_users(store)) == 5


@pytest.mark.parametrize("algorithm", ["none", "HS256", "stranger"])
def test_an_id_token_that_the_provider_did_not_sign_is_refused(
    site: tuple[Flask, Store], provider: Provider, algorithm: str
) -> None:
    app, store = site
    provider.algorithm = algorithm
    assert come_back(app.test_client()).status_code == 403
    assert len(accounts.all_users(store)) == 5


def test_new_keys_of_the_provider_are_fetched(site: tuple[Flask, Store], provider: Provider) -> None:
    app, store = site
    come_back(app.test_client())
    unlock(store, "jane")
    for change in (provider.new_key, lambda: setattr(provider, "algorithm", "ES256")):
        change()
        assert target(come_back(app.test_client())) == "/surveys"
    assert provider.requests.count("/.well-known/openid-configuration") == 1
    assert provider.requests.count("/jwks") == 3


def test_an_answer_counts_in_the_browser_that_asked_and_once(
    site: tuple[Flask, Store], provider: Provider
) -> None:
    app, store = site
    come_back(app.test_client())
    unlock(store, "jane")
    client, victim = app.test_client(), app.test_client()
    back = to_provider_and_back(client, client.get("/sign-in/institution").location)
    victim.get("/sign-in/institution")
    for stranger in (victim, app.test_client()):
        page = stranger.get(back)
        assert (page.status_code, "another browser" in page.text) == (403, True)
        assert stranger.get("/account").status_code == 302
    assert target(client.get(back)) == "/surveys"
    assert client.get(back).status_code == 403, "the cookie is gone"


def test_a_cookie_that_is_late_or_altered_is_refused(
    site: tuple[Flask, Store], monkeypatch: pytest.MonkeyPatch
) -> None:
    app, _ = site
    client = app.test_client()
    back = to_provider_and_back(client, client.get("/sign-in/institution").location)
    cookie = client.get_cookie("hushpoll_institution", path="/sign-in")
    assert cookie is not None
    for text in ("", "x", cookie.value[:-1], f"W{cookie.value[1:]}", "\N{SNOWMAN}", f"{cookie.value}.x"):
        other = app.test_client()
        other.set_cookie("hushpoll_institution", text, path="/sign-in")
        assert other.get(back).status_code == 403
    from hushpoll_server.people import institution

    late = institution.now() + 601
    monkeypatch.setattr(institution, "now", lambda: late)
    assert client.get(back).status_code == 403


def test_a_refusal_by_the_provider_is_shown(site: tuple[Flask, Store], provider: Provider) -> None:
    provider.refuses = "access_denied"
    page = come_back(site[0].test_client())
    assert (page.status_code, "did not sign you in" in page.text) == (403, True)


def test_without_the_provider_passwords_still_work(site: tuple[Flask, Store], provider: Provider) -> None:
    app, _ = site
    provider.close()
    client = app.test_client()
    page = client.get("/sign-in/institution")
    assert (page.status_code, "cannot be reached" in page.text) == (403, True)
    assert submit(client, "/sign-in", name="owner", password=PASSWORD).location == "/surveys"


def test_a_provider_that_calls_itself_otherwise_or_is_not_encrypted_is_refused(
    tmp_path: Path, provider: Provider, monkeypatch: pytest.MonkeyPatch
) -> None:
    original = provider._metadata()
    for change in ({"issuer": "https://evil.example"}, {"token_endpoint": "http://login.example.edu/token"}):
        with server_with(tmp_path, provider) as (app, _), monkeypatch.context() as patch:
            patch.setattr(provider, "_metadata", lambda change=change: {**original, **change})
            assert app.test_client().get("/sign-in/institution").status_code == 403


def test_a_name_or_an_address_gives_no_account(site: tuple[Flask, Store], provider: Provider) -> None:
    app, store = site
    password_reset.set_email(store, "owner", "owner@example.edu", actor="test")
    provider.person = {"sub": "1", "preferred_username": "owner", "email": "owner@example.edu"}
    come_back(app.test_client())
    unlock(store, "owner 2")
    client = app.test_client()
    come_back(client)
    assert name_of(client) == "owner 2 (designer)"
    provider.person = {"sub": "2", "preferred_username": "command line"}
    come_back(app.test_client())
    provider.person = {"sub": "3", "name": "  Jane\n\u200fDoe "}
    come_back(app.test_client())
    names = {user.name for user in accounts.all_users(store)}
    assert {"command line 2", "Jane Doe"} <= names
    with store.read() as tx:
        rows = str(tx.execute(select(table)).all()) + str(tx.execute(select(users.c.email)).all())
    assert rows.count("owner@example.edu") == 1, "the address of the claim is not kept"


ROLES = {"oidc_role_claim": "groups", "oidc_roles": (("staff", "designer"), ("boss", "admin"))}


def test_roles_come_from_a_claim_at_each_sign_in(tmp_path: Path, provider: Provider) -> None:
    with server_with(tmp_path, provider, **ROLES) as (app, store):
        client = app.test_client()
        provider.person["groups"] = ["students", "staff"]
        assert target(come_back(client)) == "/surveys"
        assert name_of(client) == "jane (designer)"
        provider.person["groups"] = ["boss", "staff"]
        come_back(client)
        assert name_of(client) == "jane (admin)"
        provider.person["groups"] = "staff"
        come_back(client)
        assert name_of(client) == "jane (designer)"
        provider.person["groups"] = ["students"]
        page = come_back(app.test_client())
        assert (page.status_code, "gives you no role" in page.text) == (403, True)
        assert client.get("/account").status_code == 302, "the sessions of before have ended"
        provider.person["groups"] = {"staff": True}
        assert come_back(client).status_code == 403
        entries = audit_log.audit_entries(store)
        changes = [entry.values for entry in entries if entry.action == "account changed"]
        assert changes == [{"role": "designer"}, {"role": "admin"}]


def test_a_newcomer_without_a_role_leaves_no_account(tmp_path: Path, provider: Provider) -> None:
    with server_with(tmp_path, provider, **ROLES) as (app, store):
        assert come_back(app.test_client()).status_code == 403
        assert len(accounts.all_users(store)) == 5


def test_the_last_admin_keeps_the_role(tmp_path: Path, provider: Provider) -> None:
    with server_with(tmp_path, provider, **ROLES) as (app, store):
        provider.person["groups"] = ["boss"]
        come_back(app.test_client())
        accounts.change_account(store, "admin", actor="jane", active=False)
        provider.person["groups"] = ["staff"]
        client = app.test_client()
        come_back(client)
        assert name_of(client) == "jane (admin)"


def test_claims_may_be_nested_or_on_the_page_of_user_information(tmp_path: Path, provider: Provider) -> None:
    settings = {**ROLES, "oidc_role_claim": "realm_access.roles"}
    with server_with(tmp_path, provider, **settings) as (app, _):
        provider.person["realm_access"] = {"roles": ["staff"]}
        client = app.test_client()
        come_back(client)
        assert name_of(client) == "jane (designer)"
    provider.person = {"sub": "5"}
    with server_with(tmp_path, provider, **ROLES) as (app, _):
        client = app.test_client()
        provider.userinfo = {"preferred_username": "kim", "groups": ["staff"]}
        come_back(client)
        assert name_of(client) == "kim (designer)"
        provider.userinfo = {"sub": "6", "groups": ["boss"]}
        assert come_back(client).status_code == 403, "information about somebody else"


def test_a_locked_account_is_not_let_in(site: tuple[Flask, Store]) -> None:
    app, store = site
    come_back(app.test_client())
    unlock(store, "jane")
    client = app.test_client()
    come_back(client)
    accounts.change_account(store, "jane", actor="admin", active=False)
    assert client.get("/account").status_code == 302
    assert come_back(client).status_code == 403


def test_an_account_is_connected_by_its_owner_with_the_password(
    site: tuple[Flask, Store], provider: Provider
) -> None:
    app, store = site
    owner = signed_in(app, store, "owner")
    assert submit(owner, "/account/institution", present="wrong").status_code == 422
    assert submit(owner, "/account/institution/off", present="wrong").status_code == 422
    page = submit(owner, "/account/institution", present=PASSWORD)
    address = re.search(r'href="(http://127\.0\.0\.1:\d+/authorize[^"]*)"', page.text)
    assert address
    back = to_provider_and_back(owner, address[1].replace("&amp;", "&"))
    assert target(owner.get(back)) == "/account"
    assert name_of(owner) == "owner (designer)", "the session went on"
    client = app.test_client()
    come_back(client)
    assert name_of(client) == "owner (designer)"
    stranger = signed_in(app, store, "stranger")
    page = submit(stranger, "/account/institution", present=PASSWORD)
    address = re.search(r'href="(http://127\.0\.0\.1:\d+/authorize[^"]*)"', page.text)
    assert address
    refused = stranger.get(to_provider_and_back(stranger, address[1].replace("&amp;", "&")))
    assert (refused.status_code, "belongs to the account" in refused.text) == (403, True)
    assert submit(owner, "/account/institution/off", present=PASSWORD).status_code == 302
    assert not identities.is_connected(store, "owner")
    actions = [
        entry.action for entry in audit_log.audit_entries(store) if entry.action.startswith("institution")
    ]
    assert actions == ["institution disconnected", "institution connected"]


def test_connecting_ends_with_the_session(site: tuple[Flask, Store], provider: Provider) -> None:
    app, store = site
    owner = signed_in(app, store, "owner")
    page = submit(owner, "/account/institution", present=PASSWORD)
    address = re.search(r'href="(http://127\.0\.0\.1:\d+/authorize[^"]*)"', page.text)
    assert address
    back = to_provider_and_back(owner, address[1].replace("&amp;", "&"))
    submit(owner, "/sign-out", "/account")
    assert owner.get(back).status_code == 403
    assert not identities.is_connected(store, "owner")


def test_an_account_without_a_password_shows_a_fresh_sign_in_instead(
    site: tuple[Flask, Store], monkeypatch: pytest.MonkeyPatch
) -> None:
    app, store = site
    come_back(app.test_client())
    unlock(store, "jane")
    client = app.test_client()
    come_back(client)
    page = client.get("/account").text
    assert "Present password" not in page
    assert "has no password" in page
    assert submit(client, "/account/institution/off").status_code == 302
    assert identities.is_connected(store, "jane"), "there would be no way in"
    response = submit(client, "/account/tokens", label="program", scopes="batch")
    assert (response.status_code, "Present password" in response.text) == (200, False)
    assert submit(client, "/account", "/account/tokens", password="x" * 12, again="x" * 12).status_code == 403
    later = account_pages.now() + account_pages.FRESH_SECONDS + 1
    monkeypatch.setattr(account_pages, "now", lambda: later)
    away = client.get("/account/tokens")
    assert away.location == "/sign-in/institution?next=/account/tokens&again=yes"
    assert "prompt=login" in client.get(away.location).location
    assert submit(app.test_client(), "/sign-in", name="jane", password="").status_code == 422
    assert submit(app.test_client(), "/sign-in", name="jane", password="x").status_code == 422


def test_an_account_without_a_password_gets_no_reset_link(
    tmp_path: Path, provider: Provider, monkeypatch: pytest.MonkeyPatch
) -> None:
    sent: list[Any] = []
    monkeypatch.setattr(password_reset, "_send", lambda _, letters: sent.extend(letters))
    with server_with(tmp_path, provider) as (app, store):
        come_back(app.test_client())
        unlock(store, "jane")
        with store.write() as tx:
            tx.execute(update(users).where(users.c.name == "jane").values(email="jane@example.edu"))
        with app.test_request_context():
            password_reset.request_link(store, "jane", lambda token: token).join()
        assert sent == []


def test_a_second_factor_is_required_after_the_institution(site: tuple[Flask, Store]) -> None:
    import pyotp

    app, store = site
    come_back(app.test_client())
    unlock(store, "jane")
    nonce = second_factor.new_nonce()
    totp = pyotp.TOTP(second_factor.key_of(store, "jane", nonce))
    codes = second_factor.turn_on(store, "jane", nonce, totp.at(audit_log.now()), keep="")
    client = app.test_client()
    assert target(come_back(client, next="/account")) == "/sign-in/code"
    assert client.get("/account").status_code == 302
    assert submit(client, "/sign-in/code", code=codes[0]).location == "/account"
    assert name_of(client) == "jane (designer)"


def test_redirects_stay_on_this_server(site: tuple[Flask, Store]) -> None:
    app, store = site
    come_back(app.test_client())
    unlock(store, "jane")
    for away in ("https://evil.example", "//evil.example", "/\\evil.example"):
        assert target(come_back(app.test_client(), next=away)) == "/surveys"


def test_without_the_settings_there_is_no_such_page(site: tuple[Flask, Store], tmp_path: Path) -> None:
    with open_site(tmp_path / "plain") as (app, store):
        assert "institution" not in app.test_client().get("/sign-in").text
        for path in ("/sign-in/institution", RETURN):
            assert app.test_client().get(path).status_code == 404
        assert signed_in(app, store, "owner").get("/account/institution").status_code == 404


def test_below_a_path_the_provider_sends_people_back_there(tmp_path: Path, provider: Provider) -> None:
    with server_with(tmp_path, provider, public_url="http://127.0.0.1/polls") as (app, _):
        location = app.test_client().get("/polls/sign-in/institution").location
    assert parse_qs(urlsplit(location).query)["redirect_uri"] == [f"http://127.0.0.1/polls{RETURN}"]


def test_a_flood_of_answers_asks_the_provider_no_further(
    site: tuple[Flask, Store], provider: Provider, monkeypatch: pytest.MonkeyPatch
) -> None:
    from hushpoll_server.people import institution
    from hushpoll_server.security import Throttle

    monkeypatch.setattr(institution, "_throttle", Throttle(2))
    statuses = [come_back(site[0].test_client()) for _ in range(3)]
    assert "Too many people" in statuses[-1].text
    assert provider.requests.count("/token") == 2


# Settings ------------------------------------------------------------------------------------------------------------

GOOD = {
    "PUBLIC_URL": "https://survey.example.org",
    "OIDC_ISSUER": "https://login.example.edu",
    "OIDC_CLIENT_ID": "hushpoll",
}


def test_settings_that_can_be_used() -> None:
    config = Config.from_environment(
        {**GOOD, "OIDC_ROLE_CLAIM": "groups", "OIDC_ROLES": "cn=staff,o=x=designer boss=admin"}
    )
    assert config.oidc_roles == (("cn=staff,o=x", "designer"), ("boss", "admin"))
    assert openid.is_configured(config)
    assert "geheim" not in repr(replace(config, oidc_client_secret="geheim"))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"OIDC_ISSUER": "http://login.example.edu"}, "OIDC_ISSUER.*https"),
        ({"OIDC_ISSUER": "login"}, "OIDC_ISSUER.*https"),
        ({"PUBLIC_URL": ""}, "OIDC_ISSUER.*PUBLIC_URL"),
        ({"OIDC_CLIENT_ID": ""}, "OIDC_CLIENT_ID.*OIDC_ISSUER"),
        ({"OIDC_ROLE_CLAIM": "groups"}, "OIDC_ROLES"),
        ({"OIDC_ROLES": "staff=designer"}, "OIDC_ROLE_CLAIM"),
        ({"OIDC_ROLE_CLAIM": "groups", "OIDC_ROLES": "staff"}, "OIDC_ROLES.*staff=designer"),
        ({"OIDC_ROLE_CLAIM": "groups", "OIDC_ROLES": "staff=king"}, "OIDC_ROLES.*staff=designer"),
        ({"OIDC_NAME": "x" * 81}, "OIDC_NAME"),
    ],
    ids=str,
)
def test_settings_that_cannot_be_used_are_named(change: dict[str, str], message: str) -> None:
    with pytest.raises(HushpollError, match=message):
        Config.from_environment({**GOOD, **change})


def test_hushpoll_config_looks_at_the_provider(provider: Provider, tmp_path: Path) -> None:
    config = Config(data=tmp_path, public_url="http://127.0.0.1", **provider.settings())  # type: ignore[arg-type]

    def status(config: Config) -> str:
        (institution,) = [check for check in checks.all_checks(config, None) if check.name == "institution"]
        return institution.status

    assert status(config) == checks.OK
    assert status(Config(data=tmp_path)) == checks.OK
    provider.close()
    assert status(config) == checks.FAILED
