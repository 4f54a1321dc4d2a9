"""The respondent's page as the server sends it: policy, weight, languages, addresses."""

from __future__ import annotations

import gzip
import hashlib
import html
import json
import re
from base64 import b64decode
from pathlib import Path

import hushpoll_client
import hushpoll_server
import pytest
from flask import Flask
from flask.testing import FlaskClient
from hushpoll_client import Survey
from hushpoll_client.kind import KINDS
from hushpoll_client.mechanism import MECHANISMS
from hushpoll_client.survey.texts import read_in
from hushpoll_server.collect.closing import close
from hushpoll_server.respond import assets, languages, manifest, paper
from hushpoll_server.respond.languages import LANGUAGES
from hushpoll_server.respond.pin_sentences import SCRIPT, pinned
from hushpoll_server.store.surveys import Store

from tests.vectors.surveys import drafts

PACKAGE = Path(hushpoll_server.__file__).parent / "respond"
# The words that would promise what no survey can keep, in each language of the interface.
BANNED = re.compile(r"anonym|anónim|anonim|مجهول|\blies?\b|\bfake|mensonge|lüg|mentir|كذب", re.IGNORECASE)


HEART = {
    "hushpoll": 1,
    "title": "The heart",
    "questions": [
        {"id": "a", "kind": "yes_no", "text": "?", "mechanism": {"name": "warner", "epsilon": 1}},
        {
            "id": "b",
            "kind": "choice",
            "text": "?",
            "options": [*"abcd"],
            "mechanism": {"name": "krr", "epsilon": 1},
        },
        {
            "id": "c",
            "kind": "yes_no",
            "text": "?",
            "mechanism": {"name": "or_poll", "decoy": "?", "decoy_counts": [412, 1000]},
        },
    ],
}
INVITED = {"settings": {"invitation": True}}


@pytest.fixture
def backend() -> str:
    """Pages are made from the survey alone: one database will do."""
    return "sqlite"


def page_data(text: str) -> dict[str, object]:
    match = re.search(r'<script type="application/json" id="page-data">(.*?)</script>', text, re.DOTALL)
    assert match
    data = json.loads(match[1])
    assert isinstance(data, dict)
    return data


def page_words(text: str) -> dict[str, str]:
    match = re.search(r'<script type="application/json" id="words">(.*?)</script>', text, re.DOTALL)
    assert match
    words: dict[str, str] = json.loads(match[1])
    return words


def test_the_page_forbids_forms_inline_code_and_other_origins(client: FlaskClient, survey: Survey) -> None:
    response = client.get(f"/s/{survey.hash}")
    assert response.status_code == 200
    policy = dict(
        directive.split(" ", 1) for directive in response.headers["Content-Security-Policy"].split("; ")
    )
    assert policy["form-action"] == "'none'"
    assert policy["default-src"] == "'none'"
    assert policy["script-src"] == policy["style-src"] == policy["connect-src"] == "'self'"
    assert policy["frame-ancestors"] == "'none'"
    assert "Set-Cookie" not in response.headers
    assert response.headers["Referrer-Policy"] == "no-referrer"
    assert not re.search(r"<style|\sstyle=|\son\w+=|<script(?![^>]*(\ssrc=|application/json))", response.text)
    assert not re.search(r"<form|<input|<button|\sname=(?!\"(viewport|robots)\")", response.text)
    assert re.findall(r'(?:src|href)="(?!/|data:)[^"]*"', response.text) == []


def test_the_page_holds_no_word_of_the_survey_before_it_is_verified(
    client: FlaskClient, survey: Survey
) -> None:
    text = html.unescape(client.get(f"/s/{survey.hash}").text)
    for question in survey.questions:
        assert question.text not in text
    assert survey.title not in text


