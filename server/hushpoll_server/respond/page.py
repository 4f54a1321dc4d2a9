"""The respondent's page: a shell in the reader's language; the questions are rendered by its scripts on the device."""

from __future__ import annotations

import datetime
import json
from collections.abc import Iterator
from functools import partial
from typing import Any

from flask import Blueprint, Response, current_app, g, render_template, request, url_for
from flask_babel import format_date
from hushpoll_client import Survey
from hushpoll_client.delivery.link import fingerprint
from hushpoll_client.kind import DEFAULT, KINDS
from jinja2.utils import htmlsafe_json_dumps
from sqlalchemy import select
from werkzeug.wrappers import Response as BaseResponse

from hushpoll_server.collect.intake import unknown
from hushpoll_server.collect.retention import keeping_of
from hushpoll_server.compression import compressible
from hushpoll_server.current_store import get_store
from hushpoll_server.files import FOR_EVER
from hushpoll_server.problems import Problem
from hushpoll_server.store.schema import surveys
from hushpoll_server.store.surveys import is_hash

from . import languages, logos, paper
from .assets import explanation, on_demand, preloads, shell, start
from .manifest import Asset, asset, bundles_for, modules_after_paint, modules_before_start
from .manifest import release as this_release
from .page_cache import PageCache, answer
from .releases import asset_of

bp = Blueprint("respond", __name__, template_folder="templates")
bp.register_blueprint(paper.bp)
bp.register_blueprint(logos.bp)
bp.add_app_template_filter(fingerprint, "fingerprint")

_SHORTEST_PREFIX = 8


@bp.get("/static/<any(client, respond):folder>/<name>")
@bp.get("/static/<release>/<any(client, respond):folder>/<name>")
def static_file(folder: str, name: str, release: str = "") -> BaseResponse:
    """Serve one of the page's files: for ever under this release's digest, else asked about again at each load."""
    if release and release != this_release():
        other = asset_of(get_store(), release, f"{folder}/{name}")
        if other is not None:
            return _send(other, this_release())
    file = asset(f"{folder}/{name}")
    if file is None:
        raise Problem(404, "there is no such file; check the address")
    return _send(file, release)


@bp.get("/static/words/<language>.json")
@bp.get("/static/<release>/words/<language>.json")
def words(language: str, release: str = "") -> BaseResponse:
    """Serve the sentences that the page fetches once its first view is painted."""
    if language not in languages.LANGUAGES:
        raise Problem(404, "there are no sentences in this language; check the address")
    if release and release != this_release():
        other = asset_of(get_store(), release, f"words/{language}.json")
        if other is not None:
            return _send(other, this_release())
    return _send(explanation(language), release)


def _send(file: Asset, release: str) -> BaseResponse:
    response = compressible(file.body, file.content_type, file.compressed)
    if release == this_release():
        # Nobody asks about it again, so it has no tag: eleven of them would come before Start.
        response.headers["Cache-Control"] = FOR_EVER
        return response
    response.headers["Cache-Control"] = "no-cache"
    response.set_etag(file.digest.hex()[:16], weak=True)
    return response.make_conditional(request)


@bp.get("/s/<survey_hash>")
def page(survey_hash: str) -> BaseResponse:
    """Show the respondent's page; under the first digits of the hash as well, without a redirect.

    A redirect could name another survey's fingerprint, and the page would say that it fits.
    """
    if not is_hash(survey_hash):
        survey_hash = g.survey_hash = _hash_of_prefix(survey_hash)
    survey = get_store().get_survey(survey_hash)
    state = get_store().state(survey_hash)
    if survey is None or state is None:
        raise unknown()
    results = None
    if state.is_public:
        results = url_for("results.public", survey_hash=survey_hash)
    delete_on = keeping_of(get_store(), survey_hash).delete_on
    config = current_app.config["HUSHPOLL"]
    key = (
        survey_hash,
        languages.language(),
        state.is_open,
        results,
        delete_on,
        config.imprint,
        config.imprint_url,
    )
    cache: PageCache = current_app.extensions["hushpoll_pages"]
    g.csp = {"form-action": "'none'"}
    return answer(
        cache.get(
            key, lambda: _render(survey, closed=not state.is_open, results=results, delete_on=delete_on)
        )
    )


