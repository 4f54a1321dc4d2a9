"""A survey in several languages: every text of the document, for each language, all of them or none."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from .about import read_help, read_lines
from .document import Place, read_fields, read_text, short
from .errors import SurveyError
from .said import said

__all__ = ["MOST_LANGUAGES", "read_language", "read_translations", "wanted"]

MOST_LANGUAGES = 12
"""Languages of one survey, its own among them."""
_TAG = re.compile(r"[a-z]{2,3}(-[A-Z][a-z]{3})?(-[A-Z]{2})?")


def read_language(value: object, at: Place) -> str:
    """Read the tag of a language, such as fr or pt-BR."""
    if not isinstance(value, str) or not _TAG.fullmatch(value):
        raise SurveyError(
            at,
            said("{value} is not a language", value=short(value)),
            "write its tag, such as fr, ar or pt-BR",
        )
    return value


def wanted(document: Mapping[str, Any]) -> dict[str, Any]:
    """Give the texts of a document that every translation must have, in the shape of a translation."""
    found: dict[str, Any] = {"title": document["title"]}
    for key in ("intro", "consent", "thanks", "help"):
        if document.get(key):
            found[key] = document[key]
    if "sections" in document:
        found["sections"] = [
            {key: one[key] for key in ("title", "text") if key in one} for one in document["sections"]
        ]
    found["questions"] = {one["id"]: _question(one) for one in document["questions"]}
    return found


def _question(question: Mapping[str, Any]) -> dict[str, Any]:
    texts = {key: question[key] for key in ("text", "options", "labels", "unit") if question.get(key)}
    decoy = question.get("mechanism", {}).get("decoy")
    return texts | ({"decoy": decoy} if decoy else {})


def read_translations(value: object, document: Mapping[str, Any], published: bool) -> dict[str, Any]:
    """Read the other languages of a document, whose own texts say what each of them must have."""
    at: Place = ("translations",)
    if "language" not in document:
        raise SurveyError(("language",), "is missing", "say which language the survey itself is in")
    if not isinstance(value, Mapping):
        raise SurveyError(
            at,
            said("must be an object, got {value}", value=short(value)),
            "write one entry for each language",
        )
    if len(value) > MOST_LANGUAGES - 1:
        raise SurveyError(
            at,
            said("has {count} languages", count=len(value)),
            said("keep at most {most} with the survey's own", most=MOST_LANGUAGES),
        )
    found = {}
    for tag, texts in value.items():
        here = (*at, str(tag))
        if read_language(tag, here) == document["language"]:
            raise SurveyError(here, "is the language of the survey itself", "remove it here")
        found[str(tag)] = _texts(texts, here, wanted(document), published)
    return found


def _texts(value: object, at: Place, like: Mapping[str, Any], published: bool) -> dict[str, Any]:
    fields = read_fields(value, at, tuple(like), published=published)
    read: dict[str, Any] = {"title": read_text(fields["title"], (*at, "title"), "title", published)}
    for key, reader in (("intro", read_lines), ("thanks", read_lines), ("help", read_help)):
        if key in fields:
            read[key] = reader(fields[key], (*at, key), published)
    if "consent" in fields:
        read["consent"] = read_text(fields["consent"], (*at, "consent"), "text", published)
    if "sections" in fields:
        read["sections"] = _sections(fields["sections"], (*at, "sections"), like["sections"], published)
    asked = read_fields(
        fields["questions"], (*at, "questions"), tuple(like["questions"]), published=published
    )
    read["questions"] = {
        name: _asked(one, (*at, "questions", name), like["questions"][name], published)
        for name, one in asked.items()
    }
    return read


def _sections(value: object, at: Place, like: list[Any], published: bool) -> list[dict[str, str]]:
    if not isinstance(value, list) or len(value) != len(like):
        raise SurveyError(
            at, said("must be {count} sections, as the survey has", count=len(like)), "translate each of them"
        )
    found = []
    for place, (one, shape) in enumerate(zip(value, like, strict=True)):
        here = (*at, place)
        fields = read_fields(one, here, tuple(shape), published=published)
        read = {"title": read_text(fields["title"], (*here, "title"), "title", published)}
        if "text" in shape:
            read["text"] = read_lines(fields["text"], (*here, "text"), published)
        found.append(read)
    return found


def _asked(value: object, at: Place, like: Mapping[str, Any], published: bool) -> dict[str, Any]:
    fields = read_fields(value, at, tuple(like), published=published)
    read: dict[str, Any] = {}
    for key, own in like.items():
        here = (*at, key)
        if not isinstance(own, list):
            read[key] = read_text(fields[key], here, key, published)
            continue
        given = fields[key]
        if not isinstance(given, list) or len(given) != len(own):
            raise SurveyError(
                here,
                said("must be a list of {count} texts, as the question has", count=len(own)),
                "translate each of them",
            )
        texts = [read_text(text, (*here, place), "option", published) for place, text in enumerate(given)]
        twice = next((place for place, text in enumerate(texts) if text in texts[:place]), None)
        if twice is not None:
            raise SurveyError((*here, twice), "appears twice", "make every answer different")
        read[key] = texts
    return read
