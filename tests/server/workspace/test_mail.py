"""Letters against a real mail server on this machine, and what goes wrong with one."""

from __future__ import annotations

import datetime
import re
from collections import Counter
from dataclasses import replace
from email.errors import MessageError
from email.message import Message
from email.utils import parsedate_to_datetime
from itertools import product
from pathlib import Path
from smtplib import SMTP
from types import SimpleNamespace

import pytest
from flask import Flask
from flask.testing import FlaskClient
from hushpoll_client import HushpollError
from hushpoll_server.config import Config
from hushpoll_server.mail import Letter, MailError, check_address, send
from hushpoll_server.people import accounts, password_reset, passwords
from hushpoll_server.people.audit_log import audit_entries, now
from hushpoll_server.people.errors import AccountError
from hushpoll_server.people.sign_in import sign_in
from hushpoll_server.store.surveys import Store
from hushpoll_server.store.workspace_schema import sign_in_failures
from sqlalchemy import func, select

from tests.server.accounts_kit import PASSWORD, open_site, signed_in, submit, token_of
from tests.server.workspace.letterbox import Letterbox
from tests.serving import LONGEST

MAIL_FROM = "Surveys <surveys@example.org>"


@pytest.fixture(scope="module")
def site(site_with_mail: tuple[Flask, Store]) -> tuple[Flask, Store]:
    """A server that sends mail."""
    return site_with_mail


@pytest.fixture
def nobody(site: tuple[Flask, Store]) -> FlaskClient:
    """A client that is not signed in."""
    return signed_in(*site, None)


def test_a_letter_is_dated_and_its_id_tells_nothing(store: Store, letterbox: Letterbox) -> None:
    """Letters without a date are taken for spam; ids held the time and the number of the process."""
    letters = [Letter(f"{name}@example.org", "Hello", "Text") for name in ("ada", "bob")]
    assert all(accepted for _, accepted in send(store.config, letters))
    ids = [letter["Message-ID"] for letter in letterbox.letters]
    assert len(set(ids)) == 2
    for letter in letterbox.letters:
        assert re.fullmatch(r"<[0-9a-f]{32}@example\.org>", letter["Message-ID"])
        sent = parsedate_to_datetime(letter["Date"])
        assert abs((datetime.datetime.now(datetime.UTC) - sent).total_seconds()) < LONGEST


def test_a_letter_arrives_as_it_was_written(store: Store, letterbox: Letterbox) -> None:
    letters = [
        Letter("ada@example.org", "Bonjour à tous\nBcc: eve@example.org", "Voilà.\n", "ines@example.org"),
        Letter("nobody@example.org", "Hello", "There"),
    ]
    assert [accepted for _, accepted in send(store.config, letters)] == [True, False]
    (letter,) = letterbox.letters
    assert letter["To"] == "ada@example.org"
    assert letter["From"] == "Surveys <surveys@example.org>"
    assert letter["Subject"] == "Bonjour à tous Bcc: eve@example.org"
    assert letter["Bcc"] is None
    assert letter["Reply-To"] == "ines@example.org"
    assert letter.get_content().split() == ["Voilà."]  # type: ignore[attr-defined]


ENCODED = "=?utf-8?q?Hi=0d=0aFrom=3A_rector=40example.org=0d=0aBcc=3A_eve=40example.org=0d=0a=0d=0aClick?="


@pytest.mark.parametrize("subject", [ENCODED, f"News: {ENCODED}", f"={ENCODED}?", "Hi\0\x7f" + ENCODED])
def test_a_subject_is_never_decoded(store: Store, letterbox: Letterbox, subject: str) -> None:
    """An encoded word added headers and a text to the letter."""
    assert [
        accepted for _, accepted in send(store.config, [Letter("ada@example.org", subject, "Voilà.\n")])
    ] == [True]
    (letter,) = letterbox.letters
    assert letter.get_all("From") == ["Surveys <surveys@example.org>"]
    assert letter["Bcc"] is None
    assert "rector=40example.org" in letter["Subject"], "as it was typed"
    assert letter["Subject"].isprintable()
    assert letter.get_content().split() == ["Voilà."]  # type: ignore[attr-defined]


@pytest.mark.parametrize("field", ["to", "reply_to"])
def test_an_address_is_never_decoded(store: Store, letterbox: Letterbox, field: str) -> None:
    letter = Letter("ada@example.org", "Hello", "There")._replace(
        **{field: "=?utf-8?q?x=0d=0ay?=@example.org"}
    )
    further_letters = [Letter("bob@example.org", "Hello", "There")]
    assert [accepted for _, accepted in send(store.config, [letter, *further_letters])] == [False, True]
    assert [letter["To"] for letter in letterbox.letters] == ["bob@example.org"]


