"""The rehearsal: a simulated report before publishing, which shows the intervals to expect."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from flask import Blueprint, render_template, request
from flask_wtf import FlaskForm
from hushpoll_client import HushpollError, Survey

from hushpoll_server.fields import sentence
from hushpoll_server.results.paging import questions_on_page
from hushpoll_server.workspace.access import designer, open_draft
from hushpoll_server.workspace.kinds import EDITORS
from hushpoll_server.workspace.rehearsal.simulation import Rehearsed, read_truth, simulated, truth_form
from hushpoll_server.workspace.responses import Page

bp = Blueprint("rehearsal", __name__, template_folder="templates")


@bp.route("/drafts/<draft_id>/rehearsal", methods=["GET", "POST"])
@designer
def rehearsal(draft_id: str) -> Page:
    """Show the report that the designer would get if the truth were as they set it."""
    draft = open_draft(draft_id)
    if not draft.questions:
        return render_template("workspace/no_questions.html", draft=draft, step="rehearsal")
    survey = draft.compiled()
    form = truth_form(survey, draft.expected_n, request.form if request.method == "POST" else None)
    page_questions = questions_on_page(survey)
    results: Rehearsed | None = None
    status = 200
    # At first the form's own defaults are rehearsed, so that the page is never empty.
    if request.method == "GET" or form.validate():
        truth = read_truth(form, survey)
        if len(truth) == len(survey.questions):
            results = _simulated_or_error(form, survey, truth, page_questions.ids)
    if any(field.errors for field in form):
        status = 422
    page = render_template(
        "rehearsal/rehearsal.html",
        draft=draft,
        form=form,
        survey=survey,
        results=results,
        shown=page_questions,
        balanced=[EDITORS[question.kind.name].must_add_up(question) for question in survey.questions],
        step="rehearsal",
    )
    return page, status


def _simulated_or_error(
    form: FlaskForm, survey: Survey, truth: dict[str, Any], questions: Sequence[str] | None
) -> Rehearsed | None:
    try:
        return simulated(survey, form.n.data, truth, questions)
    except HushpollError as error:
        form.n.errors = [sentence(error)]
        return None
