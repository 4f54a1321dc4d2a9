"""Signing in, sessions, passwords, the throttle, the audit log; the same on SQLite and PostgreSQL."""

from __future__ import annotations

import fcntl
import itertools
import stat
import threading
from concurrent.futures import ThreadPoolExecutor, as_completed

import pytest
from flask import Flask
from hushpoll_server.people import (
    accounts,
    audit_log,
    devices,
    passwords,
    sessions,
    sharing,
    sign_in_throttle,
)
from hushpoll_server.people.errors import AccountError
from hushpoll_server.people.sign_in import session_user, sign_in
from hushpoll_server.problems import Problem
from hushpoll_server.store.surveys import Store, today
from hushpoll_server.store.workspace_schema import sign_in_failures, users
from hushpoll_server.workspace.drafts import storage
from hushpoll_server.workspace.drafts.draft import StaleDraft
from hushpoll_server.workspace.survey_page import page_views
from sqlalchemy import select

from tests.server.accounts_kit import PASSWORD, make_draft, make_published, signed_in, submit


@pytest.fixture
def backend(request: pytest.FixtureRequest) -> str:
    """SQLite, unless a test asks for both kinds of database."""
    return str(getattr(request, "param", "sqlite"))


both = pytest.mark.parametrize(
    "backend", ["sqlite", pytest.param("postgresql", marks=pytest.mark.postgres)], indirect=True
)


def set_clock(monkeypatch: pytest.MonkeyPatch, clock: list[int]) -> None:
    """Make the modules of `people` read the time from a list."""
    for module in (audit_log, sessions, sign_in_throttle):
        monkeypatch.setattr(module, "now", lambda: clock[0])


@both
def test_accounts_work_alike_on_both_databases(people: Store) -> None:
    begun = sign_in(people, "owner", PASSWORD)
    assert begun is not None
    token = begun.token
    user = session_user(people, token)
    assert user is not None
    assert (user.name, user.role) == ("owner", "designer")
    accounts.change_account(people, "owner", actor="admin", role="analyst")
    assert session_user(people, token) is None, "a change of role ends the sessions of the old one"
    accounts.change_account(people, "owner", actor="admin", active=False)
    assert sign_in(people, "owner", PASSWORD) is None, "a locked account cannot sign in"
    assert [entry.action for entry in audit_log.audit_entries(people)][:4] == [
        "sign-in failed",
        "account changed",
        "account changed",
        "signed in",
    ]


@pytest.mark.usefixtures("one_day")
@both
def test_drafts_shares_and_opens_work_alike_on_both_databases(people: Store) -> None:
    draft = make_draft(people)
    assert storage.save(people, draft, 1).revision == 2
    with pytest.raises(StaleDraft):
        storage.save(people, draft, 1)
    assert [unpublished.id for unpublished in storage.unpublished(people, "owner")] == [draft.id]
    survey = make_published(people)
    users_by_name = {user.name: user for user in accounts.all_users(people)}
    reader, analyst = users_by_name["reader"], users_by_name["analyst"]
    assert [listed.hash for listed in sharing.readable(people, reader, people.list_surveys())] == [
        survey.hash
    ]
    assert sharing.readable(people, analyst, people.list_surveys()) == []
    counter = page_views.OpenCounter()
    for _ in range(3):
        counter.count(people, survey.hash)
    assert page_views.by_day(people, counter, survey.hash) == [(today().isoformat(), 3)]


@both
def test_many_tries_at_once_are_all_counted(people: Store) -> None:
    with ThreadPoolExecutor(8) as pool:
        tries = [pool.submit(sign_in, people, "owner", "wrong password") for _ in range(16)]
    refused = [attempt for attempt in tries if isinstance(attempt.exception(), AccountError)]
    assert len(refused) == 11, "five tries are looked at, however many come at once"


def test_the_fifth_failure_blocks_the_name_also_for_the_right_password(people: Store) -> None:
    for _ in range(5):
        assert sign_in(people, "owner", "wrong password") is None
    with pytest.raises(AccountError, match="too many attempts"):
        sign_in(people, "owner", PASSWORD)
    assert sign_in(people, "stranger", PASSWORD), "other names are not blocked"


