"""Passkeys in place of codes from an app: made with the password, good once a number, worth nothing in a copy."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyotp
import pytest
from flask import Flask
from flask.testing import FlaskClient
from hushpoll_server.config import Config
from hushpoll_server.people import audit_log, passkeys, second_factor
from hushpoll_server.people.audit_log import Detail
from hushpoll_server.people.errors import AccountError
from hushpoll_server.store.surveys import Store
from hushpoll_server.store.workspace_schema import passkey_challenges
from hushpoll_server.store.workspace_schema import passkeys as table
from sqlalchemy import func, select

from tests.server.accounts_kit import PASSWORD, open_site, signed_in, submit
from tests.server.authenticator import Authenticator

ORIGIN = "http://localhost"


@pytest.fixture
def site(tmp_path: Path) -> Iterator[tuple[Flask, Store]]:
    with open_site(tmp_path, public_url=ORIGIN) as started:
        yield started


def options_of(page: str) -> str:
    match = re.search(r'data-options="([^"]+)"', page)
    assert match, page
    return html.unescape(match[1])


def added(store: Store, name: str = "owner", label: str = "Phone") -> tuple[Authenticator, list[str]]:
    """Return a device whose passkey is the account's, and recovery codes if it is the first."""
    device = Authenticator(ORIGIN)
    answer = device.create(passkeys.registration_options(store, name))
    return device, passkeys.add(store, name, label, answer, keep="")


def after_password(app: Flask) -> FlaskClient:
    """A client whose password was right."""
    client = app.test_client()
    answer = submit(client, "/sign-in", name="owner", password=PASSWORD, next="/account")
    assert answer.location == "/sign-in/code"
    return client


def signed(client: FlaskClient, device: Authenticator, **changes: Any) -> Any:
    """Return the page's answer to a signature of its challenge."""
    page = client.get("/sign-in/code").text
    return submit(client, "/sign-in/code", credential=device.get(options_of(page), **changes))


def test_a_passkey_is_added_with_the_password_and_required_afterwards(site: tuple[Flask, Store]) -> None:
    app, store = site
    client, elsewhere = signed_in(app, store, "owner"), signed_in(app, store, "owner")
    page, device = client.get("/account/passkeys/new").text, Authenticator(ORIGIN)

    def add(present: str, label: str = "Phone") -> Any:
        answer = device.create(options_of(client.get("/account/passkeys/new").text))
        return submit(client, "/account/passkeys/new", present=present, label=label, credential=answer)

    options = json.loads(options_of(page))
    assert options["rp"]["id"] == "localhost"
    assert options["attestation"] == "none"
    assert add("wrong").status_code == 422
    assert add(PASSWORD, label="  ").status_code == 422
    assert not second_factor.is_on(store, "owner")
    codes = re.findall(r"<code>([a-z0-9-]{14})</code>", add(PASSWORD).text)
    assert len(set(codes)) == 10
    assert elsewhere.get("/account").status_code == 302, "other sessions ended"
    assert "Phone" in client.get("/account").text
    assert signed(half := after_password(app), device).location == "/account"
    assert half.get("/account").status_code == 200
    assert submit(after_password(app), "/sign-in/code", code=codes[0]).location == "/account"
    details = [entry.detail for entry in audit_log.audit_entries(store) if entry.actor == "owner"]
    assert details == ["recovery code", "passkey", "Phone"]


def test_a_signature_is_good_once(site: tuple[Flask, Store]) -> None:
    app, store = site
    device, _ = added(store)
    client = after_password(app)
    answer = device.get(options_of(client.get("/sign-in/code").text))
    assert submit(client, "/sign-in/code", credential=answer).location == "/account"
    again = after_password(app)
    refused = submit(again, "/sign-in/code", credential=answer)
    assert (refused.status_code, "not one of the account" in html.unescape(refused.text)) == (422, True)


@pytest.mark.parametrize(
    "changes",
    [
        {"origin": "https://evil.example"},
        {"origin": "http://localhost:8000"},
        {"type": "webauthn.create"},
        {"challenge": "AAAA"},
        {"challenge": 7},
    ],
    ids=str,
)
def test_a_signature_for_something_else_is_refused(
    site: tuple[Flask, Store], changes: dict[str, Any]
) -> None:
    app, store = site
    device, _ = added(store)
    assert signed(after_password(app), device, **changes).status_code == 422


def test_a_signature_of_another_key_or_person_is_refused(site: tuple[Flask, Store]) -> None:
    app, store = site
    device, _ = added(store)
    thief, _ = added(store, "stranger")
    assert signed(after_password(app), thief).status_code == 422
    thief.id = device.id
    assert signed(after_password(app), thief).status_code == 422
    # Another account's challenge is not the owner's.
    foreign = passkeys.signing_options(store, "stranger")
    assert passkeys.use(store, "owner", device.get(foreign)) is None
    creating = passkeys.registration_options(store, "owner")
    assert passkeys.use(store, "owner", device.get(creating)) is None
    assert passkeys.use(store, "owner", device.get(passkeys.signing_options(store, "owner"))) == Detail(
        "passkey"
    )


def test_a_copied_security_key_is_noticed(site: tuple[Flask, Store]) -> None:
    _, store = site
    device, _ = added(store)
    device.count = 7
    assert passkeys.use(store, "owner", device.get(passkeys.signing_options(store, "owner")))
    device.count = 3
    assert passkeys.use(store, "owner", device.get(passkeys.signing_options(store, "owner"))) is None


