"""The languages of pages, each by its own name, and the direction of their writing."""

from __future__ import annotations

from babel import Locale
from hushpoll_analysis.results.wording import LANGUAGES as CODES

__all__ = ["LANGUAGES", "WORKSPACE_LANGUAGES", "direction_of"]

LANGUAGES = {code: str(Locale(code).get_language_name(code)).capitalize() for code in CODES}
"""The languages of respondents' pages and of results, which are one list."""

WORKSPACE_LANGUAGES = {code: LANGUAGES[code] for code in ("en", "de")}
"""The languages of the workspace; their catalogues hold every sentence."""


def direction_of(language: str) -> str:
    """Return the writing direction of a language as HTML names it."""
    order = Locale.parse(language, sep="-").character_order
    return "rtl" if order == "right-to-left" else "ltr"
