"""A number, in the editor."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from fractions import Fraction
from functools import partial
from typing import Any, ClassVar

from flask_babel import lazy_gettext as later
from hushpoll_client import Question
from hushpoll_client.exact import spell
from hushpoll_client.kind import KINDS

from hushpoll_server.fields import decimal, shown
from hushpoll_server.i18n.translation import gettext as _
from hushpoll_server.i18n.translation import localize_number

from .base import EditorKind, Fields, whole_or_text
from .inputs import Input, number_input
from .rehearsing import SHAPES, Row, bell, mean_row, quantile, select

_BINNED = "distribution"
_DRAWN = 200  # numbers of a made-up distribution, at most one more
_NAMES = {0.25: later("First quartile"), 0.5: later("Median"), 0.75: later("Third quartile")}


class NumberEditor(EditorKind):
    """The designer sets the range, the step and the unit."""

    kind = KINDS["number"]
    shapes: ClassVar[Mapping[str, Callable[[str], Any]]] = {
        "bins": whole_or_text,
        **{key: partial(decimal, at=(key,)) for key in ("min", "max", "step")},
    }
    input_rows = (
        (
            number_input("min", later("Smallest number"), later("Such as 0."), mode="decimal"),
            number_input("max", later("Largest number"), later("Such as 80."), mode="decimal"),
            number_input(
                "step", later("Step"), later("1 for whole numbers, 0.5 for halves."), "1", mode="decimal"
            ),
            Input(
                "unit",
                later("Unit"),
                later("Such as hours."),
                attributes={"class": "form-control short-input", "maxlength": 40},
            ),
        ),
        (
            number_input(
                "bins",
                later("Number of bins"),
                later("2 to 64, into which the range is cut. Leave it empty for up to 20."),
            ),
        ),
    )
    answers = 3  # or more: what fits three answers fits all
    reports: ClassVar[Mapping[str, tuple[str, str]]] = {
        "mean": (later("The average"), later("One number, as precise as possible, whatever people answer.")),
        _BINNED: (
            later("How the numbers are distributed"),
            later("Histogram, median and quartiles, the share above a threshold."),
        ),
    }

    def read(self, question: Mapping[str, Any]) -> Fields | None:
        """Write the range and the step as the designer's language does."""
        fields = super().read(question)
        return fields and {
            key: shown(value) if key in self.kind.keys else value for key, value in fields.items()
        }

    def stand_in(self, field: str, typed: str) -> str | None:
        """Show 0 to 10 until there is a range that can be."""
        return {"min": "0", "max": "10", "step": "1"}.get(field) or super().stand_in(field, typed)

    def in_mechanism(self, fields: Fields) -> dict[str, Any]:
        """Return what will be reported, and the number of bins if it is set."""
        target = fields.get(self.target_field) or self.kind.targets[0]
        bins = self._typed("bins", fields)
        values = {"target": target}
        if target == _BINNED and bins:
            values["bins"] = bins
        return values

    def unit(self, question: Question) -> str:
        """Name the unit of its margins: the number's own."""
        if question.answers.target == _BINNED:
            return super().unit(question)
        return getattr(question.answers, "unit", "")

    def answer_texts(self, question: Question) -> tuple[str, ...]:
        """Return the range."""
        shape = question.answers.document()
        low, high, step = (localize_number(str(shape[key])) for key in ("min", "max", "step"))
        unit = ""
        if "unit" in shape:
            unit = f" {shape['unit']}"
        ends = _("%(low)s to %(high)s", low=low, high=high)
        return (f"{ends}{unit}", _("in steps of %(step)s", step=step))

    def truth_fields(self, question: Question) -> dict[str, Any]:
        """Ask for the shape of the distribution."""
        return {"shape": select(later("Suppose that the numbers are"), SHAPES)}

    def read_truth(self, question: Question, typed: Mapping[str, Any]) -> Any:
        """Return numbers of the grid with their shares, few enough to draw from at once."""
        shape = question.answers.document()
        low, high, step = (Fraction(shape[key]) for key in ("min", "max", "step"))
        steps = int((high - low) / step)
        positions = sorted({draw * steps // _DRAWN for draw in range(_DRAWN + 1)})
        weights = [bell(typed["shape"], position / steps) for position in positions]
        total = math.fsum(weights)
        values = [spell(low + step * position) for position in positions]
        return {"values": values, "shares": [weight / total for weight in weights]}

    def rows(
        self, question: Question, figures: Mapping[str, Any], truth: Any, share_asked: float
    ) -> list[Row]:
        """Put the average, or median and quartiles, next to the truth."""
        shape = question.answers.document()
        ends, unit = [float(Fraction(shape[key])) for key in ("min", "max")], shape.get("unit", "")
        values = [float(Fraction(value)) for value in truth["values"]]
        if question.answers.target != _BINNED:
            mean = sum(value * share for value, share in zip(values, truth["shares"], strict=True))
            return [mean_row(figures, mean, ends, unit)]
        rows = []
        for entry in figures["quantiles"]:
            name = str(_NAMES[entry["p"]])
            if unit:
                name = _("%(figure)s, in %(unit)s", figure=name, unit=unit)
            true = quantile(values, truth["shares"], entry["p"])
            rows.append(
                Row(
                    name,
                    true,
                    entry["estimate"],
                    low=entry["low"],
                    high=entry["high"],
                    low_end=ends[0],
                    high_end=ends[1],
                    is_share=False,
                )
            )
        return rows

    def reported(self, question: Question) -> str:
        """Return what will be reported."""
        if question.answers.target == _BINNED:
            return _("the distribution, in %(n)s bins", n=len(question.options))
        return _("the average")
