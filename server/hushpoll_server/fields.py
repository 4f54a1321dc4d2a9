"""What forms of several rooms share."""

from __future__ import annotations

from collections.abc import Iterable

from wtforms import SelectChoice

__all__ = ["choices", "sentence"]


def choices(pairs: Iterable[tuple[str, str]]) -> list[SelectChoice]:
    """Give what a select or radio field offers, from (value, label) pairs."""
    return [SelectChoice(value, label) for value, label in pairs]


def sentence(said: object) -> str:
    """Write an error, or what is wrong, as a sentence for beside a field."""
    text = str(said)
    return f"{text[:1].upper()}{text[1:]}."