@pytest.mark.parametrize("fault", [MessageError, UnicodeError, ValueError])
def test_a_letter_that_cannot_be_written_keeps_no_other_back(
    store: Store, letterbox: Letterbox, monkeypatch: pytest.MonkeyPatch, fault: type[Exception]
) -> None:
    """Newer Pythons raise a MessageError for a header that they do not write."""
    real = SMTP.send_message

    def written(server: SMTP, message: Message) -> object:
        if message["To"] == "ada@example.org":
            raise fault
        return real(server, message)

    monkeypatch.setattr(SMTP, "send_message", written)
    letters = [Letter(f"{name}@example.org", "Hello", "There") for name in ("ada", "bob")]
    assert [accepted for _, accepted in send(store.config, letters)] == [False, True]


def test_a_server_that_cannot_be_reached_is_an_error_with_a_remedy(store: Store) -> None:
    with pytest.raises(MailError, match="cannot be reached"):
        list(send(replace(store.config, smtp_url="smtp://127.0.0.1:1"), [Letter("a@b.org", "s", "t")]))
    with pytest.raises(MailError, match="sends no mail"):
        list(send(replace(store.config, smtp_url=""), [Letter("a@b.org", "s", "t")]))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "ada",
        "a b@c.org",
        "a@b@c.org",
        "a@b.org\nBcc: c@d.org",
        "<a@b.org>",
        "é@b.org",
        "a@-b",
        "a\0@b.org",
        "=?utf-8?q?x=0d=0ay?=@example.org",
    ],
)
def test_what_is_no_address_is_refused(text: str) -> None:
    with pytest.raises(MailError, match="is not an e-mail address"):
        check_address(text)


@pytest.mark.parametrize(
    ("environment", "message"),
    [
        ({"SMTP_URL": "http://mail.example.org", "MAIL_FROM": "a@b.org"}, "SMTP_URL"),
        ({"SMTP_URL": "smtp://:hunter2@", "MAIL_FROM": "a@b.org"}, "SMTP_URL"),
        ({"SMTP_URL": "smtp://mail.example.org:99999", "MAIL_FROM": "a@b.org"}, "SMTP_URL"),
        ({"SMTP_URL": "smtp://mail.example.org", "PUBLIC_URL": "https://a.org"}, "MAIL_FROM"),
        (
            {"SMTP_URL": "smtp://mail.example.org", "MAIL_FROM": "me", "PUBLIC_URL": "https://a.org"},
            "MAIL_FROM",
        ),
        ({"SMTP_URL": "smtp://:hunter2@mail.example.org", "MAIL_FROM": "a@b.org"}, "letters need PUBLIC_URL"),
    ],
)
def test_settings_that_cannot_be_are_refused_without_repeating_a_password(
    environment: dict[str, str], message: str
) -> None:
    with pytest.raises(HushpollError, match=message) as caught:
        Config.from_environment(environment)
    assert "hunter2" not in str(caught.value)
    good = {"SMTP_URL": "smtp://ada:hunter2@mail.example.org", "MAIL_FROM": "a@b.org"}
    assert "hunter2" not in repr(
        Config.from_environment({**good, "PUBLIC_URL": "https://survey.example.org"})
    )


# A forgotten password ------------------------------------------------------------------------------------------------


def link_in(letter: Message) -> str:
    match = re.search(r"http://\S+(/sign-in/reset/\S+)", letter.get_content())  # type: ignore[attr-defined]
    assert match
    return match[1]


def link_was_sent(store: Store, name_or_address: str) -> bool:
    """Ask for a link, and see whether a letter was written."""
    before = len(audit_entries(store))
    password_reset.request_link(
        store, name_or_address, lambda token: f"http://here/sign-in/reset/{token}"
    ).join(LONGEST)
    return len(audit_entries(store)) > before


