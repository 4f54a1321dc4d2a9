"""Forms on a draft, which carry the revision that their page showed."""

from __future__ import annotations

from flask import request
from flask_wtf import FlaskForm
from wtforms import HiddenField


def _revision(text: str | None) -> int:
    text = text or ""
    if text.isascii() and text.isdigit() and len(text) < 10:
        return int(text)
    return -1


class RevisionForm(FlaskForm):  # type: ignore[misc]
    """A form on a draft, with the revision that its page showed."""

    revision = HiddenField()
    opened = HiddenField()

    def read_revision(self) -> int:
        """Return the revision; -1, which no draft has, if it is not a number."""
        return _revision(self.revision.data)

    def read_opened(self) -> int | None:
        """Return the revision at which a page that saves by itself was opened; None for other pages."""
        if self.opened.data:
            return _revision(self.opened.data)
        return None


def posted_revision() -> int:
    """Return the revision in a form without fields; -1, which no draft has, if it is not a number."""
    return _revision(request.form.get("revision"))
