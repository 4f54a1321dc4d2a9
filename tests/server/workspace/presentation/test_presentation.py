"""The editor of what stands around the questions, and the logo's upload."""

from __future__ import annotations

import io
import struct
import zlib
from typing import Any

import pytest
from flask.testing import FlaskClient
from hushpoll_client.survey.presentation import PAPER, contrast
from hushpoll_server.store.surveys import Store
from hushpoll_server.workspace.drafts import documents, storage
from hushpoll_server.workspace.drafts.draft import Draft

from tests.server.accounts_kit import QUESTION, again, make_draft, submit, token_of
from tests.vectors.surveys import about_draft

SECOND = {**QUESTION, "id": "q2", "text": "Would you?"}
THIRD = {**QUESTION, "id": "q3", "text": "Could you?"}


def three(store: Store) -> Draft:
    return make_draft(store, "owner", QUESTION, SECOND, THIRD)


EVERYTHING = {
    "asked_by": "University of Somewhere",
    "contact": " Ms Nobody,  nobody@example.org ",
    "approval": "Board 17",
    "notice": "https://example.org/privacy",
    "consent": "I am 18\r\nor older.",
    "thanks": "Thank you.\r\nTake care.\r\n",
    "help": "Somebody to talk to | tel:+498001110111\r\n\r\nBy mail | mailto:help@example.org",
    "layout": "steps",
    "quick_exit": "y",
    "accent": "5B2A86",
    "before_0": "q3",
    "title_0": "Last",
    "text_0": "One more.",
    "before_1": "q1",
    "title_1": "First",
    "text_1": "",
}


def test_everything_is_written_shown_again_and_published(owner: FlaskClient, store: Store) -> None:
    draft = three(store)
    page = f"/drafts/{draft.id}/presentation"
    assert submit(owner, page, **EVERYTHING).status_code == 302
    document = again(store, draft).document
    assert document["asked_by"] == {
        "name": "University of Somewhere",
        "contact": "Ms Nobody, nobody@example.org",
        "approval": "Board 17",
        "notice": "https://example.org/privacy",
    }
    assert document["consent"] == "I am 18 or older."
    assert document["thanks"] == "Thank you.\nTake care."
    assert [address["url"] for address in document["help"]] == [
        "tel:+498001110111",
        "mailto:help@example.org",
    ]
    assert document["sections"] == [
        {"before": "q1", "title": "First"},
        {"before": "q3", "title": "Last", "text": "One more."},
    ]
    assert document["look"] == {"accent": "#5b2a86", "layout": "steps", "quick_exit": True}
    page_text = owner.get(page).text
    for text in (
        "Board 17",
        "I am 18 or older.",
        "By mail | mailto:help@example.org",
        "One more.",
        "#5b2a86",
    ):
        assert text in page_text
    assert f"contrast of {int(10 * contrast('#5b2a86', PAPER)) / 10:g} to the page" in page_text
    first = owner.get(f"/drafts/{draft.id}").text
    assert 'value="University of Somewhere"' in first
    assert "consent to tick, thanks, 2 help addresses, 2 sections, one question at a time" in first
    # Sent again as it stands, nothing changes; emptied, every key is gone.
    fields = {**EVERYTHING, "before_0": "q1", "title_0": "First", "text_0": ""}
    fields |= {"before_1": "q3", "title_1": "Last", "text_1": "One more."}
    submit(owner, page, **fields)
    assert again(store, draft).document == document
    submit(owner, page, layout="page")
    assert again(store, draft).document == draft.document


def test_who_asks_stands_on_top_of_the_draft_and_keeps_the_contact(owner: FlaskClient, store: Store) -> None:
    draft = three(store)
    page = f"/drafts/{draft.id}"
    assert submit(owner, page, title="T", asked_by="Us").status_code == 302
    assert again(store, draft).document["asked_by"] == {"name": "Us"}
    html = owner.get(page).text
    assert html.index('for="title"') < html.index('for="asked_by"') < html.index('for="intro"')
    submit(owner, f"{page}/presentation", asked_by="Us", contact="Here")
    submit(owner, page, title="T", asked_by="We")
    assert again(store, draft).document["asked_by"] == {"name": "We", "contact": "Here"}
    refused = submit(owner, page, title="T", asked_by=" ")
    assert refused.status_code == 422
    assert 'id="asked_by-error"' in refused.text


