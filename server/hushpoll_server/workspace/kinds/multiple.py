"""Tick all that apply, in the editor."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar

from hushpoll_client import Question
from hushpoll_client.kind import KINDS

from .base import MOST_TYPED, EditorKind, lines, whole_or_text
from .rehearsing import LISTS, Row, TruthProblem, falling, percent, select, sets_with_shares, share_rows

__all__ = ["MultipleEditor"]


class MultipleEditor(EditorKind):
    """The designer lists the options, one a line, and may say how many can be ticked."""

    kind = KINDS["multiple"]
    shapes: ClassVar[Mapping[str, Callable[[str], Any]]] = {"options": lines, "at_most": whole_or_text}
    counted = "options"

    def truth_fields(self, question: Question) -> dict[str, Any]:
        """Ask how many people tick each option."""
        options = question.options
        if len(options) > MOST_TYPED:
            return {"shape": select("Suppose that", LISTS)}
        return {str(place): percent(label, 20) for place, label in enumerate(options)}

    def read_truth(self, question: Question, given: Mapping[str, Any]) -> Any:
        """Give the share of each option; where only so many may be ticked, sets in which each has its share."""
        count, most = len(question.options), question.answers.about().get("at_most")
        if "shape" in given:
            shares = [min(1.0, 2 * share) for share in falling(count, given["shape"])]
        else:
            shares = [given[str(place)] / 100 for place in range(count)]
        if most is None:
            return shares
        if sum(shares) > most + 1e-9:
            said = f"add up to {100 * sum(shares):g}, more than {100 * most}: at most {most} may be ticked"
            raise TruthProblem(str(count - 1), said)
        sets, sizes = sets_with_shares(shares)
        return {"sets": [[question.options[place] for place in one] for one in sets], "shares": sizes}

    def rows(self, question: Question, found: Mapping[str, Any], truth: Any, asked: float) -> list[Row]:
        """Put the share of each option beside the truth."""
        if isinstance(truth, list):
            return share_rows(found["estimates"], dict(zip(question.options, truth, strict=True)))
        pairs = list(zip(truth["sets"], truth["shares"], strict=True))
        held = {one: sum(share for chosen, share in pairs if one in chosen) for one in question.options}
        return share_rows(found["estimates"], held)

    def reported(self, question: Question) -> str:
        """Say what will be reported."""
        return "the share of people who tick each option"
