"""Reports for accounts with access, the public page where the owner wants one, downloads, and the results API.

The analysis is imported when a report is first asked for: a worker that only collects never pays for it.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

from flask import (
    Blueprint,
    Response,
    abort,
    after_this_request,
    current_app,
    g,
    redirect,
    render_template,
    request,
    send_file,
    url_for,
)
from flask_babel import lazy_gettext as later
from hushpoll_client import HushpollError, Survey
from hushpoll_client.group import FIELD, OTHER
from hushpoll_client.said import said
from hushpoll_client.series import changed_groups
from werkzeug.wrappers import Response as BaseResponse

from hushpoll_server.collect.retention import keeping_of
from hushpoll_server.collect.seal import read_sealed, seal_due
from hushpoll_server.fields import option
from hushpoll_server.files import serve
from hushpoll_server.people.access import audit, can_edit, can_read_survey, guard_forms, signed_in
from hushpoll_server.problems import Problem, respond
from hushpoll_server.respond.languages import LANGUAGES, language
from hushpoll_server.said.speech import speech
from hushpoll_server.spoken import gettext as _
from hushpoll_server.spoken import in_words
from hushpoll_server.store.surveys import SurveyState, get_store

from .paging import shown_page
from .planned import planned_margins
from .public_files import PublicFiles, file_answer
from .tallies import Tallies

if TYPE_CHECKING:
    from hushpoll_analysis.data.tally import Tally
    from hushpoll_analysis.results.survey import SurveyResults
    from hushpoll_analysis.results.waves import FollowedQuestion

bp = Blueprint("results", __name__, template_folder="templates")
bp.before_request(guard_forms)

Page = str | BaseResponse
LEVELS = {"80": 0.8, "90": 0.9, "95": 0.95, "99": 0.99}
FORMATS = {
    "html": ("text/html; charset=utf-8", later("One file to keep or print (HTML)")),
    "csv": ("text/csv; charset=utf-8", later("Table (CSV)")),
    "json": ("application/json", later("Everything (JSON)")),
    "txt": ("text/plain; charset=utf-8", later("Plain text")),
}
PUBLIC_LEVEL = 0.95


bp.record_once(lambda state: state.app.extensions.setdefault("hushpoll_tallies", Tallies()))
bp.record_once(
    lambda state: state.app.extensions.setdefault(
        "hushpoll_public_files", PublicFiles(max(1, state.app.config["HUSHPOLL"].threads // 4))
    )
)


@bp.errorhandler(HushpollError)
def _refused(error: HushpollError) -> Response:
    return respond(422, in_words(error))


@bp.get("/surveys/<survey_hash>/report")
def show(survey_hash: str) -> Page:
    """Show the report, for accounts that may read it; others are led to the public page or to sign in."""
    state = _state(survey_hash)
    away = _turned_away(state)
    if away is not None:
        return away
    survey, level, by = _survey(survey_hash), _level(), _question(survey_hash, "by")
    shown = shown_page(survey)
    planned = planned_margins(get_store(), survey)
    made = _report(survey, by, level, questions=shown.ids, needed=planned)
    page = render_template(
        "results/report.html",
        **_frame(state, survey),
        report=made,
        shown=shown,
        body=_body(made, "results.picture", language(), method=False),
        method=_method(made),
        by=by,
        editable=can_edit(signed_in(), survey_hash),
        waves=len(get_store().waves(survey_hash)),
    )
    return _private(page)


@bp.get("/surveys/<survey_hash>/report/trend")
def trend(survey_hash: str) -> Page:
    """All waves of a series that this account may read: estimates, and changes with their intervals."""
    state = _state(survey_hash)
    away = _turned_away(state)
    if away is not None:
        return away
    level, listed = _level(), get_store().waves(survey_hash)
    readable, surveys = _waves(survey_hash)
    group, names = _group_of(surveys.values())
    made = _made(surveys, group, level)
    page = render_template(
        "results/trend.html",
        **_frame(state, _survey(survey_hash)),
        waves=readable,
        group=group,
        names=names,
        changed=[told for one, other in pairwise(surveys.values()) if (told := changed_groups(one, other))],
        made=made,
        enough=_enough(made),
        hidden=len(listed) - len(readable),
        followed=_followed(made),
        picture=_waves_picture,
        asked={"group": group, "level": request.args.get("level"), "lang": request.args.get("lang")},
        figure_word=_texts(_survey(survey_hash))["w"]("figure"),
    )
    return _private(page)


@bp.get("/surveys/<survey_hash>/report/trend/<question>.svg")
def trend_picture(survey_hash: str, question: str) -> Page:
    """Send the picture of one question over the waves as a file."""
    away = _turned_away(_state(survey_hash))
    if away is not None:
        return away
    from hushpoll_analysis.results.picture import waves_as_svg

    level, (_readable, surveys) = _level(), _waves(survey_hash)
    group, _names = _group_of(surveys.values())
    made = _made(surveys, group, level)
    found = next((one for one in _followed(made) if one.id == question and one.rows), None)
    own = _survey(survey_hash)
    if all(one.id != question for one in own.questions):
        abort(404, "the survey has no such question; see its results")
    if found is None:
        raise Problem(422, "there is no picture of this question over the waves; see the trend")
    w = _texts(own)["w"]
    reports = sum(one.n for number, one in _enough(made).items() if str(number) in found.waves)
    name = ": ".join(filter(None, [own.series.name if own.series else own.title, group]))
    caption = (
        f"{name}. {w('figure_caption', number=reports, level=f'{100 * level:g}')} hushpoll {survey_hash[:12]}"
    )
    drawn = waves_as_svg(found, _wave_names(found), caption, option, language(), speech())
    return _svg(drawn, f"{question}-waves-{survey_hash[:12]}")


def _waves(survey_hash: str) -> tuple[dict[int, SurveyState], dict[int, Survey]]:
    """Give the waves that this account may read, by their number, and their surveys."""
    listed = enumerate(get_store().waves(survey_hash), 1)
    readable = {number: one for number, one in listed if can_read_survey(signed_in(), one.hash)}
    return readable, {number: _survey(one.hash) for number, one in readable.items()}


def _group_of(surveys: Iterable[Survey]) -> tuple[str | None, list[str]]:
    """Give the group that is asked for, and those to choose from."""
    names = list(dict.fromkeys(name for one in surveys for name in one.groups))
    group = request.args.get("group") or None
    if group is not None and group not in names:
        raise Problem(422, f"group: no wave has a group {group[:64]!r}; choose one of {', '.join(names)}")
    return group, names


def _made(surveys: Mapping[int, Survey], group: str | None, level: float) -> dict[int, SurveyResults]:
    found = ((number, _wave(one, group, level)) for number, one in surveys.items())
    return {number: one for number, one in found if one is not None}


def _enough(made: Mapping[int, SurveyResults]) -> dict[int, SurveyResults]:
    return {number: one for number, one in made.items() if not one.too_few}


def _followed(made: Mapping[int, SurveyResults]) -> list[FollowedQuestion]:
    from hushpoll_analysis.results.waves import follow

    enough = _enough(made)
    return follow(enough) if len(enough) > 1 else []


def _wave_names(question: FollowedQuestion) -> list[str]:
    return [_("Wave %(n)s", n=one) for one in question.waves]


def _waves_picture(question: FollowedQuestion, number: int) -> str:
    """Draw a question over its waves; the table below it says the same to who cannot see it."""
    from hushpoll_analysis.results.rendering import as_waves

    waves = _wave_names(question)
    name = _("Picture of question %(n)s over the waves; the table below has its numbers", n=number)
    return as_waves(question, waves, name, option, language(), speech())


def _wave(survey: Survey, group: str | None, level: float) -> SurveyResults | None:
    """Give the results of a wave, or of one of its groups; None where that is not shown on its own."""
    if group is None:
        return _report(survey, None, level)
    from hushpoll_analysis.data.link_groups import tally_of
    from hushpoll_analysis.results.survey import report

    tallies: Tallies = current_app.extensions["hushpoll_tallies"]
    counted = tally_of(tallies.get(get_store(), survey, FIELD), group) if group in survey.groups else None
    return None if counted is None else report(survey, counted, level=level)


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
    if len(survey.questions) < 2 and not survey.groups:
        problem = _("This survey has one question only; a cross-table needs two.")
    elif not outcome or not by:
        problem = _("Choose two questions.")
    elif outcome == by:
        problem = _("Choose two different questions: the one to describe, and the one that makes the groups.")
    else:
        made = _report(survey, by, level, outcome, request.args.get("reference") or None)
        body = in_words(made.too_few) if made.too_few else _groups_body(made)
    page = render_template(
        "results/table.html",
        **_frame(state, survey),
        problem=problem,
        body=body,
        too_few=made is not None and bool(made.too_few),
        outcome=outcome,
        by=by,
        groups=_labels(survey, by, made),
        reference=request.args.get("reference", ""),
    )
    return _private(page, 422 if problem and (outcome or by) else 200)


def _labels(survey: Survey, by: str | None, made: SurveyResults | None) -> Sequence[str]:
    """Give the groups that another can be compared with."""
    if by == FIELD and survey.groups:
        names = made.groups[0].groups if made is not None and made.groups else ()
        return [said("other") if name == OTHER else name for name in names]
    # Options of a list are not compared with each other: each has those who chose it and those who did not.
    return next((one.options for one in survey.questions if one.id == by and one.channel.listed), ())


@bp.get("/surveys/<survey_hash>/report.<any(html, csv, json, txt):form>")
def download(survey_hash: str, form: str) -> Page:
    """Send the report as a file."""
    state = _state(survey_hash)
    away = _turned_away(state)
    if away is not None:
        return away
    survey = _survey(survey_hash)
    planned = planned_margins(get_store(), survey)
    made = _report(survey, _question(survey_hash, "by"), _level(), needed=planned)
    return _as_download(Response(_file_data(made, form), content_type=FORMATS[form][0]), survey_hash, form)


@bp.get("/surveys/<survey_hash>/report/<question>.svg")
def picture(survey_hash: str, question: str) -> Page:
    """Send the picture of one question as a file."""
    away = _turned_away(_state(survey_hash))
    return away if away is not None else _picture(survey_hash, question, _level())


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
    records = read_sealed(store, survey_hash, wait=False)
    zip_export(survey, records, target, _level(), state.fewest, state.seen_apart)
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
    survey = _survey(survey_hash)
    shown = shown_page(survey)
    made = _report(survey, None, PUBLIC_LEVEL, questions=shown.ids)
    page = render_template(
        "results/public.html",
        state=state,
        report=made,
        body=_body(made, "results.public_picture", language()),
        formats=FORMATS,
        shown=shown,
        **_texts(survey),
        languages=LANGUAGES,
    )
    return _for_everybody(page)


@bp.get("/results/<survey_hash>/embed")
def embedded(survey_hash: str) -> Page:
    """Show the public results inside a page of another site, where the owner allows it: no other page may be framed."""
    state = _public_state(survey_hash)
    if not keeping_of(get_store(), survey_hash).embeddable:
        abort(404, "the owner of this survey does not let other sites show its results")
    shown = shown_page(_survey(survey_hash))
    made = _report(_survey(survey_hash), None, PUBLIC_LEVEL, questions=shown.ids)
    g.csp = {"frame-ancestors": "*", "script-src": "'none'", "form-action": "'none'", "connect-src": "'none'"}
    body = _body(made, "results.public_picture", language())
    return _for_everybody(
        render_template("results/embed.html", state=state, body=body, shown=shown, **_texts(made.survey))
    )


@bp.get("/results/<survey_hash>/<question>.svg")
def public_picture(survey_hash: str, question: str) -> Page:
    """Send the picture of one question of public results as a file."""
    _public_state(survey_hash)
    return _picture(survey_hash, question, PUBLIC_LEVEL)


@bp.get("/results/<survey_hash>/report.<any(html, csv, json, txt):form>")
def public_download(survey_hash: str, form: str) -> Page:
    """Send the public results as a file."""
    _public_state(survey_hash)

    def make() -> bytes:
        return _file_data(_report(_survey(survey_hash), None, PUBLIC_LEVEL), form)

    return _as_download(_made_once(survey_hash, form, PUBLIC_LEVEL, None, make), survey_hash, form)


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
    by, level = _question(survey_hash, "by"), _level()

    def make() -> bytes:
        return _report(_survey(survey_hash), by, level).to_json().encode()

    if can_read_survey(signed_in(), survey_hash):
        response = Response(make(), content_type=FORMATS["json"][0])
    else:
        response = _made_once(survey_hash, "json", level, by, make)
    response.headers["Cache-Control"] = "no-store"
    return response


@bp.get("/reports/report.css")
def stylesheet() -> BaseResponse:
    """Serve the report's style under its old address, which pages made by earlier releases name."""
    return serve("", "report.css")


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
    text, survey = request.args.get(name) or None, _survey(survey_hash)
    known = [question.id for question in survey.questions]
    if name == "by" and survey.groups:
        known.append(FIELD)
    if text is not None and text not in known:
        raise Problem(
            422, f"{name}: the survey has no question {text[:64]!r}; choose one of {', '.join(known)}"
        )
    return text


