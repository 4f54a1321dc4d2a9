"""The forms of the workspace. Limits of a survey are checked where they are defined, in the client: `place_error`
puts what it says beside the field it is about."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from flask_wtf import FlaskForm
from flask_wtf.file import FileField, FileRequired
from hushpoll_client import HushpollError, SurveyError
from hushpoll_client.kind import DEFAULT, KINDS
from hushpoll_client.mechanism import MECHANISMS, Mechanism
from hushpoll_client.mechanism.parameters import DECOY_COUNTS, DECOY_SHARE
from wtforms import (
    BooleanField,
    DateField,
    HiddenField,
    IntegerField,
    RadioField,
    SelectChoice,
    SelectField,
    SelectMultipleField,
    StringField,
    TextAreaField,
)
from wtforms.validators import InputRequired, NumberRange, Optional, ValidationError

from hushpoll_server.fields import DecimalField, choices, decimal, sentence

from .kinds import EDITORS, EditorKind
from .mechanisms import PARAMETERS, RECOMMENDED

LARGEST_N = 100_000_000


def mechanism_choices(offered: Mapping[str, type[Mechanism]]) -> list[SelectChoice]:
    """List what the editor offers to randomize with: the recommended one, or one of these."""
    named = [(name, one.label) for name, one in offered.items() if one.in_surveys]
    return choices([("", RECOMMENDED[0]), *named])


def _whole(text: str | None) -> int:
    text = text or ""
    return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else -1


class RevisionForm(FlaskForm):  # type: ignore[misc]
    """A form on a draft: it carries the revision of the draft that its page showed."""

    revision = HiddenField()
    opened = HiddenField()

    def read_revision(self) -> int:
        """Read the revision; give one that never fits where the field was tampered with."""
        return _whole(self.revision.data)

    def read_opened(self) -> int | None:
        """Read the revision at which a page was opened that has saved by itself since; None where it has not."""
        return _whole(self.opened.data) if self.opened.data else None


def _count(label: str, **more: Any) -> IntegerField:
    checks = [
        InputRequired("Type a whole number."),
        NumberRange(1, LARGEST_N, f"Type a whole number from 1 to {LARGEST_N:,}."),
    ]
    return IntegerField(label, checks, **more)


class DetailsForm(RevisionForm):
    """Title, introduction and the settings that are part of the survey's hash."""

    title = StringField(
        "Title", [InputRequired("Give the survey a title.")], description="Respondents see it first."
    )
    asked_by = StringField(
        "Who asks",
        description="The organisation or person. Contact, ethics approval and privacy notice stand under “Around the"
        " questions”.",
    )
    intro = TextAreaField(
        "Introduction",
        description="Plain text. Why you ask, and what happens with the result. How the privacy works is explained"
        " to respondents automatically.",
    )
    invitation = BooleanField(
        "Only people with an invitation code may answer",
        description="One report per code. Codes are made after publishing and are never stored with a report.",
    )
    kiosk = BooleanField(
        "Shared device",
        description="For a tablet that is handed on: it forgets everything after each report.",
    )
    anchor_question = SelectField(
        "Check for careless answers with",
        choices=[],
        validate_choice=False,
        description="A yes/no question whose true share is known, such as “Were you born on the moon?” or “Please"
        " answer No here”. Where it shows careless answers, the report also gives the other shares corrected for them.",
    )
    anchor_share = StringField(
        "Its true share of Yes", description="Such as 0, or 1/12 for people born in one month."
    )

    groups = TextAreaField(
        "Groups",
        description="One a line, such as faculties or sites: what you know anyway of whom you invite. Each group gets"
        " its own link, and every report names its group openly, so it needs no question and no noise.",
    )

    def offer_anchors(self, questions: Iterable[Mapping[str, Any]]) -> None:
        """List the yes/no questions that everybody is asked."""
        offered = [
            (one["id"], one["text"])
            for one in questions
            if KINDS[one["kind"]].yes_or_no and "after" not in one and "mechanism" in one
        ]
        self.anchor_question.choices = choices([("", "Nothing"), *offered])