def test_the_pause_doubles_and_ends(people: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = [1_000_000]
    set_clock(monkeypatch, clock)
    for _ in range(5):
        sign_in(people, "owner", "wrong password")
    clock[0] += 31
    assert sign_in(people, "owner", "wrong password") is None
    clock[0] += 31
    with pytest.raises(AccountError, match="wait 29 seconds"):
        sign_in(people, "owner", PASSWORD)
    clock[0] += 30
    for _ in range(2):
        sign_in(people, "owner", "wrong password")
        clock[0] += 300
    sign_in(people, "owner", "wrong password")
    with pytest.raises(AccountError, match="someone else; wait 8 minutes"):
        sign_in(people, "owner", PASSWORD)
    clock[0] += 481
    assert sign_in(people, "owner", PASSWORD)


@both
def test_tries_from_elsewhere_do_not_lock_out_a_known_device(people: Store) -> None:
    begun = sign_in(people, "owner", PASSWORD)
    assert begun is not None
    for _ in range(5):
        sign_in(people, "owner", "a guess")
    with pytest.raises(AccountError, match="too many attempts"):
        sign_in(people, "owner", PASSWORD)
    assert sign_in(people, "owner", PASSWORD, begun.device)
    # The cookie is no way to guess more: its own tries are counted as well, and for other accounts it is none.
    for _ in range(5):
        assert sign_in(people, "owner", "a guess", begun.device) is None
    with pytest.raises(AccountError, match="too many attempts"):
        sign_in(people, "owner", PASSWORD, begun.device)
    for device in (begun.device, "x.y", "", "\x00", "é.é", begun.device[:-1] + "g"):
        assert devices.known(people, None, device) is None
        with people.read() as tx:
            assert devices.known(people, accounts.user_row(tx, "stranger"), device) is None


def test_a_new_password_ends_the_slowing_down(people: Store) -> None:
    for _ in range(5):
        sign_in(people, "owner", "a guess")
    accounts.set_password(people, "owner", "another horse battery", actor="admin")
    assert sign_in(people, "owner", "another horse battery")


def test_sign_ins_are_logged_also_those_that_fail(people: Store) -> None:
    sign_in(people, "owner", PASSWORD)
    for _ in range(5):
        sign_in(people, "owner", "a guess")
    logged = [
        (entry.action, entry.detail) for entry in audit_log.audit_entries(people) if entry.actor == "owner"
    ]
    failed = ("sign-in failed", "wrong password")
    assert logged == [failed, ("sign-in slowed down", "pause"), *[failed] * 4, ("signed in", "")]


def test_a_clock_that_was_ahead_neither_locks_accounts_nor_prolongs_sessions(
    people: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = [1_000_000 + 10 * 86_400]
    set_clock(monkeypatch, clock)
    early = sign_in(people, "owner", PASSWORD)
    for _ in range(5):
        sign_in(people, "owner", "wrong password")
    clock[0] -= 10 * 86_400
    assert early is not None
    assert session_user(people, early.token) is None, "a session lasts no longer than any other"
    assert sign_in(people, "owner", PASSWORD), "a block of ten days is none"


def test_a_flood_of_sign_ins_waits_in_a_short_line(people: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    looked_at, go_on = threading.Event(), threading.Event()
    at_once: list[int] = []

    def verify(password_hash: str, password: str) -> bool:
        at_once.append(1)
        looked_at.set()
        go_on.wait(60)
        at_once.pop()
        return not at_once

    monkeypatch.setattr(passwords, "verify", verify)
    with ThreadPoolExecutor(20) as pool:
        tries = [pool.submit(sign_in, people, f"name {number}", "x") for number in range(20)]
        looked_at.wait(60)
        refused = [attempt.exception(60) for attempt in itertools.islice(as_completed(tries, 60), 11)]
        go_on.set()
    assert all(isinstance(error, Problem) and error.status == 503 for error in refused)
    assert all("Retry-After" in error.headers for error in refused if isinstance(error, Problem))
    assert sum(attempt.exception() is None for attempt in tries) == 1 + passwords.LONGEST_LINE


def test_processes_look_at_passwords_one_after_the_other(people: Store) -> None:
    """A file lock stands in for another process of this machine."""
    file = people.config.data / "passwords.turn"
    assert sign_in(people, "nobody", "x") is None
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    with file.open("rb") as other, ThreadPoolExecutor(1) as pool:
        fcntl.flock(other, fcntl.LOCK_EX)
        waiting = pool.submit(sign_in, people, "somebody", "x")
        with pytest.raises(TimeoutError):
            waiting.result(0.5)
        fcntl.flock(other, fcntl.LOCK_UN)
        assert waiting.result(60) is None


def test_unknown_names_are_throttled_alike_and_never_written_down(people: Store) -> None:
    for _ in range(5):
        assert sign_in(people, "my secret password", "x") is None
    with pytest.raises(AccountError, match="too many attempts"):
        sign_in(people, "my secret password", "x")
    with people.read() as tx:
        name_hashes = tx.execute(select(sign_in_failures.c.name_hash)).scalars().all()
    assert len(name_hashes) == 2, "one for the name, one for all unknown names together"
    assert not any("secret" in name_hash for name_hash in name_hashes)
    assert sign_in_throttle.unknown_names(people) == 5
    assert not any("secret" in str(entry) for entry in audit_log.audit_entries(people))


@pytest.mark.parametrize(
    ("name", "role", "password", "message"),
    [
        ("", "designer", PASSWORD, "1 to 64"),
        ("a\nb", "designer", PASSWORD, "printable"),
        ("x" * 65, "designer", PASSWORD, "1 to 64"),
        ("new", "boss", PASSWORD, "designer, analyst, admin"),
        ("new", "designer", "short", "at least 10"),
        ("new", "designer", "x" * 257, "at most 256"),
        ("owner", "designer", PASSWORD, "already"),
    ],
)
def test_accounts_that_cannot_be_are_refused(
    people: Store, name: str, role: str, password: str, message: str
) -> None:
    with pytest.raises(AccountError, match=message):
        accounts.add_user(people, name, role, password)


def test_the_last_admin_cannot_be_lost(people: Store) -> None:
    for change in ({"role": "analyst"}, {"active": False}):
        with pytest.raises(AccountError, match="last active admin"):
            accounts.change_account(people, "admin", actor="admin", **change)  # type: ignore[arg-type]


@both
def test_what_a_database_cannot_hold_is_the_clients_mistake(app: Flask, people: Store) -> None:
    assert submit(app.test_client(), "/sign-in", name="own\x00er", password=PASSWORD).status_code in (
        400,
        422,
    )
    admin = signed_in(app, people, "admin")
    assert admin.get("/drafts/%00").status_code in (400, 404)
    assert admin.get(f"/audit-log?before={'9' * 40}").status_code == 200


# Over HTTP ------------------------------------------------------------------------------------------------------


def test_signing_in_begins_a_new_session_and_signing_out_ends_it(app: Flask, people: Store) -> None:
    client = app.test_client()
    client.get("/sign-in")
    before = client.get_cookie("hushpoll")
    response = submit(client, "/sign-in", name="owner", password=PASSWORD)
    assert response.location == "/surveys"
    after = client.get_cookie("hushpoll")
    assert before is not None
    assert after is not None
    assert before.value != after.value
    assert client.get("/surveys").status_code == 200
    submit(client, "/sign-out", "/surveys")
    client.set_cookie("hushpoll", after.value)
    assert client.get("/surveys").status_code == 302, "a kept copy of the cookie opens nothing"


def test_the_cookie_is_for_this_server_only_and_secure_over_https(app: Flask, people: Store) -> None:
    client = app.test_client()
    plain = client.get("/sign-in").headers["Set-Cookie"]
    assert "HttpOnly" in plain
    assert "SameSite=Strict" in plain
    assert "Secure" not in plain, "a laptop on loopback http must be able to sign in"
    secure = app.test_client().get("/sign-in", base_url="https://localhost").headers["Set-Cookie"]
    assert "Secure" in secure


def test_signing_in_is_refused_over_plain_http_from_another_machine(app: Flask, people: Store) -> None:
    for address, base, status in [
        ("192.0.2.7", "http://localhost", 403),
        ("192.0.2.7", "https://localhost", 200),
        ("127.0.0.1", "http://localhost", 200),
        ("::1", "http://localhost", 200),
    ]:
        response = app.test_client().get("/sign-in", base_url=base, environ_base={"REMOTE_ADDR": address})
        assert response.status_code == status, (address, base)
    refused = app.test_client().post("/sign-in", environ_base={"REMOTE_ADDR": "192.0.2.7"})
    assert refused.status_code in (400, 403)
    page = app.test_client().get("/sign-in", environ_base={"REMOTE_ADDR": "192.0.2.7"})
    assert "unencrypted http" in page.text


def test_a_session_is_worth_nothing_over_plain_http_from_another_machine(app: Flask, people: Store) -> None:
    client = signed_in(app, people, "owner")
    assert client.get("/surveys").status_code == 200
    away = client.get("/surveys", environ_base={"REMOTE_ADDR": "192.0.2.7"})
    assert (away.status_code, "/sign-in" in away.location) == (302, True)


def test_a_device_is_known_by_a_cookie_of_the_sign_in_page_only(app: Flask, people: Store) -> None:
    client = app.test_client()
    cookies = submit(client, "/sign-in", name="owner", password=PASSWORD).headers.getlist("Set-Cookie")
    (cookie,) = [header for header in cookies if header.startswith("hushpoll_device=")]
    for attribute in ("HttpOnly", "SameSite=Strict", "Path=/sign-in"):
        assert attribute in cookie
    submit(client, "/sign-out", "/surveys")
    for _ in range(5):
        submit(app.test_client(), "/sign-in", name="owner", password="a guess")
    assert submit(app.test_client(), "/sign-in", name="owner", password=PASSWORD).status_code == 429
    assert submit(client, "/sign-in", name="owner", password=PASSWORD).status_code == 302


def test_the_log_names_surveys_by_their_titles(app: Flask, people: Store) -> None:
    survey = make_published(people)
    audit_log.record(people, "owner", "closed", survey.hash)
    page = signed_in(app, people, "admin").get("/audit-log").text
    assert survey.title in page
    assert survey.hash[:12] in page


def test_wrong_passwords_and_unknown_names_get_the_same_words(app: Flask, people: Store) -> None:
    texts = set()
    for name in ("owner", "nobody here"):
        response = submit(app.test_client(), "/sign-in", name=name, password="wrong password")
        assert response.status_code == 422
        assert f'value="{name}"' in response.text, "what was typed is kept"
        texts.add("Wrong name or password" in response.text)
    assert texts == {True}


@pytest.mark.parametrize(
    ("target", "location"),
    [
        ("/account", "/account"),
        ("//evil.example/", "/surveys"),
        ("https://evil.example/", "/surveys"),
        ("/\\evil.example", "/surveys"),
        ("", "/surveys"),
    ],
)
def test_signing_in_leads_back_to_this_server_only(
    app: Flask, people: Store, target: str, location: str
) -> None:
    response = submit(app.test_client(), "/sign-in", name="owner", password=PASSWORD, next=target)
    assert response.location == location


def test_changing_the_password_ends_the_other_sessions(app: Flask, people: Store) -> None:
    here, elsewhere = signed_in(app, people, "owner"), signed_in(app, people, "owner")
    new = "another horse battery"
    refused = submit(here, "/account", present="wrong", password=new, again=new)
    assert refused.status_code == 422
    assert "not your present password" in refused.text
    differ = submit(here, "/account", present=PASSWORD, password=new, again="something else")
    assert "The two new passwords differ" in differ.text
    short = submit(here, "/account", present=PASSWORD, password="short", again="short")
    assert "at least 10" in short.text
    assert submit(here, "/account", present=PASSWORD, password=new, again=new).status_code == 302
    assert here.get("/account").status_code == 200
    assert elsewhere.get("/account").status_code == 302
    assert sign_in(people, "owner", new)


def test_signing_out_everywhere_ends_every_session(app: Flask, people: Store) -> None:
    here, elsewhere = signed_in(app, people, "owner"), signed_in(app, people, "owner")
    submit(here, "/account/sign-out-everywhere", "/account")
    assert here.get("/account").status_code == 302
    assert elsewhere.get("/account").status_code == 302


def test_a_stolen_session_is_no_place_to_guess_the_password(app: Flask, people: Store) -> None:
    thief = signed_in(app, people, "owner")
    guess = {"present": "a guess", "password": "a new password", "again": "a new password"}
    tries = [submit(thief, "/account", **guess).status_code for _ in range(6)]
    assert tries == [422] * 5 + [429]
    assert submit(thief, "/account", **{**guess, "present": PASSWORD}).status_code == 429
    entered = submit(app.test_client(), "/sign-in", name="owner", password=PASSWORD)
    assert entered.status_code == 302, "the owner can still sign in"


def test_admins_add_and_lock_accounts_and_see_who_did_what(app: Flask, people: Store) -> None:
    admin = signed_in(app, people, "admin")
    added = submit(admin, "/accounts", name="new <b>", role="analyst")
    assert "new &lt;b&gt;" in added.text
    assert submit(admin, "/accounts", name="owner", role="analyst").status_code == 422
    other = signed_in(app, people, "stranger")
    submit(admin, "/accounts/change", "/accounts", name="stranger", change="lock")
    assert other.get("/surveys").status_code == 302
    submit(admin, "/accounts/change", "/accounts", name="stranger", change="unlock")
    reset = submit(admin, "/accounts/change", "/accounts", name="stranger", change="password")
    assert "shown only now" in reset.text
    nothing = submit(admin, "/accounts/change", "/accounts", name="admin", change="analyst")
    assert nothing.status_code == 302
    assert "last active admin" in admin.get("/accounts").text
    log = admin.get("/audit-log").text
    for line in ("account added", "account changed", "password changed", "new &lt;b&gt;"):
        assert line in log
    with people.read() as tx:
        names = tx.execute(select(users.c.name)).scalars().all()
    assert "new <b>" in names