def _report(
    survey: Survey,
    by: str | None,
    level: float,
    only: str | None = None,
    reference: str | None = None,
    questions: Sequence[str] | None = None,
    needed: Mapping[str, float] | None = None,
) -> SurveyResults:
    from hushpoll_analysis.results.survey import report

    tallies: Tallies = current_app.extensions["hushpoll_tallies"]
    store, state = get_store(), _state(survey.hash)
    # Strangers may read public results, but not make the server keep more.
    counted: Any = tallies.get(store, survey, by, keep=can_read_survey(signed_in(), survey.hash))
    joint = tallies.get(store, survey, survey.anchor.question) if survey.anchor else None
    keys: dict[str, Any] = {"by": by, "level": level, "only": only, "reference": reference}
    sizes = state.group_sizes(survey)
    if sizes and not oversized(tallies.get(store, survey, FIELD), sizes):
        counted, keys["population"] = store.record_parts(survey.hash), sizes
    # Whoever reads results while reports come can subtract: a person hides among those released together only.
    keys["batch"] = state.seen_apart
    return report(
        survey, counted, **keys, questions=questions, anchor_counts=joint, needed=needed, fewest=state.fewest
    )


def oversized(counted: Tally, sizes: Mapping[str, int]) -> list[str]:
    """Name the groups from which more reports came than they are said to have people."""
    from hushpoll_analysis.data.link_groups import group_sizes

    came = group_sizes(counted)
    rest = sum(size for name, size in sizes.items() if name not in came)
    return [name for name, n in came.items() if n > sizes.get(name, rest)]


