"""Results as one JSON object."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .base import ResultsFormat

if TYPE_CHECKING:
    from hushpoll_analysis.results.rendering import Speech
    from hushpoll_analysis.results.survey import SurveyResults


def _write(results: SurveyResults, language: str, speech: Speech | None) -> str:
    return results.to_json()


JSON_OBJECT = ResultsFormat(
    name="json",
    ending="json",
    labels={
        "en": "Everything (JSON)",
        "fr": "Tout (JSON)",
        "de": "Alles (JSON)",
        "es": "Todo (JSON)",
        "ar": "كل شيء (JSON)",
    },
    media_type="application/json",
    write=_write,
)
