"""The form of the privacy and accuracy screen."""

from __future__ import annotations

import re
from typing import Any

from flask_babel import lazy_gettext as later
from flask_wtf import FlaskForm
from hushpoll_client import HushpollError, SurveyError
from wtforms import HiddenField, SelectField, StringField
from wtforms.validators import InputRequired, NumberRange, Optional, ValidationError

from hushpoll_server.fields import DecimalField, WholeField, both, decimal, sentence
from hushpoll_server.i18n.translation import gettext as _
from hushpoll_server.i18n.translation import localize_number
from hushpoll_server.workspace.drafts.draft import LARGEST_N
from hushpoll_server.workspace.forms import RevisionForm


def _count(label: str, **more: Any) -> WholeField:
    checks = [
        InputRequired(later("Type a whole number.")),
        NumberRange(1, LARGEST_N, later("Type a whole number from 1 to 100,000,000.")),
    ]
    return WholeField(label, checks, **more)


class LockField(StringField):  # type: ignore[misc]
    """A protection in the reader's language, such as "3-fach" for 3-fold; drafts store the English form."""

    data: str | None

    def _value(self) -> str:
        """Return the typed text, or the stored value in the reader's language."""
        if self.raw_data:
            return str(self.raw_data[0])
        factor, fold, _rest = (self.data or "").partition("-fold")
        if fold:
            return _("%(n)s-fold", n=localize_number(factor))
        return localize_number(factor)

    def process_formdata(self, valuelist: list[str]) -> None:
        """Read it in either language."""
        super().process_formdata(valuelist)
        words = re.escape(_("%(n)s-fold", n="0")).replace("0", "(.+)", 1) + "|(.+)-fold"
        match = re.fullmatch(words, (self.data or "").strip(), re.IGNORECASE)
        try:
            if match:
                self.data = f"{decimal(match[1] or match[2])}-fold"
            else:
                self.data = decimal(self.data or "")
        except SurveyError as error:
            raise ValueError(sentence(both(error))) from None


class PlanForm(RevisionForm):
    """The expected number of answers, the margin needed, and the slider."""

    expected_n = _count(later("How many answers do you expect?"))
    margin = DecimalField(
        later("What margin do you need?"),
        [
            InputRequired(later("Type a number such as 5.")),
            NumberRange(0.1, 50, later("Type a number from 0.1 to 50.")),
        ],
        description=later("In percentage points, at 95 % confidence."),
    )
    epsilon = SelectField(later("Privacy level"), choices=[])
    fit = HiddenField()
    """Whether the privacy follows the margins: set by the page when a margin changes, cleared by the slider."""
    focus = SelectField(later("Figures for"), choices=[], validate_choice=False)

    def of_question(self, index: int) -> tuple[DecimalField, LockField]:
        """Return the fields of one question, counted from 0: its margin and its lock."""
        return self[f"margin_{index}"], self[f"lock_{index}"]


def plan_form(questions: int) -> type[PlanForm]:
    """Return the form with a margin and a lock for each question."""
    fields: dict[str, Any] = {}
    for index in range(questions):
        fields[f"margin_{index}"] = DecimalField(
            _("Margin of question %(n)s", n=index + 1),
            [Optional(), NumberRange(0.1, 50, later("Type a number from 0.1 to 50, or nothing."))],
        )
        fields[f"lock_{index}"] = LockField(_("Lock of question %(n)s", n=index + 1), [Optional(), _is_lock])
    return type("QuestionsPlanForm", (PlanForm,), fields)


def _is_lock(form: FlaskForm, field: StringField) -> None:
    from hushpoll_analysis.planning.epsilon_search import read_lock

    if field.process_errors:
        return  # said already
    try:
        read_lock(field.data)
    except HushpollError as error:
        raise ValidationError(sentence(error)) from None
