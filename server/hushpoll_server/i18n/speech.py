"""Who says the details of results on a page: the reader's language, where the workspace speaks it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .languages import WORKSPACE_LANGUAGES
from .translation import in_words, language

if TYPE_CHECKING:
    from hushpoll_analysis.results.rendering import Speech

__all__ = ["speech"]


def speech() -> Speech:
    """Translate sentences into this response's language; untranslated ones stay English."""
    from hushpoll_analysis.results.rendering import Speech

    spoken = language()
    if spoken in WORKSPACE_LANGUAGES and spoken != "en":
        return Speech(spoken, in_words)
    return Speech()
