"""Results as PDF: one page for the person who decides, and the whole report."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from .fieldwork import facts
from .group_findings import group_findings
from .numbers import rounded
from .picture import as_svg
from .rendering import ENGLISH, Speech
from .texts import Texts, texts_of
from .typesetting import as_pdf, pages_of

if TYPE_CHECKING:
    from hushpoll_analysis.tables.means import GroupMean

    from .group_table import GroupTable
    from .question import QuestionResults
    from .survey import SurveyResults
    from .wording import Wording

MOST_BARS = 3
"""Shares of one question on the single page."""
MOST_ON_PAGE = 12
"""Questions on the single page, if they have room there."""


def one_page(results: SurveyResults, language: str = "en") -> bytes:
    """Return what was found on one page; questions without room there are counted."""
    texts = texts_of(results.survey, language)
    entries = [
        {
            "question": _own(finding.question),
            "finding": finding.text,
            "verdict": getattr(finding.verdict, "text", ""),
            "bars": _bars(results[finding.id], texts),
        }
        for finding in results.findings(texts.say.language)
    ]
    for count in range(min(len(entries), MOST_ON_PAGE), -1, -1):
        left, more = len(entries) - count, ""
        if left:
            more = texts.say("more_questions", number=left)
        data = _head(results, texts) | {"findings": entries[:count], "more": more}
        if count == 0 or pages_of("one_page.typ", data) == 1:
            return as_pdf("one_page.typ", data)
    raise AssertionError("unreachable")


def full_report(results: SurveyResults, language: str = "en", speech: Speech = ENGLISH) -> bytes:
    """Return the whole report: every question with its chart and table, groups, and the method."""
    texts = texts_of(results.survey, language)
    spoken = {finding.id: finding for finding in results.findings(texts.say.language)}
    questions = [
        _question(results, question, texts, spoken[question.id].text, speech)
        for question in results.questions
        if question.is_estimated
    ]
    method = results.method
    data = _head(results, texts) | {
        "questions": questions,
        "groups": [_group(table, texts) for table in results.groups],
        "method_heading": texts.say("method"),
        "method": speech.say(method.paragraph),
        "privacy": speech.say(results.privacy),
        "references": [str(reference) for reference in method.references],
        "details_language": speech.language,
    }
    return as_pdf("full_report.typ", data)


def _own(text: str) -> str:
    """Return words of the designer, whose direction may be another one than that of the document."""
    return f"\u2068{text}\u2069"


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _head(results: SurveyResults, texts: Texts) -> dict[str, Any]:
    say = texts.say
    return {
        "language": say.language,
        "direction": say.direction,
        "title": texts.title,
        "heading": _own(texts.title),
        "facts": list(facts(results, texts)),
        "findings_heading": say("findings"),
        "note": results.too_few,
        "randomized": say("on_devices"),
        "ranges": say("ranges", level=f"{100 * results.level:g}"),
        "hash": results.survey.hash[:12],
    }


def _bars(question: QuestionResults, texts: Texts) -> list[dict[str, Any]]:
    """Return the largest shares of a question, for bars between 0 and 1; none where a number is what was found."""
    if (
        question.numbers is not None
        and question.numbers.mean is not None
        and question.numbers.quantiles is None
    ):
        return []
    lines = question.shown_shares
    if question.question.kind.yes_or_no:
        lines = tuple(line for line in lines if line.option == question.question.options[-1]) or lines
    elif question.numbers is None:
        lines = tuple(sorted(lines, key=lambda line: -line.estimate)[:MOST_BARS])
    else:
        return []
    return [
        {
            "label": _own(texts.option(question.question, line.option)),
            "estimate": line.shown_estimate,
            "low": line.shown_low,
            "high": line.shown_high,
        }
        for line in lines
    ]


def _question(
    results: SurveyResults, question: QuestionResults, texts: Texts, finding: str, speech: Speech
) -> dict[str, Any]:
    say = texts.say
    rows = [
        [
            _own(texts.option(question.question, line.option)),
            say.percent(line.shown_estimate),
            f"{say.number(100 * line.shown_low, 1)} – {say.percent(line.shown_high)}",
        ]
        for line in question.shown_shares
    ]
    return {
        "heading": _own(texts.question(question.question)),
        "finding": finding,
        "svg": as_svg(results, question.id, texts.say.language, headed=False),
        "columns": [
            say("answer"),
            _capital(say("key_estimate")),
            say("interval", level=f"{100 * results.level:g}"),
        ],
        "rows": rows,
        "notes": [speech.say(note) for note in question.remarks],
    }


def _group(table: GroupTable, texts: Texts) -> dict[str, Any]:
    """Return a table by groups: means where a number was asked for, else shares."""
    say = texts.say
    columns = [_own(texts.by(table)), _capital(say("key_estimate"))]
    columns.append(say("interval", level=f"{100 * table.level:g}"))
    if table.means:
        rows = [[_own(texts.group(table, mean.group)), *_mean(mean, say)] for mean in table.shown_means]
    else:
        columns.insert(0, say("answer"))
        rows = [
            [
                _own(texts.option(table.question, share.option)),
                _own(texts.group(table, share.group)),
                say.percent(share.estimate),
                f"{say.number(100 * share.limits[0], 1)} – {say.percent(share.limits[1])}",
            ]
            for share in table.shares
            if not math.isnan(share.estimate)
        ]
    return {
        "heading": say("group_heading", question=texts.question(table.question), by=texts.by(table)),
        "findings": list(group_findings(table, texts)),
        "columns": columns,
        "rows": rows,
    }


def _mean(mean: GroupMean, say: Wording) -> list[str]:
    middle, low, high = (
        say.in_signs(rounded(value, mean.se)) for value in (mean.estimate, mean.low, mean.high)
    )
    return [middle, f"{low} – {high}"]
