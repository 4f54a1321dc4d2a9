"""Pages that say what went wrong speak the reader's language, and leave the technical detail in English."""

from __future__ import annotations

import re

import pytest
from flask import Flask
from flask.testing import FlaskClient
from hushpoll_client import Survey
from hushpoll_server.i18n.catalogues import read_catalogue, translated_languages
from hushpoll_server.i18n.languages import LANGUAGES
from hushpoll_server.problems import Problem
from werkzeug.exceptions import default_exceptions

STATUSES = (404, 403, 410, 413, 429, 500, 503)
BROWSER = {"Accept": "text/html"}
DETAIL = "the report cannot be read; send it again"
WORDS = re.compile(r"<h1>(.*?)</h1>\n<p>(.*?)</p>")


@pytest.fixture
def backend() -> str:
    """Pages of problems do not depend on the database."""
    return "sqlite"


@pytest.fixture
def failing(app: Flask) -> FlaskClient:
    """A client of an application with an address for every problem."""

    def fail(status: int) -> str:
        if status == 500:
            raise ZeroDivisionError
        raise Problem(status, DETAIL)

    app.add_url_rule("/fail/<int:status>", "fail", fail)
    return app.test_client()


@pytest.mark.parametrize("status", STATUSES)
def test_every_problem_page_is_in_the_readers_language(failing: FlaskClient, status: int) -> None:
    texts = {}
    for language in LANGUAGES:
        page = failing.get(f"/fail/{status}", headers={**BROWSER, "Accept-Language": f"{language},en;q=.3"})
        assert page.status_code == status
        assert page.headers["Cache-Control"] == "no-store"
        assert "Accept-Language" in page.headers["Vary"]
        direction = "rtl" if language == "ar" else "ltr"
        assert f'<html lang="{language}" dir="{direction}">' in page.text
        match = WORDS.search(page.text)
        assert match
        texts[language] = match.groups()
        # The workspace's languages have the server's own details too.
        spoken = "de" if language == "de" and status == 500 else "en"
        assert re.search(rf'<p class="detail" lang="{spoken}" dir="ltr">.*\(Status {status}\)</p>', page.text)
        assert status == 500 or DETAIL[1:] in page.text
    assert len(set(texts.values())) == len(LANGUAGES)
    assert len({title for title, _ in texts.values()}) == len(LANGUAGES)


def test_the_page_of_an_unknown_address_is_in_one_language(client: FlaskClient) -> None:
    page = client.get("/nichts", headers={**BROWSER, "Accept-Language": "de"}).text
    assert '<p class="detail">Status 404</p>' in page
    assert "requested URL" not in page


def test_no_catalogue_has_the_web_frameworks_descriptions() -> None:
    """Pages leave these sentences out, so a translation would never be shown."""
    descriptions = {error.description for error in default_exceptions.values()}
    for language in translated_languages():
        catalog = read_catalogue(language)
        assert not descriptions & {
            entry.id[0] if isinstance(entry.id, tuple) else entry.id for entry in catalog
        }


def test_every_status_has_its_own_words(failing: FlaskClient) -> None:
    titles = set()
    for status in STATUSES:
        match = WORDS.search(failing.get(f"/fail/{status}", headers=BROWSER).text)
        assert match
        titles.add(match[1])
    assert len(titles) == len(STATUSES)


def test_other_statuses_fall_back_to_their_family(failing: FlaskClient) -> None:
    teapot, gateway = (failing.get(f"/fail/{status}", headers=BROWSER).text for status in (418, 502))
    assert "<h1>This request cannot be answered</h1>" in teapot
    assert "<h1>Something went wrong on the server</h1>" in gateway


@pytest.mark.parametrize("path", ["/s/{hash}x", "/nothing", "/results/{hash}", "/surveys/0/report"])
def test_a_wrong_address_speaks_french(client: FlaskClient, survey: Survey, path: str) -> None:
    page = client.get(path.format(hash=survey.hash), headers={**BROWSER, "Accept-Language": "fr-CA"})
    assert page.status_code == 404
    assert '<html lang="fr" dir="ltr">' in page.text
    assert "Il n’y a rien à cette adresse" in page.text
    arabic = client.get(path.format(hash=survey.hash) + "?lang=ar", headers=BROWSER)
    assert '<html lang="ar" dir="rtl">' in arabic.text


def test_programs_get_a_document_in_english(client: FlaskClient) -> None:
    answer = client.get("/nothing", headers={"Accept": "application/json", "Accept-Language": "fr"})
    assert answer.content_type == "application/problem+json"
    assert answer.get_json()["title"] == "Not Found"
