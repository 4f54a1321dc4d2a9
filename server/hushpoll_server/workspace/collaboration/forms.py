"""The forms that share a draft."""

from __future__ import annotations

from flask_babel import lazy_gettext as later
from flask_wtf import FlaskForm
from wtforms import RadioField, SelectField, StringField
from wtforms.validators import InputRequired

from hushpoll_server.fields import choices
from hushpoll_server.i18n.translation import gettext as _

DAYS = (7, 30, 90)


class AccountForm(FlaskForm):  # type: ignore[misc]
    """Another account, and what it may do."""

    name = StringField(later("Account name"), [InputRequired(later("Type the name of an account."))])
    role = RadioField(
        later("This account may"),
        choices=choices([("read", later("read the draft")), ("edit", later("edit the draft"))]),
        default="read",
    )


class LinkForm(FlaskForm):  # type: ignore[misc]
    """How long a link is good."""

    days = SelectField(later("The link is good for"), default="30")

    def offer_days(self) -> None:
        """List the numbers of days."""
        self.days.choices = choices((str(days), _("%(n)s days", n=days)) for days in DAYS)


class OwnerForm(FlaskForm):  # type: ignore[misc]
    """The account that a draft is handed over to."""

    owner = StringField(later("New owner"), [InputRequired(later("Type the name of an account."))])
