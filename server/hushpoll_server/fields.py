"""What forms of several rooms share."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import Any

from hushpoll_client.errors import HushpollError, SurveyError
from hushpoll_client.messages import Message
from wtforms import FloatField, IntegerField, SelectChoice
from wtforms.form import BaseForm
from wtforms.validators import StopValidation
from wtforms.widgets import TextInput

from hushpoll_server.i18n.translation import gettext as _

from .i18n.translation import localize_number, translate

__all__ = [
    "DecimalField",
    "WholeField",
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

# 12,500 may be twelve thousand five hundred where a language writes thousands so, and 12.500 where it has a decimal
# comma: neither is guessed.
_THOUSANDS = {
    ".": re.compile(r"[1-9]\d{0,2}(,\d{3})+"),
    ",": re.compile(r"[1-9]\d{0,2}(\.\d{3})+"),
}
# Answers that every survey may have, spelled in English in its document.
_OURS = ("Yes", "No", "Prefer not to say", "does not apply")
_POINT = re.compile(r"-?\d+\.\d+")
_COMMA = re.compile(r"(\d*),(\d+%?)")


def decimal(text: str, at: Sequence[str] = ()) -> str:
    """Read a decimal comma as a point; refuse what could be thousands, at the place in a survey that it is for."""
    text = text.strip()
    sign, digits = ("-", text[1:]) if text.startswith(("-", "−")) else ("", text)
    point = localize_number("0.5")[1]
    if _THOUSANDS[point].fullmatch(digits):
        raise _unclear(text, sign + re.sub(r"\D", "", digits), sign + re.sub(r"\D", point, digits), at)
    match = _COMMA.fullmatch(digits)
    if match:
        return f"{sign}{match[1] or 0}.{match[2]}"
    return text


def _unclear(typed: str, without_separator: str, as_decimal: str, at: Sequence[str]) -> SurveyError:
    if re.fullmatch(r"-?\d+[.,]\d+", as_decimal):
        problem = _("%(typed)s can be read in two ways", typed=quoted(typed))
        return SurveyError(
            at, problem, _("write %(whole)s, or %(broken)s", whole=without_separator, broken=as_decimal)
        )
    problem = _("%(typed)s has signs between thousands", typed=quoted(typed))
    return SurveyError(at, problem, _("write %(whole)s", whole=without_separator))


def decimals(text: str, at: Sequence[str] = ()) -> str:
    """Read decimal commas in a list, whose items then have semicolons between."""
    if ";" in text:
        return ", ".join(decimal(item, at) for item in text.split(";"))
    return text


def shown(value: object) -> str:
    """Write a number of a document, or a list of them, into a field as `decimal` and `decimals` read it."""
    if not isinstance(value, list):
        if _POINT.fullmatch(str(value)):
            return localize_number(str(value))
        return str(value)
    items = [shown(element) for element in value]
    return ("; " if any("," in item for item in items) else ", ").join(items)


class DecimalField(FloatField):  # type: ignore[misc]
    """A number with a decimal point or a decimal comma; browsers' own number fields refuse one of them."""

    data: Any
    widget = TextInput()

    def _value(self) -> str:
        """Write the number as the language does, unless it was typed."""
        if self.raw_data:
            return str(super()._value())
        return localize_number(str(super()._value()))

    def process_formdata(self, valuelist: list[str]) -> None:
        """Read what was typed."""
        try:
            numbers = [decimal(text) for text in valuelist]
        except SurveyError as error:
            self.data = None
            raise ValueError(sentence(both(error))) from None
        with suppress(ValueError):  # the sentence of its range says what to type
            super().process_formdata(numbers)

    def pre_validate(self, form: BaseForm) -> None:
        """Leave it at what was said of the number already."""
        if self.process_errors:
            raise StopValidation


class WholeField(IntegerField):  # type: ignore[misc]
    """A whole number; of what is none the sentence of its range says what to type."""

    def process_formdata(self, valuelist: list[str]) -> None:
        """Read what was typed."""
        with suppress(ValueError):
            super().process_formdata(valuelist)


def choices(pairs: Iterable[tuple[str, object]]) -> list[SelectChoice]:
    """Return what a select or radio field offers, from (value, label) pairs."""
    return [SelectChoice(value, label) for value, label in pairs]


def quoted(text: str) -> str:
    """Put a text that a person typed into quotation marks."""
    return _("“%(text)s”", text=text)


def option(text: str) -> str:
    """Return an answer: the words that are ours in the reader's language, what a designer wrote as it is written."""
    if isinstance(text, Message) or text in _OURS:
        return translate(text)
    return text


def either(texts: Sequence[str], marks: bool = True) -> str:
    """List answers of which one is enough: “a”, “b” or “c”."""
    *more, last = [quoted(text) if marks else text for text in texts]
    if more:
        return _("%(list)s or %(last)s", list=", ".join(more), last=last)
    return last


def together(texts: Sequence[str]) -> str:
    """List what belongs together: 1, 2 and 3."""
    *more, last = texts
    if more:
        return _("%(list)s and %(last)s", list=", ".join(more), last=last)
    return last


def both(error: HushpollError) -> str:
    """Return the problem and the remedy, without the place: the message stands next to its field."""
    return f"{translate(error.problem)}; {translate(error.remedy)}"


def sentence(msg: object) -> str:
    """Write an error, or a problem, as a sentence to show next to a field."""
    text = translate(msg)
    return f"{text[:1].upper()}{text[1:]}."
