"""Forms on a draft, which carry the revision that their page showed."""

from __future__ import annotations

from flask import request
from flask_wtf import FlaskForm
from wtforms import HiddenField


def _whole(text: str | None) -> int:
    text = text or ""
    if text.isascii() and text.isdigit() and len(text) < 10:
        return int(text)
    return -1


class RevisionForm(FlaskForm):  # type: ignore[misc]
    """A form on a draft: it carries the revision of the draft that its page showed."""

    revision = HiddenField()
    opened = HiddenField()

    def read_revision(self) -> int:
        """Read the revision; give one that never fits where the field was tampered with."""
        return _whole(self.revision.data)

    def read_opened(self) -> int | None:
        """Read the revision at which a page was opened that has saved by itself since; None where it has not."""
        if self.opened.data:
            return _whole(self.opened.data)
        return None


def posted_revision() -> int:
    """Read the revision that a form without fields carries; give one that never fits where it was tampered with."""
    return _whole(request.form.get("revision"))
