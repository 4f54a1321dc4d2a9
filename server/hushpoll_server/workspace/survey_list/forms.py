"""The form that imports a survey document."""

from __future__ import annotations

from flask_babel import lazy_gettext as later
from flask_wtf import FlaskForm
from flask_wtf.file import FileField, FileRequired


class ImportForm(FlaskForm):  # type: ignore[misc]
    """A survey document from a file."""

    file = FileField(
        later("Survey document (JSON)"),
        [FileRequired(later("Choose a file."))],
        description=later("A definition exported here, written by hand, or a published document."),
    )