def _body(made: SurveyResults, pictures: str, spoken: str = "en", method: bool = True) -> str:
    """Write the report; `pictures` is the view that sends a question's picture."""
    from hushpoll_analysis.results.rendering import as_body

    def address(question: str) -> str:
        asked: dict[str, Any] = {key: request.args[key] for key in ("lang", "level") if key in request.args}
        return url_for(pictures, survey_hash=made.survey.hash, question=question, **asked)

    return as_body(made, method=method, language=spoken, picture_address=address, speech=speech())


def _picture(survey_hash: str, question: str, level: float) -> Response:
    survey = _survey(survey_hash)
    if all(one.id != question for one in survey.questions):
        abort(404, "the survey has no such question; see its results")
    made = _report(survey, None, level, questions=[question])
    return _svg(made.to_svg(question, language()), f"{question}-{survey_hash[:12]}")


def _svg(drawn: str, name: str) -> Response:
    response = Response(drawn, content_type="image/svg+xml")
    response.headers["Content-Disposition"] = f'attachment; filename="{name}.svg"'
    response.headers["Cache-Control"] = "no-store"
    return response


def _texts(survey: Survey) -> dict[str, Any]:
    """Give our words and the survey's own, in the reader's language."""
    from hushpoll_analysis.results.texts import texts_of

    texts = texts_of(survey, language())
    return {"w": texts.say, "t": texts}


