"""Designs that were found before: shipped with the package, or kept on this machine's disk.

A design is looked up by what was asked and by the version of the search. What is read is checked like any published
channel before it is used, so that a damaged or foreign file costs time and nothing else.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import os
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

VERSION = 1
"""Of the search: raised when its results change, so that older designs are found anew."""

SHIPPED = "shipped.json.gz"


def key(request: Mapping[str, Any]) -> str:
    """Return the name under which a design is kept."""
    text = json.dumps({**request, "version": VERSION}, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def folder() -> Path:
    """Return the folder for designs: below $XDG_CACHE_HOME, or the data folder of a server, or the user's cache."""
    if os.environ.get("XDG_CACHE_HOME"):
        return Path(os.environ["XDG_CACHE_HOME"]) / "hushpoll" / "designs"
    if os.environ.get("DATA"):
        return Path(os.environ["DATA"]) / "designs"
    return Path.home() / ".cache" / "hushpoll" / "designs"


def look_up(name: str) -> dict[str, Any] | None:
    """Return a design that is shipped or kept; None where there is none that can be read."""
    shipped = _shipped().get(name)
    if shipped is not None:
        return dict(shipped)
    with suppress(OSError, ValueError, RuntimeError):
        design = json.loads((folder() / f"{name}.json").read_bytes())
        if isinstance(design, dict):
            return design
        return None
    return None


def remember(name: str, design: Mapping[str, Any]) -> None:
    """Keep a design; where nothing can be written it is found anew the next time."""
    with suppress(OSError, RuntimeError):
        home = folder()
        home.mkdir(parents=True, exist_ok=True)
        # Written beside and renamed, so that whoever reads at the same time sees all of it or nothing.
        handle, beside = tempfile.mkstemp(dir=home, prefix=".new-")
        try:
            with os.fdopen(handle, "w", encoding="ascii") as file:
                json.dump(design, file)
            os.replace(beside, home / f"{name}.json")
        except BaseException:
            with suppress(OSError):
                os.unlink(beside)
            raise


@cache
def _shipped() -> dict[str, Any]:
    file = files(__package__).joinpath(SHIPPED)
    if not file.is_file():
        return {}
    designs: dict[str, Any] = json.loads(gzip.decompress(file.read_bytes()))
    return designs
