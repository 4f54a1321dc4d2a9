"""Results for strangers, where the owner wants it: the page, its pictures and files, the frame, and the API."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import TYPE_CHECKING

from flask import (
    Response,
    abort,
    current_app,
    g,
    render_template,
)
from hushpoll_analysis.results.formats import ResultsFormat, available_formats, format_by_ending
from hushpoll_analysis.results.formats.json_object import JSON_OBJECT

from hushpoll_server.collect.retention import keeping_of
from hushpoll_server.current_store import get_store
from hushpoll_server.i18n.speech import speech
from hushpoll_server.people.access import can_read_survey, signed_in
from hushpoll_server.problems import Problem
from hushpoll_server.respond.languages import LANGUAGES, language
from hushpoll_server.store.surveys import SurveyState

from .paging import questions_on_page
from .public_files import PublicFiles, file_answer
from .shared import (
    FILE_NAME,
    PICTURE_NAME,
    PICTURE_TYPES,
    PUBLIC_LEVEL,
    Page,
    as_attachment,
    as_download,
    body_of,
    bp,
    file_data,
    picture_of,
    requested_level,
    requested_question,
    results_of,
    state_of,
    survey_of,
    words_for,
)

if TYPE_CHECKING:
    pass


@bp.get("/results/<survey_hash>")
def public(survey_hash: str) -> Page:
    """Show the results to the public, where the owner has published them."""
    state = _public_state(survey_hash)
    survey = survey_of(survey_hash)
    page_questions = questions_on_page(survey)
    results = results_of(survey, None, PUBLIC_LEVEL, questions=page_questions.ids)
    page = render_template(
        "results/public.html",
        state=state,
        report=results,
        body=body_of(results, "results.public_picture", language()),
        formats=available_formats(),
        shown=page_questions,
        **words_for(survey),
        languages=LANGUAGES,
    )
    return _for_everybody(page)


@bp.get("/results/<survey_hash>/embed")
def embedded(survey_hash: str) -> Page:
    """Show the public results inside a page of another site, where the owner allows it: no other page may be framed."""
    state = _public_state(survey_hash)
    if not keeping_of(get_store(), survey_hash).embeddable:
        abort(404, "the owner of this survey does not let other sites show its results")
    page_questions = questions_on_page(survey_of(survey_hash))
    results = results_of(survey_of(survey_hash), None, PUBLIC_LEVEL, questions=page_questions.ids)
    g.csp = {"frame-ancestors": "*", "script-src": "'none'", "form-action": "'none'", "connect-src": "'none'"}
    body = body_of(results, "results.public_picture", language())
    return _for_everybody(
        render_template(
            "results/embed.html", state=state, body=body, shown=page_questions, **words_for(results.survey)
        )
    )


@bp.get(f"/results/<survey_hash>/{PICTURE_NAME}")
def public_picture(survey_hash: str, question: str, ending: str) -> Page:
    """Send the picture of one question of public results as a file."""
    _public_state(survey_hash)

    def make() -> bytes:
        return picture_of(survey_hash, question, ending, PUBLIC_LEVEL).get_data()

    made_of = ("picture", question, ending, language())
    response = _made_once(survey_hash, made_of, PICTURE_TYPES[ending], make)
    return as_attachment(response, f"{question}-{survey_hash[:12]}.{ending}")


@bp.get(f"/results/<survey_hash>/{FILE_NAME}")
def public_download(survey_hash: str, ending: str) -> Page:
    """Send the public results as a file."""
    _public_state(survey_hash)

    def make() -> bytes:
        return file_data(results_of(survey_of(survey_hash), None, PUBLIC_LEVEL), chosen)

    chosen = format_by_ending(ending)
    return as_download(_cached_file(survey_hash, chosen, PUBLIC_LEVEL, None, make), survey_hash, chosen)


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
    by, level = requested_question(survey_hash, "by"), requested_level()

    def make() -> bytes:
        return results_of(survey_of(survey_hash), by, level).to_json().encode()

    if can_read_survey(signed_in(), survey_hash):
        response = Response(make(), content_type=JSON_OBJECT.media_type)
    else:
        response = _cached_file(survey_hash, JSON_OBJECT, level, by, make)
    response.headers["Cache-Control"] = "no-store"
    return response


def _public_state(survey_hash: str) -> SurveyState:
    state = get_store().state(survey_hash)
    if state is None or not state.results_public:
        abort(404, "there are no public results at this address; its owner can publish them")
    if not state.is_public:
        abort(403, "these results are public when the survey is closed; come back then")
    return state


def _cached_file(
    survey_hash: str, chosen: ResultsFormat, level: float, by: str | None, make: Callable[[], bytes]
) -> Response:
    """Send a file of public results to a stranger."""
    # Only the one to read or print is written in words of the reader's language.
    languages: tuple[str, ...] = ()
    if chosen.translated:
        languages = (language(), speech().language)
    return _made_once(survey_hash, (chosen.name, level, by, languages), chosen.media_type, make)


def _made_once(
    survey_hash: str, made_of: tuple[Hashable, ...], content_type: str, make: Callable[[], bytes]
) -> Response:
    """Send what is made of this and of the survey's reports to a stranger, for whom nothing is made twice."""
    files: PublicFiles = current_app.extensions["hushpoll_public_files"]
    return file_answer(files.get((state_of(survey_hash), *made_of), make), content_type)


def _for_everybody(page: str) -> Response:
    """Let caches between here and the reader keep a page for readers of the same language, if they ask each time."""
    response = Response(page)
    response.headers["Cache-Control"] = "no-cache"
    response.vary.update(("Cookie", "Accept-Language"))
    return response
