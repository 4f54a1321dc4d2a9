"""Results for accounts with access: the report, tables of two questions, files and the export.

The analysis is imported when a report is first asked for: a worker that only collects never pays for it.
"""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from flask import (
    Response,
    after_this_request,
    render_template,
    request,
    send_file,
)
from hushpoll_analysis.results.formats import format_by_ending
from hushpoll_client import Survey
from hushpoll_client.messages import msg
from hushpoll_client.survey.group import FIELD, OTHER
from werkzeug.wrappers import Response as BaseResponse

from hushpoll_server.current_store import get_store
from hushpoll_server.files import serve
from hushpoll_server.i18n.speech import speech
from hushpoll_server.i18n.translation import gettext as _
from hushpoll_server.i18n.translation import translate
from hushpoll_server.people.access import audit, can_edit, signed_in
from hushpoll_server.people.audit_log import Detail
from hushpoll_server.respond.languages import language

from . import public, waves  # noqa: F401  (their pages belong to the same blueprint)
from .minimum import refuse_small_export
from .paging import questions_on_page
from .planned_margins import planned_margins
from .shared import (
    FILE_NAME,
    PICTURE_NAME,
    Page,
    access_refusal,
    as_download,
    body_of,
    bp,
    file_data,
    frame_of,
    picture_of,
    private,
    requested_level,
    requested_question,
    results_of,
    state_of,
    survey_of,
)

if TYPE_CHECKING:
    from hushpoll_analysis.results.survey import SurveyResults


@bp.get("/surveys/<survey_hash>/report")
def show(survey_hash: str) -> Page:
    """Show the report, for accounts that may read it; others are led to the public page or to sign in."""
    state = state_of(survey_hash)
    away = access_refusal(state)
    if away is not None:
        return away
    survey, level, by = survey_of(survey_hash), requested_level(), requested_question(survey_hash, "by")
    page_questions = questions_on_page(survey)
    planned = planned_margins(get_store(), survey)
    results = results_of(survey, by, level, questions=page_questions.ids, needed=planned)
    page = render_template(
        "results/report.html",
        **frame_of(state, survey),
        report=results,
        shown=page_questions,
        body=body_of(results, "results.picture", language(), method=False),
        method=_method(results),
        by=by,
        editable=can_edit(signed_in(), survey_hash),
        waves=len(get_store().waves(survey_hash)),
    )
    return private(page)


@bp.get("/surveys/<survey_hash>/report/table")
def table(survey_hash: str) -> Page:
    """Two questions together: shares within groups, differences, cross-table, test."""
    state = state_of(survey_hash)
    away = access_refusal(state)
    if away is not None:
        return away
    survey, level = survey_of(survey_hash), requested_level()
    outcome, by = requested_question(survey_hash, "outcome"), requested_question(survey_hash, "by")
    problem, results, body = "", None, ""
    if len(survey.questions) < 2 and not survey.groups:
        problem = _("This survey has one question only; a cross-table needs two.")
    elif not outcome or not by:
        problem = _("Choose two questions.")
    elif outcome == by:
        problem = _("Choose two different questions: the one to describe, and the one that makes the groups.")
    else:
        results = results_of(survey, by, level, outcome, request.args.get("reference") or None)
        if results.too_few:
            body = translate(results.too_few)
        else:
            body = _groups_body(results)
    page = render_template(
        "results/table.html",
        **frame_of(state, survey),
        problem=problem,
        body=body,
        too_few=results is not None and bool(results.too_few),
        outcome=outcome,
        by=by,
        groups=_labels(survey, by, results),
        reference=request.args.get("reference", ""),
    )
    return private(page, 422 if problem and (outcome or by) else 200)


def _labels(survey: Survey, by: str | None, results: SurveyResults | None) -> Sequence[str]:
    """Return the groups that another can be compared with."""
    if by == FIELD and survey.groups:
        if results is not None and results.groups:
            names = results.groups[0].groups
        else:
            names = ()
        return [msg("other") if name == OTHER else name for name in names]
    # Options of a list are not compared with each other: each has those who chose it and those who did not.
    return next(
        (question.options for question in survey.questions if question.id == by and question.channel.listed),
        (),
    )


@bp.get(f"/surveys/<survey_hash>/{FILE_NAME}")
def download(survey_hash: str, ending: str) -> Page:
    """Send the report as a file."""
    state = state_of(survey_hash)
    away = access_refusal(state)
    if away is not None:
        return away
    survey = survey_of(survey_hash)
    planned = planned_margins(get_store(), survey)
    results = results_of(survey, requested_question(survey_hash, "by"), requested_level(), needed=planned)
    chosen = format_by_ending(ending)
    file = Response(file_data(results, chosen), content_type=chosen.media_type)
    return as_download(file, survey_hash, chosen)


@bp.get(f"/surveys/<survey_hash>/report/{PICTURE_NAME}")
def picture(survey_hash: str, question: str, ending: str) -> Page:
    """Send the picture of one question as a file."""
    away = access_refusal(state_of(survey_hash))
    if away is not None:
        return away
    return picture_of(survey_hash, question, ending, requested_level())


@bp.get("/surveys/<survey_hash>/export.zip")
def export(survey_hash: str) -> Page:
    """Send the sealed reports, shuffled, with codebook, label scripts and a script that repeats the table."""
    state = state_of(survey_hash)
    away = access_refusal(state, public_counts=False)
    if away is not None:
        return away
    from hushpoll_analysis.results.export import zip_export

    store, survey = get_store(), survey_of(survey_hash)
    records = store.record_parts(survey_hash)
    refuse_small_export(state_of(survey_hash))
    folder = tempfile.TemporaryDirectory(prefix="hushpoll-export-")
    target = Path(folder.name) / "export.zip"
    zip_export(
        survey, records, target, requested_level(), state.display_threshold, state.min_distinguishable_batch
    )
    audit("exported", survey_hash, Detail("reports", count=store.sealed_count(survey_hash)))
    response = send_file(
        target, "application/zip", as_attachment=True, download_name=f"hushpoll-{survey_hash[:12]}.zip"
    )

    @after_this_request
    def clean(answer: Response) -> Response:
        # The open file outlives its name; nothing of it stays on disk.
        folder.cleanup()
        return answer

    response.headers["Cache-Control"] = "no-store"
    return response


@bp.get("/reports/report.css")
def stylesheet() -> BaseResponse:
    """Serve the report's style under its old address, which pages made by earlier releases name."""
    return serve("", "report.css")


def _method(results: SurveyResults) -> str:
    from hushpoll_analysis.results.rendering import as_method

    return as_method(results, language=language(), speech=speech())


def _groups_body(results: SurveyResults) -> str:
    from hushpoll_analysis.results.rendering import as_groups

    return as_groups(results, language=language(), speech=speech())
