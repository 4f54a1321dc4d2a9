"""Results as one self-contained HTML file."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .base import ResultsFormat

if TYPE_CHECKING:
    from hushpoll_analysis.results.rendering import Speech
    from hushpoll_analysis.results.survey import SurveyResults


def _write(results: SurveyResults, language: str, speech: Speech | None) -> str:
    from hushpoll_analysis.results.rendering import ENGLISH, as_html

    return as_html(results, language, speech or ENGLISH)


HTML_PAGE = ResultsFormat(
    name="html",
    ending="html",
    other_endings=("htm",),
    labels={
        "en": "One file to keep or print (HTML)",
        "fr": "Un fichier à garder ou à imprimer (HTML)",
        "de": "Eine Datei zum Aufheben oder Drucken (HTML)",
        "es": "Un archivo para guardar o imprimir (HTML)",
        "ar": "ملف واحد للحفظ أو الطباعة (HTML)",
    },
    media_type="text/html; charset=utf-8",
    write=_write,
    translated=True,
)
