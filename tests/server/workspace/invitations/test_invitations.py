"""Handing a survey out and letting it go: mail merge, letters and reminders, embedding, retention."""

from __future__ import annotations

import csv
import datetime
import io
import sqlite3
import time
from collections.abc import Iterable, Iterator
from typing import Any

import pytest
from flask import Flask
from flask.testing import FlaskClient
from hushpoll_client import HushpollError, Report, Survey
from hushpoll_client.delivery.link import Link
from hushpoll_server import mail
from hushpoll_server.collect import invitations, retention
from hushpoll_server.collect.retention import delete_due, delete_reports, keeping_of, set_day
from hushpoll_server.config import Config
from hushpoll_server.mail import Letter, MailError
from hushpoll_server.people.audit_log import audit_entries
from hushpoll_server.store.surveys import Store, today
from hushpoll_server.workspace.drafts import documents
from hushpoll_server.workspace.invitations import mailing, routes
from hushpoll_server.workspace.invitations.forms import letter_form
from hushpoll_server.workspace.invitations.mailing import read_addresses

from tests.server.accounts_kit import (
    QUESTION,
    make_published,
    shown_error,
    signed_in,
    submit,
    token_of,
)
from tests.server.workspace.letterbox import Letterbox
from tests.serving import LONGEST

MAIL_FROM = "surveys@example.org"


@pytest.fixture(scope="module")
def site(site_with_mail: tuple[Flask, Store]) -> tuple[Flask, Store]:
    """A server that sends mail."""
    return site_with_mail


def answer_with(client: FlaskClient, survey: Survey, link: str) -> int:
    """Send a report with the code of a link."""
    body = Report.new(survey, [1]).to_bytes(Link.parse(link).invitation)
    path = f"/api/surveys/{survey.hash}/reports"
    return client.post(path, data=body, content_type="application/json").status_code


# Mail merge ----------------------------------------------------------------------------------------------------------


def merged(owner: FlaskClient, survey: Survey, data: bytes) -> Any:
    page = f"/surveys/{survey.hash}"
    fields = {"csrf_token": token_of(owner, page), "people": (io.BytesIO(data), "people.csv")}
    return owner.post(f"{page}/merge", data=fields)


PEOPLE_LIST = "name,place\nJosé,Łódź\nBob,Rome\n"


@pytest.mark.parametrize(
    "data",
    [
        PEOPLE_LIST.replace("\n", "\r").encode(),
        PEOPLE_LIST.replace("\n", "\r\n").encode("utf-8-sig"),
        PEOPLE_LIST.encode("utf-16"),
        b"\xfe\xff" + PEOPLE_LIST.encode("utf-16-be"),
    ],
    ids=["CR", "CRLF", "UTF-16", "UTF-16 BE"],
)
def test_a_list_is_read_however_it_was_saved(owner: FlaskClient, store: Store, data: bytes) -> None:
    """CR line ends gave 500, and UTF-16 came back garbled."""
    survey = make_published(store, invitation=True)
    answer = merged(owner, survey, data)
    assert answer.status_code == 200
    rows = list(csv.DictReader(io.StringIO(answer.data.decode("utf-8-sig"))))
    assert [(row["name"], row["place"]) for row in rows] == [("José", "Łódź"), ("Bob", "Rome")]


@pytest.mark.parametrize(
    "data",
    [
        b'name,place\n"Ada,Paris\nBob,Rome\n',
        b'name,place\n"Ada,Paris\n"Bob,Rome\n',
        b"name,place\n" + b"x" * 140_000 + b",Rome\n",
        PEOPLE_LIST.encode("utf-16-le"),
    ],
    ids=["open quotation mark", "two of them", "a very long cell", "UTF-16 without its mark"],
)
def test_a_list_that_cannot_be_read_is_refused_beside_its_field(
    owner: FlaskClient, store: Store, data: bytes
) -> None:
    """An open quotation mark made one person of two, and a long cell gave 500."""
    survey = make_published(store, invitation=True)
    answer = merged(owner, survey, data)
    assert answer.status_code == 422
    assert shown_error(answer.text, "people")
    assert invitations.counts(store, survey.hash) == (0, 0)


def test_a_list_of_people_comes_back_with_a_link_for_each(owner: FlaskClient, store: Store) -> None:
    survey = make_published(store, invitation=True)
    people = "name;e-mail\nAda;ada@example.org\n=HYPERLINK(1);b@example.org\n\nZoë\n".encode("cp1252")
    answer = merged(owner, survey, people)
    assert answer.mimetype == "text/csv"
    rows = list(csv.DictReader(io.StringIO(answer.data.decode("utf-8-sig"))))
    assert [row["name"] for row in rows] == ["Ada", "'=HYPERLINK(1)", "Zoë"]
    assert [row["e-mail"] for row in rows] == ["ada@example.org", "b@example.org", ""]
    links = [row["link"] for row in rows]
    assert len(set(links)) == 3
    assert all(link.startswith(f"http://localhost/s/{survey.hash[:12]}#{survey.hash}.") for link in links)
    assert answer_with(owner, survey, links[0]) == 201
    assert answer_with(owner, survey, links[0]) == 403, "once"
    with store.read() as tx:
        assert "example.org" not in "".join(tx.connection.driver_connection.iterdump())  # type: ignore[union-attr]


