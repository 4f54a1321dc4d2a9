"""How figures are shown on pages and on a terminal alike: points, p-values, numbers, counts of reports."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from hushpoll_client.formatting import factor_text, number_text
from hushpoll_client.messages import joined, msg

if TYPE_CHECKING:
    from .question import QuestionResults


def _reported(question: QuestionResults) -> list[tuple[str, int]]:
    """List reports as they came in, by what they say: reported, not true."""
    return list(zip(question.question.report_labels, question.counts, strict=True))


def reported_words(question: QuestionResults) -> str:
    """Return what the devices sent: counts of what can be named, or why a report by itself names no answer."""
    mechanism = question.question.mechanism
    if mechanism.reports_answers or mechanism.report_words:
        counts = [msg("{label} {count:,}", label=label, count=count) for label, count in _reported(question)]
        return msg("Reported, not true: {counts}.", counts=joined(", ", counts))
    return msg(
        "Reports are not answers: each could come from any answer, and is at most {factor} times likelier from one "
        "than from another.",
        factor=factor_text(mechanism.epsilon),
    )


def points(value: float) -> str:
    """Write a difference of shares in percentage points with its sign."""
    share = 100 * value
    if float(f"{share:+.1f}") == 0:
        return number_text(0.0, ".1f")
    return number_text(share, "+.1f")


def p_text(value: float) -> str:
    """Write a p-value as people read it."""
    if math.isnan(value):
        return ""
    if value < 1e-4:
        return msg("< {least:.4f}", least=1e-4)
    return number_text(value, ".4f")


def number(value: float | None, digits: int = 4) -> str:
    """Write a number, or a dash where there is none."""
    if value is None or math.isnan(value):
        return "–"
    return number_text(value, f".{digits}f")
