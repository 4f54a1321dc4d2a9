"""What forms of several rooms share."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from hushpoll_client.errors import HushpollError
from hushpoll_client.said import Said
from wtforms import FloatField, SelectChoice
from wtforms.widgets import TextInput

from hushpoll_server.spoken import gettext as _

from .spoken import in_digits, in_words

__all__ = [
    "DecimalField",
    "both",
    "choices",
    "decimal",
    "decimals",
    "either",
    "option",
    "quoted",
    "sentence",
    "shown",
    "together",
]

# 12,500 may be twelve thousand five hundred where a language writes thousands so: it stays as it is, and is refused
# beside its field.
_THOUSANDS = re.compile(r"[1-9]\d{0,2}(,\d{3})+")
# Answers that every survey may have, spelled in English in its document.
_OURS = ("Yes", "No", "Prefer not to say", "does not apply")
_POINT = re.compile(r"-?\d+\.\d+")
_COMMA = re.compile(r"(\d*),(\d+%?)")


def decimal(text: str) -> str:
    """Read a decimal comma as a point; what could be thousands stays as it was typed."""
    text = text.strip()
    sign, digits = ("-", text[1:]) if text.startswith(("-", "−")) else ("", text)
    unclear = in_digits("0.5") == "0.5" and _THOUSANDS.fullmatch(digits)
    found = None if unclear else _COMMA.fullmatch(digits)
    return f"{sign}{found[1] or 0}.{found[2]}" if found else text


def decimals(text: str) -> str:
    """Read decimal commas in a list, whose items then have semicolons between."""
    return ", ".join(map(decimal, text.split(";"))) if ";" in text else text


def shown(value: object) -> str:
    """Write a number of a document, or a list of them, into a field as `decimal` and `decimals` read it."""
    if not isinstance(value, list):
        return in_digits(str(value)) if _POINT.fullmatch(str(value)) else str(value)
    items = [shown(one) for one in value]
    return ("; " if any("," in one for one in items) else ", ").join(items)


class DecimalField(FloatField):  # type: ignore[misc]
    """A number with a decimal point or a decimal comma; browsers' own number fields refuse one of them."""

    widget = TextInput()

    def _value(self) -> str:
        """Write the number as the language does, unless somebody typed it."""
        return super()._value() if self.raw_data else in_digits(super()._value())

    def process_formdata(self, valuelist: list[str]) -> None:
        """Read what was typed."""
        super().process_formdata([decimal(text) for text in valuelist])


def choices(pairs: Iterable[tuple[str, object]]) -> list[SelectChoice]:
    """Give what a select or radio field offers, from (value, label) pairs."""
    return [SelectChoice(value, label) for value, label in pairs]


def quoted(text: str) -> str:
    """Put what somebody wrote into quotation marks."""
    return _("“%(text)s”", text=text)


def option(text: str) -> str:
    """Say an answer: the words that are ours in the reader's language, what a designer wrote as it is written."""
    return in_words(text) if isinstance(text, Said) or text in _OURS else text


def either(texts: Sequence[str], marks: bool = True) -> str:
    """List answers of which one is enough: “a”, “b” or “c”."""
    *more, last = [quoted(text) if marks else text for text in texts]
    return _("%(list)s or %(last)s", list=", ".join(more), last=last) if more else last


def together(texts: Sequence[str]) -> str:
    """List what belongs together: 1, 2 and 3."""
    *more, last = texts
    return _("%(list)s and %(last)s", list=", ".join(more), last=last) if more else last


def both(error: HushpollError) -> str:
    """Say what is wrong and what to do, without the place: the field beside is the place."""
    return f"{in_words(error.problem)}; {in_words(error.remedy)}"


def sentence(said: object) -> str:
    """Write an error, or what is wrong, as a sentence for beside a field."""
    text = in_words(said)
    return f"{text[:1].upper()}{text[1:]}."
