"""The files of the respondent's pages, and when a page loads which of them; needs no library but the standard one."""

from __future__ import annotations

import gzip
import hashlib
from base64 import b64encode
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path

import hushpoll_client
from hushpoll_client import Survey

import hushpoll_server

_PALETTE = Path(hushpoll_server.__file__).parent / "static" / "palette.css"
_FOLDERS = {
    "client": Path(hushpoll_client.__file__).parent / "js",
    "respond": Path(__file__).parent / "static",
}
_TYPES = {".js": "text/javascript", ".css": "text/css; charset=utf-8"}
START = "respond/page.js"
"""The module that starts the page."""
AFTER_PAINT = ("respond/examples.js", "respond/form.js", "respond/why.js")
"""Modules that every page loads once the first view is painted, each after those that it imports: pictures and
"Try it", the questions, the whole explanation."""
LEDGER = "respond/ledger.js"
"""What earlier surveys on the device add up to; loaded if there was one, or when a report has arrived."""
WIDGETS = "respond/widgets.js"
"""The controls of kinds other than a choice."""
STEPS = "respond/steps.js"
"""One question at a time."""
EXTRAS = "extras"
BUNDLES = {
    EXTRAS: ("client/extra_channels.js", "client/extra_kinds.js"),
    "block": ("client/extra_channels.js", "client/block.js"),
    "anchor": ("client/anchor.js",),
    "group": ("client/group.js",),
    "series": ("client/series.js",),
    "presentation": ("client/presentation.js", "respond/presentation.js"),
}
"""Modules that a page loads together for what its survey has, each after those that it imports; the name of a bundle is
that of the module in client/js that asks for it, see `OPTIONAL_KEYS` in survey.js."""
SEARCH = "respond/search.js"
"""The search in long lists of options."""
_BUNDLED = tuple(dict.fromkeys(path for bundle in BUNDLES.values() for path in bundle))
FOR_SOME_SURVEYS = (*_BUNDLED, WIDGETS, SEARCH, STEPS)
"""Modules that a page loads only for surveys that need them."""


def bundles_for(survey: Survey) -> dict[str, tuple[str, ...]]:
    """Return the bundles that the page of a survey needs, each with its modules."""
    has = {
        EXTRAS: not all(
            question.kind.in_base_bundle and question.mechanism.in_base_bundle
            for question in survey.questions
        ),
        "block": bool(survey.blocks),
        "anchor": survey.anchor is not None,
        "group": bool(survey.groups),
        "series": survey.series is not None,
        "presentation": bool(survey.presentation),
    }
    bundles = {name: paths for name, paths in BUNDLES.items() if has[name]}
    if survey.presentation == {"look": {"layout": layout_of(survey)}}:
        # It is checked as the rest; nothing stands around the questions.
        bundles["presentation"] = ("client/presentation.js",)
    return bundles


def layout_of(survey: Survey) -> str | None:
    """Return how the questions are laid out; None where the survey does not say."""
    layout: str | None = survey.presentation.get("look", {}).get("layout")
    return layout


def modules_before_start(survey: Survey) -> list[str]:
    """Return the modules outside the base bundle that the first view of a survey needs, each once."""
    return list(dict.fromkeys(path for paths in bundles_for(survey).values() for path in paths))


def modules_after_paint(survey: Survey, *, widgets: bool, search: bool) -> list[str]:
    """Return the modules that the page of a survey loads once its first view is painted."""
    paths = list(AFTER_PAINT)
    if widgets:
        paths.append(WIDGETS)
    if search:
        paths.append(SEARCH)
    if layout_of(survey) == "steps":
        paths.append(STEPS)
    return paths


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

    @property
    def integrity(self) -> str:
        """The digest as an `integrity` attribute."""
        return "sha256-" + b64encode(self.digest).decode()


def asset(path: str) -> Asset | None:
    """Return one of the page's files, named as in its address: client/survey.js, respond/respond.css."""
    # Only what exists is remembered: names that strangers make up must not fill the memory.
    if path in asset_paths():
        return read_asset(path)
    return None


@cache
def asset_paths() -> frozenset[str]:
    """Return the path of every file of the page."""
    return frozenset(
        f"{folder}/{file.name}"
        for folder, directory in _FOLDERS.items()
        for file in directory.iterdir()
        if file.suffix in _TYPES
    )


@cache
def base_modules() -> list[str]:
    """Return every module that each page waits for; a test counts its requests."""
    later = {*AFTER_PAINT, LEDGER, *FOR_SOME_SURVEYS}
    return [path for path in sorted(asset_paths()) if path.endswith(".js") and path not in later]


@cache
def read_asset(path: str) -> Asset:
    """Return a file of `asset_paths`."""
    folder, _, name = path.partition("/")
    file = _FOLDERS[folder] / name
    body = file.read_bytes()
    if name == "respond.css":
        # One request for the shared colours and the page's own rules.
        body = _PALETTE.read_bytes() + b"\n" + body
    return Asset(body, _TYPES[file.suffix])


@cache
def release() -> str:
    """Return sixteen digits that change when any file does; the sentences are pinned in one of them."""
    digest = hashlib.sha256()
    for path in sorted(asset_paths()):
        digest.update(path.encode() + b"\0" + read_asset(path).digest)
    return digest.hexdigest()[:16]
