"""The phrases of results in the reader's language: one table of phrases each, numbers as that language writes them.

Phrases hold places such as `{low}`; a test checks that every language has every phrase with the same places.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from babel import Locale
from babel.numbers import format_decimal
from hushpoll_client.messages import Message

LANGUAGES = ("en", "fr", "de", "es", "ar")
_ISOLATE, _END = "\u2068", "\u2069"


@dataclass(frozen=True)
class Wording:
    """The phrases of one language, and its way to write numbers."""

    language: str
    phrases: dict[str, str]

    def __call__(self, phrase: str, **values: Any) -> str:
        """Return a phrase; numbers among the values are written as the language writes them."""
        return self.phrases[phrase].format(**{name: self._written(value) for name, value in values.items()})

    @property
    def direction(self) -> str:
        """The direction of its writing, as HTML names it."""
        order = Locale(self.language).character_order
        return "rtl" if order == "right-to-left" else "ltr"

    def number(self, value: float, digits: int = 0) -> str:
        """Write a number with this many decimals."""
        scale = 10.0**digits
        # Rounded here, as everywhere else; the library would round halves to even.
        magnitude = math.floor(abs(value) * scale + 0.5) / scale
        sign = "−" if value < 0 and magnitude else ""
        pattern = "#,##0" + ("." + "0" * digits if digits else "")
        # Plain digits in every language: the figures and tables beside have them too.
        return sign + format_decimal(magnitude, format=pattern, locale=self.language, numbering_system="latn")

    def percent(self, share: float, digits: int = 1) -> str:
        """Write a share in percent."""
        return self("percent", value=self.number(100.0 * share, digits))

    def in_signs(self, number: str) -> str:
        """Write a number that was written in English without groups with the decimal sign of the language."""
        return number.replace(".", Locale(self.language).number_symbols["latn"]["decimal"])

    def label(self, text: Message) -> str:
        """Return what a number or a bin of numbers is called."""
        ends = [self.in_signs(str(end)) for end in text.values.values()]
        if len(ends) == 1:
            return ends[0]
        return self("range", low=ends[0], high=ends[1])

    def _written(self, value: Any) -> str:
        if isinstance(value, int) and not isinstance(value, bool):
            return self.number(value)
        # A text in another script must not turn the order of what stands around it.
        if self.direction == "rtl":
            return f"{_ISOLATE}{value}{_END}"
        return str(value)


@cache
def wording(language: str = "en") -> Wording:
    """Return the words of a language; those of English where there are none."""
    name = language
    if language not in LANGUAGES:
        name = LANGUAGES[0]
    text = (files(__package__) / f"{name}.json").read_text("utf-8")
    return Wording(name, json.loads(text))
