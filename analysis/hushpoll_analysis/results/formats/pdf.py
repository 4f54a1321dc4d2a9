"""Results as PDF: one page for the person who decides, and the whole report. Both need Typst."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hushpoll_analysis.results.typesetting import is_available

from .base import ResultsFormat

if TYPE_CHECKING:
    from hushpoll_analysis.results.rendering import Speech
    from hushpoll_analysis.results.survey import SurveyResults


def _write_page(results: SurveyResults, language: str, speech: Speech | None) -> bytes:
    from hushpoll_analysis.results.pdf import one_page

    return one_page(results, language)


def _write_report(results: SurveyResults, language: str, speech: Speech | None) -> bytes:
    from hushpoll_analysis.results.pdf import full_report
    from hushpoll_analysis.results.rendering import ENGLISH

    return full_report(results, language, speech or ENGLISH)


ONE_PAGE_PDF = ResultsFormat(
    name="summary",
    ending="summary.pdf",
    labels={
        "en": "One page for the person who decides (PDF)",
        "fr": "Une page pour la personne qui décide (PDF)",
        "de": "Eine Seite für die Person, die entscheidet (PDF)",
        "es": "Una página para la persona que decide (PDF)",
        "ar": "صفحة واحدة لمن يتخذ القرار (PDF)",
    },
    media_type="application/pdf",
    write=_write_page,
    translated=True,
    is_available=is_available,
)
PDF = ResultsFormat(
    name="pdf",
    ending="pdf",
    labels={
        "en": "Full report (PDF)",
        "fr": "Rapport complet (PDF)",
        "de": "Ganzer Bericht (PDF)",
        "es": "Informe completo (PDF)",
        "ar": "التقرير الكامل (PDF)",
    },
    media_type="application/pdf",
    write=_write_report,
    translated=True,
    is_available=is_available,
)
