"""The form that shares a report with another account."""

from __future__ import annotations

from flask_babel import lazy_gettext as later
from flask_wtf import FlaskForm
from wtforms import StringField
from wtforms.validators import InputRequired


class ShareForm(FlaskForm):  # type: ignore[misc]
    """The account that may read the report."""

    name = StringField(later("Account name"), [InputRequired(later("Type the name of an account."))])
