"""What a page tells that is no part of the release: the operator's imprint. `hushpoll verify` reads it back."""

from __future__ import annotations

import html
import re
from typing import NamedTuple

__all__ = ["Owned", "read_back"]

_IMPRINT = re.compile(
    r'<p class="imprint"(?P<own> dir="auto")?>'
    r'(?:<a href="(?P<url>[^"<>]*)" rel="noreferrer">)?(?P<text>[^<>]*)(?:</a>)?</p>'
)


class Owned(NamedTuple):
    """What the operator says on every page."""

    imprint: str = ""
    imprint_url: str = ""


def read_back(page: str) -> Owned:
    """Read what the operator says from a page; rendered again with it, an intact page is the same to the byte."""
    imprint = _IMPRINT.search(page)
    if imprint is None:
        return Owned()
    text = html.unescape(imprint["text"]) if imprint["own"] else ""
    return Owned(text, html.unescape(imprint["url"] or ""))
