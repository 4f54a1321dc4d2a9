"""Sentences that remember how they were made, so that somebody else can say them in another language."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Self

__all__ = ["Said", "constant", "joined", "plural", "said", "sentence"]


class Said(str):
    """An English sentence with its template and the values in it; to everybody who does not ask, a plain text."""

    __slots__ = ("template", "values")

    template: str
    values: dict[str, Any]

    def __new__(cls, template: str, values: dict[str, Any]) -> Self:
        """Fill the template in; a value may itself be such a sentence."""
        made = super().__new__(cls, template.format(**values))
        made.template = template
        made.values = values
        return made

    def __reduce__(self) -> tuple[type[Said], tuple[str, dict[str, Any]]]:
        """Stay what it is in copies and between processes."""
        return type(self), (self.template, self.values)


def said(template: str, /, **values: Any) -> Said:
    """Say a sentence with values in it: said("at most {most} options", most=9). Braces of its own are doubled."""
    return Said(template, values)


def plural(count: float, one: str, many: str, /, **values: Any) -> Said:
    """Say one of two sentences: the first where there is exactly one, the second otherwise; both hold `{count}`."""
    return Said(one if count == 1 else many, {"count": count, **values})


def constant(text: str) -> Said:
    """Take a text of our own without values as a sentence, so that it is said again where it stands in another."""
    return text if isinstance(text, Said) else Said(text.replace("{", "{{").replace("}", "}}"), {})


def joined(between: str, parts: Iterable[str]) -> Said:
    """Put sentences and names side by side: each is said again by itself, names stay as they are."""
    values = {f"part{number}": part for number, part in enumerate(parts)}
    return Said(between.join(f"{{{name}}}" for name in values), values)


class _Sentence(Said):
    """A sentence that begins with a capital letter; in languages that need it, the translations do so themselves."""

    __slots__ = ()

    def __new__(cls, template: str, values: dict[str, Any]) -> Self:
        """Fill the template in and raise its first letter."""
        text = template.format(**values)
        made = str.__new__(cls, text[:1].upper() + text[1:])
        made.template = template
        made.values = values
        return made


def sentence(text: str) -> Said:
    """Make a sentence of its own: with a capital letter at its beginning and a full stop at its end."""
    return _Sentence("{text}.", {"text": constant(text)})