@pytest.mark.parametrize("data", [b"", b"name,link\nada,x\n", b"only headings\n", b"a\n" + b"x" * 2_000])
def test_a_list_that_cannot_be_used_makes_no_invitation(
    owner: FlaskClient, store: Store, data: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(routes, "LARGEST_LIST", 1_000)
    survey = make_published(store, invitation=True)
    answer = merged(owner, survey, data)
    assert answer.status_code == 422
    assert "0 made, 0 used" in owner.get(f"/surveys/{survey.hash}").text


# Letters -------------------------------------------------------------------------------------------------------------


def send(owner: FlaskClient, store: Store, survey: Survey, **fields: str) -> Any:
    """Send as the page does, and wait until all letters are on their way."""
    fields_of_letter = {
        "addresses": "",
        "subject": "Hello",
        "text": "Your link: {link} ({fingerprint})",
        **fields,
    }
    answer = submit(owner, f"/surveys/{survey.hash}/letters", f"/surveys/{survey.hash}", **fields_of_letter)
    end = time.monotonic() + LONGEST
    while mailing.read(store, survey.hash).busy:
        assert time.monotonic() < end, "the letters are still not on their way"
        time.sleep(0.05)
    return answer


def links(letterbox: Letterbox) -> dict[str, str]:
    return {letter["To"]: letter.get_content().split()[2] for letter in letterbox.letters}  # type: ignore[attr-defined]


def test_invitations_go_out_once_and_reminders_to_unused_codes_only(
    owner: FlaskClient, store: Store, letterbox: Letterbox
) -> None:
    survey = make_published(store, invitation=True)
    everybody = ["ada@example.org", "bob@example.org", "cyd@example.org"]
    assert send(owner, store, survey, addresses="\n".join([*everybody, "ADA@example.org"])).status_code == 302
    assert sorted(links(letterbox)) == everybody
    sent = links(letterbox)
    assert len({Link.parse(link).invitation for link in sent.values()}) == 3
    assert all(survey.hash[:8] in letter.get_content() for letter in letterbox.letters)  # type: ignore[attr-defined]
    page = owner.get(f"/surveys/{survey.hash}").text
    assert "E-mails sent to 3 of 3 people" in page
    assert "example.org" not in page.replace("surveys@example.org", ""), "nobody is listed"
    # The same again sends nothing to those who have a letter, and adds who is new.
    letterbox.letters.clear()
    send(owner, store, survey, addresses="ada@example.org, nobody@example.org; dan@example.org")
    assert list(links(letterbox)) == ["dan@example.org"]
    assert "1 address was refused." in owner.get(f"/surveys/{survey.hash}").text
    assert answer_with(owner, survey, sent["bob@example.org"]) == 201
    letterbox.letters.clear()
    assert send(owner, store, survey, remind="yes").status_code == 302
    assert sorted(links(letterbox)) == ["ada@example.org", "cyd@example.org", "dan@example.org"]
    assert links(letterbox)["ada@example.org"] == sent["ada@example.org"], "the same link, not a second vote"
    log = [entry for entry in audit_entries(store) if entry.subject == survey.hash]
    assert {"invitations sent", "reminders sent"} <= {entry.action for entry in log}
    assert all("@" not in entry.detail for entry in log)


def test_a_copy_of_the_database_names_neither_addresses_nor_codes(
    owner: FlaskClient, store: Store, letterbox: Letterbox
) -> None:
    survey = make_published(store, invitation=True)
    send(owner, store, survey, addresses="\n".join(f"person{number}@example.org" for number in range(30)))
    codes = [Link.parse(link).invitation or "" for link in links(letterbox).values()]
    store.database.truncate_wal()
    path = store.config.data / "hushpoll.sqlite3"
    content = b"".join(file.read_bytes() for file in path.parent.glob("hushpoll.sqlite3*"))
    assert len(codes) == 30
    for secret in ["person7@example.org", "person12", *codes]:
        assert secret.encode() not in content
    with sqlite3.connect(path) as copy:
        columns = [row[1] for row in copy.execute("PRAGMA table_info(mailings)")]
    assert columns == ["hash", "box", "busy_until"], "one value per survey: no row for a person"
    before = [person.to for person in mailing.read(store, survey.hash).people]
    mailing._update(store, survey.hash, lambda stored: stored)
    assert [person.to for person in mailing.read(store, survey.hash).people] != before, (
        "in no order that says anything"
    )
    # Closing forgets the addresses.
    submit(owner, f"/surveys/{survey.hash}/close", f"/surveys/{survey.hash}/close")
    delete_due(store)
    assert mailing.read(store, survey.hash).people == ()


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"addresses": "ada"}, "is not an e-mail address"),
        ({"addresses": ""}, "There is no address yet"),
        ({"addresses": "a@b.org", "text": "Hello"}, "The text has no {link}"),
        ({"addresses": "a@b.org", "subject": ""}, "Write a subject"),
        ({"addresses": "a@b.org", "reply_to": "me\nBcc: x@y.org"}, "is not an e-mail address"),
        ({"addresses": "\n".join(f"p{number}@b.org" for number in range(5001))}, "send to at most 5,000"),
    ],
)
def test_a_letter_that_cannot_be_sent_is_said_beside_its_field(
    owner: FlaskClient, store: Store, letterbox: Letterbox, fields: dict[str, str], message: str
) -> None:
    survey = make_published(store, invitation=True)
    answer = send(owner, store, survey, **fields)
    assert answer.status_code == 422
    assert message in answer.text
    assert letterbox.letters == []


