"""The addresses of the respondent's files, and what a page asks the browser to load at once."""

from __future__ import annotations

from functools import cache
from itertools import zip_longest
from typing import Any

from flask import url_for
from flask_babel import force_locale

from . import languages
from .manifest import LEDGER, START, Asset, base_modules, read_asset, release


@cache
def explanation(language: str) -> Asset:
    """Return the sentences of the whole explanation in a language."""
    with force_locale(language):
        return Asset(languages.words_of("why").encode(), "application/json")


def asset_url(path: str) -> str:
    """Return the address of a file: always the same content, and modules name each other relative to it."""
    folder, name = path.split("/")
    return url_for("respond.static_file", release=release(), folder=folder, name=name)


def shell() -> dict[str, Any]:
    """Return what the common frame of the respondent's pages needs."""
    return {
        "language": languages.language(),
        "direction": languages.direction(),
        "stylesheet": asset_url("respond/respond.css"),
    }


def start() -> dict[str, str]:
    """Return address and SHA-256 of the module that starts the page."""
    return _reference(START)


def preloads(*more: str) -> list[dict[str, str]]:
    """Return what a page asks for at once: modules that every page waits for, and some `more`.

    Large and small ones in turns: over the few connections of a browser the small ones make way for others while the
    large ones keep the line busy. A model of six connections over 400 ms and 500 kbit/s gives .06 s for it.
    """
    sized = sorted([*base_modules(), *more], key=lambda path: len(read_asset(path).compressed))
    half = (len(sized) + 1) // 2
    large, small = sized[: -half - 1 : -1], sized[: len(sized) - half]
    turns = [path for pair in zip_longest(large, small) for path in pair if path is not None]
    return [_reference(path) for path in turns]


def on_demand(*modules: str) -> dict[str, str]:
    """Return the SHA-256 of the modules that a page may load by itself; it takes no others."""
    return {path: read_asset(path).integrity for path in sorted({LEDGER, *modules})}


def _reference(path: str) -> dict[str, str]:
    return {"url": asset_url(path), "integrity": read_asset(path).integrity}
