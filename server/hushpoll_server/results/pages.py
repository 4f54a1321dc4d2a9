"""Reports for accounts with access, the public page where the owner wants one, downloads, and the results API.

The analysis is imported when a report is first asked for: a worker that only collects never pays for it.
"""

from __future__ import annotations

import tempfile
import threading
from collections import OrderedDict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from flask import (
    Blueprint,
    Response,
    abort,
    after_this_request,
    current_app,
    redirect,
    render_template,
    request,
    send_file,
    url_for,
)
from hushpoll_client import HushpollError, Survey
from werkzeug.wrappers import Response as BaseResponse

from hushpoll_server.collect.seal import read_sealed, seal_due
from hushpoll_server.people.access import audit, can_edit, can_read_survey, guard_forms, signed_in
from hushpoll_server.problems import Problem, respond
from hushpoll_server.store.surveys import Store, SurveyState, get_store

if TYPE_CHECKING:
    from hushpoll_analysis.data.tally import Tally
    from hushpoll_analysis.results.survey import SurveyResults

bp = Blueprint("results", __name__, template_folder="templates")
bp.before_request(guard_forms)

Page = str | BaseResponse
LEVELS = {"80": 0.8, "90": 0.9, "95": 0.95, "99": 0.99}
FORMATS = {
    "html": ("text/html; charset=utf-8", "One file to keep or print (HTML)"),
    "csv": ("text/csv; charset=utf-8", "Table (CSV)"),
    "json": ("application/json", "Everything (JSON)"),
    "txt": ("text/plain; charset=utf-8", "Plain text"),
}
KEPT_TALLIES = 64


class Tallies:
    """Counts made before, kept until more reports are sealed: a public page must not cost a scan each time."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._kept: OrderedDict[tuple[str, str | None], tuple[int, Tally]] = OrderedDict()

    def get(self, store: Store, survey: Survey, by: str | None) -> Tally:
        """Count the sealed reports, or take the counts from memory."""
        from hushpoll_analysis.data.files import tally

        seal_due(store)
        # One scan at a time: ten readers who arrive together wait for the first one's counts.
        with self._lock:
            sealed = store.sealed_count(survey.hash)
            key = (survey.hash, by)
            kept = self._kept.get(key)
            if kept is None or kept[0] != sealed:
                kept = (sealed, tally(survey, store.record_parts(survey.hash), by))
                self._kept[key] = kept
            self._kept.move_to_end(key)
            while len(self._kept) > KEPT_TALLIES:
                self._kept.popitem(last=False)
            return kept[1]


bp.record_once(lambda state: state.app.extensions.setdefault("hushpoll_tallies", Tallies()))


@bp.errorhandler(HushpollError)
def _refused(error: HushpollError) -> Response:
    return respond(422, str(error))


@bp.get("/surveys/<survey_hash>/report")
def show(survey_hash: str) -> Page:
    """Show the report, for accounts that may read it; others are led to the public page or to sign in."""
    state = _state(survey_hash)
    away = _turned_away(state)
    if away is not None:
        return away
    survey, level, by = _survey(survey_hash), _level(), _question(survey_hash, "by")
    made = _report(survey, by, level)
    page = render_template(
        "results/report.html",
        **_frame(state, survey),
        report=made,
        body=_body(made, method=False),
        method=_method(made),
        by=by,
        editable=can_edit(signed_in(), survey_hash),
    )
    return _private(page)


@bp.get("/surveys/<survey_hash>/report/table")
def table(survey_hash: str) -> Page:
    """Two questions together: shares within groups, differences, cross-table, test."""
    state = _state(survey_hash)
    away = _turned_away(state)
    if away is not None:
        return away
    survey, level = _survey(survey_hash), _level()
    outcome, by = _question(survey_hash, "outcome"), _question(survey_hash, "by")
    problem, made, body = "", None, ""
    if len(survey.questions) < 2:
        problem = "This survey has one question only; a cross-table needs two."
    elif not outcome or not by:
        problem = "Choose two questions."
    elif outcome == by:
        problem = "Choose two different questions: the one to describe, and the one that makes the groups."
    else:
        made = _report(survey, by, level, outcome, request.args.get("reference") or None)
        body = made.too_few or _groups_body(made)
    page = render_template(
        "results/table.html",
        **_frame(state, survey),
        problem=problem,
        body=body,
        too_few=made is not None and bool(made.too_few),
        outcome=outcome,
        by=by,
        groups=next((question.options for question in survey.questions if question.id == by), ()),
        reference=request.args.get("reference", ""),
    )
    return _private(page, 422 if problem and (outcome or by) else 200)


@bp.get("/surveys/<survey_hash>/report.<any(html, csv, json, txt):form>")
def download(survey_hash: str, form: str) -> Page:
    """Send the report as a file."""
    state = _state(survey_hash)
    away = _turned_away(state)
    if away is not None:
        return away
    made = _report(_survey(survey_hash), _question(survey_hash, "by"), _level())
    return _file(made, form)


@bp.get("/surveys/<survey_hash>/export.zip")
def export(survey_hash: str) -> Page:
    """Send the sealed reports, shuffled, with codebook, label scripts and a script that repeats the table."""
    state = _state(survey_hash)
    away = _turned_away(state, public_counts=False)
    if away is not None:
        return away
    from hushpoll_analysis.results.export import zip_export

    store, survey = get_store(), _survey(survey_hash)
    folder = tempfile.TemporaryDirectory(prefix="hushpoll-export-")
    target = Path(folder.name) / "export.zip"
    zip_export(survey, read_sealed(store, survey_hash), target, _level())
    audit("exported", survey_hash, f"{store.sealed_count(survey_hash)} reports")
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


@bp.get("/results/<survey_hash>")
def public(survey_hash: str) -> Page:
    """Show the results for everybody, where the owner has published them."""
    state = _public_state(survey_hash)
    made = _report(_survey(survey_hash), None, 0.95)
    return render_template("results/public.html", state=state, report=made, body=_body(made), formats=FORMATS)


@bp.get("/results/<survey_hash>/report.<any(html, csv, json, txt):form>")
def public_download(survey_hash: str, form: str) -> Page:
    """Send the public results as a file."""
    _public_state(survey_hash)
    return _file(_report(_survey(survey_hash), None, 0.95), form)


@bp.get("/api/surveys/<survey_hash>/results")
def results(survey_hash: str) -> Response:
    """Estimates as `hushpoll report --format json` prints them."""
    state = get_store().state(survey_hash)
    if state is None:
        raise Problem(404, "there is no survey with this hash here; check the address")
    if not state.is_public and not can_read_survey(signed_in(), survey_hash):
        raise Problem(
            403, "the results of this survey are not public; sign in with an account that may read them"
        )
    made = _report(_survey(survey_hash), _question(survey_hash, "by"), _level())
    response = Response(made.to_json(), content_type="application/json")
    response.headers["Cache-Control"] = "no-store"
    return response


@bp.get("/reports/report.css")
def stylesheet() -> Response:
    """Serve the report's style: the same rules as in the file that stands alone."""
    from hushpoll_analysis.results.rendering import stylesheet as rules

    response = Response(rules(), content_type="text/css; charset=utf-8")
    response.headers["Cache-Control"] = "public, max-age=3600"
    return response