def render_preview(survey: Survey, document: str, at_questions: bool = False) -> Response:
    """Render the page as a designer's preview, which has its own address of the document and sends nothing.

    The preview of a question that is being written opens `at_questions`, without what comes before Start.
    """
    g.csp = {"form-action": "'none'", "frame-ancestors": "'self'"}
    html = _render(survey, preview=True, document=document, at_questions=at_questions)
    response = compressible(html.encode(), "text/html; charset=utf-8")
    response.headers["Cache-Control"] = "no-cache"
    response.vary.add("Accept-Language")
    return response


def _render(
    survey: Survey,
    *,
    closed: bool = False,
    results: str | None = None,
    delete_on: datetime.date | None = None,
    preview: bool = False,
    document: str | None = None,
    at_questions: bool = False,
) -> str:
    bundles = bundles_for(survey)
    later = _modules_after_paint(survey)
    data = {
        "hash": survey.hash,
        "document": document or url_for("api.survey", survey_hash=survey.hash),
        "reports": url_for("api.submit", survey_hash=survey.hash),
        "paper": None if preview or not paper.is_possible(survey) else paper.address(survey.hash),
        "closed": closed,
        "results": results,
        **({"delete_on": delete_on.isoformat()} if delete_on else {}),
        **_logo(survey),
        "preview": preview,
        **({"at_questions": True} if at_questions else {}),
        "languages": list(languages.LANGUAGES.items()),
        "words": url_for("respond.words", release=this_release(), language=languages.language()),
        "later": later,
        "more": on_demand(*modules_before_start(survey), *later),
        "help": url_for("manual.page", name="respondents"),
        **({"bundles": bundles} if bundles else {}),
        "long": languages.LONG_LIST,
    }
    packed = htmlsafe_json_dumps(data, partial(json.dumps, ensure_ascii=False, separators=(",", ":")))
    return render_template(
        "respond/page.html",
        data=data,
        packed=packed,
        words=languages.words_of("page"),
        more_words={
            group: languages.words_of(group) for group in _more_words(survey, preview or bool(delete_on))
        },
        preloads=preloads(*modules_before_start(survey)),
        start=start(),
        **shell(),
    )


def _logo(survey: Survey) -> dict[str, str]:
    look = survey.presentation.get("look", {})
    if "logo" in look:
        return {"logo": logos.address(look["logo"])}
    return {}


def _modules_after_paint(survey: Survey) -> list[str]:
    return modules_after_paint(
        survey,
        widgets=any(question.kind.widget != KINDS[DEFAULT].widget for question in survey.questions),
        search=any(len(question.options) > languages.LONG_LIST for question in survey.questions),
    )


def _more_words(survey: Survey, rare: bool) -> Iterator[str]:
    """Return the groups of sentences that this survey's page needs in addition to those of every page."""
    plain = all(
        question.kind.widget == KINDS[DEFAULT].widget
        and len(question.options) <= languages.LONG_LIST
        and (question.mechanism.reports_are_answers or question.mechanism.has_decoy)
        and question.after is None
        for question in survey.questions
    )
    if not plain or survey.blocks or survey.settings.invitation:
        yield "kinds"
    other_decoys = any(
        question.mechanism.has_decoy and not question.mechanism.takes_combined
        for question in survey.questions
    )
    if rare or other_decoys or survey.groups or survey.settings.kiosk:
        yield "rare"
    if survey.presentation:
        yield "presentation"


def _hash_of_prefix(prefix: str) -> str:
    """Find the hash whose first digits these are, if it is one only."""
    if not _SHORTEST_PREFIX <= len(prefix) < 64 or set(prefix) - set("0123456789abcdef"):
        raise Problem(404, "this is not an address of a survey; check the link")
    query = select(surveys.c.hash).where(surveys.c.hash.startswith(prefix)).limit(2)
    with get_store().read() as tx:
        hashes = tx.execute(query).scalars().all()
    if len(hashes) != 1:
        raise Problem(404, "these digits do not lead to one survey; use the whole link")
    return str(hashes[0])


@bp.record_once
def _init(state: Any) -> None:
    languages.init_app(state.app)
    state.app.extensions["hushpoll_pages"] = PageCache()
    state.app.jinja_env.filters["long_date"] = partial(format_date, format="long")
