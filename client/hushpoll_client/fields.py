"""Reading the parts of a survey document: objects with known keys, and text within its limits."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Mapping
from decimal import Decimal
from typing import Any

from .errors import SurveyError
from .limits import LENGTHS
from .messages import msg

__all__ = ["HIDDEN", "Place", "read_fields", "read_text", "refuse_hidden", "short"]

Place = tuple[str | int, ...]
# Embeddings, overrides and isolates; the marks that Arabic and Hebrew use between words are none of them.
TURNS = {chr(code) for code in (*range(0x202A, 0x202F), *range(0x2066, 0x206A))}
# Beside them what nobody sees, so that two texts differ and look alike: fillers, spaces without width, soft hyphens,
# tags. Joiners, marks of direction and variation selectors are none of them: scripts and emoji need those.
FILLERS = "\u034f\u115f\u1160\u17b4\u17b5\u180e\u3164\uffa0"
RANGES = ((0x2060, 0x2065), (0x206A, 0x206F), (0xFFF0, 0xFFFB), (0xE0000, 0xE0FFF))
HIDDEN = {
    *TURNS,
    *FILLERS,
    "\u00ad",
    "\u200b",
    *(chr(code) for low, high in RANGES for code in range(low, high + 1)),
}


def read_fields(
    value: object,
    at: Place,
    required: Iterable[str],
    optional: Iterable[str] = (),
    published: bool = False,
    omittable: Iterable[str] = (),
) -> dict[str, Any]:
    """Check an object's keys; the published form has the required ones and the optional ones all.

    Keys in `omittable` were added to the document later. They stand only where they say something, so that every
    older hash stays valid.
    """
    if not isinstance(value, Mapping):
        raise SurveyError(
            at, msg("must be an object, got {value}", value=short(value)), "write { ... } with named fields"
        )
    first, extra = {*required, *(optional if published else ())}, set(omittable)
    keys = {*required, *optional, *extra}
    for key, item in value.items():
        if key not in keys:
            raise SurveyError(
                at,
                msg("unknown key {key}", key=short(key)),
                msg("known here: {known}", known=", ".join(sorted(keys))),
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
        raise SurveyError(at, msg("must be text, got {value}", value=short(value)), "write it in quotes")
    text = value
    if not published:
        text = unicodedata.normalize("NFC", value)
    limit = LENGTHS[what]
    if len(text) > limit:
        raise SurveyError(
            at, msg("has {count} characters", count=len(text)), msg("keep at most {most}", most=limit)
        )
    if not text.strip() and what != "intro":
        raise SurveyError(at, "is empty", "write something")
    if not published:
        refuse_hidden(text, at)
    for position, character in enumerate(text, 1):
        if unicodedata.category(character) in ("Cc", "Cs") and not (character == "\n" and what == "intro"):
            raise SurveyError(
                at,
                msg(
                    "holds a control character (U+{code:04X}) at position {place}",
                    code=ord(character),
                    place=position,
                ),
                "remove it",
            )
    return text


def refuse_hidden(value: object, at: Place = ()) -> None:
    """Refuse invisible characters: they turn the order of a text, or make two different that look the same."""
    if isinstance(value, Mapping):
        for key, inner in value.items():
            refuse_hidden(inner, (*at, key))
    elif isinstance(value, list):
        for number, inner in enumerate(value):
            refuse_hidden(inner, (*at, number))
    elif isinstance(value, str):
        for position, character in enumerate(value, 1):
            if character in HIDDEN:
                raise _hidden(at, character, position)


def _hidden(at: Place, sign: str, position: int) -> SurveyError:
    where = {"code": ord(sign), "place": position}
    if sign not in TURNS:
        problem = msg("holds a sign that nobody sees (U+{code:04X}) at position {place}", **where)
        return SurveyError(at, problem, "remove it")
    problem = msg(
        "holds an invisible sign that turns the direction of writing (U+{code:04X}) at position {place}",
        **where,
    )
    return SurveyError(at, problem, "remove it; right-to-left scripts need none")


def short(value: object) -> str:
    """Show a value of a stranger's document in at most forty printable characters."""
    if isinstance(value, Decimal):
        return str(value)[:40]
    text = repr(value) if not isinstance(value, str) else f'"{value}"'
    text = "".join(character if character.isprintable() else "?" for character in text)
    if len(text) <= 40:
        return text
    return text[:37] + "..."
