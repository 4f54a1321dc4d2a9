"""The second factor: on and off, codes that are good once, recovery codes, and what the database gives away."""

from __future__ import annotations

import re
from typing import Any

import pyotp
import pytest
from flask import Flask
from flask.testing import FlaskClient
from hushpoll_client.cli import main
from hushpoll_server.people import accounts, audit_log, second_factor, sign_in
from hushpoll_server.people.audit_log import Detail
from hushpoll_server.people.errors import AccountError
from hushpoll_server.store.surveys import Store
from hushpoll_server.store.workspace_schema import recovery_codes, second_factors
from sqlalchemy import select

from tests.server.accounts_kit import PASSWORD, signed_in, submit


@pytest.fixture
def backend(request: pytest.FixtureRequest) -> str:
    """SQLite, unless a test asks for both kinds of database."""
    return str(getattr(request, "param", "sqlite"))


@pytest.fixture(autouse=True)
def clock(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The time of codes, which stands still, so that no code expires before its use. Other clocks run."""
    time = [audit_log.now()]
    monkeypatch.setattr(second_factor.audit_log, "now", lambda: time[0])
    return time


def turned_on(store: Store, name: str = "owner") -> tuple[pyotp.TOTP, list[str]]:
    """Return an account's app, with the recovery codes."""
    nonce = second_factor.new_nonce()
    app = pyotp.TOTP(second_factor.key_of(store, name, nonce))
    codes = second_factor.turn_on(store, name, nonce, app.at(audit_log.now() - 30), keep="")
    return app, codes


def wrong_codes(totp: pyotp.TOTP) -> list[str]:
    """Six codes that are not right by chance."""
    right = {totp.at(audit_log.now() + seconds) for seconds in (-30, 0, 30)}
    return [code for code in (f"{n:06}" for n in range(9)) if code not in right][:6]


def after_password(app: Flask) -> FlaskClient:
    """A client whose password was right."""
    client = app.test_client()
    answer = submit(client, "/sign-in", name="owner", password=PASSWORD, next="/account")
    assert answer.location == "/sign-in/code"
    return client


@pytest.mark.parametrize(
    "backend", ["sqlite", pytest.param("postgresql", marks=pytest.mark.postgres)], indirect=True
)
def test_a_code_is_good_once_and_for_a_minute_and_a_half(people: Store, clock: list[int]) -> None:
    app, codes = turned_on(people)
    code = app.at(clock[0])
    assert second_factor.use(people, "owner", f"{code[:3]} {code[3:]}") == Detail("code")
    assert second_factor.use(people, "owner", code) is None, "used before"
    assert second_factor.use(people, "owner", app.at(clock[0] - 30)) is None, "older than one that was used"
    assert second_factor.use(people, "owner", app.at(clock[0] + 30)) == Detail("code")
    clock[0] += 300
    assert second_factor.use(people, "owner", app.at(clock[0] - 60)) is None, "too old"
    typed = codes[0].upper().replace("-", " ")
    assert second_factor.use(people, "owner", typed) == Detail("recovery code", left=9)
    assert second_factor.use(people, "owner", codes[0]) is None, "used before"
    assert second_factor.use(people, "stranger", codes[1]) is None, "somebody else's"


def test_codes_are_good_again_when_a_clock_that_was_ahead_is_right(people: Store, clock: list[int]) -> None:
    """A code that was used ten days ahead must not invalidate the codes of those ten days."""
    app, _ = turned_on(people)
    right = clock[0] + 60
    clock[0] = right + 10 * 86_400
    assert second_factor.use(people, "owner", app.at(clock[0])) == Detail("code")
    clock[0] = right
    assert second_factor.use(people, "owner", app.at(right)) == Detail("code")
    assert second_factor.use(people, "owner", app.at(right)) is None, "used before"
    # Set back by two minutes, as clocks are: what was used stays used.
    clock[0] = right - 120
    assert second_factor.use(people, "owner", app.at(clock[0])) is None


def test_the_database_alone_is_worth_no_code(people: Store) -> None:
    app, codes = turned_on(people)
    with people.read() as tx:
        rows = str(tx.execute(select(second_factors)).all()) + str(tx.execute(select(recovery_codes)).all())
    assert app.secret not in rows
    assert not any(code in rows for code in codes)


def test_signing_in_asks_for_the_code(app: Flask, people: Store) -> None:
    totp, _ = turned_on(people)
    client = after_password(app)
    assert client.get("/surveys").status_code == 302, "half way is not in"
    wrong = submit(client, "/sign-in/code", code=wrong_codes(totp)[0])
    assert (wrong.status_code, "This code is wrong" in wrong.text) == (422, True)
    entered = submit(client, "/sign-in/code", code=totp.at(audit_log.now()))
    assert entered.location == "/account"
    assert client.get("/account").status_code == 200
    again = after_password(app)
    assert submit(again, "/sign-in/code", code=totp.at(audit_log.now() - 30)).status_code == 422
    details = [entry.detail for entry in audit_log.audit_entries(people) if entry.actor == "owner"]
    assert details[:3] == ["wrong code", "code", "wrong code"]


def test_codes_cannot_be_guessed(app: Flask, people: Store) -> None:
    totp, _ = turned_on(people)
    client = after_password(app)
    statuses = [submit(client, "/sign-in/code", code=code).status_code for code in wrong_codes(totp)]
    assert statuses == [422] * 5 + [429]
    assert submit(client, "/sign-in/code", code=totp.at(audit_log.now())).status_code == 429


def test_half_way_ends_with_the_password_and_after_five_minutes(
    app: Flask, people: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    turned_on(people)
    client = after_password(app)
    assert client.get("/sign-in/code").status_code == 200
    accounts.set_password(people, "owner", "another horse battery", actor="admin")
    assert client.get("/sign-in/code").location == "/sign-in"
    accounts.set_password(people, "owner", PASSWORD, actor="admin")
    late = after_password(app)
    soon = sign_in.now() + 301
    monkeypatch.setattr(sign_in, "now", lambda: soon)
    assert late.get("/sign-in/code").location == "/sign-in"
    assert app.test_client().get("/sign-in/code").location == "/sign-in"


def test_it_is_turned_on_with_a_code_and_the_password(app: Flask, people: Store) -> None:
    client, elsewhere = signed_in(app, people, "owner"), signed_in(app, people, "owner")
    page = client.get("/account/second-factor").text
    key = re.search(r'class="secret">([A-Z2-7 ]+)<', page)
    assert key
    assert 'src="data:image/svg+xml' in page
    assert key[0] in client.get("/account/second-factor").text, "a second look shows the same key"
    totp = pyotp.TOTP(key[1].replace(" ", ""))
    code = totp.at(audit_log.now())

    def turn_on(**fields: Any) -> Any:
        return submit(client, "/account/second-factor", **fields)

    assert turn_on(code=wrong_codes(totp)[0], present=PASSWORD).status_code == 422
    assert turn_on(code=code, present="wrong").status_code == 422
    assert not second_factor.is_on(people, "owner")
    done = turn_on(code=code, present=PASSWORD)
    codes = re.findall(r"<code>([a-z0-9-]{14})</code>", done.text)
    assert len(set(codes)) == 10
    assert "Recovery codes left: <strong>10</strong>" in client.get("/account").text
    assert elsewhere.get("/account").status_code == 302, "other sessions ended"
    assert not any(code in client.get("/account").text for code in codes), "shown once"
    assert client.get("/account/second-factor").status_code == 302, "it is on already"
    entered = submit(half := after_password(app), "/sign-in/code", code=codes[3])
    assert entered.status_code == 302
    assert "<strong>9</strong>" in half.get("/account").text
    refused = submit(client, "/account/second-factor/recovery-codes", present="wrong")
    assert (refused.status_code, "present password" in refused.text) == (422, True)
    new_codes_page = submit(client, "/account/second-factor/recovery-codes", present=PASSWORD).text
    assert not any(code in new_codes_page for code in codes)
    assert submit(client, "/account/second-factor/off", present="wrong").status_code == 422
    assert submit(client, "/account/second-factor/off", present=PASSWORD).status_code == 302
    assert submit(app.test_client(), "/sign-in", name="owner", password=PASSWORD).location == "/surveys"


def test_an_admin_and_the_command_line_turn_it_off(
    app: Flask, people: Store, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    turned_on(people)
    admin = signed_in(app, people, "admin")
    assert "second factor</span>" in admin.get("/accounts").text
    submit(admin, "/accounts/change", "/accounts", name="owner", change="second-factor")
    assert not second_factor.is_on(people, "owner")
    turned_on(people)
    monkeypatch.setenv("DATA", str(people.config.data))
    monkeypatch.setenv("DATABASE_URL", people.config.database_url)
    for expected in (0, 2):
        with pytest.raises(SystemExit) as over:
            main(["user", "change", "owner", "--second-factor-off"])
        assert over.value.code == expected
    assert "no second factor" in capsys.readouterr().err
    actors = [entry.actor for entry in audit_log.audit_entries(people) if entry.action == "second factor off"]
    assert actors == ["command line", "admin"]


def test_a_second_one_is_refused(people: Store) -> None:
    turned_on(people)
    with pytest.raises(AccountError, match="on already"):
        turned_on(people)
