"""Translations of a draft. Unfinished languages are kept in the draft and left out when it is compiled."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from hushpoll_client import SurveyError
from hushpoll_client.survey.translations import read_translations, translatable

from hushpoll_server.workspace.drafts.help_lines import help_text, read_help_lines

Document = dict[str, Any]
Path = tuple[str | int, ...]
_HELP = ("help",)
"""One piece whatever its length: people of another language may find help at other addresses, and at more or fewer."""
_ORIGINAL, _TRANSLATION = "original", "translation"
"""What stands for a text in a translator's file; two questions that are called so have more than a text each."""


def pieces(document: Document) -> list[tuple[Path, str]]:
    """Return every text that a translation must have, with the place where a translation keeps it."""
    return list(_flat(translatable(document), ()))


def _flat(value: Any, at: Path) -> Iterator[tuple[Path, str]]:
    if isinstance(value, str):
        yield at, value
        return
    if at == _HELP:
        yield at, help_text(value)
        return
    if isinstance(value, Mapping):
        items = list(value.items())
    else:
        items = list(enumerate(value))
    for key, item in items:
        yield from _flat(item, (*at, key))


def text_at(texts: Any, at: Path) -> str:
    """Return the text at a place of a translation; nothing where there is none yet."""
    for key in at:
        if isinstance(key, int):
            if isinstance(texts, list) and key < len(texts):
                texts = texts[key]
            else:
                texts = None
        else:
            if isinstance(texts, Mapping):
                texts = texts.get(key)
            else:
                texts = None
    if at == _HELP and isinstance(texts, list):
        return help_text(texts)
    return texts if isinstance(texts, str) else ""


def with_text(document: Document, text_for: Callable[[Path], str]) -> Document:
    """Return a translation in the shape that the document wants, with the text that is given for every place."""

    def shaped(value: Any, at: Path) -> Any:
        if isinstance(value, str):
            return text_for(at)
        if at == _HELP:
            return read_help_lines(text_for(at))
        if isinstance(value, Mapping):
            return {key: shaped(item, (*at, key)) for key, item in value.items()}
        return [shaped(item, (*at, index)) for index, item in enumerate(value)]

    translation: Document = shaped(translatable(document), ())
    return translation


def beside_originals(document: Document, tag: str) -> Document:
    """Return a language for a translator: for every text its original and the translation, "" while it is open."""
    texts = document["translations"][tag]

    def paired(original: Any, at: Path) -> Any:
        if isinstance(original, str):
            return {_ORIGINAL: original, _TRANSLATION: text_at(texts, at)}
        if at == _HELP:
            return {_ORIGINAL: original, _TRANSLATION: read_help_lines(text_at(texts, at))}
        if isinstance(original, Mapping):
            return {key: paired(item, (*at, key)) for key, item in original.items()}
        return [paired(item, (*at, index)) for index, item in enumerate(original)]

    paired_texts: Document = paired(translatable(document), ())
    return paired_texts


def without_originals(value: Any) -> Any:
    """Take the translations out of a file as it was given to a translator; other texts stay as they are."""
    if isinstance(value, Mapping):
        if set(value) == {_ORIGINAL, _TRANSLATION} and not isinstance(value[_TRANSLATION], Mapping):
            return value[_TRANSLATION]
        return {key: without_originals(item) for key, item in value.items()}
    if isinstance(value, list):
        return [without_originals(item) for item in value]
    return value


def completeness(document: Document, tag: str) -> tuple[int, int]:
    """Return how many texts a language has, of how many."""
    listed = pieces(document)
    texts = document.get("translations", {}).get(tag, {})
    return sum(bool(text_at(texts, at).strip()) for at, _ in listed), len(listed)


def _sound(document: Document, tag: str) -> Document | None:
    """Return a language's texts if a survey can be published with them."""
    texts = document["translations"][tag]
    have, of = completeness(document, tag)
    if have < of:
        return None
    shaped = with_text(document, lambda at: text_at(texts, at))
    try:
        checked: Document = read_translations({tag: shaped}, document, published=False)[tag]
    except SurveyError:
        return None
    return checked


def unfinished(document: Document) -> Sequence[str]:
    """Name the languages that are not finished yet."""
    return [tag for tag in document.get("translations", {}) if _sound(document, tag) is None]


def compilable(document: Document) -> Document:
    """Return a draft's document without the languages that are not finished."""
    if "translations" not in document:
        return document
    finished = {
        tag: texts for tag in document["translations"] if (texts := _sound(document, tag)) is not None
    }
    compiled = {key: value for key, value in document.items() if key != "translations"}
    if finished:
        compiled["translations"] = finished
    return compiled
