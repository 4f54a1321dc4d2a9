"""The form that confirms publishing."""

from __future__ import annotations

from flask_babel import lazy_gettext as later
from wtforms import BooleanField, StringField
from wtforms.validators import InputRequired

from hushpoll_server.i18n.translation import gettext as _
from hushpoll_server.workspace.forms import RevisionForm

PROTECTS_LITTLE = later("this protects little")
"""What a designer types who publishes a survey of the weakest tier."""


class PublishForm(RevisionForm):
    """The last confirmation."""

    frozen = BooleanField(
        later("I understand that a published survey cannot be changed, only copied."),
        [InputRequired(later("Tick this to publish."))],
    )
    one_sided = BooleanField(
        later(
            "I accept what the reports of these questions reveal. Respondents can read it before they answer."
        )
    )
    weak = StringField(
        later("To publish it anyway, type: this protects little"),
        description=later("Respondents read the same words before they start."),
    )

    def confirms(self, *, weak: bool, one_sided: bool) -> bool:
        """Return whether the designer confirmed everything; if not, set the errors of the fields."""
        complete = self.validate()
        if one_sided and not self.one_sided.data:
            self.one_sided.errors = [_("Tick this too, or give these questions an epsilon.")]
            complete = False
        typed = " ".join((self.weak.data or "").lower().split())
        if weak and typed != PROTECTS_LITTLE:
            message = _("Type “%(words)s”, or lower the epsilon of the questions.", words=PROTECTS_LITTLE)
            self.weak.errors = [message]
            complete = False
        return bool(complete)
