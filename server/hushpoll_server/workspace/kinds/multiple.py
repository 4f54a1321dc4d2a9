"""Tick all that apply, in the editor."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, ClassVar

from flask_babel import lazy_gettext as later
from hushpoll_client import Question
from hushpoll_client.kind import KINDS
from wtforms import BooleanField

from hushpoll_server.i18n.translation import gettext as _

from .base import MOST_TYPED, EditorKind, Fields, enough_options, split_lines, whole_or_text
from .inputs import OPTIONS, Input, number_input
from .rehearsing import LISTS, Row, falling, percent, select, sets_with_shares, share_rows


class MultipleEditor(EditorKind):
    """The designer lists the options, one per line, and may set the maximum number of ticks."""

    kind = KINDS["multiple"]
    shapes: ClassVar[Mapping[str, Callable[[str], Any]]] = {"options": split_lines, "at_most": whole_or_text}
    input_rows = (
        (OPTIONS,),
        (
            number_input(
                "at_most",
                later("Maximum number of ticks"),
                later("A whole number. Leave it empty for no maximum."),
            ),
        ),
        (
            Input(
                "pairs",
                later("I want to see pairs of options together"),
                later(
                    "Then each report is about two options or more, and shows pairs and the number of ticks."
                ),
                BooleanField,
            ),
        ),
    )
    counted = "options"

    def stand_in(self, field: str, typed: str) -> str | None:
        """Return a list with at least two options."""
        if field == "options":
            return enough_options(typed)
        return super().stand_in(field, typed)

    def read(self, question: Mapping[str, Any]) -> Fields | None:
        """Return the fields, with pairs ticked if the mechanism asks about two options or more."""
        fields = super().read(question)
        if fields is not None and question.get("mechanism", {}).get("ask", 1) != 1:
            fields["pairs"] = True
        return fields

    def truth_fields(self, question: Question) -> dict[str, Any]:
        """Ask how many people tick each option."""
        options = question.options
        if len(options) > MOST_TYPED:
            return {"shape": select(later("Suppose that"), LISTS)}
        return {str(index): percent(label, 20) for index, label in enumerate(options)}

    def read_truth(self, question: Question, typed: Mapping[str, Any]) -> Any:
        """Return the share of each option; with a maximum number of ticks, sets of options that have these shares."""
        count, most = len(question.options), question.answers.about().get("at_most")
        if "shape" in typed:
            shares = [min(1.0, 2 * share) for share in falling(count, typed["shape"])]
        else:
            shares = [typed[str(index)] / 100 for index in range(count)]
        if most is None:
            return shares
        sets, sizes = sets_with_shares(_within(shares, most))
        return {"sets": [[question.options[index] for index in indices] for indices in sets], "shares": sizes}

    def balanced_percentages(self, question: Question, typed: Mapping[str, Any]) -> dict[str, float]:
        """Return percentages that are possible with the maximum number of ticks."""
        most = question.answers.about().get("at_most")
        shares = [typed[str(index)] / 100 for index in range(len(question.options)) if str(index) in typed]
        return {str(index): round(100 * share, 1) for index, share in enumerate(_within(shares, most))}

    def must_add_up(self, question: Question) -> bool:
        """Several may be ticked: the percentages need not make 100."""
        return False

    def rows(
        self, question: Question, figures: Mapping[str, Any], truth: Any, share_asked: float
    ) -> list[Row]:
        """Put the share of each option next to the truth."""
        if isinstance(truth, list):
            return share_rows(figures["estimates"], dict(zip(question.options, truth, strict=True)))
        pairs = list(zip(truth["sets"], truth["shares"], strict=True))
        held = {
            option: sum(share for chosen, share in pairs if option in chosen) for option in question.options
        }
        return share_rows(figures["estimates"], held)

    @property
    def always_reported(self) -> str:
        """The shares of the options."""
        return _(
            "The share of people who tick each option, and of each pair of options if you ask for pairs."
        )

    def reported(self, question: Question) -> str:
        """Return what will be reported."""
        if question.answers.pairs:
            return _(
                "the share of people who tick each option, of each pair of options, and the number ticked"
            )
        return _("the share of people who tick each option")


def _within(shares: list[float], most: int | None) -> list[float]:
    """Return shares that add up to at most the maximum number of ticks, in the same proportions."""
    total = math.fsum(shares)
    if most is None or total <= most:
        return shares
    return [share * most / total for share in shares]
