"""A simulated survey: the designer's made-up truth, and the report it would give."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from flask_babel import lazy_gettext as later
from flask_wtf import FlaskForm
from hushpoll_client import Survey
from hushpoll_client.delivery.report import FEWEST_REPORTS
from wtforms.validators import InputRequired, NumberRange

from hushpoll_server.fields import WholeField
from hushpoll_server.i18n.speech import speech
from hushpoll_server.i18n.translation import gettext as _
from hushpoll_server.i18n.translation import language, localize_number
from hushpoll_server.workspace.kinds import EDITORS
from hushpoll_server.workspace.kinds.rehearsing import TruthProblem
from hushpoll_server.workspace.privacy.number_text import count_text

MOST_SIMULATED = 100_000


def truth_form(survey: Survey, n: int, data: Any) -> FlaskForm:
    """Make a form that asks for a made-up truth of every question."""
    fields: dict[str, Any] = {
        "n": WholeField(
            later("Simulated respondents"),
            [
                InputRequired(later("Type a whole number.")),
                NumberRange(
                    FEWEST_REPORTS,
                    MOST_SIMULATED,
                    _(
                        "Type a whole number from %(least)s to %(most)s.",
                        least=FEWEST_REPORTS,
                        most=count_text(MOST_SIMULATED),
                    ),
                ),
            ],
            default=min(max(n, FEWEST_REPORTS), MOST_SIMULATED),
        )
    }
    for index, question in enumerate(survey.questions):
        for name, field in EDITORS[question.kind.name].truth_fields(question).items():
            fields[f"truth_{index}_{name}"] = field
    form: FlaskForm = type("TruthForm", (FlaskForm,), fields)(formdata=data)
    return form


def read_truth(form: FlaskForm, survey: Survey) -> dict[str, Any]:
    """Return the truth of every question; an impossible one sets an error on the form."""
    truth = {}
    for index, question in enumerate(survey.questions):
        start = f"truth_{index}_"
        typed = {field.name.removeprefix(start): field.data for field in form if field.name.startswith(start)}
        editor = EDITORS[question.kind.name]
        try:
            truth[question.id] = editor.read_truth(question, typed)
            # What was typed balances itself: the form shows the shares that are rehearsed.
            if "shape" not in typed:
                for name, percentage in editor.balanced_percentages(question, typed).items():
                    form[start + name].data, form[start + name].raw_data = (
                        percentage,
                        [localize_number(f"{percentage:g}")],
                    )
        except TruthProblem as problem:
            field = form[start + problem.field]
            message = _("The percentages of question %(n)s %(problem)s.", n=index + 1, problem=problem)
            field.errors = [*field.errors, message]
    return truth


@dataclass(frozen=True)
class Rehearsed:
    """The result of a simulated survey: rows of every question next to its truth, and the report."""

    parts: list[dict[str, Any]]
    body: str


def simulated(
    survey: Survey, n: int, truth: dict[str, Any], questions: Sequence[str] | None = None
) -> Rehearsed:
    """Draw n respondents through the randomizer and make the very report that the survey will get, or a page of it."""
    from hushpoll_analysis import report
    from hushpoll_analysis.results.rendering import as_body
    from hushpoll_analysis.sample.tally import column_of
    from hushpoll_analysis.simulation.respondents import simulate_survey

    reports_by_column = {column_of(name): reports for name, reports in simulate_survey(survey, n, truth)}
    results = report(survey, reports_by_column, questions=questions)
    shares_asked = asked_shares(survey, truth)
    parts = []
    for question_results in results.questions:
        editor, figures = EDITORS[question_results.question.kind.name], question_results.to_dict()
        rows = editor.rows(
            question_results.question, figures, truth[question_results.id], shares_asked[question_results.id]
        )
        among_asked = editor.rows_among_asked(question_results.question, figures, truth[question_results.id])
        tables = [("", rows)]
        if among_asked:
            tables = [(_("Among those asked this question"), among_asked), (_("Of everybody"), rows)]
        parts.append({"question": question_results.question, "tables": tables})
    return Rehearsed(parts, as_body(results, heading=3, method=False, language=language(), speech=speech()))


def asked_shares(survey: Survey, truth: dict[str, Any]) -> dict[str, float]:
    """Return the share of people who are asked each question, as the made-up truth has it."""
    shares_asked: dict[str, float] = {}
    for question in survey.questions:
        shares_asked[question.id] = 1.0
        if question.after is not None:
            decider = survey.question(question.after.question)
            shares = dict(zip(decider.options, truth[decider.id], strict=True))
            shares_asked[question.id] = shares_asked[decider.id] * sum(
                shares[answer] for answer in question.after.answers
            )
    return shares_asked
