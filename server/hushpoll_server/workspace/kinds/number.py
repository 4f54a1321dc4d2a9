"""A number, in the editor."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar

from hushpoll_client import Question
from hushpoll_client.kind import KINDS

from .base import EditorKind, Fields, average, points, whole_or_text

__all__ = ["NumberEditor"]

_BINNED = "distribution"


class NumberEditor(EditorKind):
    """The designer says from where to where, in which steps, and in which unit."""

    kind = KINDS["number"]
    shapes: ClassVar[Mapping[str, Callable[[str], Any]]] = {"bins": whole_or_text}
    answers = 3  # or more: what fits three answers fits all
    reports: ClassVar[Mapping[str, tuple[str, str]]] = {
        "mean": ("The average", "One number, as precise as possible, whatever people answer."),
        _BINNED: (
            "How the numbers are distributed",
            "Histogram, median and quartiles, the share above a threshold.",
        ),
    }

    def in_mechanism(self, fields: Fields) -> dict[str, Any]:
        """Give what will be reported, and the bins of a distribution where they are said."""
        target = fields.get(self.target_field) or self.kind.targets[0]
        bins = self._typed("bins", fields)
        return {"target": target} | ({"bins": bins} if target == _BINNED and bins else {})

    def margin(self, question: Question, part: float | None) -> str:
        """Write the margin of an average in the number's unit."""
        if question.answers.target == _BINNED:
            return points(part)
        return average(question, part, getattr(question.answers, "unit", ""))

    def reported(self, question: Question) -> str:
        """Say what will be reported."""
        if question.answers.target == _BINNED:
            return f"the distribution, in {len(question.options)} bins"
        return "the average"
