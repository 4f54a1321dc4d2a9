"""The operator's imprint: on every page of every route, checked when set, and left out by `hushpoll verify`."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from flask import Flask
from hushpoll_client import HushpollError
from hushpoll_server.collect.retention import set_embeddable
from hushpoll_server.config import Config
from hushpoll_server.i18n.languages import LANGUAGES
from hushpoll_server.respond.operator_content import OperatorContent, read_back
from hushpoll_server.store.surveys import Store
from werkzeug.routing import AnyConverter, IntegerConverter, Rule

from tests.server.accounts_kit import make_draft, make_published, open_site, signed_in
from tests.serving import make_survey

IMPRINT = "Survey Office <\"&'> of the University"
URL = "https://survey.example.org/imprint?a=1&b=2"
SHOWN = re.compile(r'<p class="imprint"(?: dir="auto")?>.*?</p>')


SETTINGS = {"imprint": IMPRINT, "imprint_url": URL}


def address(app: Flask, rule: Rule, values: dict[str, str]) -> str:
    def value(name: str) -> str:
        converter = rule._converters[name]
        if isinstance(converter, AnyConverter):
            return sorted(converter.items)[0]
        return "0" if isinstance(converter, IntegerConverter) else values.get(name, "x")

    with app.test_request_context():
        return app.url_map.bind("localhost").build(
            rule.endpoint, {argument: value(argument) for argument in rule.arguments}
        )


def test_every_page_of_every_route_shows_it(site: tuple[Flask, Store]) -> None:
    app, store = site
    client = signed_in(app, store, "admin")
    survey = make_published(store, "admin")
    store.set_results_public(survey.hash, True, True)
    set_embeddable(store, survey.hash, True, "test")
    draft = make_draft(store, "admin")
    values = {"survey_hash": survey.hash, "draft_id": str(draft.id), "question_id": "q1", "name": "designers"}
    pages = {}
    for rule in app.url_map.iter_rules():
        if "GET" not in (rule.methods or ()):
            continue
        page = client.get(address(app, rule, values), headers={"Accept": "text/html"})
        attached = "attachment" in page.headers.get("Content-Disposition", "")
        if page.mimetype == "text/html" and page.status_code // 100 != 3 and not attached:
            pages[rule.endpoint] = (page.status_code, len(SHOWN.findall(page.text)), read_back(page.text))
        page.close()
    assert all(
        imprint == (1, OperatorContent(IMPRINT, URL))
        for _, *rest in pages.values()
        for imprint in [tuple(rest)]
    ), pages
    good = {endpoint for endpoint, (status, *_) in pages.items() if status == 200}
    assert good >= {
        "respond.page",
        "respond.paper.page",
        "workspace.survey_list.home",
        "workspace.draft.draft",
        "workspace.survey.survey",
        "workspace.links.poster",
        "workspace.preview.preview",
        "results.show",
        "results.public",
        "results.embedded",
        "manual.page",
        "accounts.account",
    }
    missing = client.get("/nothing", headers={"Accept": "text/html"})
    assert read_back(missing.text) == OperatorContent(IMPRINT, URL)


def test_an_address_without_a_name_gets_a_translated_label(tmp_path: Path) -> None:
    with open_site(tmp_path) as (app, store):
        store.publish(survey := make_survey())
        client = app.test_client()
        path = f"/s/{survey.hash}/paper"
        assert not SHOWN.search(client.get(path).text)
        app.config["HUSHPOLL"] = replace(app.config["HUSHPOLL"], imprint_url=URL)
        words = {}
        for language in LANGUAGES:
            text = client.get(f"{path}?lang={language}").text
            assert read_back(text) == OperatorContent("", URL)
            words[language] = re.search(r'rel="noreferrer">(.*?)</a></p>', text)
        assert len({match and match[1] for match in words.values()}) == len(LANGUAGES)
        app.config["HUSHPOLL"] = replace(app.config["HUSHPOLL"], imprint_url="", imprint=IMPRINT)
        assert read_back(client.get(path).text) == OperatorContent(IMPRINT)


@pytest.mark.parametrize(
    ("environment", "named"),
    [
        ({"IMPRINT": "x" * 301}, "IMPRINT="),
        ({"IMPRINT": "two\nlines"}, "IMPRINT="),
        ({"IMPRINT_URL": "javascript:alert(1)"}, "IMPRINT_URL="),
        ({"IMPRINT_URL": "http://example.org"}, "IMPRINT_URL="),
        ({"IMPRINT_URL": "https://example.org/a b"}, "IMPRINT_URL="),
    ],
)
def test_what_cannot_be_shown_or_opened_is_refused(environment: dict[str, Any], named: str) -> None:
    with pytest.raises(HushpollError, match=named):
        Config.from_environment(environment)


def test_what_can_be_shown_is_read() -> None:
    config = Config.from_environment({"IMPRINT": " " + IMPRINT, "IMPRINT_URL": URL})
    assert (config.imprint, config.imprint_url) == (IMPRINT, URL)
