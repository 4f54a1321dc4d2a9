"""What forms of several rooms share."""

from __future__ import annotations

import re
from collections.abc import Iterable

from wtforms import FloatField, SelectChoice
from wtforms.widgets import TextInput

__all__ = ["DecimalField", "choices", "decimal", "decimals", "sentence"]

# 12,500 may be twelve thousand five hundred: it stays as it is, and is refused beside its field.
_THOUSANDS = re.compile(r"[1-9]\d{0,2}(,\d{3})+")
_COMMA = re.compile(r"(\d*),(\d+%?)")


def decimal(text: str) -> str:
    """Read a decimal comma as a point; what could be thousands stays as it was typed."""
    text = text.strip()
    sign, digits = ("-", text[1:]) if text.startswith(("-", "−")) else ("", text)
    found = None if _THOUSANDS.fullmatch(digits) else _COMMA.fullmatch(digits)
    return f"{sign}{found[1] or 0}.{found[2]}" if found else text


def decimals(text: str) -> str:
    """Read decimal commas in a list, whose items then have semicolons between."""
    return ", ".join(map(decimal, text.split(";"))) if ";" in text else text


class DecimalField(FloatField):  # type: ignore[misc]
    """A number with a decimal point or a decimal comma; browsers' own number fields refuse one of them."""

    widget = TextInput()

    def process_formdata(self, valuelist: list[str]) -> None:
        """Read what was typed."""
        super().process_formdata([decimal(text) for text in valuelist])


def choices(pairs: Iterable[tuple[str, str]]) -> list[SelectChoice]:
    """Give what a select or radio field offers, from (value, label) pairs."""
    return [SelectChoice(value, label) for value, label in pairs]


def sentence(said: object) -> str:
    """Write an error, or what is wrong, as a sentence for beside a field."""
    text = str(said)
    return f"{text[:1].upper()}{text[1:]}."
