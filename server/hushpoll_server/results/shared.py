"""What the pages of results share: who may read, what is asked for, the results, and the pieces of a page."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from flask import (
    Blueprint,
    Response,
    abort,
    current_app,
    redirect,
    request,
    url_for,
)
from hushpoll_analysis.results.formats import RESULTS_FORMATS, ResultsFormat, available_formats
from hushpoll_client import HushpollError, Survey
from hushpoll_client.survey.group import FIELD
from werkzeug.wrappers import Response as BaseResponse

from hushpoll_server.current_store import get_store
from hushpoll_server.i18n.speech import speech
from hushpoll_server.i18n.translation import translate
from hushpoll_server.people.access import can_read_survey, guard_forms, signed_in
from hushpoll_server.problems import Problem, respond
from hushpoll_server.respond.languages import language
from hushpoll_server.store.surveys import SurveyState

from .counts_cache import CountsCache, ResultsCache
from .fieldwork import fieldwork_of
from .public_files import PublicFiles

if TYPE_CHECKING:
    from hushpoll_analysis.results.survey import SurveyResults
    from hushpoll_analysis.sample.tally import Tally

bp = Blueprint("results", __name__, template_folder="templates")
bp.before_request(guard_forms)

Page = str | BaseResponse
LEVELS = {"80": 0.8, "90": 0.9, "95": 0.95, "99": 0.99}
FILE_NAME = f"report.<any({', '.join(results_format.ending for results_format in RESULTS_FORMATS)}):ending>"
"""The last part of the addresses of downloads."""
PICTURE_NAME = "<question>.<any(svg, png):ending>"
"""The last part of the addresses of pictures."""
PICTURE_TYPES = {"svg": "image/svg+xml", "png": "image/png"}
PUBLIC_LEVEL = 0.95


bp.record_once(lambda state: state.app.extensions.setdefault("hushpoll_counts", CountsCache()))
bp.record_once(lambda state: state.app.extensions.setdefault("hushpoll_results", ResultsCache()))
bp.record_once(
    lambda state: state.app.extensions.setdefault(
        "hushpoll_public_files", PublicFiles(max(1, state.app.config["HUSHPOLL"].threads // 4))
    )
)


@bp.errorhandler(HushpollError)
def _refused(error: HushpollError) -> Response:
    return respond(422, translate(error))


def state_of(survey_hash: str) -> SurveyState:
    """Return what the store knows of a survey; 404 where there is none."""
    state = get_store().state(survey_hash)
    if state is None:
        abort(404, "there is no survey at this address that you may read; see the list of surveys")
    return state


def access_refusal(state: SurveyState, public_counts: bool = True) -> BaseResponse | None:
    """Return a redirect for a person who may not read the report; None for one who may."""
    user = signed_in()
    if can_read_survey(user, state.hash):
        return None
    if state.is_public and public_counts:
        return redirect(url_for("results.public", survey_hash=state.hash))
    if user is None:
        return redirect(
            url_for("accounts.sign_in", next=(request.script_root + request.full_path).rstrip("?"))
        )
    abort(404, "there is no survey at this address that you may read; see the list of surveys")


def survey_of(survey_hash: str) -> Survey:
    """Return the survey itself."""
    survey = get_store().get_survey(survey_hash)
    assert survey is not None
    return survey


def requested_level() -> float:
    """Return the level that is asked for, of those that are offered."""
    text = request.args.get("level") or "95"
    if text not in LEVELS:
        raise Problem(422, f"level: {text[:20]!r} is not offered here; choose one of {', '.join(LEVELS)}")
    return LEVELS[text]


def requested_question(survey_hash: str, name: str) -> str | None:
    """Return the question that is asked for by this name, None where none is."""
    text, survey = request.args.get(name) or None, survey_of(survey_hash)
    choices = [question.id for question in survey.questions]
    if name == "by" and survey.groups:
        choices.append(FIELD)
    if text is not None and text not in choices:
        raise Problem(
            422, f"{name}: the survey has no question {text[:64]!r}; choose one of {', '.join(choices)}"
        )
    return text


def results_of(
    survey: Survey,
    by: str | None,
    level: float,
    only: str | None = None,
    reference: str | None = None,
    questions: Sequence[str] | None = None,
    needed: Mapping[str, float] | None = None,
) -> SurveyResults:
    """Estimate the survey's questions from what is sealed."""
    state = state_of(survey.hash)
    results = _estimated(
        survey,
        state,
        by=by,
        level=level,
        only=only,
        reference=reference,
        questions=questions,
        needed=needed,
    )
    return replace(results, fieldwork=fieldwork_of(state, survey))


