"""Messages that remember their template and values, so that pages can translate them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Self

__all__ = ["Message", "constant", "joined", "msg", "plural", "sentence"]


class Message(str):
    """An English sentence with its template and the values in it; otherwise a plain str."""

    __slots__ = ("template", "values")

    template: str
    values: dict[str, Any]

    def __new__(cls, template: str, values: dict[str, Any]) -> Self:
        """Fill the template in; a value may itself be such a sentence."""
        message = super().__new__(cls, template.format(**values))
        message.template = template
        message.values = values
        return message

    def __reduce__(self) -> tuple[type[Message], tuple[str, dict[str, Any]]]:
        """Stay what it is in copies and between processes."""
        return type(self), (self.template, self.values)


def msg(template: str, /, **values: Any) -> Message:
    """Return a message with values in it: msg("at most {most} options", most=9). Literal braces are doubled."""
    return Message(template, values)


def plural(count: float, singular: str, plural: str, /, **values: Any) -> Message:
    """Return one of two sentences: the first where there is exactly one, the second otherwise; both hold `{count}`."""
    return Message(singular if count == 1 else plural, {"count": count, **values})


def constant(text: str) -> Message:
    """Return a text without values as a message, so that it is translated inside another one."""
    if isinstance(text, Message):
        return text
    return Message(text.replace("{", "{{").replace("}", "}}"), {})


def joined(between: str, parts: Iterable[str]) -> Message:
    """Return messages and names side by side: each message is translated by itself, names stay as they are."""
    values = {f"part{number}": item for number, item in enumerate(parts)}
    return Message(between.join(f"{{{name}}}" for name in values), values)


class _Sentence(Message):
    """A sentence that begins with a capital letter; in languages that need it, the translations do so themselves."""

    __slots__ = ()

    def __new__(cls, template: str, values: dict[str, Any]) -> Self:
        """Fill the template in and raise its first letter."""
        text = template.format(**values)
        message = str.__new__(cls, text[:1].upper() + text[1:])
        message.template = template
        message.values = values
        return message


def sentence(text: str) -> Message:
    """Return a message as a sentence: with a capital letter at its beginning and a full stop at its end."""
    return _Sentence("{text}.", {"text": constant(text)})
