"""How figures are shown on pages and on a terminal alike: points, p-values, numbers, counts of reports."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from hushpoll_client.said import joined, said
from hushpoll_client.words import factor_text, number_text

if TYPE_CHECKING:
    from .question import QuestionResults

__all__ = ["number", "p_text", "points", "reported_words"]


def _reported(part: QuestionResults) -> list[tuple[str, int]]:
    """List reports as they came in, by what they say: reported, not true."""
    return list(zip(part.question.report_labels, part.counts, strict=True))


def reported_words(part: QuestionResults) -> str:
    """Give what the devices sent: counts of what can be named, or why a report by itself names no answer."""
    mechanism = part.question.mechanism
    if mechanism.reports_answers or mechanism.report_words:
        counts = [said("{label} {count:,}", label=label, count=count) for label, count in _reported(part)]
        return said("Reported, not true: {counts}.", counts=joined(", ", counts))
    return said(
        "Reports are not answers: each could come from any answer, and is at most {factor} times likelier from one "
        "than from another.",
        factor=factor_text(mechanism.epsilon),
    )


def points(value: float) -> str:
    """Write a difference of shares in percentage points with its sign, cut to what is possible."""
    share = 100 * min(1.0, max(-1.0, value))
    return number_text(0.0, ".1f") if float(f"{share:+.1f}") == 0 else number_text(share, "+.1f")


def p_text(value: float) -> str:
    """Write a p-value as people read it."""
    if math.isnan(value):
        return ""
    return said("< {least:.4f}", least=1e-4) if value < 1e-4 else number_text(value, ".4f")


def number(value: float | None, digits: int = 4) -> str:
    """Write a number, or a dash where there is none."""
    return "–" if value is None or math.isnan(value) else number_text(value, f".{digits}f")