def _estimated(
    survey: Survey,
    state: SurveyState,
    *,
    by: str | None,
    level: float,
    only: str | None,
    reference: str | None,
    questions: Sequence[str] | None,
    needed: Mapping[str, float] | None,
) -> SurveyResults:
    from hushpoll_analysis.results.survey import report
    from hushpoll_analysis.sample.stored_tally import GroupCounts

    tallies: CountsCache = current_app.extensions["hushpoll_counts"]
    store = get_store()
    # Strangers may read public results, but not make the server keep more.
    counted: Any = tallies.get(store, survey, by, keep=can_read_survey(signed_in(), survey.hash))
    joint = None
    if survey.anchor:
        joint = tallies.get(store, survey, survey.anchor.question)
    keys: dict[str, Any] = {"by": by, "level": level, "only": only, "reference": reference}
    sizes = state.group_sizes(survey)
    if sizes:
        by_group = tallies.get(store, survey, FIELD)
        if not oversized(by_group, sizes):
            keys["population"] = sizes
            counted = None
            if GroupCounts.suffices(survey, by):
                counted = GroupCounts(survey, by_group)
    # Whoever reads results while reports come can subtract: a person hides among those released together only.
    keys |= {
        "batch": state.min_distinguishable_batch,
        "questions": questions,
        "needed": needed,
        "fewest": state.display_threshold,
    }
    if counted is not None:
        return report(survey, counted, **keys, anchor_counts=joint)
    cache: ResultsCache = current_app.extensions["hushpoll_results"]
    return cache.get(
        (state, json.dumps(keys)),
        lambda: report(survey, store.record_parts(survey.hash), **keys, anchor_counts=joint),
    )


def oversized(counted: Tally, sizes: Mapping[str, int]) -> list[str]:
    """Name the groups from which more reports came than they are said to have people."""
    from hushpoll_analysis.sample.link_groups import group_sizes

    came = group_sizes(counted)
    rest = sum(size for name, size in sizes.items() if name not in came)
    return [name for name, n in came.items() if n > sizes.get(name, rest)]


def body_of(results: SurveyResults, pictures: str, spoken: str = "en", method: bool = True) -> str:
    """Write the report; `pictures` is the view that sends a question's picture."""
    from hushpoll_analysis.results.rendering import as_body

    def address(question: str, ending: str) -> str:
        parameters: dict[str, Any] = {
            key: request.args[key] for key in ("lang", "level") if key in request.args
        }
        return url_for(
            pictures, survey_hash=results.survey.hash, question=question, ending=ending, **parameters
        )

    return as_body(results, method=method, language=spoken, picture_address=address, speech=speech())


def picture_of(survey_hash: str, question: str, ending: str, level: float) -> Response:
    """Send the picture of one question as SVG or PNG."""
    survey = survey_of(survey_hash)
    if all(candidate.id != question for candidate in survey.questions):
        abort(404, "the survey has no such question; see its results")
    results = results_of(survey, None, level, questions=[question])
    return as_picture(results.to_svg(question, language()), f"{question}-{survey_hash[:12]}", ending)


def as_picture(svg: str, name: str, ending: str) -> Response:
    """Send a drawing as a file: as it is, or as PNG."""
    from hushpoll_analysis.results.typesetting import picture_as_png

    picture = picture_as_png(svg) if ending == "png" else svg
    response = Response(picture, content_type=PICTURE_TYPES[ending])
    return as_attachment(response, f"{name}.{ending}")


def words_for(survey: Survey) -> dict[str, Any]:
    """Return our words and the survey's own, in the reader's language."""
    from hushpoll_analysis.results.texts import texts_of

    texts = texts_of(survey, language())
    return {"w": texts.say, "t": texts}


def frame_of(state: SurveyState, survey: Survey) -> dict[str, Any]:
    """Return what every report page shows around the report."""
    level = request.args.get("level") or "95"
    store = get_store()
    return {
        "state": state,
        "survey": survey,
        "levels": LEVELS,
        "level": level,
        "formats": available_formats(),
        "language": language(),
        "waiting": max(0, store.count(state.hash) - store.sealed_count(state.hash)),
    }


def file_data(results: SurveyResults, chosen: ResultsFormat) -> bytes:
    """Write the results in one of the formats."""
    return chosen.file_content(results, language(), speech())


def as_download(response: Response, survey_hash: str, chosen: ResultsFormat) -> Response:
    """Let the browser keep the results in this format as a file."""
    return as_attachment(response, f"report-{survey_hash[:12]}.{chosen.ending}")


def as_attachment(response: Response, name: str) -> Response:
    """Let the browser keep an answer as a file of this name."""
    response.headers["Content-Disposition"] = f'attachment; filename="{name}"'
    response.headers["Cache-Control"] = "no-store"
    return response


def private(page: str, status: int = 200) -> Response:
    """Forbid caches between the server and the reader to keep a page."""
    response = Response(page, status)
    response.headers["Cache-Control"] = "no-store"
    return response
