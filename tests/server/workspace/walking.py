"""A client that reads German pages, where German is the language of brackets and wide letters."""

from __future__ import annotations

import io
import re
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import hushpoll_server
import pytest
import wtforms
from babel import Locale
from babel.messages.mofile import read_mo
from flask import Flask
from flask.testing import FlaskClient
from hushpoll_analysis.results.formats import RESULTS_FORMATS
from hushpoll_analysis.results.wording import wording
from hushpoll_client import __version__
from hushpoll_client.mechanism import MECHANISMS
from hushpoll_server.i18n import translation
from hushpoll_server.i18n.catalogues import path_of
from hushpoll_server.i18n.languages import LANGUAGES
from hushpoll_server.i18n.translation import LANGUAGE_COOKIE
from hushpoll_server.store.surveys import Store
from hushpoll_server.workspace.drafts import documents, storage
from hushpoll_server.workspace.drafts.draft import Draft
from hushpoll_server.workspace.languages import routes

from tests.server.accounts_kit import OR_POLL, open_site, signed_in
from tests.server.workspace.brackets import CLOSE, OPEN, letters, unsaid, wide, write_brackets

PACKAGE = Path(hushpoll_server.__file__).parent


@contextmanager
def bracketed_site(folder: Path) -> Iterator[tuple[Flask, Store]]:
    """A server whose German is brackets around wide letters."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(translation, "_CATALOGUES", str(write_brackets(path_of("de"), folder / "brackets")))
        for name, phrase in wording("en").phrases.items():
            patch.setitem(wording("de").phrases, name, f"{OPEN}{wide(phrase)}{CLOSE}")
        with open_site(folder / "walk") as site:
            yield site


# What is nobody's sentence: names, marks, identifiers, signs of formulas, and the language that a link leads to, in its
# own words.
NAMES = {
    *("owner", "stranger", "analyst", "reader", "admin", "hushpoll", "nobody-here"),
    *("Apple Health", "Apple emoji", "Apple QuickType", "KB", "UTC", "Status", "test"),
    *("publish", "invite", "results", "export", "batch", "https", "SHA"),
    *("Pearson", "Rao-Scott", "Score", "block", "df"),
    *("SE", "Var", "deff", "eff", "max", "min"),
}
NAMES |= {*LANGUAGES.values(), *MECHANISMS, "fr", "en", "tel:+"}
# Languages have their German names from Babel, which no catalogue of ours has.
NAMES |= {str(Locale.parse(tag, sep="-").get_display_name("de")) for tag in routes.COMMON}
_NAMES = re.compile(
    rf"(?<![^\W\d_²])(?:{'|'.join(sorted(map(re.escape, NAMES), key=len, reverse=True))})(?![^\W\d_²])"
)
_DAY = re.compile(r"\d{1,2}\. (?:Januar|November|Dezember) [12]\d\d\d")
_HASH = re.compile(r"\b(?=\w*\d)[0-9a-f]{6,64}\b")
_PLACE = re.compile(r"\{\w+\}")
"""A place that a script fills in."""


@cache
def _forms_words() -> list[str]:
    """What the library of forms says in German by itself, the longest first."""
    catalogue = Path(wtforms.__file__).parent / "locale/de/LC_MESSAGES/wtforms.mo"
    translations = {
        str(message.string) for message in read_mo(io.BytesIO(catalogue.read_bytes())) if message.id
    }
    return sorted(translations | {text.rstrip(".") for text in translations}, key=len, reverse=True)


@cache
def _format_labels() -> list[str]:
    """The labels of links to files of results, which each format has in every language."""
    return [file_format.label("de") for file_format in RESULTS_FORMATS]


def left_over(page: str) -> list[str]:
    """Return the texts of a page that do not come from the catalogues."""
    leftovers = []
    for text in unsaid(page):
        rest = text
        for external_text in (*_forms_words(), *_format_labels(), __version__):
            rest = rest.replace(external_text, "")
        for nobodys in (_PLACE, _DAY, _HASH, _NAMES):
            rest = nobodys.sub("", rest)
        if letters(rest):
            leftovers.append(text)
    return leftovers


def questions_of_every_kind() -> list[dict[str, Any]]:
    """A question of every kind, whose texts have no letters."""
    lists = {"options": ["§1", "§2", "§3"]}
    return [
        {"id": "q1", "kind": "yes_no", "text": "¿1?", "mechanism": {"epsilon": "1"}},
        {"id": "q2", "kind": "choice", "text": "¿2?", **lists, "mechanism": {"epsilon": "1"}},
        {
            "id": "q3",
            "kind": "scale",
            "text": "¿3?",
            "points": 5,
            "mechanism": {"epsilon": "1", "target": "mean"},
        },
        {
            "id": "q4",
            "kind": "scale",
            "text": "¿4?",
            "points": 5,
            "mechanism": {"epsilon": "1", "target": "cumulative"},
        },
        {
            "id": "q5",
            "kind": "number",
            "text": "¿5?",
            "min": "0",
            "max": "80",
            "step": "1",
            "unit": "§",
            "mechanism": {"epsilon": "1", "target": "mean"},
        },
        {
            "id": "q6",
            "kind": "number",
            "text": "¿6?",
            "min": "0",
            "max": "80",
            "step": "0.5",
            "mechanism": {"epsilon": "1", "target": "distribution", "bins": 8},
        },
        {"id": "q7", "kind": "multiple", "text": "¿7?", **lists, "at_most": 2, "mechanism": {"epsilon": "1"}},
        {**OR_POLL, "id": "q8", "text": "¿8?", "mechanism": {**OR_POLL["mechanism"], "decoy": "¿8b?"}},
        {
            "id": "q9",
            "kind": "yes_no",
            "text": "¿9?",
            "mechanism": {"epsilon": "1.25"},
            "after": {"question": "q1", "answers": ["Yes"]},
        },
        {"id": "q10", "kind": "yes_no", "text": "¿1?", "mechanism": {"name": "warner", "truth": "0.75"}},
    ]


class Walk:
    """Return a client that reads every page in German."""

    def __init__(self, app: Flask, store: Store) -> None:
        self.store = store
        self.app = app
        self.people = {name: self._client(name) for name in ("owner", "admin", "reader", "analyst", None)}
        self.found: dict[str, list[str]] = {}
        self.seen: set[str] = set()

    def _client(self, name: str | None) -> FlaskClient:
        client = signed_in(self.app, self.store, name)
        client.set_cookie(LANGUAGE_COOKIE, "de")
        return client

    def look(
        self, path: str, who: str | None = "owner", status: int = 200, where: str = "", **options: Any
    ) -> str:
        """Open a page, and note what is not said."""
        headers = {"Accept": "text/html", **options.pop("headers", {})}
        answer = self.people[who].open(path, headers=headers, **options)
        self._note(where or f"{options.get('method', 'GET')} {path}", answer, status)
        return str(answer.text)

    def send(
        self, path: str, page: str | None = None, who: str = "owner", status: int = 422, **fields: Any
    ) -> Any:
        """Send a form, and note what the page that comes back does not say."""
        client = self.people[who]
        page_text = client.get(page or path, headers={"Accept": "text/html"}).text
        hidden = dict(re.findall(r'name="(csrf_token|revision)"[^>]* value="([^"]*)"', page_text))
        answer = client.post(
            path, data={**hidden, **fields}, headers={"Accept": "text/html"}, follow_redirects=status == 200
        )
        self._note(f"POST {path}", answer, status)
        return answer

    def _note(self, address: str, answer: Any, status: int) -> None:
        assert answer.status_code == status, f"{address}: {answer.status_code} {answer.text[:400]}"
        assert '<html lang="de"' in answer.text, address
        leftovers = left_over(answer.text)
        if leftovers:
            self.found[address] = leftovers

    def check(self) -> None:
        """Fail where something was left over."""
        summary = "\n".join(f"{address}: {sorted(set(texts))}" for address, texts in self.found.items())
        assert not self.found, summary


def numbered(store: Store, *questions: dict[str, Any], **more: Any) -> Draft:
    document = {**documents.blank(f"№ {secrets.randbelow(10**9)}"), "questions": list(questions), **more}
    return storage.create(store, "owner", document)