@pytest.fixture(autouse=True)
def fresh_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Links that earlier tests asked for do not count, and letters are written at once."""
    password_reset._limits.clear()
    monkeypatch.setattr(password_reset, "time", SimpleNamespace(sleep=lambda seconds: None))


def test_a_flood_of_names_is_refused_and_leaves_no_rows(
    nobody: FlaskClient, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """348 a second were taken, each a row for a day, and reports waited for them."""
    monkeypatch.setattr(password_reset, "_look_and_send", lambda *_: None)
    monkeypatch.setattr(password_reset, "LINKS_OF_ADDRESS_PER_MINUTE", 10**6)
    token = token_of(nobody, "/sign-in/forgotten")
    with store.read() as tx:
        before = tx.execute(select(func.count()).select_from(sign_in_failures)).scalar_one()
    statuses = Counter(
        nobody.post("/sign-in/forgotten", data={"csrf_token": token, "name": f"name {number}"}).status_code
        for number in range(2 * password_reset.LINKS_PER_MINUTE)
    )
    assert statuses[429] >= password_reset.LINKS_PER_MINUTE // 2
    with store.read() as tx:
        assert tx.execute(select(func.count()).select_from(sign_in_failures)).scalar_one() == before


def test_one_address_does_not_use_up_what_all_have(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(password_reset, "_look_and_send", lambda *_: None)

    def ask(name: str, remote: str) -> bool:
        try:
            password_reset.request_link(store, name, lambda token: token, remote)
        except AccountError:
            return False
        return True

    flood = [ask(f"name {number}", "192.0.2.1") for number in range(100)]
    assert sum(flood) <= password_reset.LINKS_OF_ADDRESS_PER_MINUTE + 1
    assert ask("owner", "192.0.2.2")


def test_the_request_itself_looks_for_no_account(
    nobody: FlaskClient, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its duration showed whether there is one (24.5 ms against 12.0)."""
    looked: list[str] = []
    monkeypatch.setattr(
        password_reset, "_look_and_send", lambda store, name_or_address, *_: looked.append(name_or_address)
    )
    monkeypatch.setattr(password_reset, "users", None)
    for name in ("owner", "nobody-of-that-name"):
        assert submit(nobody, "/sign-in/forgotten", name=name).status_code == 302
    assert sorted(looked) == ["nobody-of-that-name", "owner"]