def test_the_published_hashes_are_those_of_the_files(client: FlaskClient, survey: Survey) -> None:
    with client.application.test_request_context("/"):
        everything = assets.on_demand(*manifest.AFTER_PAINT, *manifest.FOR_SOME_SURVEYS)
    text = client.get(f"/s/{survey.hash}").text
    scripts = dict(
        re.findall(r'(?:src|href)="/static/\w{16}/(\w+/\w+\.js)" integrity="sha256-([^"]+)"', text)
    )
    sources = {
        "client": Path(hushpoll_client.__file__).parent / "js",
        "respond": PACKAGE / "static",
    }
    more = page_data(text)["more"]
    assert isinstance(more, dict)
    assert set(more) == {manifest.LEDGER, *manifest.AFTER_PAINT}
    more = everything
    assert not set(more) & set(scripts), "what is loaded later is not asked for at once"
    assert {*scripts, *more} == {
        f"{folder}/{file.name}" for folder, directory in sources.items() for file in directory.glob("*.js")
    }
    assert text.count("modulepreload") == len(scripts)
    assert re.findall(r'type="module" src="/static/\w{16}/(\S+)"', text) == ["respond/page.js"]
    scripts |= {path: integrity.removeprefix("sha256-") for path, integrity in more.items()}
    for path, digest in scripts.items():
        folder, name = path.split("/")
        source = (sources[folder] / name).read_bytes()
        assert b64decode(digest) == hashlib.sha256(source).digest()
        served = client.get(f"/static/{path}")
        assert served.data == source
        assert served.mimetype == "text/javascript"  # modules are UTF-8 always
        # Every module that is imported is announced, so that none is found late.
        for imported in re.findall(
            r'(?:from|loadModule\()\s*"(?:\.{1,2}/)?(?:\w+/)?([\w.]+)"', source.decode()
        ):
            assert imported in {other.split("/")[1] for other in scripts}


@pytest.mark.parametrize(
    ("survey_name", "limit", "requests"),
    [("the heart's three", 46, 11), ("every kind", 62, 13)],
)
def test_page_and_files_weigh_what_they_may(
    client: FlaskClient, store: Store, survey_name: str, limit: int, requests: int
) -> None:
    survey = Survey.from_draft(
        HEART if survey_name != "every kind" else dict(drafts())[survey_name] | INVITED
    )
    store.publish(survey)
    page = client.get(f"/s/{survey.hash}", headers={"Accept-Encoding": "gzip", "Accept-Language": "ar"})
    assert page.headers["Content-Encoding"] == "gzip"
    text = gzip.decompress(page.data).decode()
    addresses = {*re.findall(r'(?:src|href)="(/[^"]+)"', text)} - {f"/s/{survey.hash}/paper"}
    weight = len(page.data)
    for address in sorted(addresses):
        response = client.get(address, headers={"Accept-Encoding": "gzip"})
        assert response.status_code == 200, address
        # The document is the designer's own text, here a thousand options: it is asked for, and not weighed.
        weight += 0 if address.startswith("/api/") else len(response.data)
    assert f"/api/surveys/{survey.hash}" in addresses
    print(f"{survey_name}: {weight} bytes in {1 + len(addresses)} requests")
    assert 1 + len(addresses) <= requests
    # The rest is for headers, which a browser test counts as well.
    assert weight <= limit * 1000 - (1 + len(addresses)) * 460


def test_files_are_compressed_only_for_those_who_ask(client: FlaskClient) -> None:
    plain = client.get("/static/respond/respond.css")
    small = client.get("/static/respond/respond.css", headers={"Accept-Encoding": "br, gzip"})
    refused = client.get("/static/respond/respond.css", headers={"Accept-Encoding": "gzip;q=0"})
    assert "Content-Encoding" not in plain.headers
    assert refused.data == plain.data == gzip.decompress(small.data)
    assert plain.headers["Vary"] == small.headers["Vary"] == "Accept-Encoding"
    assert b"--hush-accent:" in plain.data
    again = client.get("/static/respond/respond.css", headers={"If-None-Match": small.headers["ETag"]})
    assert again.status_code == 304


@pytest.mark.parametrize(
    "path", ["client/nothing.js", "respond/page.html", "client/..%2fsubmit.py", "respond/.."]
)
def test_only_the_pages_own_files_are_served(client: FlaskClient, path: str) -> None:
    assert client.get(f"/static/{path}").status_code == 404


