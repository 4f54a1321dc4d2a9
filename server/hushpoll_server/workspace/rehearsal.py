"""The rehearsal: a simulated report before publishing, so that the designer sees the intervals they will get."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from flask import render_template, request
from flask_wtf import FlaskForm
from hushpoll_client import HushpollError, Survey
from hushpoll_client.report import FEWEST_REPORTS
from wtforms import FloatField, IntegerField
from wtforms.validators import InputRequired, NumberRange

from hushpoll_server.fields import sentence

from .pages import Page, bp, designer, open_draft

if TYPE_CHECKING:
    from hushpoll_analysis.results.question import QuestionResults

MOST_SIMULATED = 100_000


def truth_form(survey: Survey, n: int, data: Any) -> FlaskForm:
    """Make a form with one percentage per answer that the results show."""
    fields: dict[str, Any] = {
        "n": IntegerField(
            "Simulated respondents",
            [
                InputRequired("Type a whole number."),
                NumberRange(
                    FEWEST_REPORTS,
                    MOST_SIMULATED,
                    f"Type a whole number from {FEWEST_REPORTS} to {MOST_SIMULATED:,}.",
                ),
            ],
            default=min(max(n, FEWEST_REPORTS), MOST_SIMULATED),
        )
    }
    checks = [InputRequired("Type a percentage."), NumberRange(0, 100, "Type a percentage from 0 to 100.")]
    for place, question in enumerate(survey.questions):
        shown = question.kind.shown(len(question.options))
        if len(shown) == 1:
            # The other answer is what remains.
            label = f"{question.options[shown[0]]}, in %"
            fields[f"truth_{place}_{shown[0]}"] = FloatField(label, checks, default=20)
            continue
        each = round(100 / len(question.options), 1)
        for option, label in enumerate(question.options):
            last = option == len(question.options) - 1
            default = round(100 - each * option, 1) if last else each
            fields[f"truth_{place}_{option}"] = FloatField(f"{label}, in %", checks, default=default)
    made: FlaskForm = type("TruthForm", (FlaskForm,), fields)(formdata=data)
    return made


def read_truth(form: FlaskForm, survey: Survey) -> dict[str, list[float]]:
    """Shares per question; a question whose percentages do not add up gets a message."""
    truth = {}
    for place, question in enumerate(survey.questions):
        shown = question.kind.shown(len(question.options))
        if len(shown) == 1:
            share = form[f"truth_{place}_{shown[0]}"].data / 100
            truth[question.id] = [share if option in shown else 1 - share for option in range(2)]
            continue
        percents = [form[f"truth_{place}_{option}"].data for option in range(len(question.options))]
        total = sum(percents)
        if abs(total - 100) > 0.5:
            field = form[f"truth_{place}_{len(percents) - 1}"]
            field.errors = [
                *field.errors,
                f"The percentages of question {place + 1} add up to {total:g}, not to 100.",
            ]
        else:
            truth[question.id] = [percent / total for percent in percents]
    return truth


def simulated(survey: Survey, n: int, truth: dict[str, list[float]]) -> list[dict[str, Any]]:
    """Draw n respondents through the randomizer and make the very report that the survey will get."""
    from hushpoll_analysis import report
    from hushpoll_analysis.channel.population import simulate_survey
    from hushpoll_analysis.data.tally import column_of

    drawn = {column_of(name): reports for name, reports in simulate_survey(survey, n, truth)}
    return [_beside_truth(part, truth[part.id]) for part in report(survey, drawn).questions]


def _beside_truth(part: QuestionResults, truth: list[float]) -> dict[str, Any]:
    """Put every line of a question's results beside what was set; several intervals hold together."""
    several = len(part.lines) > 1
    entries = [line.simultaneous if several else line.entry for line in part.lines]
    shares = [truth[option] for option in part.question.kind.shown(len(truth))]
    rows = [
        {"entry": entry, "truth": share, "covered": entry.low <= share <= entry.high}
        for entry, share in zip(entries, shares, strict=True)
    ]
    return {"question": part.question, "rows": rows, "notes": part.estimate.notes if part.estimate else ()}


@bp.route("/drafts/<draft_id>/rehearsal", methods=["GET", "POST"])
@designer
def rehearsal(draft_id: str) -> Page:
    """Show the report that the designer would get if the truth were as they set it."""
    draft = open_draft(draft_id)
    if not draft.questions:
        return render_template("workspace/no_questions.html", draft=draft, step="rehearsal")
    survey = draft.compiled()
    form = truth_form(survey, draft.expected_n, request.form if request.method == "POST" else None)
    results: list[dict[str, Any]] = []
    status = 200
    # At first the form's own defaults are rehearsed, so that the page is never empty.
    if request.method == "GET" or form.validate():
        truth = read_truth(form, survey)
        if len(truth) == len(survey.questions):
            results = _simulate_or_say(form, survey, truth)
    if any(field.errors for field in form):
        status = 422
    page = render_template(
        "workspace/rehearsal.html",
        draft=draft,
        form=form,
        survey=survey,
        results=results,
        step="rehearsal",
    )
    return page, status


def _simulate_or_say(form: FlaskForm, survey: Survey, truth: dict[str, list[float]]) -> list[dict[str, Any]]:
    try:
        return simulated(survey, form.n.data, truth)
    except HushpollError as error:
        form.n.errors = [sentence(error)]
        return []