class QuestionForm(RevisionForm):
    """One question with its mechanism."""

    kind = RadioField(
        "Kind of answer",
        choices=choices((name, editor.label) for name, editor in EDITORS.items()),
        default=DEFAULT,
    )
    text = TextAreaField(
        "Question", [InputRequired("Write the question.")], description="Plain text, one sentence."
    )
    options = TextAreaField(
        "Options",
        description="One option per line, at least two. A list can be pasted. Where several can be ticked, “None of"
        " these” is offered by itself.",
    )
    at_most = StringField(
        "At most so many may be ticked",
        description="A whole number. Leave it empty where people may tick as many as they like.",
    )
    points = StringField("Number of points", description="2 to 11.")
    labels = TextAreaField(
        "Labels",
        description="One label per line: two, for the ends, or one for every point. Leave it empty for numbers alone.",
    )
    min = StringField("Smallest number", description="Such as 0.")
    max = StringField("Largest number", description="Such as 80.")
    step = StringField("Step", description="1 for whole numbers, 0.5 for halves.", default="1")
    unit = StringField("Unit", description="Such as hours.")
    bins = StringField(
        "Number of bins", description="2 to 64, into which the range is cut. Leave it empty for up to 20."
    )
    after_question = SelectField("Ask it", choices=[], validate_choice=False)
    after_answers = SelectMultipleField("After these answers", choices=[], validate_choice=False)
    prefer_not = BooleanField(
        "Offer “Prefer not to say”",
        description="An ordinary option inside the randomized set: choosing it is as private as choosing any other.",
    )
    id = StringField(
        "Name in the data", description="Letters, digits and _. It heads this question's column in exports."
    )
    mechanism = RadioField(
        "Mechanism",
        choices=mechanism_choices(MECHANISMS),
        default="",
    )
    linked = BooleanField(
        "Its epsilon follows the survey's slider",
        description="Untick to give this question an epsilon of its own.",
    )
    decoy = StringField(
        "Harmless question",
        description="Unrelated to the topic, and nobody around should know a person's answer.",
    )
    decoy_from = RadioField(
        "Known share of Yes to the harmless question",
        choices=choices(
            [("share", "Typed"), ("counts", "From counts"), ("survey", "From another survey's estimate")]
        ),
        default="share",
    )
    decoy_share = StringField(DECOY_SHARE.label, description=DECOY_SHARE.hint)
    decoy_yes = StringField("Answered Yes")
    decoy_of = StringField(
        "Out of", description="The uncertainty of the counts is carried into every margin."
    )
    decoy_survey = SelectField("Survey and question", choices=[], validate_choice=False)


for _name, _parameter in PARAMETERS.items():
    setattr(QuestionForm, _name, StringField(_parameter.label, description=_parameter.hint))

for _editor in EDITORS.values():
    if _editor.reports:
        _asked = RadioField(
            "What will you report?",
            choices=choices((target, words[0]) for target, words in _editor.reports.items()),
            default=_editor.kind.targets[0],
        )
        setattr(QuestionForm, _editor.target_field, _asked)


class PlanForm(RevisionForm):
    """How many answers are expected, what margin is needed, and the slider."""

    expected_n = _count("How many answers do you expect?")
    margin = DecimalField(
        "What margin do you need?",
        [InputRequired("Type a number such as 5."), NumberRange(0.1, 50, "Type a number from 0.1 to 50.")],
        description="In percentage points, at 95 % confidence: 5 means ± 5 points. For an average: in percent of its"
        " range, so that 5 means ± 0.2 on a scale from 1 to 5.",
    )
    epsilon = SelectField("Privacy level", choices=[])
    focus = SelectField("Figures for", choices=[], validate_choice=False)

    def of_question(self, place: int) -> tuple[DecimalField, StringField]:
        """Give the fields of one question, counted from 0: its margin and its lock."""
        return self[f"margin_{place}"], self[f"lock_{place}"]


def plan_form(questions: int) -> type[PlanForm]:
    """Give the form with a margin and a lock for each of so many questions."""
    fields: dict[str, Any] = {}
    for place in range(questions):
        fields[f"margin_{place}"] = DecimalField(
            f"Margin of question {place + 1}",
            [Optional(), NumberRange(0.1, 50, "Type a number from 0.1 to 50, or nothing.")],
        )
        fields[f"lock_{place}"] = StringField(f"Lock of question {place + 1}", [Optional(), _is_lock])
    return type("QuestionsPlanForm", (PlanForm,), fields)


def _is_lock(form: FlaskForm, field: StringField) -> None:
    from hushpoll_analysis.designing.spending import read_lock

    try:
        read_lock(decimal(field.data))
    except HushpollError as error:
        raise ValidationError(sentence(error)) from None


PROTECTS_LITTLE = "this protects little"
"""What a designer types who publishes a survey of the weakest tier."""


