"""Which language to speak to whoever reads a page: the one in the address, else the browser's, else English."""

from __future__ import annotations

from flask import Flask, request
from flask_babel import Babel, get_locale

__all__ = ["LANGUAGES", "direction", "init_app", "language", "readers"]

# Each language in its own words, for the list on the page.
LANGUAGES = {"en": "English", "fr": "Français", "de": "Deutsch", "es": "Español", "ar": "العربية"}

PUBLIC = "results.public"
"""How the endpoints begin that show results to everybody: they speak the reader's language too."""


def init_app(app: Flask) -> Babel:
    """Make an application speak the reader's language."""
    app.config.setdefault("BABEL_TRANSLATION_DIRECTORIES", "respond/translations")
    return Babel(app, default_locale="en", locale_selector=_select)


def _select() -> str:
    """Speak the reader's language on pages for everybody; the workspace is English."""
    for_everybody = (request.blueprint or "").startswith("respond") or (request.endpoint or "").startswith(
        (PUBLIC, "results.embedded")
    )
    return readers() if for_everybody else "en"


def readers() -> str:
    """Take ?lang= if it is ours, else what the browser asks for, else English."""
    asked = request.args.get("lang", "")
    return asked if asked in LANGUAGES else request.accept_languages.best_match(LANGUAGES) or "en"


def language() -> str:
    """Give the language of this response."""
    locale = get_locale()
    return str(locale.language) if locale else "en"


def direction() -> str:
    """Give the writing direction of this response's language."""
    return "rtl" if language() == "ar" else "ltr"
