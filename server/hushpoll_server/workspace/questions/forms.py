"""Forms of the draft page and of the question editor.

`place_error` shows a message of the survey's own check next to the field it is about.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from flask_babel import LazyString
from flask_babel import lazy_gettext as later
from flask_wtf import FlaskForm
from hushpoll_client import SurveyError
from hushpoll_client.kind import DEFAULT
from hushpoll_client.mechanism import MECHANISMS, Mechanism
from hushpoll_client.mechanism.parameters import DECOY_COUNTS, DECOY_SHARE
from wtforms import (
    BooleanField,
    RadioField,
    SelectChoice,
    SelectField,
    SelectMultipleField,
    StringField,
    TextAreaField,
)
from wtforms.validators import InputRequired

from hushpoll_server.fields import both, choices, sentence
from hushpoll_server.i18n.translation import translate
from hushpoll_server.workspace.drafts.anchor import anchor_choices
from hushpoll_server.workspace.drafts.draft import Draft
from hushpoll_server.workspace.forms import RevisionForm
from hushpoll_server.workspace.kinds import EDITORS, INPUT_ROWS, EditorKind
from hushpoll_server.workspace.mechanisms import PARAMETERS, RECOMMENDED


def mechanism_choices(offered: Mapping[str, type[Mechanism]]) -> list[SelectChoice]:
    """Return the choices of mechanisms: the recommended one, or a named one."""
    named = [
        (name, translate(mechanism.label)) for name, mechanism in offered.items() if mechanism.in_surveys
    ]
    return choices([("", RECOMMENDED[0]), *named])


def _label(kind: str) -> str:
    return EDITORS[kind].label


class DetailsForm(RevisionForm):
    """Title, introduction and the settings that are part of the survey's hash."""

    title = StringField(
        later("Title"),
        [InputRequired(later("Add a title."))],
    )
    asked_by = StringField(
        later("Who asks"),
        description=later("The organisation or person."),
    )
    intro = TextAreaField(
        later("Introduction"),
        description=later("Why you ask, and what happens with the result."),
    )
    invitation = BooleanField(
        later("Only people with an invitation code may answer"),
        description=later(
            "One report per code. Codes are made after publishing and are never stored with a report."
        ),
    )
    kiosk = BooleanField(
        later("Shared device"),
        description=later("For a tablet that people pass on: it forgets everything after each report."),
    )
    anchor_question = SelectField(
        later("Check for careless answers with"),
        choices=[],
        validate_choice=False,
        description=later(
            "An answer whose true share is known: Yes to “Were you born on the moon?”, or the"
            " one that “Please choose ‘often’ here” asks for. If it shows careless answers, the"
            " report also gives the other shares corrected for them."
        ),
    )
    anchor_share = StringField(
        later("Its true share"),
        description=later(
            "Of Yes, or of the answer chosen above: such as 0, 1/12 for people born in one"
            " month, or 1 for an answer that everyone is asked to give."
        ),
    )

    groups = TextAreaField(
        later("Groups"),
        description=later(
            "One per line, such as faculties or sites: something you already know about the"
            " people you invite. Each group gets its own link, and every report names its group"
            " openly, without noise."
        ),
    )

    def offer_anchors(self, draft: Draft) -> None:
        """List the answers that every respondent can give and whose share may be known."""
        self.anchor_question.choices = choices([("", later("Nothing")), *anchor_choices(draft)])