@pytest.mark.parametrize(
    "answer", ["", "x", "[]", "{}", '{"id": 7}', '{"id": "a", "response": 7}', "[" * 90_000]
)
def test_nonsense_is_refused(site: tuple[Flask, Store], answer: str) -> None:
    _, store = site
    added(store)
    assert passkeys.use(store, "owner", answer) is None
    with pytest.raises(AccountError, match="cannot be used"):
        passkeys.add(store, "owner", "Nonsense", answer, keep="")


def test_numbers_end_after_five_minutes(site: tuple[Flask, Store], monkeypatch: pytest.MonkeyPatch) -> None:
    _, store = site
    device, _ = added(store)
    options = passkeys.signing_options(store, "owner")
    late = passkeys.now() + passkeys.CHALLENGE_SECONDS + 1
    monkeypatch.setattr(passkeys, "now", lambda: late)
    assert passkeys.use(store, "owner", device.get(options)) is None
    passkeys.signing_options(store, "owner")
    with store.read() as tx:
        assert tx.execute(select(func.count()).select_from(passkey_challenges)).scalar_one() == 1


def test_guessing_is_slowed_down_like_codes(site: tuple[Flask, Store]) -> None:
    app, store = site
    device, _ = added(store)
    client = after_password(app)
    statuses = [signed(client, Authenticator(ORIGIN)).status_code for _ in range(6)]
    assert statuses == [422] * 5 + [429]
    assert signed(client, device).status_code == 429


def test_an_app_and_passkeys_replace_each_other(site: tuple[Flask, Store]) -> None:
    app, store = site
    device, codes = added(store)
    nonce = second_factor.new_nonce()
    totp = pyotp.TOTP(second_factor.key_of(store, "owner", nonce))
    assert second_factor.turn_on(store, "owner", nonce, totp.at(audit_log.now() - 30), keep="") != codes
    _, none = added(store, label="Key")
    assert none == [], "there are recovery codes already"
    page = after_password(app).get("/sign-in/code").text
    assert "six digits" in page
    assert "data-passkey" in page
    assert (
        submit(after_password(app), "/sign-in/code", code=totp.at(audit_log.now() + 30)).location
        == "/account"
    )
    assert signed(after_password(app), device).location == "/account"

    client = signed_in(app, store, "owner")
    assert submit(client, "/account/second-factor/off", present=PASSWORD).status_code == 302
    assert second_factor.recovery_codes_left(store, "owner") == 10, "the passkeys still need them"
    first, second = passkeys.of_account(store, "owner")
    confirmation = submit(client, "/account/passkeys/remove", "/account", id=first.id)
    assert (confirmation.status_code, "Remove a passkey" in confirmation.text) == (200, True)

    def remove(passkey_id: str, present: str) -> Any:
        fields = {"id": passkey_id, "asked": "yes", "present": present}
        return submit(client, "/account/passkeys/remove", "/account", **fields)

    assert remove(first.id, "wrong").status_code == 422
    assert remove(first.id, PASSWORD).status_code == 302
    assert remove(first.id, PASSWORD).status_code == 302
    assert passkeys.of_account(store, "owner") == [second]
    remove(second.id, PASSWORD)
    assert second_factor.recovery_codes_left(store, "owner") == 0
    assert submit(app.test_client(), "/sign-in", name="owner", password=PASSWORD).location == "/surveys"


def test_an_admin_turns_all_of_it_off(site: tuple[Flask, Store]) -> None:
    app, store = site
    added(store)
    admin = signed_in(app, store, "admin")
    assert "second factor</span>" in admin.get("/accounts").text
    submit(admin, "/accounts/change", "/accounts", name="owner", change="second-factor")
    assert not second_factor.is_on(store, "owner")
    assert passkeys.of_account(store, "owner") == []


def test_the_database_holds_public_keys_and_no_numbers(site: tuple[Flask, Store]) -> None:
    _, store = site
    device, _ = added(store)
    options = passkeys.signing_options(store, "owner")
    with store.read() as tx:
        rows = str(tx.execute(select(table)).all()) + str(tx.execute(select(passkey_challenges)).all())
    assert json.loads(options)["challenge"] not in rows
    assert f"{device.key.private_numbers().private_value}" not in rows
    user_id = json.loads(passkeys.registration_options(store, "owner"))["user"]["id"]
    assert user_id == json.loads(passkeys.registration_options(store, "owner"))["user"]["id"]
    assert user_id != json.loads(passkeys.registration_options(store, "stranger"))["user"]["id"]


def test_ten_passkeys_are_enough(site: tuple[Flask, Store]) -> None:
    _, store = site
    for number in range(passkeys.MOST_OF_ACCOUNT):
        added(store, label=f"Device {number}")
    with pytest.raises(AccountError, match="ten passkeys"):
        added(store)


@pytest.mark.parametrize(
    ("address", "possible"),
    [
        ("https://survey.example.org", True),
        ("https://example.org/polls", True),
        ("http://localhost:8000", True),
        ("http://127.0.0.1:8000", False),
        ("https://192.0.2.1", False),
        ("http://survey.example.org", False),
    ],
)
def test_passkeys_need_a_name_and_an_encrypted_connection(address: str, possible: bool) -> None:
    assert passkeys.are_possible(Config(public_url=address)) is possible


def test_where_they_are_not_possible_none_is_offered(tmp_path: Path) -> None:
    with open_site(tmp_path) as (app, store):
        client = signed_in(app, store, "owner")
        assert "passkeys/new" not in client.get("/account").text
        assert client.get("/account/passkeys/new").location == "/account#second-factor"
