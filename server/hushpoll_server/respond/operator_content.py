"""What a page tells that is not part of the release: the operator's imprint, and when the survey's owner deletes.

`hushpoll verify` reads it back.
"""

from __future__ import annotations

import datetime
import html
import re
from typing import NamedTuple

__all__ = ["OperatorContent", "read_back"]

_IMPRINT = re.compile(
    r'<p class="imprint"(?P<own> dir="auto")?>'
    r'(?:<a href="(?P<url>[^"<>]*)" rel="noreferrer">)?(?P<text>[^<>]*)(?:</a>)?</p>'
)
_DELETION = re.compile(r'"delete_on":"(\d{4}-\d\d-\d\d)"')


class OperatorContent(NamedTuple):
    """What the operator says on every page, and the survey's owner on those of a survey."""

    imprint: str = ""
    imprint_url: str = ""
    delete_on: datetime.date | None = None

    def lines(self) -> list[str]:
        """Return it as lines for a person who compares a page with the release."""
        lines = []
        if self.imprint or self.imprint_url:
            imprint = f"{self.imprint} {self.imprint_url}".strip()
            lines.append(f"Imprint of the operator, not of this release: {imprint}")
        if self.delete_on is not None:
            lines.append(f"Said by the survey's owner: all reports are deleted on {self.delete_on}")
        return lines


def read_back(page: str) -> OperatorContent:
    """Read what the operator says from a page; rendered again with it, an intact page is the same to the byte."""
    imprint, day = _IMPRINT.search(page), _DELETION.search(page)
    delete_on = None
    if day:
        delete_on = _date(day[1])
    if imprint is None:
        return OperatorContent(delete_on=delete_on)
    text = ""
    if imprint["own"]:
        text = html.unescape(imprint["text"])
    return OperatorContent(text, html.unescape(imprint["url"] or ""), delete_on)


def _date(text: str) -> datetime.date | None:
    try:
        return datetime.date.fromisoformat(text)
    except ValueError:
        return None