def test_a_mail_server_that_is_away_is_said_and_sending_goes_on_later(
    owner: FlaskClient, store: Store, letterbox: Letterbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    survey = make_published(store, invitation=True)
    real = store.config.smtp_url
    object.__setattr__(store.config, "smtp_url", "smtp://127.0.0.1:1")
    try:
        send(owner, store, survey, addresses="ada@example.org")
    finally:
        object.__setattr__(store.config, "smtp_url", real)
    assert "The mail server cannot be reached" in owner.get(f"/surveys/{survey.hash}").text
    german = owner.get(f"/surveys/{survey.hash}", headers={"Accept-Language": "de"}).text
    assert "Der Mailserver ist nicht erreichbar (ConnectionRefusedError)" in german
    send(owner, store, survey, addresses="ada@example.org")
    assert list(links(letterbox)) == ["ada@example.org"]


def test_links_in_letters_lead_to_the_server_whatever_host_a_request_names(
    owner: FlaskClient, store: Store, letterbox: Letterbox
) -> None:
    """The client here asks for localhost, which is not how the server is set up."""
    survey = make_published(store, invitation=True)
    send(owner, store, survey, addresses="ada@example.org")
    assert links(letterbox)["ada@example.org"].startswith(f"{store.config.address}/s/{survey.hash[:12]}#")


def test_a_mailing_that_breaks_off_gives_nobody_a_second_letter(
    owner: FlaskClient, store: Store, letterbox: Letterbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What had been sent of a part was forgotten, and sent once more."""
    survey, people = make_published(store, invitation=True), [f"p{number}@example.org" for number in range(5)]

    def breaks_off(config: Config, letters: Iterable[Letter]) -> Iterator[tuple[Letter, bool]]:
        yield from mail.send(config, list(letters)[:3])
        raise MailError("the mail server does not answer", "try again later")

    with monkeypatch.context() as patch:
        patch.setattr(mailing, "send", breaks_off)
        send(owner, store, survey, addresses="\n".join(people))
    assert mailing.read(store, survey.hash).reached == len(letterbox.letters) == 3
    send(owner, store, survey)
    assert sorted(letter["To"] for letter in letterbox.letters) == people


def test_addresses_are_read_from_lines_and_commas() -> None:
    assert read_addresses(" a@b.org, c@d.org;\n\nA@b.org\n") == ["a@b.org", "c@d.org"]


# Embedding -----------------------------------------------------------------------------------------------------------


def test_only_the_embedded_results_may_be_framed_and_only_where_the_owner_says_so(
    owner: FlaskClient, store: Store, site: tuple[Flask, Store]
) -> None:
    survey = make_published(store)
    page, everybody = f"/surveys/{survey.hash}", site[0].test_client()
    assert "On another site" not in owner.get(page).text
    store.set_results_public(survey.hash, True, live=True)
    assert everybody.get(f"/results/{survey.hash}/embed").status_code == 404
    submit(owner, f"{page}/embedding", page, embed="yes")
    page_text = owner.get(page).text
    assert f"&lt;iframe src=&#34;http://localhost/results/{survey.hash}/embed&#34;" in page_text
    framed = everybody.get(f"/results/{survey.hash}/embed")
    assert "accept-language" in framed.vary
    assert framed.headers["Cache-Control"] == "no-cache"
    assert framed.status_code == 200
    policy = framed.headers["Content-Security-Policy"]
    assert "frame-ancestors *" in policy
    assert "script-src 'none'" in policy
    assert "Set-Cookie" not in framed.headers
    assert (
        "frame-ancestors 'none'"
        in everybody.get(f"/results/{survey.hash}").headers["Content-Security-Policy"]
    )
    submit(owner, f"{page}/embedding", page, embed="no")
    assert everybody.get(f"/results/{survey.hash}/embed").status_code == 404
    submit(owner, f"{page}/embedding", page, embed="yes")
    store.set_results_public(survey.hash, False)
    assert everybody.get(f"/results/{survey.hash}/embed").status_code == 404, "not public, not embedded"


# Retention -----------------------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("one_day")
def test_reports_are_deleted_on_their_day_with_a_receipt(
    owner: FlaskClient, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    survey = make_published(store)
    page = f"/surveys/{survey.hash}"
    for _ in range(60):
        body = Report.new(survey, [1]).to_bytes()
        owner.post(f"/api/surveys/{survey.hash}/reports", data=body, content_type="application/json")
    assert submit(owner, f"{page}/retention", page, delete_on=str(today())).status_code == 422
    assert submit(owner, f"{page}/retention", page, delete_on="soon").status_code == 422
    day = today() + datetime.timedelta(days=30)
    assert submit(owner, f"{page}/retention", page, delete_on=str(day)).status_code == 302
    assert f'value="{day}"' in owner.get(page).text
    delete_due(store)
    assert store.count(survey.hash) == 60, "not yet"
    monkeypatch.setattr(retention, "today", lambda: day)
    delete_due(store)
    assert store.count(survey.hash) == 0
    state = store.state(survey.hash)
    assert state is not None
    assert not state.is_open
    assert keeping_of(store, survey.hash).deleted_on == day
    page_text = owner.get(page).text
    assert "All reports were deleted on" in page_text
    assert owner.get(f"{page}/report").status_code == 200
    (receipt,) = (entry for entry in audit_entries(store) if entry.action == "reports deleted")
    assert (receipt.actor, receipt.subject, receipt.title) == ("retention", survey.hash, survey.title)
    assert receipt.values == {"title": survey.title, "reports": 60, "invitations": 0}
    with pytest.raises(HushpollError, match="deleted already"):
        set_day(store, survey.hash, day + datetime.timedelta(days=2), "owner")


def test_deleting_leaves_nothing_of_the_reports_in_the_files(owner: FlaskClient, store: Store) -> None:
    survey = Survey.from_draft({"hushpoll": 1, "title": "Gone", "questions": [QUESTION]})
    store.publish(survey, "owner")
    for _ in range(55):
        body = Report.new(survey, [1]).to_bytes()
        owner.post(f"/api/surveys/{survey.hash}/reports", data=body, content_type="application/json")
    assert delete_reports(store, survey.hash, "test") == 55
    with store.read() as tx:
        from hushpoll_server.store.schema import inbox, sealed
        from sqlalchemy import func, select

        number = store.state(survey.hash).number  # type: ignore[union-attr]
        for table in (sealed, inbox):
            assert tx.execute(select(func.count()).where(table.c.survey == number)).scalar_one() == 0


def test_the_audit_log_names_surveys_by_their_titles(site: tuple[Flask, Store], store: Store) -> None:
    survey = make_published(store)
    set_day(store, survey.hash, today() + datetime.timedelta(days=9), "owner")
    page_text = signed_in(*site, "admin").get("/audit-log").text
    assert survey.title in page_text
    assert "deletion planned" in page_text


@pytest.mark.parametrize(
    ("tags", "begins", "title"),
    [
        (["fr"], "Bonjour,", "A fr"),
        (["ar", "en"], "مرحبًا،", "A ar"),
        (["it-IT", "es-MX"], "Hola:", "A es-MX"),
        # We speak no Italian, or do not know what people speak: the designer reads the text and changes it.
        (["it"], "Guten Tag,", "A it"),
        ([], "Guten Tag,", "A "),
    ],
)
def test_a_letter_is_written_in_a_language_of_the_survey(
    app: Flask, tags: list[str], begins: str, title: str
) -> None:
    survey_title = f"A {tags[0] if tags else ''}"
    texts = {tag: {"title": f"A {tag}", "questions": {"q1": {"text": "?"}}} for tag in tags[1:]}
    document = {**documents.blank(survey_title), "questions": [QUESTION]}
    document |= {"language": tags[0]} if tags else {}
    document |= {"translations": texts} if texts else {}
    with app.test_request_context("/surveys", headers={"Accept-Language": "de"}):
        form = letter_form(Survey.from_draft(document))
    assert form.subject.data.endswith(title)
    hello, invited, link, explained = form.text.data.strip().split("\n\n")
    assert hello == begins
    assert title in invited
    assert link.endswith("\n{link}")
    assert "{fingerprint}" in explained
