"""The tidy table of a report: one row per estimate, in columns that keep their names."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .numbers import entry_row

if TYPE_CHECKING:
    from .question import QuestionResults, ReportedShare

FRAME_COLUMNS = (
    "question",
    "option",
    "reported",
    "estimate",
    "se",
    "se_privacy",
    "low",
    "high",
    "shown_estimate",
    "shown_low",
    "shown_high",
    "simultaneous_low",
    "simultaneous_high",
    "constrained",
    "design_effect",
    "n_effective",
    "dishonest_weight",
    "dishonest_shift",
    "n",
    "level",
    "interval",
    "mechanism",
    "epsilon",
    "quantity",
)


def question_rows(question: QuestionResults) -> list[dict[str, Any]]:
    """Return the shares of a question, then what its order and its numbers add.

    Of a follow-up question the shares among those asked come first, as quantity "share among asked".
    """
    common = {
        "question": question.id,
        "n": question.n,
        "mechanism": question.question.mechanism.name,
        "epsilon": question.question.epsilon,
    }
    rows = [_share_row(line, "share among asked") for line in question.among_asked]
    rows += [_share_row(line) for line in question.shares]
    rows += [] if question.numbers is None else question.numbers.rows()
    return [common | row for row in rows]


def _share_row(share: ReportedShare, quantity: str = "share") -> dict[str, Any]:
    return {
        **entry_row(quantity, share.option, share, share.simultaneous),
        "reported": share.reported,
        "constrained": share.constrained,
        "design_effect": share.design_effect,
        "n_effective": share.n_effective,
        "dishonest_weight": share.weight,
        "dishonest_shift": share.dishonest_shift,
    }