class QuestionForm(RevisionForm):
    """One question with its mechanism."""

    kind = RadioField(
        later("Kind of answer"),
        choices=choices((name, LazyString(_label, name)) for name in EDITORS),
        default=DEFAULT,
    )
    text = TextAreaField(
        later("Question"),
        [InputRequired(later("Write the question."))],
        description=later("Plain text, one sentence."),
    )
    after_question = SelectField(later("Ask it"), choices=[], validate_choice=False)
    after_answers = SelectMultipleField(later("After these answers"), choices=[], validate_choice=False)
    prefer_not = BooleanField(
        later("Offer “Prefer not to say”"),
        description=later(
            "An ordinary option inside the randomized set: choosing it is as private as choosing any other."
        ),
    )
    id = StringField(
        later("Name in the data"),
        description=later("Letters, digits and _. It heads this question's column in exports."),
    )
    mechanism = RadioField(
        later("Mechanism"),
        choices=mechanism_choices(MECHANISMS),
        default="",
    )
    linked = BooleanField(
        later("Its epsilon follows the survey's slider"),
        description=later("Untick to give this question an epsilon of its own."),
    )
    decoy = StringField(
        later("Harmless question"),
        description=later("Unrelated to the topic. No one should know how a person answers it."),
    )
    decoy_from = RadioField(
        later("Known share of Yes to the harmless question"),
        choices=choices(
            [
                ("share", later("Typed")),
                ("counts", later("From counts")),
                ("survey", later("From another survey's estimate")),
            ]
        ),
        default="share",
    )
    decoy_share = StringField(
        LazyString(translate, DECOY_SHARE.label), description=LazyString(translate, DECOY_SHARE.hint)
    )
    decoy_yes = StringField(later("Answered Yes"))
    decoy_of = StringField(
        later("Out of"), description=later("Every margin allows for the uncertainty of the counts.")
    )
    decoy_survey = SelectField(later("Survey and question"), choices=[], validate_choice=False)


for _name, _parameter in PARAMETERS.items():
    setattr(
        QuestionForm,
        _name,
        StringField(
            LazyString(translate, _parameter.label), description=LazyString(translate, _parameter.hint)
        ),
    )


for _row in INPUT_ROWS:
    for _input in _row:
        setattr(QuestionForm, _input.name, _input.form_field())

for _editor in EDITORS.values():
    if _editor.reports:
        _asked = RadioField(
            later("What will you report?"),
            choices=choices((target, words[0]) for target, words in _editor.reports.items()),
            default=_editor.kind.targets[0],
        )
        setattr(QuestionForm, _editor.target_field, _asked)


# Which field of the editor a place in the survey document belongs to, where the two have different names.
_FIELD_OF = {
    "name": "mechanism",
    DECOY_COUNTS.name: "decoy_of",
    "question": "after_question",
    "answers": "after_answers",
}


def place_error(form: FlaskForm, error: SurveyError, index: int | None = None) -> None:
    """Show the message of the survey's own check next to the field it is about; `place` is the form's own question."""
    if index is not None and "after" in error.path and error.path[1] != index:
        _place_elsewhere(form, error)
        return
    if error.path[:1] == ("anchor",) and hasattr(form, "anchor_share"):
        named = "anchor_question"
        if error.path[-1] == "share":
            named = "anchor_share"
        _add(form[named], both(error))
        return
    keys = [key for key in reversed(error.path) if isinstance(key, str)]
    field = next((field_found for key in keys if (field_found := _field(form, key)) is not None), None)
    _add(field if field is not None else next(iter(form)), both(error))


def _field(form: FlaskForm, key: str) -> Any:
    """Find the field of a key of the document."""
    name = field_name(EDITORS.get(form.kind.data) if "kind" in form else None, key)
    if hasattr(form, name):
        return form[name]
    return None


def field_name(editor: EditorKind | None, key: str) -> str:
    """Return the name of the field that a key of the document is typed into."""
    if editor is not None and key == "target":
        return editor.target_field
    return _FIELD_OF.get(key, key)


def _place_elsewhere(form: FlaskForm, error: SurveyError) -> None:
    """Show an error about another question's rule next to the answers."""
    editor = EDITORS.get(form.kind.data)
    if editor is not None and form.options.name in editor.fields:
        field = form.options
    else:
        field = form.kind
    _add(field, translate(error))


def _add(field: Any, message: str) -> None:
    field.errors = [*field.errors, sentence(message)]
