"""What respondents load: cached for ever if the address names the content, otherwise revalidated."""

from __future__ import annotations

import datetime
import gzip
import re
from dataclasses import replace

import pytest
from flask import Flask
from flask.testing import FlaskClient
from hushpoll_client import Survey
from hushpoll_server import files
from hushpoll_server.collect.closing import close
from hushpoll_server.collect.retention import set_day
from hushpoll_server.i18n.languages import LANGUAGES
from hushpoll_server.respond import languages, manifest, page, page_cache
from hushpoll_server.respond.page_cache import PageCache
from hushpoll_server.store.surveys import Store, today

FOR_EVER = "max-age=31536000, immutable"
GZIP = {"Accept-Encoding": "gzip"}


@pytest.fixture
def backend() -> str:
    """Pages are made from the survey alone: one database will do."""
    return "sqlite"


def test_every_file_of_the_page_is_cached_for_ever(client: FlaskClient, survey: Survey) -> None:
    text = client.get(f"/s/{survey.hash}").text
    named = re.findall(r'(?:src|href)="(/static/[^"]+)"', text) + re.findall(r'"words":"([^"]+)"', text)
    assert len(named) >= 10
    for address in named:
        assert address.split("/")[2] == manifest.release()
        answer = client.get(address, headers=GZIP)
        assert (answer.status_code, answer.headers["Cache-Control"]) == (200, FOR_EVER)
        assert answer.headers["Content-Encoding"] == "gzip"


@pytest.mark.parametrize("path", ["client/survey.js", "respond/respond.css", "words/fr.json"])
@pytest.mark.parametrize("release", ["", "0123456789abcdef/"])
def test_old_addresses_still_answer_and_are_revalidated(client: FlaskClient, path: str, release: str) -> None:
    answer = client.get(f"/static/{release}{path}")
    assert (answer.status_code, answer.headers["Cache-Control"]) == (200, "no-cache")
    assert answer.data == client.get(f"/static/{manifest.release()}/{path}").data
    again = client.get(f"/static/{release}{path}", headers={"If-None-Match": answer.headers["ETag"]})
    assert (again.status_code, again.data) == (304, b"")


def test_a_changed_file_changes_every_address(monkeypatch: pytest.MonkeyPatch) -> None:
    before = manifest.release()
    read_asset = manifest.read_asset
    changed = manifest.Asset(b"other", "text/javascript")
    monkeypatch.setattr(
        manifest, "read_asset", lambda path: changed if path == "client/extra_kinds.js" else read_asset(path)
    )
    assert manifest.release.__wrapped__() != before


def test_a_page_is_rendered_and_compressed_once(
    client: FlaskClient, survey: Survey, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = []
    render, pack = page._render, page_cache._pack
    monkeypatch.setattr(page, "_render", lambda *a, **k: calls.append("render") or render(*a, **k))
    monkeypatch.setattr(page_cache, "_pack", lambda html: calls.append("pack") or pack(html))
    first = client.get(f"/s/{survey.hash}", headers=GZIP)
    for _ in range(3):
        assert client.get(f"/s/{survey.hash}", headers=GZIP).data == first.data
    assert client.get(f"/s/{survey.hash[:12]}").data == gzip.decompress(first.data)
    assert calls == ["render", "pack"]


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_page_that_the_browser_has_is_not_sent_again(
    client: FlaskClient, survey: Survey, language: str
) -> None:
    path = f"/s/{survey.hash}?lang={language}"
    first = client.get(path, headers=GZIP)
    assert first.headers["Cache-Control"] == "no-cache"
    assert {*first.headers["Vary"].split(", ")} == {"Accept-Encoding", "Accept-Language"}
    again = client.get(path, headers={**GZIP, "If-None-Match": first.headers["ETag"]})
    assert (again.status_code, again.data) == (304, b"")
    assert "form-action 'none'" in first.headers["Content-Security-Policy"]
    other = next(code for code in LANGUAGES if code != language)
    sent = client.get(f"/s/{survey.hash}?lang={other}", headers={"If-None-Match": first.headers["ETag"]})
    assert sent.status_code == 200


def test_every_change_of_a_page_changes_its_tag(
    app: Flask, client: FlaskClient, store: Store, survey: Survey
) -> None:
    path = f"/s/{survey.hash}"
    seen = [client.get(path)]

    def changed() -> None:
        answer = client.get(path, headers={"If-None-Match": seen[-1].headers["ETag"]})
        assert answer.status_code == 200
        assert answer.text not in [earlier.text for earlier in seen]
        seen.append(answer)

    set_day(store, survey.hash, today() + datetime.timedelta(days=9), "test")
    changed()
    store.set_results_public(survey.hash, True, live=True)
    changed()
    app.config["HUSHPOLL"] = replace(app.config["HUSHPOLL"], imprint="The Office")
    changed()
    close(store, survey.hash)
    changed()


def test_pages_in_memory_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(page_cache, "MOST", 3)
    pages = PageCache()
    for number in range(9):
        pages.get(number, lambda number=number: f"page {number}")  # type: ignore[misc]
    assert list(pages._pages) == [6, 7, 8]


def test_the_style_of_results_is_small_and_cached_for_ever(client: FlaskClient) -> None:
    with client.application.test_request_context("/"):
        address = files.file_url("report.css")
    answer = client.get(address, headers=GZIP)
    assert (answer.headers["Cache-Control"], answer.headers["Content-Encoding"]) == (FOR_EVER, "gzip")
    rules = gzip.decompress(answer.data)
    assert b".forest" in rules
    old = client.get("/reports/report.css")
    assert (old.status_code, old.data, old.headers["Cache-Control"]) == (200, rules, "no-cache")


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_day_of_deletion_is_on_page_and_paper(
    client: FlaskClient, store: Store, survey: Survey, language: str
) -> None:
    page_path, paper_path = f"/s/{survey.hash}?lang={language}", f"/s/{survey.hash}/paper?lang={language}"
    with client.application.test_request_context(f"/s/{survey.hash}?lang={language}"):
        words = languages.words_of("rare")
    start = re.search(r'"deletion":"([^"{]+)\{date\}', words)
    assert start
    assert "delete_on" not in client.get(page_path).text
    assert start[1] not in client.get(paper_path).text
    day = datetime.date(today().year + 1, 3, 9)
    set_day(store, survey.hash, day, "test")
    assert f'"delete_on":"{day.isoformat()}"' in client.get(page_path).text
    text = client.get(paper_path).text
    assert start[1] in text
    assert re.search(rf"{start[1]}[^<]*\b(9|٩)\b[^<]*{day.year}", text), text[text.index(start[1]) :][:90]
