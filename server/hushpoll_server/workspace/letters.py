"""The forms by which invitations are handed out: a list for mail merge, and letters through the server."""

from __future__ import annotations

from flask_wtf import FlaskForm
from flask_wtf.file import FileField, FileRequired
from hushpoll_client import Survey
from wtforms import SelectField, StringField, TextAreaField
from wtforms.validators import InputRequired, Length, Optional

from hushpoll_server.fields import choices

__all__ = ["LetterForm", "MergeForm", "letter_form", "with_groups"]

_TEXT = """Hello,

you are invited to the survey “{title}”.

Your own link; it works once:
{{link}}

What happens with your answers is explained before the first question. The page shows a fingerprint: its first
8 characters should be {{fingerprint}}.
"""


class MergeForm(FlaskForm):  # type: ignore[misc]
    """A list of people, to get it back with a link for each."""

    people = FileField(
        "List of people (CSV)",
        [FileRequired("Choose a file.")],
        description="One person a line, under a line of headings. It comes back with a code, a link and the"
        " fingerprint for each, ready for your mail program's mail merge. Nothing of it is kept here.",
    )


class LetterForm(FlaskForm):  # type: ignore[misc]
    """What to send to whom."""

    addresses = TextAreaField(
        "E-mail addresses", [Optional()], description="One a line, or with commas between."
    )
    subject = StringField("Subject", [InputRequired("Write a subject."), Length(max=200)])
    text = TextAreaField(
        "Text",
        [InputRequired("Write a text."), Length(max=10_000)],
        description="{link} stands for the person's own link and must be in it, {fingerprint} for its first part.",
    )
    reply_to = StringField("Answers go to", [Optional(), Length(max=254)])
    group = SelectField("Group", choices=[], validate_choice=False)


def letter_form(survey: Survey) -> LetterForm:
    """Give the form with a text to begin with."""
    form = LetterForm(
        formdata=None, subject=f"Invitation: {survey.title}"[:200], text=_TEXT.format(title=survey.title)
    )
    return with_groups(form, survey)


def with_groups(form: LetterForm, survey: Survey) -> LetterForm:
    """Let the form offer the survey's groups."""
    form.group.choices = choices((str(place), name) for place, name in enumerate(survey.groups))
    return form