def test_names_of_files_that_strangers_make_up_are_not_remembered(client: FlaskClient) -> None:
    for number in range(30):
        assert client.get(f"/static/respond/{number}.js").status_code == 404
    assert manifest.read_asset.cache_info().currsize <= len(manifest.asset_paths()) < 30


def test_a_short_address_shows_the_page_and_redirects_nowhere(client: FlaskClient, survey: Survey) -> None:
    """A redirect could bring another fingerprint, and the page would confirm it."""
    response = client.get(f"/s/{survey.hash[:10]}")
    assert response.status_code == 200
    assert page_data(response.text) == page_data(client.get(f"/s/{survey.hash}").text)


def test_no_route_of_respondents_redirects(client: FlaskClient, survey: Survey) -> None:
    """However an address is written: with a slash too many, anywhere."""
    seen = set()
    for rule in client.application.url_map.iter_rules():
        if not rule.rule.startswith(("/s/", "/api/surveys/", "/static/")) or "GET" not in (
            rule.methods or ()
        ):
            continue
        path = re.sub("<[^>]*(hash|name)>", survey.hash, rule.rule)
        path = re.sub("<[^>]*>", "x", path)
        seen.add(path)
        doubled = {path[:index] + "/" + path[index:] for index, sign in enumerate(path) if sign == "/"}
        for variant in (path, f"{path}/", path.replace(survey.hash, survey.hash[:8]), *doubled):
            assert client.get(variant).status_code not in (301, 302, 303, 307, 308), variant
    assert f"/s/{survey.hash}" in seen
    assert len(seen) > 4


@pytest.mark.parametrize("name", ["0" * 64, "0" * 12, "abc", "%25%25%25%25%25%25%25%25", "________"])
def test_an_unknown_address_is_404(client: FlaskClient, survey: Survey, name: str) -> None:
    assert client.get(f"/s/{name}").status_code == 404
    assert client.get(f"/s/{name}/paper").status_code == 404


def test_a_closed_survey_shows_that_it_is_closed(client: FlaskClient, store: Store, survey: Survey) -> None:
    assert page_data(client.get(f"/s/{survey.hash}").text)["closed"] is False
    close(store, survey.hash)
    assert page_data(client.get(f"/s/{survey.hash}").text)["closed"] is True


@pytest.mark.parametrize(
    ("query", "header", "language", "direction", "yes"),
    [
        ("", "", "en", "ltr", "Yes"),
        ("", "fr-CA,fr;q=0.9", "fr", "ltr", "Oui"),
        ("", "nl,de;q=0.5", "de", "ltr", "Ja"),
        ("?lang=es", "fr", "es", "ltr", "Sí"),
        ("?lang=ar", "", "ar", "rtl", "نعم"),
        ("?lang=xx", "fr", "fr", "ltr", "Oui"),
        ("?lang=../..", "", "en", "ltr", "Yes"),
    ],
)
def test_the_language_is_the_readers(
    client: FlaskClient, survey: Survey, query: str, header: str, language: str, direction: str, yes: str
) -> None:
    response = client.get(f"/s/{survey.hash}{query}", headers={"Accept-Language": header} if header else {})
    assert f'<html lang="{language}" dir="{direction}">' in response.text
    assert page_words(response.text)["yes"] == yes