def _method(made: SurveyResults) -> str:
    from hushpoll_analysis.results.rendering import as_method

    return as_method(made, language=language(), speech=speech())


def _groups_body(made: SurveyResults) -> str:
    from hushpoll_analysis.results.rendering import as_groups

    return as_groups(made, language=language(), speech=speech())


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


def _file_data(made: SurveyResults, form: str) -> bytes:
    if form == "html":
        from hushpoll_analysis.results.rendering import as_html

        text = as_html(made, language(), speech())
    else:
        text = {"csv": made.to_csv, "json": made.to_json, "txt": made.to_text}[form]()
    # A spreadsheet takes UTF-8 for what it is only behind a byte order mark.
    return text.encode("utf-8-sig" if form == "csv" else "utf-8")


def _made_once(
    survey_hash: str, form: str, level: float, by: str | None, make: Callable[[], bytes]
) -> Response:
    """Send a file of public results to a stranger, for whom nothing is made twice."""
    files: PublicFiles = current_app.extensions["hushpoll_public_files"]
    seal_due(get_store(), wait=False)
    state = _state(survey_hash)
    # Only the one to read or print is written in words of the reader's language.
    spoken = (language(), speech().language) if form == "html" else ()
    return file_answer(files.get((state, form, level, by, spoken), make), FORMATS[form][0])


def _as_download(response: Response, survey_hash: str, form: str) -> Response:
    response.headers["Content-Disposition"] = f'attachment; filename="report-{survey_hash[:12]}.{form}"'
    response.headers["Cache-Control"] = "no-store"
    return response


def _for_everybody(page: str) -> Response:
    """Let caches between here and the reader keep a page for readers of the same language, if they ask each time."""
    response = Response(page)
    response.headers["Cache-Control"] = "no-cache"
    response.vary.update(("Cookie", "Accept-Language"))
    return response


def _private(page: str, status: int = 200) -> Response:
    response = Response(page, status)
    response.headers["Cache-Control"] = "no-store"
    return response
