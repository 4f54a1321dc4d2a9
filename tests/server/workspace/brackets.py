"""A language made for tests: every sentence of the catalogues is in brackets and in wide letters.

Other letters, outside the brackets or as a value in them, did not come from a catalogue and cannot be translated."""

from __future__ import annotations

import io
import re
import string
from html.parser import HTMLParser
from pathlib import Path

from babel.messages import Catalog
from babel.messages.mofile import write_mo
from babel.messages.pofile import read_po

OPEN, CLOSE = "⟦", "⟧"
_LETTERS = re.compile(r"[A-Za-zÀ-ÖØ-öø-ɏ]{2,}")
_KEPT = re.compile(r"%\(\w+\)[sd]|%%|\{[^{}]*\}|<[^>]*>|&\w+;")
_ENGLISH_NUMBER = re.compile(r"(?<![\w.,])[0-9]+\.(?:[0-9]{1,2}|[0-9]{4,})(?![\w.])")
_SPOKEN = (
    "title",
    "aria-label",
    "aria-valuetext",
    "placeholder",
    "alt",
    "data-label",
    "data-said",
    "data-copied",
)
_EMPTY = {"area", "base", "br", "col", "hr", "img", "input", "link", "meta", "source", "track", "wbr"}
# Code and addresses; and what a language of its own is marked on, or what the analysis words in its own tables.
_UNREAD = {"code", "script", "style", "svg:path"}
_OTHERS = ("link-box", "secret", "hash", "poster", "slip", "language-list")
_WIDE = {ord(sign): ord(sign) + 0xFEE0 for sign in string.ascii_letters + string.digits}


def wide(text: str) -> str:
    """Write a sentence in wide letters, with its places and its marks of HTML as they are."""
    parts = _KEPT.split(text)
    placeholders = [*_KEPT.findall(text), ""]
    return "".join(
        text_part.translate(_WIDE) + mark for text_part, mark in zip(parts, placeholders, strict=True)
    )


def write_brackets(source: Path, target: Path) -> Path:
    """Write a German catalogue with brackets around every sentence of this one, and return its folder."""
    catalog = Catalog(locale="de")
    for message in read_po(io.BytesIO(source.read_bytes()), locale="de"):
        if not message.id:
            continue
        words = message.id if isinstance(message.id, tuple) else (message.id,)
        bracketed = tuple(f"{OPEN}{wide(text)}{CLOSE}" for text in words)
        catalog.add(message.id, bracketed if len(bracketed) > 1 else bracketed[0], context=message.context)
    folder = target / "de" / "LC_MESSAGES"
    folder.mkdir(parents=True)
    with (folder / "messages.mo").open("wb") as file:
        write_mo(file, catalog)
    return target


def is_english(text: str) -> bool:
    """Return whether a text has a number in its English form."""
    return bool(_ENGLISH_NUMBER.search(text))


def letters(text: str) -> bool:
    """Return whether a text has words that are not wide, or a number in its English form."""
    return bool(_LETTERS.search(text)) or is_english(text)


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []
        self.stack: list[tuple[str, bool]] = []
        self.depth = 0

    @property
    def skipped(self) -> bool:
        return any(skip for _, skip in self.stack)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        attributes = {name: value or "" for name, value in attrs}
        other = attributes.get("lang", "de") != "de" and tag != "html"
        skip = tag in _UNREAD or other or bool(set(attributes.get("class", "").split()) & set(_OTHERS))
        if not self.skipped and not skip:
            for name in _SPOKEN:
                self._look(attributes.get(name, ""))
            if (
                tag == "input"
                and attributes.get("type", "text") == "text"
                and is_english(attributes.get("value", ""))
            ):
                self.found.append(f"{attributes.get('name')}: {attributes['value']}")
            if tag == "option" and "value" in attributes and "label" in attributes:
                self._look(attributes["label"])
        if tag not in _EMPTY:
            self.stack.append((tag, skip))

    def handle_endtag(self, tag: str) -> None:
        if tag in _EMPTY:  # written as <img />
            return
        while self.stack and self.stack.pop()[0] != tag:
            pass

    def handle_data(self, data: str) -> None:
        self.depth += data.count(OPEN) - data.count(CLOSE)
        if not self.skipped:
            self._look(data)

    def _look(self, text: str) -> None:
        if letters(text):
            self.found.append(" ".join(text.split()))


def unsaid(page: str) -> list[str]:
    """Return the texts of a page that are in no catalogue."""
    reader = _Reader()
    reader.feed(page)
    assert reader.depth == 0, "a sentence was cut"
    return reader.found
