"""PDF and PNG files, set by Typst: tagged for screen readers, and the same bytes for the same results."""

from __future__ import annotations

import json
import re
from importlib.resources import files
from importlib.util import find_spec
from typing import Any

from hushpoll_analysis.errors import AnalysisError

_PICTURE = """#set page(width: 720pt, height: auto, margin: 0pt)
#image(bytes(sys.inputs.svg), format: "svg", width: 720pt)"""
_PIXELS_PER_INCH = 144.0
# Letters that Typst's own fonts have: Latin, Greek, Cyrillic, signs. Others need the fonts of the machine.
_OWN_LETTERS = re.compile(r"[\u0000-\u058f\u1e00-\u2bff\ufb00-\ufb06]*")

_REFUSED = "PDF/UA-1 error"
"""How Typst says that a document cannot be set to the standard."""


def is_available() -> bool:
    """Return whether Typst is installed."""
    return find_spec("typst") is not None


def picture_as_png(svg: str) -> bytes:
    """Return a drawing as PNG, two pixels for each point."""
    png: bytes = _compiled(_PICTURE, {"svg": svg}, format="png", ppi=_PIXELS_PER_INCH)
    return png


def as_pdf(template: str, data: dict[str, Any]) -> bytes:
    """Return a document of `templates` filled with data, as PDF/UA-1 where fonts have all its letters.

    The standard allows no others. Without it they are empty boxes, and the document is tagged all the same.
    """
    source, inputs = _template(template), {"data": json.dumps(data, ensure_ascii=False)}
    pdf: bytes
    try:
        pdf = _compiled(source, inputs, format="pdf", pdf_standards=["ua-1"])
    except AnalysisError as error:
        if _REFUSED not in str(error):
            raise
        pdf = _compiled(source, inputs, format="pdf")
    return pdf


def pages_of(template: str, data: dict[str, Any]) -> int:
    """Return how many pages a document has."""
    pages = _compiled(_template(template), {"data": json.dumps(data, ensure_ascii=False)}, format="svg")
    if isinstance(pages, list):
        return len(pages)
    return 1


def _template(name: str) -> str:
    return (files(__package__) / "templates" / name).read_text("utf-8")


def _compiled(source: str, inputs: dict[str, str], **options: Any) -> Any:
    try:
        import typst
    except ImportError:
        raise AnalysisError(
            "PDF and PNG files need Typst, which is not installed", 'run pip install "hushpoll[pdf]"'
        ) from None
    own_letters = all(_OWN_LETTERS.fullmatch(text) for text in inputs.values())
    try:
        return typst.compile(source.encode(), sys_inputs=inputs, ignore_system_fonts=own_letters, **options)
    except typst.TypstError as error:
        raise AnalysisError(
            f"Typst cannot set this document: {error}", "install fonts that have its letters, such as DejaVu"
        ) from None
