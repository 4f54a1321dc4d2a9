"""The table of estimates as CSV."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .base import ResultsFormat

if TYPE_CHECKING:
    from hushpoll_analysis.results.rendering import Speech
    from hushpoll_analysis.results.survey import SurveyResults


def _write(results: SurveyResults, language: str, speech: Speech | None) -> str:
    return results.to_csv()


CSV_TABLE = ResultsFormat(
    name="csv",
    ending="csv",
    labels={
        "en": "Table (CSV)",
        "fr": "Tableau (CSV)",
        "de": "Tabelle (CSV)",
        "es": "Tabla (CSV)",
        "ar": "جدول (CSV)",
    },
    media_type="text/csv; charset=utf-8",
    write=_write,
    encoding="utf-8-sig",  # without a byte order mark a spreadsheet takes UTF-8 for something else
)