@pytest.mark.parametrize(
    ("fields", "where", "what"),
    [
        ({"contact": "Here"}, "asked_by", "say who asks"),
        ({"asked_by": "Us", "notice": "javascript:alert(1)"}, "notice", "not an address that can be opened"),
        ({"help": "Fine | https://example.org\nx | javascript:alert(1)"}, "help", "Line 2: "),
        ({"help": "just words"}, "help", "Line 1: "),
        ({"help": "\n".join(f"a | tel:11{n}" for n in range(21))}, "help", "1 to 20 addresses"),
        ({"accent": "#ffee00"}, "accent", "Has a contrast of 1"),
        ({"accent": "purple"}, "accent", "is not a colour"),
        ({"title_0": "Lost"}, "before_0", "choose the question"),
        ({"before_0": "nothing", "title_0": "Lost"}, "before_0", "choose the question"),
        ({"before_0": "q2"}, "title_0", "give the section a title"),
        (
            {"before_0": "q2", "title_0": "A", "before_1": "q2", "title_1": "B"},
            "before_1",
            "Has a section already",
        ),
        ({"consent": "x" * 1001}, "consent", "keep at most 1000"),
    ],
)
def test_what_is_wrong_is_said_beside_its_field_and_nothing_is_kept(
    owner: FlaskClient, store: Store, fields: dict[str, str], where: str, what: str
) -> None:
    draft = three(store)
    page = f"/drafts/{draft.id}/presentation"
    refused = submit(owner, page, **fields)
    assert refused.status_code == 422
    assert f'<a href="#{where}">' in refused.text
    message = refused.text.partition(f'id="{where}-error"')[2].partition("</p>")[0]
    assert what in message
    assert again(store, draft).document == draft.document
    response = submit(owner, page, autosave="yes", **fields).get_json()
    assert set(response["errors"]) == {where}
    assert again(store, draft).revision == 1


def test_the_page_saves_by_itself_and_all_of_it_is_undone_in_one_step(
    owner: FlaskClient, store: Store
) -> None:
    draft = three(store)
    page = f"/drafts/{draft.id}/presentation"
    first = submit(owner, page, autosave="yes", opened="1", thanks="Th").get_json()
    assert first == {"errors": {}, "revision": 2}
    submit(owner, page, autosave="yes", opened="1", thanks="Thanks")
    assert again(store, draft).document["thanks"] == "Thanks"
    stale = submit(owner, page, autosave="yes", revision="1", thanks="No").get_json()
    assert "another tab" in stale["stale"]
    assert submit(owner, page, revision="1", thanks="No").status_code == 409
    submit(owner, f"/drafts/{draft.id}/undo", f"/drafts/{draft.id}")
    assert again(store, draft).document == draft.document


def test_translated_sections_follow_when_sections_change(owner: FlaskClient, store: Store) -> None:
    draft = storage.create(store, "owner", {**documents.blank(), **about_draft()})
    page = f"/drafts/{draft.id}/presentation"
    sections = {"before_0": "d", "title_0": "You", "before_1": "c", "title_1": "Often", "text_1": "A text."}
    submit(owner, page, asked_by="We", **sections, before_2="b", title_2="New")
    saved = again(store, draft).document
    assert [section["title"] for section in saved["sections"]] == ["New", "Often", "You"]
    assert saved["translations"]["fr"]["sections"] == [
        {},
        {"title": "Two fr", "text": "Text fr"},
        {"title": "One fr"},
    ]
    submit(owner, page, asked_by="We")
    assert "sections" not in again(store, draft).document["translations"]["fr"]


# Logos ----------------------------------------------------------------------------------------------------------