def test_the_script_asks_for_no_sentence_that_is_missing_and_none_is_left_over(app: Flask) -> None:
    with app.test_request_context("/"):
        groups = {group: json.loads(languages.words_of(group)) for group in languages.GROUPS}
    strings = {key: text for words in groups.values() for key, text in words.items()}
    assert len(strings) == sum(map(len, groups.values())), "no sentence stands in two groups"
    del strings["pins"]
    source = "".join(file.read_text() for file in (PACKAGE / "static").glob("*.js"))
    quoted = set(re.findall(r'"([a-z_]+)"', source))
    # Some names are put together: `how_${combine}`, `was_${reason}`.
    begun = tuple(re.findall(r"`([a-z]+_)\$\{", source))
    assert {key for key in strings if not key.startswith(begun)} <= quoted
    assert set(re.findall(r'\bsay\("([a-z_]+)"', source)) <= set(strings)
    sender = (Path(hushpoll_client.__file__).parent / "js" / "report.js").read_text()
    reasons = re.findall(r'(?:\d{3}|reason): "([a-z]+)"', sender) + re.findall(
        r'\? "(\w+)" : "(\w+)"', sender
    )
    listed = {
        f"was_{reason}" for value in reasons for reason in ([value] if isinstance(value, str) else value)
    }
    assert listed == {key for key in strings if key.startswith("was_")}


def test_the_sentences_of_every_language_are_pinned_in_a_module() -> None:
    source = SCRIPT.read_text(encoding="utf-8")
    assert pinned(source) == source, "run python -m hushpoll_server.respond.pin_sentences"


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_sentences_that_come_later_are_pinned_by_the_first_ones(
    client: FlaskClient, store: Store, survey: Survey, language: str
) -> None:
    text = client.get(f"/s/{survey.hash}?lang={language}").text
    assert "data-words" not in text
    match = re.search(r'id="words">(.*?)</script>', text, re.DOTALL)
    assert match
    pins = json.loads(match[1])["pins"]
    assert set(pins) == set(languages.GROUPS) - {"page"}
    every_kind = Survey.from_draft(dict(drafts())["every kind"])
    store.publish(every_kind)
    text = client.get(f"/s/{every_kind.hash}?lang={language}").text
    later = dict(re.findall(r'data-words="(\w+)">(.*?)</script>', text, re.DOTALL))
    assert "kinds" in later
    later["why"] = client.get(f"/static/words/{language}.json").text
    for group, words in later.items():
        assert hashlib.sha256(words.encode()).hexdigest() == pins[group]


def test_there_are_no_sentences_in_unknown_languages(client: FlaskClient) -> None:
    assert client.get("/static/words/xx.json").status_code == 404


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_page_carries_the_sentences_that_are_pinned(
    client: FlaskClient, survey: Survey, language: str
) -> None:
    text = client.get(f"/s/{survey.hash}?lang={language}").text
    match = re.search(r'id="words">(.*?)</script>', text, re.DOTALL)
    assert match
    pin = f'{language}: "{hashlib.sha256(match[1].encode()).hexdigest()}"'
    assert pin in client.get("/static/respond/explain.js").text
    assert "<" not in match[1]


def test_the_page_draws_the_widget_of_every_kind() -> None:
    widgets: set[str] = set()
    for name in ("form.js", "widgets.js"):
        listed = re.search(r"const WIDGETS = \{(.*?)\};", (PACKAGE / "static" / name).read_text())
        assert listed, name
        widgets |= set(re.findall(r"\w+", listed[1]))
    assert widgets == {kind.widget for kind in KINDS.values()}


@pytest.mark.parametrize(
    "name",
    [mechanism.name for mechanism in MECHANISMS.values() if mechanism.in_surveys and mechanism.has_decoy],
)
def test_every_way_of_combining_answers_has_its_words(app: Flask, name: str) -> None:
    parameters = {"name": name, "decoy": "?", "decoy_share": "1/3", "truth": "0.7"}
    mechanism = {
        key: value for key, value in parameters.items() if key != "truth" or MECHANISMS[name].takes_key(key)
    }
    question = {"id": "q", "kind": "yes_no", "text": "?", "mechanism": mechanism}
    survey = Survey.from_draft({"hushpoll": 1, "title": "t", "questions": [question]})
    combine = survey.questions[0].mechanism.combine
    with app.test_request_context("/"):
        labels = paper.report_labels(survey.questions[0], read_in(survey, ()))
    assert f"how_{combine}" in languages.GROUPS["page"] | languages.GROUPS["rare"]
    assert len(set(labels)) == 2
    assert not any(label.isdigit() for label in labels)
    assert f"legend_{combine}" in paper._TWO_QUESTIONS
