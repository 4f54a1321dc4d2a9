"""Forms for making and sending invitations."""

from __future__ import annotations

from flask_babel import force_locale
from flask_babel import lazy_gettext as later
from flask_wtf import FlaskForm
from flask_wtf.file import FileField, FileRequired
from hushpoll_client import Survey
from hushpoll_client.survey.texts import languages_of, read_in
from wtforms import SelectField, StringField, TextAreaField
from wtforms.validators import InputRequired, Length, NumberRange, Optional

from hushpoll_server.fields import WholeField, choices
from hushpoll_server.respond.languages import LANGUAGES, language, letter_words


class InviteForm(FlaskForm):  # type: ignore[misc]
    """How many codes to make, and for which group."""

    group = SelectField(later("Group"), choices=[], validate_choice=False)

    n = WholeField(
        later("Number of codes"),
        [
            InputRequired(later("Type a whole number.")),
            NumberRange(1, 100_000, later("Type a whole number from 1 to 100,000.")),
        ],
    )


class MergeForm(FlaskForm):  # type: ignore[misc]
    """A list of people, to get it back with a link for each."""

    people = FileField(
        later("List of people (CSV)"),
        [FileRequired(later("Choose a file."))],
        description=later(
            "One person per line, below a line of headings. You get it back with a code, a link"
            " and the fingerprint for each person, ready for mail merge. Nothing is stored here."
        ),
    )


class LetterForm(FlaskForm):  # type: ignore[misc]
    """The addresses, subject and text of a mailing."""

    addresses = TextAreaField(
        later("E-mail addresses"), [Optional()], description=later("One per line, or separated by commas.")
    )
    subject = StringField(later("Subject"), [InputRequired(later("Write a subject.")), Length(max=200)])
    text = TextAreaField(
        later("Text"),
        [InputRequired(later("Write a text.")), Length(max=10_000)],
        description=later(
            "{link} becomes the person's own link and is required; {fingerprint} becomes the"
            " first part of the fingerprint."
        ),
    )
    reply_to = StringField(later("Replies go to"), [Optional(), Length(max=254)])
    group = SelectField(later("Group"), choices=[], validate_choice=False)


def letter_form(survey: Survey) -> LetterForm:
    """Return the form with a text to begin with, in the language of those who are invited."""
    tag = _language(survey)
    title = read_in(survey, [tag]).title
    with force_locale(tag):
        words = {key: text.replace("{title}", title) for key, text in letter_words().items()}
    parts = [words["hello"], words["invited"], words["link"] + "\n{link}", words["explained"]]
    form = LetterForm(formdata=None, subject=words["subject"][:200], text="\n\n".join(parts) + "\n")
    return with_groups(form, survey)


def _language(survey: Survey) -> str:
    """Choose the first of the survey's languages that we speak; else the designer's, who reads and changes the text."""
    spoken = (tag.split("-")[0] for tag in languages_of(survey))
    return next((tag for tag in spoken if tag in LANGUAGES), language())


def with_groups(form: LetterForm, survey: Survey) -> LetterForm:
    """Add the survey's groups to the form's choices."""
    form.group.choices = choices((str(index), name) for index, name in enumerate(survey.groups))
    return form
