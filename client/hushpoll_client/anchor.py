"""Anchors: a question whose true share is known, so that careless answers show."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from .document import read_fields, short
from .errors import MechanismError, SurveyError
from .exact import read_share, spell
from .question import Question

__all__ = ["Anchor", "read_anchor"]


@dataclass(frozen=True)
class Anchor:
    """A yes/no question whose true share of Yes is known, so that careless answers show."""

    question: str
    share: Fraction

    def document(self) -> dict[str, Any]:
        """Give the anchor as JSON."""
        return {"question": self.question, "share": spell(self.share)}


def read_anchor(value: object, questions: Sequence[Question], published: bool) -> Anchor:
    """Read which question's true share is known; a half would tell nothing about careless answers."""
    fields = read_fields(value, ("anchor",), ("question", "share"), published=published)
    found = next((one for one in questions if one.id == fields["question"]), None)
    if found is None or not found.kind.yes_or_no or found.after is not None or found.block is not None:
        raise SurveyError(
            ("anchor", "question"),
            f"{short(fields['question'])} is no yes/no question that everybody is asked",
            "name one",
        )
    try:
        share = read_share(fields["share"], "share")
    except MechanismError as error:
        raise SurveyError(
            ("anchor", "share"), error.problem, error.remedy or "write a share such as 0"
        ) from None
    if share == Fraction(1, 2):
        raise SurveyError(("anchor", "share"), "1/2 tells nothing", "choose a question of another share")
    if published and fields["share"] != spell(share):
        raise SurveyError(
            ("anchor", "share"), "is not in its published spelling", "ask the owner to publish it again"
        )
    return Anchor(found.id, share)
