"""The language of the details of results: the reader's, if the workspace has it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .languages import WORKSPACE_LANGUAGES
from .translation import language, translate

if TYPE_CHECKING:
    from hushpoll_analysis.results.rendering import Speech

__all__ = ["speech"]


def speech() -> Speech:
    """Return what translates the details of results into the language of this response."""
    from hushpoll_analysis.results.rendering import Speech

    spoken = language()
    if spoken in WORKSPACE_LANGUAGES and spoken != "en":
        return Speech(spoken, translate)
    return Speech()