def png(side: int = 8) -> bytes:
    """A plain square."""

    def chunk(name: bytes, body: bytes) -> bytes:
        return struct.pack(">I", len(body)) + name + body + struct.pack(">I", zlib.crc32(name + body))

    rows = b"".join(b"\0" + b"\x5b\x2a\x86" * side for _ in range(side))
    size = struct.pack(">IIBBBBB", side, side, 8, 2, 0, 0, 0)
    parts = chunk(b"IHDR", size) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + parts


def upload(client: FlaskClient, draft: Draft, body: bytes, name: str = "logo.png", **more: Any) -> Any:
    token = token_of(client, f"/drafts/{draft.id}/presentation")
    fields = {"csrf_token": token, "revision": str(draft.revision), "logo": (io.BytesIO(body), name), **more}
    return client.post(f"/drafts/{draft.id}/logo", data=fields, headers={"Accept": "text/html"})


def test_a_logo_is_kept_named_by_its_hash_shown_and_removed(owner: FlaskClient, store: Store) -> None:
    draft = three(store)
    assert upload(owner, draft, png()).status_code == 302
    saved = again(store, draft)
    address = f"/logos/{saved.document['look']['logo']}"
    assert owner.get(address).data == png()
    page = f"/drafts/{draft.id}/presentation"
    assert address in owner.get(page).text
    assert address in owner.get(f"/drafts/{draft.id}/preview").text
    submit(owner, page, accent="#5b2a86")
    assert set(again(store, draft).document["look"]) == {"logo", "accent"}, "saving the rest keeps the logo"
    submit(owner, f"/drafts/{draft.id}/logo", page, remove="yes")
    assert again(store, draft).document["look"] == {"accent": "#5b2a86"}


@pytest.mark.parametrize(
    ("body", "name", "message"),
    [
        (b"<svg xmlns='http://www.w3.org/2000/svg'><script>alert(1)</script></svg>", "x.svg", "SVG can hold"),
        (b"<svg xmlns='http://www.w3.org/2000/svg'><script>alert(1)</script></svg>", "x.png", "is not a PNG"),
        (b"GIF", "x.gif", "is not a PNG"),
        (b"%PDF-1.7", "x.png", "is not a PNG"),
        (b"", "x.png", "is not a PNG"),
        (png() + bytes(10_000), "x.png", "more than 10 KB"),
        (b"", "", "No file was chosen"),
    ],
)
def test_hostile_logos_are_refused_beside_the_field(
    owner: FlaskClient, store: Store, body: bytes, name: str, message: str
) -> None:
    draft = three(store)
    refused = upload(owner, draft, body, name)
    assert refused.status_code == 422
    assert message in refused.text.partition('id="logo-error"')[2].partition("</p>")[0]
    assert '<a href="#logo">Logo</a>' in refused.text
    assert again(store, draft).document == draft.document


def test_fifty_megabytes_get_a_friendly_page(owner: FlaskClient, store: Store) -> None:
    draft = three(store)
    head = b'--x\r\nContent-Disposition: form-data; name="logo"; filename="a.png"\r\n\r\n'
    body, kind = head + bytes(50 << 20) + b"\r\n--x--\r\n", "multipart/form-data; boundary=x"
    page = {"Accept": "text/html"}
    refused = owner.post(f"/drafts/{draft.id}/logo", data=body, content_type=kind, headers=page)
    assert refused.status_code == 413
    assert "This file is larger than 4 MB and nothing was kept of it" in refused.text
    assert "a logo has at most 10 KB: go back and choose a smaller file" in refused.text
    assert again(store, draft).document == draft.document


def test_a_logo_from_a_page_that_is_out_of_date_is_not_taken(owner: FlaskClient, store: Store) -> None:
    draft = three(store)
    storage.save(store, draft, 1)
    answer = upload(owner, draft, png(), revision="1")
    assert "edited in another tab" in owner.get(answer.location).text
    assert "look" not in again(store, draft).document