# What the views share -------------------------------------------------------------------------------------------


def _state(survey_hash: str) -> SurveyState:
    state = get_store().state(survey_hash)
    if state is None:
        abort(404, "there is no survey at this address that you may read; see the list of surveys")
    return state


def _public_state(survey_hash: str) -> SurveyState:
    state = get_store().state(survey_hash)
    if state is None or not state.results_public:
        abort(404, "there are no public results at this address; its owner can publish them")
    if not state.is_public:
        abort(403, "these results are public when the survey is closed; come back then")
    return state


def _turned_away(state: SurveyState, public_counts: bool = True) -> BaseResponse | None:
    """Say where to send somebody who may not read the report; None for those who may."""
    user = signed_in()
    if can_read_survey(user, state.hash):
        return None
    if state.is_public and public_counts:
        return redirect(url_for("results.public", survey_hash=state.hash))
    if user is None:
        return redirect(url_for("accounts.sign_in", next=request.full_path.rstrip("?")))
    abort(404, "there is no survey at this address that you may read; see the list of surveys")


def _survey(survey_hash: str) -> Survey:
    survey = get_store().get_survey(survey_hash)
    assert survey is not None
    return survey


def _level() -> float:
    text = request.args.get("level") or "95"
    if text not in LEVELS:
        raise Problem(422, f"level: {text[:20]!r} is not offered here; choose one of {', '.join(LEVELS)}")
    return LEVELS[text]


def _question(survey_hash: str, name: str) -> str | None:
    text = request.args.get(name) or None
    known = [question.id for question in _survey(survey_hash).questions]
    if text is not None and text not in known:
        raise Problem(
            422, f"{name}: the survey has no question {text[:64]!r}; choose one of {', '.join(known)}"
        )
    return text


def _report(
    survey: Survey, by: str | None, level: float, only: str | None = None, reference: str | None = None
) -> SurveyResults:
    from hushpoll_analysis.results.survey import report

    tallies: Tallies = current_app.extensions["hushpoll_tallies"]
    counted = tallies.get(get_store(), survey, by)
    joint = tallies.get(get_store(), survey, survey.anchor.question) if survey.anchor else None
    return report(survey, counted, by=by, level=level, only=only, reference=reference, anchor_counts=joint)


def _body(made: SurveyResults, method: bool = True) -> str:
    from hushpoll_analysis.results.rendering import as_body

    return as_body(made, method=method)


def _method(made: SurveyResults) -> str:
    from hushpoll_analysis.results.rendering import as_method

    return as_method(made)


def _groups_body(made: SurveyResults) -> str:
    from hushpoll_analysis.results.rendering import as_groups

    return as_groups(made)


def _frame(state: SurveyState, survey: Survey) -> dict[str, Any]:
    """Give what every report page shows around the report."""
    level = request.args.get("level") or "95"
    store = get_store()
    return {
        "state": state,
        "survey": survey,
        "levels": LEVELS,
        "level": level,
        "formats": FORMATS,
        "waiting": max(0, store.count(state.hash) - store.sealed_count(state.hash)),
    }


def _file(made: SurveyResults, form: str) -> Response:
    text = {"html": made.to_html, "csv": made.to_csv, "json": made.to_json, "txt": made.to_text}[form]()
    # A spreadsheet takes UTF-8 for what it is only behind a byte order mark.
    data = text.encode("utf-8-sig" if form == "csv" else "utf-8")
    response = Response(data, content_type=FORMATS[form][0])
    name = f"report-{made.survey.hash[:12]}.{form}"
    response.headers["Content-Disposition"] = f'attachment; filename="{name}"'
    response.headers["Cache-Control"] = "no-store"
    return response


def _private(page: str, status: int = 200) -> Response:
    response = Response(page, status)
    response.headers["Cache-Control"] = "no-store"
    return response
