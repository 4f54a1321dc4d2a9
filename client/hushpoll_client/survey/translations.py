"""A survey in several languages: every text of the document, for each language, all of them or none."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from hushpoll_client.errors import SurveyError
from hushpoll_client.fields import Place, read_fields, read_text, short
from hushpoll_client.messages import msg

from .presentation import read_help, read_lines

__all__ = ["MAX_LANGUAGES", "read_language", "read_translations", "translatable"]

MAX_LANGUAGES = 12
"""Languages of one survey, its own among them."""
_TAG = re.compile(r"[a-z]{2,3}(-[A-Z][a-z]{3})?(-[A-Z]{2})?")


def read_language(value: object, at: Place) -> str:
    """Read the tag of a language, such as fr or pt-BR."""
    if not isinstance(value, str) or not _TAG.fullmatch(value):
        raise SurveyError(
            at,
            msg("{value} is not a language", value=short(value)),
            "write its tag, such as fr, ar or pt-BR",
        )
    return value


def translatable(document: Mapping[str, Any]) -> dict[str, Any]:
    """Return the texts of a document that every translation must have, in the shape of a translation."""
    texts: dict[str, Any] = {"title": document["title"]}
    for key in ("intro", "consent", "thanks", "help"):
        if document.get(key):
            texts[key] = document[key]
    if "sections" in document:
        texts["sections"] = [
            {key: section[key] for key in ("title", "text") if key in section}
            for section in document["sections"]
        ]
    texts["questions"] = {question["id"]: _question(question) for question in document["questions"]}
    return texts


def _question(question: Mapping[str, Any]) -> dict[str, Any]:
    texts = {key: question[key] for key in ("text", "options", "labels", "unit") if question.get(key)}
    decoy = question.get("mechanism", {}).get("decoy")
    if decoy:
        texts["decoy"] = decoy
    return texts


def read_translations(value: object, document: Mapping[str, Any], published: bool) -> dict[str, Any]:
    """Read the other languages of a document, whose own texts say what each of them must have."""
    at: Place = ("translations",)
    if "language" not in document:
        raise SurveyError(("language",), "is missing", "say which language the survey itself is in")
    if not isinstance(value, Mapping):
        raise SurveyError(
            at,
            msg("must be an object, got {value}", value=short(value)),
            "write one entry for each language",
        )
    if len(value) > MAX_LANGUAGES - 1:
        raise SurveyError(
            at,
            msg("has {count} languages", count=len(value)),
            msg("keep at most {most} with the survey's own", most=MAX_LANGUAGES),
        )
    translations = {}
    for tag, texts in value.items():
        here = (*at, str(tag))
        if read_language(tag, here) == document["language"]:
            raise SurveyError(here, "is the language of the survey itself", "remove it here")
        translations[str(tag)] = _texts(texts, here, translatable(document), published)
    return translations


def _texts(value: object, at: Place, original: Mapping[str, Any], published: bool) -> dict[str, Any]:
    fields = read_fields(value, at, tuple(original), published=published)
    translation: dict[str, Any] = {"title": read_text(fields["title"], (*at, "title"), "title", published)}
    for key, reader in (("intro", read_lines), ("thanks", read_lines), ("help", read_help)):
        if key in fields:
            translation[key] = reader(fields[key], (*at, key), published)
    if "consent" in fields:
        translation["consent"] = read_text(fields["consent"], (*at, "consent"), "text", published)
    if "sections" in fields:
        translation["sections"] = _sections(
            fields["sections"], (*at, "sections"), original["sections"], published
        )
    questions = read_fields(
        fields["questions"], (*at, "questions"), tuple(original["questions"]), published=published
    )
    translation["questions"] = {
        name: _question_texts(texts, (*at, "questions", name), original["questions"][name], published)
        for name, texts in questions.items()
    }
    return translation


def _sections(value: object, at: Place, original: list[Any], published: bool) -> list[dict[str, str]]:
    if not isinstance(value, list) or len(value) != len(original):
        raise SurveyError(
            at,
            msg("must be {count} sections, as the survey has", count=len(original)),
            "translate each of them",
        )
    sections = []
    for index, (section, shape) in enumerate(zip(value, original, strict=True)):
        here = (*at, index)
        fields = read_fields(section, here, tuple(shape), published=published)
        translation = {"title": read_text(fields["title"], (*here, "title"), "title", published)}
        if "text" in shape:
            translation["text"] = read_lines(fields["text"], (*here, "text"), published)
        sections.append(translation)
    return sections


def _question_texts(value: object, at: Place, original: Mapping[str, Any], published: bool) -> dict[str, Any]:
    fields = read_fields(value, at, tuple(original), published=published)
    translation: dict[str, Any] = {}
    for key, source in original.items():
        here = (*at, key)
        if not isinstance(source, list):
            translation[key] = read_text(fields[key], here, key, published)
            continue
        value = fields[key]
        if not isinstance(value, list) or len(value) != len(source):
            raise SurveyError(
                here,
                msg("must be a list of {count} texts, as the question has", count=len(source)),
                "translate each of them",
            )
        texts = [read_text(text, (*here, index), "option", published) for index, text in enumerate(value)]
        twice = next((index for index, text in enumerate(texts) if text in texts[:index]), None)
        if twice is not None:
            raise SurveyError((*here, twice), "appears twice", "make every answer different")
        translation[key] = texts
    return translation
