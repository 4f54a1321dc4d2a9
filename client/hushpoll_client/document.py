"""Reading the parts of a survey document: objects with known keys, and text within its limits."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Mapping
from decimal import Decimal
from typing import Any

from .errors import SurveyError
from .limits import LENGTHS
from .said import said

__all__ = ["TURNS", "Place", "read_fields", "read_text", "refuse_turned", "short"]

Place = tuple[str | int, ...]
# Embeddings, overrides and isolates; the marks that Arabic and Hebrew use between words are none of them.
TURNS = {chr(code) for code in (*range(0x202A, 0x202F), *range(0x2066, 0x206A))}


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
        raise SurveyError(
            at, said("must be an object, got {value}", value=short(value)), "write { ... } with named fields"
        )
    first, extra = {*required, *(optional if published else ())}, set(later)
    known = {*required, *optional, *extra}
    for key, item in value.items():
        if key not in known:
            raise SurveyError(
                at,
                said("unknown key {key}", key=short(key)),
                said("known here: {known}", known=", ".join(sorted(known))),
            )
        if key in extra and (item is None or item is False or item in ("", [], {})):
            raise SurveyError((*at, key), "is empty", "leave it out")
    for key in sorted(first):
        if key not in value:
            raise SurveyError((*at, key), "is missing", "add it")
    return dict(value)


def read_text(value: object, at: Place, what: str, published: bool) -> str:
    """Check a text; a draft's is brought to Unicode's composed form (NFC), a published one is never touched."""
    if not isinstance(value, str):
        raise SurveyError(at, said("must be text, got {value}", value=short(value)), "write it in quotes")
    text = value if published else unicodedata.normalize("NFC", value)
    limit = LENGTHS[what]
    if len(text) > limit:
        raise SurveyError(
            at, said("has {count} characters", count=len(text)), said("keep at most {most}", most=limit)
        )
    if not text.strip() and what != "intro":
        raise SurveyError(at, "is empty", "write something")
    if not published:
        refuse_turned(text, at)
    for place, character in enumerate(text, 1):
        if unicodedata.category(character) in ("Cc", "Cs") and not (character == "\n" and what == "intro"):
            raise SurveyError(
                at,
                said(
                    "holds a control character (U+{code:04X}) at position {place}",
                    code=ord(character),
                    place=place,
                ),
                "remove it",
            )
    return text


def refuse_turned(value: object, at: Place = ()) -> None:
    """Refuse texts that are shown in another order than they are stored: a title could feign another one."""
    if isinstance(value, Mapping):
        for key, inner in value.items():
            refuse_turned(inner, (*at, key))
    elif isinstance(value, list):
        for number, inner in enumerate(value):
            refuse_turned(inner, (*at, number))
    elif isinstance(value, str):
        for place, character in enumerate(value, 1):
            if character in TURNS:
                raise _turned(at, ord(character), place)


def _turned(at: Place, code: int, place: int) -> SurveyError:
    problem = said(
        "holds an invisible sign that turns the direction of writing (U+{code:04X}) at position {place}",
        code=code,
        place=place,
    )
    return SurveyError(at, problem, "remove it; right-to-left scripts need none")


def short(value: object) -> str:
    """Show a value of a stranger's document in at most forty printable characters."""
    if isinstance(value, Decimal):
        return str(value)[:40]
    text = repr(value) if not isinstance(value, str) else f'"{value}"'
    text = "".join(character if character.isprintable() else "?" for character in text)
    return text if len(text) <= 40 else text[:37] + "..."
