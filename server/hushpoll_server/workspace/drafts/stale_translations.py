"""Translated texts whose original changed after they were translated.

A draft keeps a digest of every pair of an original and its translation, outside the survey document. A pair without a
digest is stale: its original has changed. Digests do not depend on the place, so questions may move or be renamed.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Iterator, Mapping
from typing import Any

from hushpoll_server.workspace.drafts import translated_texts
from hushpoll_server.workspace.drafts.translated_texts import Path

Document = dict[str, Any]
Fitting = Mapping[str, list[str]]


def fitting(document: Document) -> dict[str, list[str]]:
    """Return the digests of all translations of a document."""
    return {tag: [pair for _, _, pair in _pairs(document, tag)] for tag in document.get("translations", {})}


def outdated(document: Document, fitting: Fitting, tag: str) -> set[Path]:
    """Return the places of a language whose original changed after they were translated; none if that is unknown."""
    if tag not in fitting:
        return set()
    return {at for at, _, pair in _pairs(document, tag) if pair not in fitting[tag]}


def updated(
    before: Document, after: Document, fitting: Fitting, tag: str, right: Collection[Path] = ()
) -> Fitting:
    """Return the digests after a language was edited; stale texts stay stale unless edited or confirmed (`right`)."""
    lost = outdated(before, fitting, tag).difference(right)
    old = {at: text for at, text, _ in _pairs(before, tag) if at in lost}
    return {**fitting, tag: [pair for at, text, pair in _pairs(after, tag) if old.get(at) != text]}


def _pairs(document: Document, tag: str) -> Iterator[tuple[Path, str, str]]:
    """Yield place, translation and digest of every text that is translated."""
    texts = document.get("translations", {}).get(tag, {})
    for at, original in translated_texts.texts_to_translate(document):
        if text := translated_texts.text_at(texts, at):
            pair = json.dumps([original, text]).encode()
            yield at, text, hashlib.sha256(pair).hexdigest()[:16]
