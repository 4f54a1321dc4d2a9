"""The texts of a survey document that are translated, and how complete a language is."""

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


def texts_to_translate(document: Document) -> list[tuple[Path, str]]:
    """Return every text that needs a translation, with its path in a translation."""
    return list(_flattened(translatable(document), ()))


def _flattened(value: Any, at: Path) -> Iterator[tuple[Path, str]]:
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
        yield from _flattened(item, (*at, key))


def text_at(texts: Any, at: Path) -> str:
    """Return the text at a path of a translation; "" if it is missing."""
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


def shaped_translation(document: Document, text_for: Callable[[Path], str]) -> Document:
    """Return a complete translation of a document, with the text that `text_for` returns for every path."""

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


def next_to_originals(document: Document, tag: str) -> Document:
    """Return a language as a translator's file: every text with its original and its translation, "" if missing."""
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
    """Return the translations in a translator's file; other values are returned unchanged."""
    if isinstance(value, Mapping):
        if set(value) == {_ORIGINAL, _TRANSLATION} and not isinstance(value[_TRANSLATION], Mapping):
            return value[_TRANSLATION]
        return {key: without_originals(item) for key, item in value.items()}
    if isinstance(value, list):
        return [without_originals(item) for item in value]
    return value


def completeness(document: Document, tag: str) -> tuple[int, int]:
    """Return the number of translated texts of a language, and of all texts."""
    listed = texts_to_translate(document)
    texts = document.get("translations", {}).get(tag, {})
    return sum(bool(text_at(texts, at).strip()) for at, _ in listed), len(listed)


def _publishable_texts(document: Document, tag: str) -> Document | None:
    """Return a language's texts if a survey can be published with them, else None."""
    texts = document["translations"][tag]
    have, of = completeness(document, tag)
    if have < of:
        return None
    shaped = shaped_translation(document, lambda at: text_at(texts, at))
    try:
        checked: Document = read_translations({tag: shaped}, document, published=False)[tag]
    except SurveyError:
        return None
    return checked


def unfinished(document: Document) -> Sequence[str]:
    """Return the languages that are incomplete or cannot be published."""
    return [tag for tag in document.get("translations", {}) if _publishable_texts(document, tag) is None]


def without_unfinished_languages(document: Document) -> Document:
    """Return a document without its unfinished languages."""
    if "translations" not in document:
        return document
    finished = {
        tag: texts
        for tag in document["translations"]
        if (texts := _publishable_texts(document, tag)) is not None
    }
    compiled = {key: value for key, value in document.items() if key != "translations"}
    if finished:
        compiled["translations"] = finished
    return compiled
