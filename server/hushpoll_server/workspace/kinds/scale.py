"""A point on a scale, in the editor."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar

from flask_babel import lazy_gettext as later
from hushpoll_client import Question
from hushpoll_client.kind import KINDS
from wtforms import TextAreaField

from hushpoll_server.i18n.translation import gettext as _

from .base import EditorKind, Fields, split_lines, whole_or_text
from .inputs import Input, number_input
from .rehearsing import Row, mean_row


def _first_point(text: str) -> int | str:
    """Return the first point as the document has it, which leaves out 1."""
    return whole_or_text(text) if text != "1" else ""


class ScaleEditor(EditorKind):
    """The designer sets the number of points, and labels the ends or every point."""

    kind = KINDS["scale"]
    shapes: ClassVar[Mapping[str, Callable[[str], Any]]] = {
        "points": whole_or_text,
        "first": _first_point,
        "labels": split_lines,
    }
    input_rows = (
        (
            number_input("points", later("Number of points"), later("2 to 11.")),
            number_input("first", later("First point"), later("1, or 0 as in 0 to 10."), "1"),
        ),
        (
            Input(
                "labels",
                later("Labels"),
                later(
                    "One label per line: two, for the ends, or one for every point. Leave it empty for numbers alone."
                ),
                TextAreaField,
                attributes={"rows": 3},
            ),
        ),
    )
    counted = "points"
    begins_complete = True
    reports: ClassVar[Mapping[str, tuple[str, str]]] = {
        "cumulative": (
            later("“4 or more”, the median and quartiles"),
            later(
                "The shares from each point upwards. A good choice if you are unsure: it also"
                " gives the average."
            ),
        ),
        "mean": (
            later("The average"),
            later("One number, as precise as possible. Medians are less precise then."),
        ),
        "shares": (
            later("The share of each point"),
            later("Each point separately, such as how many chose exactly 3."),
        ),
    }

    def read(self, question: Mapping[str, Any]) -> Fields | None:
        """Return the form's fields for a question, with its first point."""
        fields = super().read(question)
        if fields is not None:
            fields.setdefault("first", "1")
        return fields

    def stand_in(self, field: str, typed: str) -> str | None:
        """Show five points until there is a number that can be."""
        if field == "points":
            return "5"
        return super().stand_in(field, typed)

    def in_mechanism(self, fields: Fields) -> dict[str, Any]:
        """Return what will be reported."""
        return {"target": fields.get(self.target_field) or self.kind.targets[0]}

    def unit(self, question: Question) -> str:
        """Name the unit of its margins."""
        if question.answers.target == "mean":
            return _("on the scale")
        return super().unit(question)

    def rows(
        self, question: Question, figures: Mapping[str, Any], truth: Any, share_asked: float
    ) -> list[Row]:
        """Put the reported figures next to the truth: the average, shares from each point upwards, or all shares."""
        if question.answers.target == "mean":
            values = [float(value) for value in question.answers.values or ()]
            return [mean_row(figures, sum(v * share for v, share in zip(values, truth, strict=True)), values)]
        if question.answers.target == "shares":
            return super().rows(question, figures, truth, share_asked)
        rows = []
        for number, entry in enumerate(figures["cumulative"][:-1], 1):
            last = number == len(question.options) - 1
            if last:
                label = question.options[number]
            else:
                label = _("%(point)s or more", point=question.options[number])
            upwards = (1 - entry["estimate"], 1 - entry["high"], 1 - entry["low"])
            rows.append(Row(label, sum(truth[number:]), *upwards))
        return rows

    def reported(self, question: Question) -> str:
        """Return what will be reported."""
        labels = {"mean": _("the average"), "cumulative": _("each point or more, median and quartiles")}
        return labels.get(str(question.answers.target), _("the share of each point"))
