"""The files of the respondent's pages: in memory, compressed, and each with its published SHA-256."""

from __future__ import annotations

import gzip
import hashlib
from base64 import b64encode
from dataclasses import dataclass
from functools import cache, cached_property
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
# Modules that the page brings itself where a survey asks for something that most surveys do without.
_ON_DEMAND = (
    "client/about.js",
    "client/block.js",
    "client/more.js",
    "respond/search.js",
    "respond/study.js",
    "respond/why.js",
    "respond/widgets.js",
)


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
    """Give every module that each page loads, the one that starts it last; its requests are counted in a test."""
    found = (path for path in asset_paths() if path.endswith(".js") and path not in _ON_DEMAND)
    return sorted(found, key=lambda path: (path == _START, path))


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


def scripts() -> list[dict[str, str]]:
    """Give every module that each page loads with its address and its SHA-256, the one that starts the page last."""
    return [{"url": asset_url(path), "integrity": _integrity(path)} for path in _modules()]


def on_demand(*apart: str) -> dict[str, str]:
    """Give the SHA-256 of modules that only some surveys need, but those `apart`; the page takes no others."""
    return {path: _integrity(path) for path in _ON_DEMAND if path not in apart}


def _integrity(path: str) -> str:
    return "sha256-" + b64encode(_read(path).digest).decode()
