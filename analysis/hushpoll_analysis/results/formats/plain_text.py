"""Results as plain text, for a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .base import ResultsFormat

if TYPE_CHECKING:
    from hushpoll_analysis.results.rendering import Speech
    from hushpoll_analysis.results.survey import SurveyResults


def _write(results: SurveyResults, language: str, speech: Speech | None) -> str:
    return results.to_text()


PLAIN_TEXT = ResultsFormat(
    name="text",
    ending="txt",
    labels={
        "en": "Plain text",
        "fr": "Texte simple",
        "de": "Reiner Text",
        "es": "Texto sin formato",
        "ar": "نص عادي",
    },
    media_type="text/plain; charset=utf-8",
    write=_write,
)