def test_a_refused_sign_in_takes_a_whole_number_of_steps(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A wrong password of a known name took 47.5 ms, an unknown name 39.2."""
    evened: list[float] = []
    monkeypatch.setattr(passwords, "even_out", evened.append)
    assert sign_in(store, "owner", "wrong password") is None
    assert sign_in(store, "nobody-of-that-name", "wrong password") is None
    assert len(evened) == 2
    monkeypatch.undo()
    monkeypatch.setattr(passwords, "EVEN_SECONDS", 0.25)
    clock, slept = [100.043], []
    monkeypatch.setattr(passwords.time, "monotonic", lambda: clock[0])
    monkeypatch.setattr(passwords.time, "sleep", slept.append)
    passwords.even_out(100.0)
    clock[0] = 100.301
    passwords.even_out(100.0)
    assert slept == pytest.approx([0.207, 0.199])


def test_a_forgotten_password_is_chosen_anew_by_a_link_that_works_once(
    nobody: FlaskClient, store: Store, letterbox: Letterbox
) -> None:
    accounts.add_user(store, "mia", "designer", PASSWORD)
    assert not link_was_sent(store, "mia"), "no address, no letter"
    password_reset.set_email(store, "mia", " Mia@Example.org ", actor="test")
    assert "Forgotten your password?" in nobody.get("/sign-in").text
    assert link_was_sent(store, "mia@example.ORG")
    (letter,) = letterbox.letters
    link = link_in(letter)
    assert submit(nobody, link, password="short", again="short").status_code == 422
    assert submit(nobody, link, password="four unrelated words", again="other").status_code == 422
    assert (
        submit(nobody, link, password="four unrelated words", again="four unrelated words").status_code == 302
    )
    signed = submit(nobody, "/sign-in", name="mia", password="four unrelated words")
    assert signed.status_code == 302
    assert nobody.get(link).status_code == 404, "used"
    assert "password changed" in [entry.action for entry in audit_entries(store) if entry.subject == "mia"]


@pytest.mark.parametrize("changed", ["new@example.org", ""])
def test_a_link_ends_when_the_address_changes(
    nobody: FlaskClient, store: Store, letterbox: Letterbox, changed: str
) -> None:
    """A reader of the old address could set the password."""
    name = f"kim{len(changed)}"
    accounts.add_user(store, name, "designer", PASSWORD)
    password_reset.set_email(store, name, "old@example.org", actor="test")
    assert link_was_sent(store, name)
    link = link_in(letterbox.letters[0])
    assert nobody.get(link).status_code == 200
    password_reset.set_email(store, name, changed, actor="test")
    assert nobody.get(link).status_code == 404


def test_a_link_that_ends_while_a_password_is_chosen_sets_none_and_says_so(
    nobody: FlaskClient, store: Store, letterbox: Letterbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    accounts.add_user(store, "ron", "designer", PASSWORD)
    password_reset.set_email(store, "ron", "ron@example.org", actor="test")
    assert link_was_sent(store, "ron")
    link, good_for = link_in(letterbox.letters[0]), password_reset.good_for

    def good_until_now(store: Store, token: str) -> str | None:
        name = good_for(store, token)
        password_reset.set_email(store, "ron", "other@example.org", actor="test")
        return name

    with monkeypatch.context() as patch:
        data = {"csrf_token": token_of(nobody, link), "password": "four unrelated words"}
        patch.setattr(password_reset, "good_for", good_until_now)
        answer = nobody.post(link, data={**data, "again": data["password"]})
    assert answer.status_code == 404
    assert "is set" not in nobody.get("/sign-in").text
    assert submit(nobody, "/sign-in", name="ron", password=PASSWORD).status_code == 302


def test_who_asks_is_not_told_whether_there_is_such_an_account(
    nobody: FlaskClient, store: Store, letterbox: Letterbox
) -> None:
    pages = []
    password_reset.set_email(store, "owner", "owner@example.org", actor="test")
    for name in ("owner", "nobody-of-that-name"):
        answer = submit(nobody, "/sign-in/forgotten", name=name)
        pages.append((answer.status_code, re.sub(r'value="[^"]*"', "", nobody.get(answer.location).text)))
    assert pages[0] == pages[1]
    for _ in range(8):
        last = submit(nobody, "/sign-in/forgotten", name="owner")
    assert last.status_code == 429


def test_other_spellings_of_an_address_give_no_more_letters(store: Store) -> None:
    """Eight spellings gave eight letters, where one spelling is soon refused."""
    password_reset.set_email(store, "owner", "abc@example.org", actor="test")
    spellings = ["".join(signs) + "@example.org" for signs in product("aA", "bB", "cC")]

    def sent(spelling: str) -> bool:
        try:
            return link_was_sent(store, spelling)
        except AccountError:
            return False

    spelled = sum(sent(spelling) for spelling in spellings)
    password_reset._limits.clear()
    password_reset.set_email(store, "owner", "xyz@example.org", actor="test")
    assert spelled == sum(sent("xyz@example.org") for _ in spellings) < 8


def test_a_link_that_is_late_or_altered_opens_nothing(nobody: FlaskClient, store: Store) -> None:
    accounts.add_user(store, "noa", "designer", PASSWORD)
    with store.read() as tx:
        row = accounts.user_row(tx, "noa")
    assert row is not None
    good = password_reset._token(store, row, now() + 100)
    assert password_reset.good_for(store, good) == "noa"
    late = password_reset._token(store, row, now() - 1)
    longer = password_reset._token(store, row, now() + 2 * password_reset.SECONDS)
    for token in (
        late,
        longer,
        good[:-1] + ("0" if good[-1] != "0" else "1"),
        "x",
        "a.b.c",
        "é.1.2",
        good + ".1",
    ):
        assert nobody.get(f"/sign-in/reset/{token}").status_code == 404
    accounts.change_account(store, "noa", actor="test", active=False)
    assert password_reset.good_for(store, good) is None


def test_without_a_mail_server_nothing_is_promised(tmp_path: Path) -> None:
    with open_site(tmp_path) as (app, store):
        nobody = signed_in(app, store, None)
        assert "An admin can give you a new one" in nobody.get("/sign-in").text
        assert nobody.get("/sign-in/forgotten").status_code == 404


def test_addresses_of_accounts_are_set_by_their_owners_and_by_admins(
    site: tuple[Flask, Store], store: Store
) -> None:
    owner, admin = signed_in(*site, "stranger"), signed_in(*site, "admin")
    page = {"path": "/account/email", "page": "/account"}
    assert submit(owner, **page, email="me@example.org", email_present="wrong").status_code == 422
    assert submit(owner, **page, email="nonsense", email_present=PASSWORD).status_code == 422
    assert submit(owner, **page, email="me@example.org", email_present=PASSWORD).status_code == 302
    assert password_reset.email_of(store, "stranger") == "me@example.org"
    assert submit(owner, **page, email="", email_present=PASSWORD).status_code == 302
    assert password_reset.email_of(store, "stranger") == ""
    refused = submit(admin, "/accounts", name="lea", role="designer", email="nonsense")
    assert refused.status_code == 422
    assert "lea" not in [account.name for account in accounts.all_users(store)]
    response = submit(admin, "/accounts", name="lea", role="analyst", email="lea@example.org")
    assert "The password of" in response.text
    assert password_reset.email_of(store, "lea") == "lea@example.org"
    assert ("lea", "analyst") in [(account.name, account.role) for account in accounts.all_users(store)]
    log = " ".join(f"{entry.detail}" for entry in audit_entries(store))
    assert "@example.org" not in log