class PublishForm(RevisionForm):
    """The last confirmation."""

    frozen = BooleanField(
        "I understand that a published survey cannot be changed, only copied.",
        [InputRequired("Tick this to publish.")],
    )
    one_sided = BooleanField("I accept what the reports of these questions reveal, and respondents are told.")
    weak = StringField(
        f"To publish it all the same, type: {PROTECTS_LITTLE}",
        description="Respondents read the same words before they start.",
    )

    def confirms_weak(self) -> bool:
        """Tell whether the confirmation was typed; says so beside the field where it was not."""
        typed = " ".join((self.weak.data or "").lower().split())
        if typed != PROTECTS_LITTLE:
            self.weak.errors = [f"Type “{PROTECTS_LITTLE}”, or lower the epsilon of the questions."]
        return typed == PROTECTS_LITTLE


class CloseForm(FlaskForm):  # type: ignore[misc]
    """When to stop taking reports."""

    when = RadioField(
        "When",
        choices=choices(
            [("date", "After a date"), ("n", "At a number of reports"), ("never", "When I say so")]
        ),
        default="date",
    )
    on = DateField("Last day (UTC)", [Optional()])
    at = IntegerField(
        "Number of reports", [Optional(), NumberRange(1, LARGEST_N, "Type a whole number from 1.")]
    )


class DeleteForm(FlaskForm):  # type: ignore[misc]
    """When to delete every report."""

    delete_on = DateField(
        "Delete all reports on (UTC)",
        [Optional()],
        description="Download the results before that day. Leave it empty to keep the reports.",
    )


class InviteForm(FlaskForm):  # type: ignore[misc]
    """How many codes to make, and for which group."""

    group = SelectField("Group", choices=[], validate_choice=False)

    n = IntegerField(
        "Number of codes",
        [
            InputRequired("Type a whole number."),
            NumberRange(1, 100_000, "Type a whole number from 1 to 100,000."),
        ],
    )


class ShareForm(FlaskForm):  # type: ignore[misc]
    """Whom to let read the report."""

    name = StringField("Account name", [InputRequired("Type the name of an account.")])


class ImportForm(FlaskForm):  # type: ignore[misc]
    """A survey document from a file."""

    file = FileField(
        "Survey document (JSON)",
        [FileRequired("Choose a file.")],
        description="A definition exported here, written by hand, or a published document.",
    )


# Which field of the editor a place in the survey document belongs to, where the two have different names.
_FIELD_OF = {
    "name": "mechanism",
    DECOY_COUNTS.name: "decoy_of",
    "question": "after_question",
    "answers": "after_answers",
}


def place_error(form: FlaskForm, error: SurveyError, place: int | None = None) -> None:
    """Show what the survey's own check said, beside the field it is about; `place` is the form's own question."""
    if place is not None and "after" in error.path and error.path[1] != place:
        _place_elsewhere(form, error)
        return
    if error.path[:1] == ("anchor",) and hasattr(form, "anchor_share"):
        _add(form[f"anchor_{error.path[-1]}"], f"{error.problem}; {error.remedy}")
        return
    parts = [part for part in reversed(error.path) if isinstance(part, str)]
    field = next((found for part in parts if (found := _field(form, part)) is not None), None)
    _add(field if field is not None else next(iter(form)), f"{error.problem}; {error.remedy}")


def _field(form: FlaskForm, part: str) -> Any:
    """Find the field of a key of the document."""
    name = field_name(EDITORS.get(form.kind.data) if "kind" in form else None, part)
    return form[name] if hasattr(form, name) else None


def field_name(editor: EditorKind | None, part: str) -> str:
    """Give the name of the field that a key of the document is typed into."""
    if editor is not None and part == "target":
        return editor.target_field
    return _FIELD_OF.get(part, part)


def _place_elsewhere(form: FlaskForm, error: SurveyError) -> None:
    """Say beside the answers that another question's rule stands in the way."""
    editor = EDITORS.get(form.kind.data)
    field = form.options if editor is not None and form.options.name in editor.fields else form.kind
    _add(field, f"{error.where}: {error.problem}; {error.remedy}")


def _add(field: Any, message: str) -> None:
    field.errors = [*field.errors, sentence(message)]


def pretty(document: dict[str, Any]) -> bytes:
    """Write a document for people to read and keep."""
    return (json.dumps(document, ensure_ascii=False, indent=2) + "\n").encode()
