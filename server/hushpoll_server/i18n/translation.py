"""The language of a page, and how English messages from elsewhere are translated into it.

Respondents' pages and public results use the language in the address, else the browser's, else English. The workspace
uses the language of its cookie, else the one in the address, else the browser's, else English. Programs get English.
"""

from __future__ import annotations

import datetime
from decimal import Decimal
from fractions import Fraction
from string import Formatter
from typing import Any

import flask_babel
from babel import Locale
from flask import Flask, has_request_context, request
from flask_babel import Babel, get_locale
from hushpoll_client.errors import HushpollError
from hushpoll_client.messages import Message

from .languages import LANGUAGES, WORKSPACE_LANGUAGES, direction_of

__all__ = [
    "LANGUAGE_COOKIE",
    "day",
    "direction",
    "gettext",
    "init_app",
    "language",
    "localize_number",
    "ngettext",
    "pgettext",
    "problem_page_language",
    "translate",
]

LANGUAGE_COOKIE = "hushpoll_language"
"""The cookie with the language of the workspace."""

_CATALOGUES = "i18n/translations"

PUBLIC = "results.public"
"""The beginning of the endpoints of public results, which use the reader's language."""

# Here `lang` names the language of what is printed or previewed.
_OF_THE_SURVEY = (
    "workspace.preview.",
    "workspace.links.poster",
    "workspace.slips.slips",
)


# English as this program writes it; every other language as Unicode's tables have it.
_DAYS = {"en": "d MMMM y"}


def init_app(app: Flask) -> Babel:
    """Let an application choose the language of each request."""
    app.config.setdefault("BABEL_TRANSLATION_DIRECTORIES", _CATALOGUES)
    return Babel(app, default_locale="en", locale_selector=_request_language)


def _request_language() -> str:
    """Return the language of this request; programs get English."""
    if not has_request_context():
        return "en"
    if _is_public_page():
        return readers_language()
    if request.path.startswith("/api/"):
        return "en"
    return _workspace_language()


def problem_page_language() -> str:
    """Return the language for a page about a problem: that of the workspace cookie, or the reader's on public pages."""
    if _is_public_page():
        return readers_language()
    return _cookie_language() or readers_language()


def _is_public_page() -> bool:
    return (request.endpoint or "").startswith(("respond", PUBLIC, "results.embedded"))


def readers_language() -> str:
    """Return ?lang= if pages have it, else the browser's language, else English."""
    return _requested_language(LANGUAGES) or request.accept_languages.best_match(LANGUAGES) or "en"


def _workspace_language() -> str:
    """Return the language of the workspace cookie, else ?lang=, else the browser's, else English."""
    offered = WORKSPACE_LANGUAGES
    if _cookie_language():
        return _cookie_language()
    requested = ""
    if not (request.endpoint or "").startswith(_OF_THE_SURVEY):
        requested = _requested_language(offered)
    return requested or request.accept_languages.best_match(offered) or "en"


def _cookie_language() -> str:
    """Return the language of the workspace cookie; "" without one."""
    code = request.cookies.get(LANGUAGE_COOKIE, "")
    return code if code in WORKSPACE_LANGUAGES else ""


def _requested_language(offered: dict[str, str]) -> str:
    code = request.args.get("lang", "")
    return code if code in offered else ""


def language() -> str:
    """Return the language of this response."""
    locale = get_locale()
    if locale:
        return str(locale.language)
    return "en"


def direction() -> str:
    """Return the writing direction of this response's language."""
    return direction_of(language())


def day(date: datetime.date) -> str:
    """Return a day as the language writes it."""
    return str(flask_babel.format_date(date, _DAYS.get(language(), "long")))


def gettext(text: str, /, **values: Any) -> str:
    """Return a sentence in the reader's language; values are written %(name)s."""
    return str(flask_babel.gettext(text, **values))


def ngettext(singular: str, plural: str, number: int, /, **values: Any) -> str:
    """Return the singular or the plural of a sentence; %(num)s is the number."""
    return str(flask_babel.ngettext(singular, plural, number, **values))


def pgettext(context: str, text: str, /, **values: Any) -> str:
    """Return a word in the meaning that a context gives it."""
    return str(flask_babel.pgettext(context, text, **values))


def translate(msg: object) -> str:
    """Return a text of the client, the analysis or the store in the reader's language.

    A `Message` is filled in again, with numbers as the language writes them. An error becomes its place, problem and
    remedy. A text without a translation stays as it is.
    """
    if isinstance(msg, HushpollError):
        return _error(msg)
    if isinstance(msg, Message) and language() == "en":
        return str(
            msg
        )  # it knows more of its English than its template: where it begins with a capital letter
    if isinstance(msg, Message):
        return _Filled(get_locale()).vformat(gettext(msg.template), (), msg.values)
    text = str(msg)
    if text:
        return gettext(text)
    return ""


def _error(error: HushpollError) -> str:
    where = translate(getattr(error, "where", "") or getattr(error, "item", ""))
    problem, remedy = translate(error.problem), translate(error.remedy)
    text = problem
    if where:
        text = f"{where}: {problem}"
    if remedy:
        return f"{text}; {remedy}"
    return text


class _Filled(Formatter):
    """Fills in a translated sentence: messages in it are translated too, numbers written as the language does."""

    def __init__(self, locale: Locale | None) -> None:
        self.locale = locale or Locale("en")

    def format_field(self, value: Any, format_spec: str) -> str:
        if isinstance(value, str):
            return format(translate(value) if isinstance(value, Message) else value, format_spec)
        if isinstance(value, HushpollError):
            return translate(value)
        text = format(value, format_spec)
        is_number = isinstance(value, (int, float, Decimal, Fraction)) and not isinstance(value, bool)
        if is_number:
            return _with_signs(self.locale, text)
        return text


def localize_number(text: str) -> str:
    """Return a number in English with the signs of the reader's language: 1,234.5 as 1.234,5.

    A value that is not a number ("unbounded") is translated.
    """
    if isinstance(text, Message) or not any(sign.isdigit() for sign in text):
        return translate(text)
    return _with_signs(get_locale() or Locale("en"), text)


def _with_signs(locale: Locale, text: str) -> str:
    signs = locale.number_symbols["latn"]
    text = text.translate({ord(","): signs["group"], ord("."): signs["decimal"]})
    if " %" in text:
        return text
    return text.replace("%", locale.percent_formats[None].suffix[0])
