"""Reading the parts of a survey document: objects with known keys, and text within its limits."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Mapping
from decimal import Decimal
from typing import Any

from .errors import SurveyError
from .limits import LENGTHS

__all__ = ["Place", "read_fields", "read_text", "short"]

Place = tuple[str | int, ...]


def read_fields(
    value: object,
    at: Place,
    required: Iterable[str],
    optional: Iterable[str] = (),
    published: bool = False,
    later: Iterable[str] = (),
) -> dict[str, Any]:
    """Check an object's keys; the published form has the required ones and the optional ones all.

    Keys that documents got `later` stand only where they say something, so that every hash of before stays.
    """
    if not isinstance(value, Mapping):
        raise SurveyError(at, f"must be an object, got {short(value)}", "write { ... } with named fields")
    first, extra = {*required, *(optional if published else ())}, set(later)
    known = {*required, *optional, *extra}
    for key, item in value.items():
        if key not in known:
            raise SurveyError(at, f"unknown key {short(key)}", f"known here: {', '.join(sorted(known))}")
        if key in extra and (item is None or item is False or item in ("", [], {})):
            raise SurveyError((*at, key), "is empty", "leave it out")
    for key in sorted(first):
        if key not in value:
            raise SurveyError((*at, key), "is missing", "add it")
    return dict(value)


def read_text(value: object, at: Place, what: str, published: bool) -> str:
    """Check a text; a draft's is brought to Unicode's composed form (NFC), a published one is never touched."""
    if not isinstance(value, str):
        raise SurveyError(at, f"must be text, got {short(value)}", "write it in quotes")
    text = value if published else unicodedata.normalize("NFC", value)
    limit = LENGTHS[what]
    if len(text) > limit:
        raise SurveyError(at, f"has {len(text)} characters", f"keep at most {limit}")
    if not text.strip() and what != "intro":
        raise SurveyError(at, "is empty", "write something")
    for place, character in enumerate(text, 1):
        if unicodedata.category(character) in ("Cc", "Cs") and not (character == "\n" and what == "intro"):
            raise SurveyError(
                at, f"holds a control character (U+{ord(character):04X}) at position {place}", "remove it"
            )
    return text


def short(value: object) -> str:
    """Show a value of a stranger's document in at most forty printable characters."""
    if isinstance(value, Decimal):
        return str(value)[:40]
    text = repr(value) if not isinstance(value, str) else f'"{value}"'
    text = "".join(character if character.isprintable() else "?" for character in text)
    return text if len(text) <= 40 else text[:37] + "..."
