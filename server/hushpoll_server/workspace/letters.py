"""The forms by which invitations are handed out: a list for mail merge, and letters through the server."""

from __future__ import annotations

from flask_babel import lazy_gettext as later
from flask_wtf import FlaskForm
from flask_wtf.file import FileField, FileRequired
from hushpoll_client import Survey
from wtforms import SelectField, StringField, TextAreaField
from wtforms.validators import InputRequired, Length, Optional

from hushpoll_server.fields import choices
from hushpoll_server.spoken import gettext as _

__all__ = ["LetterForm", "MergeForm", "letter_form", "with_groups"]


class MergeForm(FlaskForm):  # type: ignore[misc]
    """A list of people, to get it back with a link for each."""

    people = FileField(
        later("List of people (CSV)"),
        [FileRequired(later("Choose a file."))],
        description=later(
            "One person a line, under a line of headings. It comes back with a code, a link and the"
            " fingerprint for each, ready for your mail program's mail merge. Nothing of it is kept here."
        ),
    )


class LetterForm(FlaskForm):  # type: ignore[misc]
    """What to send to whom."""

    addresses = TextAreaField(
        later("E-mail addresses"), [Optional()], description=later("One a line, or with commas between.")
    )
    subject = StringField(later("Subject"), [InputRequired(later("Write a subject.")), Length(max=200)])
    text = TextAreaField(
        later("Text"),
        [InputRequired(later("Write a text.")), Length(max=10_000)],
        description=later(
            "{link} stands for the person's own link and must be in it, {fingerprint} for its first part."
        ),
    )
    reply_to = StringField(later("Answers go to"), [Optional(), Length(max=254)])
    group = SelectField(later("Group"), choices=[], validate_choice=False)


def letter_form(survey: Survey) -> LetterForm:
    """Give the form with a text to begin with."""
    subject = _("Invitation: %(title)s", title=survey.title)
    form = LetterForm(formdata=None, subject=subject[:200], text=_text(survey))
    return with_groups(form, survey)


def _text(survey: Survey) -> str:
    parts = [
        _("Hello,"),
        _("you are invited to the survey “%(title)s”.", title=survey.title),
        _("Your own link; it works once:") + "\n{link}",
        _(
            "What happens with your answers is explained before the first question. The page shows a fingerprint: its"
            " first 8 characters should be {fingerprint}."
        ),
    ]
    return "\n\n".join(parts) + "\n"


def with_groups(form: LetterForm, survey: Survey) -> LetterForm:
    """Let the form offer the survey's groups."""
    form.group.choices = choices((str(place), name) for place, name in enumerate(survey.groups))
    return form
