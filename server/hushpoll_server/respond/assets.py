"""The files of the respondent's pages: in memory, compressed, and each with its published SHA-256."""

from __future__ import annotations

import gzip
import hashlib
from base64 import b64encode
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import zip_longest
from pathlib import Path
from typing import Any

import hushpoll_client
from flask import url_for

import hushpoll_server

from . import languages

_PALETTE = Path(hushpoll_server.__file__).parent / "static" / "palette.css"
_FOLDERS = {
    "client": Path(hushpoll_client.__file__).parent / "js",
    "respond": Path(__file__).parent / "static",
}
_TYPES = {".js": "text/javascript", ".css": "text/css; charset=utf-8"}
_START = "respond/page.js"
# Modules that every page may bring by itself: what a document may turn out to need, the questions, which nobody sees
# before Start, the whole explanation and the ledger.
_MAY_BRING = ("client/more.js", "respond/form.js", "respond/why.js", "respond/widgets.js")
# Those of surveys that ask for something that most do without.
_SOME_BRING = ("client/about.js", "client/block.js", "respond/search.js", "respond/study.js")


@dataclass(frozen=True)
class Asset:
    """A static file in memory, also compressed: gunicorn compresses nothing itself."""

    body: bytes
    content_type: str

    @cached_property
    def compressed(self) -> bytes:
        """The same bytes, smaller; without a time, so that every worker sends the same ones."""
        return gzip.compress(self.body, 9, mtime=0)

    @cached_property
    def digest(self) -> bytes:
        """SHA-256 of the file as it is in the source."""
        return hashlib.sha256(self.body).digest()


def asset(path: str) -> Asset | None:
    """Give one of the page's files, named as in its address: client/survey.js, respond/respond.css."""
    # Only what exists is remembered: names that strangers make up must not fill the memory.
    return _read(path) if path in asset_paths() else None


@cache
def asset_paths() -> frozenset[str]:
    """Name every file of the page."""
    return frozenset(
        f"{folder}/{file.name}"
        for folder, place in _FOLDERS.items()
        for file in place.iterdir()
        if file.suffix in _TYPES
    )


@cache
def _modules() -> list[str]:
    """Give every module that each page waits for; its requests are counted in a test."""
    return [
        path
        for path in sorted(asset_paths())
        if path.endswith(".js") and path not in (*_MAY_BRING, *_SOME_BRING)
    ]


@cache
def _read(path: str) -> Asset:
    folder, _, name = path.partition("/")
    file = _FOLDERS[folder] / name
    body = file.read_bytes()
    if name == "respond.css":
        # One request for the shared colours and the page's own rules.
        body = _PALETTE.read_bytes() + b"\n" + body
    return Asset(body, _TYPES[file.suffix])


@cache
def release() -> str:
    """Give sixteen digits that change when any file does; the sentences are pinned in one of them."""
    whole = hashlib.sha256()
    for path in sorted(asset_paths()):
        whole.update(path.encode() + b"\0" + _read(path).digest)
    return whole.hexdigest()[:16]


def asset_url(path: str) -> str:
    """Give the address of a file, for ever the same content: modules name each other by their place beside it."""
    folder, name = path.split("/")
    return url_for("respond.static_file", release=release(), folder=folder, name=name)


def shell() -> dict[str, Any]:
    """Give what the common frame of the respondent's pages needs."""
    return {
        "language": languages.language(),
        "direction": languages.direction(),
        "stylesheet": asset_url("respond/respond.css"),
    }


def start() -> dict[str, str]:
    """Give the module that starts the page, with its address and its SHA-256."""
    return _told(_START)


def preloads(*more: str) -> list[dict[str, str]]:
    """Give what a page asks for at once: modules that every page waits for with some `more`, then the questions.

    Large and small ones in turns: over the few connections of a browser the small ones make way for others while the
    large ones keep the line busy. A model of six connections over 400 ms and 500 kbit/s gives .06 s for it.
    """
    sized = sorted([*_modules(), *more], key=lambda path: len(_read(path).compressed))
    half = (len(sized) + 1) // 2
    large, small = sized[: -half - 1 : -1], sized[: len(sized) - half]
    turns = [path for pair in zip_longest(large, small) for path in pair if path is not None]
    return [_told(path) for path in (*turns, "respond/form.js")]


def _told(path: str) -> dict[str, str]:
    return {"url": asset_url(path), "integrity": _integrity(path)}


def on_demand(*needed: str) -> dict[str, str]:
    """Give the SHA-256 of the modules that a page may bring by itself, with those `needed`; it takes no others."""
    return {path: _integrity(path) for path in sorted({*_MAY_BRING, *needed})}


def _integrity(path: str) -> str:
    return "sha256-" + b64encode(_read(path).digest).decode()
