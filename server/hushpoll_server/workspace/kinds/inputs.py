"""The fields of the question form that kinds declare."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from flask_babel import LazyString
from flask_babel import lazy_gettext as later
from wtforms import BooleanField, StringField, TextAreaField


@dataclass(frozen=True, eq=False)
class Input:
    """One field, named like the key of the survey document that it is for."""

    name: str
    label: LazyString
    description: LazyString
    type: type[StringField] | type[BooleanField] = StringField
    default: str | None = None
    attributes: Mapping[str, Any] = field(default_factory=dict)
    """Attributes of the HTML element."""

    def form_field(self) -> Any:
        """Return a new field for a form."""
        return self.type(self.label, description=self.description, default=self.default)

    @property
    def is_tick(self) -> bool:
        """Whether the field is a box to tick."""
        return self.type is BooleanField


InputRow = tuple[Input, ...]
"""Fields that are shown next to each other."""


def number_input(
    name: str, label: LazyString, description: LazyString, default: str | None = None, mode: str = "numeric"
) -> Input:
    """Return a short field for a number."""
    attributes = {"class": "form-control short-input", "inputmode": mode}
    return Input(name, label, description, default=default, attributes=attributes)


OPTIONS = Input(
    "options",
    later("Options"),
    later(
        "One option per line, at least two. You can paste a list. If people can tick several,"
        " “None of these” is added automatically."
    ),
    TextAreaField,
    attributes={"rows": 6},
)
