"""The pages of the documentation, from the same Markdown files as the site."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import NamedTuple, cast

from flask import Blueprint, Flask, Response, abort, render_template
from flask_babel import LazyString
from flask_babel import lazy_gettext as later
from markupsafe import Markup

from hushpoll_server.compression import compressible

from . import glossary
from .help_places import help_address

__all__ = ["FOLDER", "PAGES", "bp", "rendered"]

bp = Blueprint("manual", __name__, template_folder="templates")
bp.record_once(lambda state: glossary.init_app(cast(Flask, state.app)))
bp.add_app_template_global(help_address)

_HERE = Path(__file__).resolve()
# In a wheel the files lie beside this one; in a clone they are where they are written.
FOLDER = next(
    folder for folder in (_HERE.parent / "docs", _HERE.parents[3] / "docs") if (folder / "index.md").exists()
)
_LEFT_OUT = ("architecture", "release")  # for contributors
_TITLES: dict[str, LazyString | str] = {
    "index": later("Overview"),
    "publish": later("Publish a survey"),
    "results": later("Read results"),
    "planning": later("Plan the number of people"),
    "existing-data": later("Analyse existing data"),
    "operators": later("Run a server"),
    "respondents": later("For respondents"),
    "designers": later("Survey design"),
    "estimates": later("Estimates"),
    "tables": later("Tables and comparisons"),
    "models": later("Models"),
    "weights": later("Weights"),
    "validity": later("Validity"),
    "tutorial": later("Tutorial"),
    "study": later("A worked study"),
    "groups-and-rounds": later("Groups, synthetic people, rounds"),
    "scale": later("From a classroom to a census"),
    "references": later("References"),
    "glossary": later("Glossary"),
    "mechanisms": later("Mechanisms"),
    "cli": later("Command line"),
    "protocol": later("Protocol"),
    "mathematics": later("Mathematics"),
    "designs": later("The best channel"),
    "threat-model": later("Threat model"),
    "assurance": later("Assurance"),
    "lecture-notes": later("From the lecture notes"),
    "lecture-notes-exercises": later("Checked claims"),
    "lecture-notes-range": later("The end of a range, four ways"),
}
"""Short titles, in the order in which pages are listed."""


def _heading(path: Path) -> str:
    return path.read_text("utf-8").partition("\n")[0].lstrip("# ")


PAGES = _TITLES | {
    path.stem: _heading(path)
    for path in sorted(FOLDER.glob("*.md"))
    if path.stem not in (*_TITLES, *_LEFT_OUT)
}
"""Every page; one without a short title comes last, under its heading."""

_EXTENSIONS = ["tables", "fenced_code", "toc", "sane_lists", "hushpoll_server.manual.formulas"]
_FENCE_TITLE = re.compile(r'^(```\w*) title="([^"]*)"$', re.M)
_LINK = re.compile(r'href="(?:\./)?([\w-]+)\.md(#[^"]*)?"')
_IMAGE = re.compile(r'src="images/([^"]*)"')
# Pages that only the site has: of the repository, and those made from docstrings.
_OUTSIDE = re.compile(r'<a href="(?:\.\./|api/|decisions/)[^"]*">(.*?)</a>', re.S)
_STYLE = re.compile(r' style="text-align: \w+;"')
_SUFFIXES = {".png": "image/png", ".svg": "image/svg+xml"}


class Rendered(NamedTuple):
    """One page: its text, and its headings with their anchors."""

    body: Markup
    headings: tuple[tuple[str, str], ...]
    anchors: frozenset[str]


@cache
def rendered(name: str) -> Rendered:
    """Make the page of a Markdown file; once in a process, when it is first asked for."""
    import markdown

    text = (FOLDER / f"{name}.md").read_text("utf-8")
    text = _FENCE_TITLE.sub(r"*\2*\n\n\1", text)
    converter = markdown.Markdown(extensions=_EXTENSIONS)
    html = converter.convert(text)
    html = _LINK.sub(
        lambda match: f'href="{match[1] if match[1] in PAGES else "index"}{match[2] or ""}"', html
    )
    html = _IMAGE.sub(r'src="images/\1"', _OUTSIDE.sub(r"\1", html))
    # Styles in attributes are what the content policy forbids.
    html = html.replace(' style="text-align: right;"', ' class="number"')
    html = _STYLE.sub("", html)
    html = html.replace("<pre>", '<pre tabindex="0">').replace(
        "<table>", '<table class="table" tabindex="0">'
    )
    tokens = converter.toc_tokens
    headings = tuple((heading["id"], heading["name"]) for top in tokens for heading in top["children"])
    # The files are part of the program: what is in them is trusted as its templates are.
    return Rendered(Markup(html), headings, frozenset(re.findall(r'id="([^"]+)"', html)))  # noqa: S704


@bp.get("/docs/")
@bp.get("/docs/<name>")
def page(name: str = "index") -> Response:
    """Show a page of the documentation."""
    if name not in PAGES:
        abort(404, "there is no such page of the documentation; see /docs/")
    html = render_template("manual/page.html", made=rendered(name), name=name, pages=PAGES)
    response = compressible(html.encode(), "text/html; charset=utf-8")
    response.headers["Cache-Control"] = "no-cache"
    response.vary.update(("Cookie", "Accept-Language"))
    return response


@bp.get("/docs/images/<name>")
def image(name: str) -> Response:
    """Send a picture of the documentation."""
    file = next((path for path in (FOLDER / "images").iterdir() if path.name == name), None)
    if file is None or file.suffix not in _SUFFIXES:
        abort(404, "there is no such picture")
    response = Response(file.read_bytes(), mimetype=_SUFFIXES[file.suffix])
    response.headers["Cache-Control"] = "public, max-age=3600"
    return response
