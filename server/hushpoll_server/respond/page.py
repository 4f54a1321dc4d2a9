"""The respondent's page: a shell in the reader's language; the questions are rendered by its scripts on the device."""

from __future__ import annotations

import json
from functools import partial
from typing import Any

from flask import Blueprint, Response, g, render_template, request, url_for
from hushpoll_client import Survey
from jinja2.utils import htmlsafe_json_dumps
from sqlalchemy import select
from werkzeug.wrappers import Response as BaseResponse

from hushpoll_server.collect.intake import unknown
from hushpoll_server.compression import compressible
from hushpoll_server.problems import Problem
from hushpoll_server.store.schema import surveys
from hushpoll_server.store.surveys import get_store, is_hash

from . import languages, paper
from .assets import asset, on_demand, scripts, shell

bp = Blueprint("respond", __name__, template_folder="templates")
bp.register_blueprint(paper.bp)

_SHORTEST_PREFIX = 8


@bp.get("/static/<any(client, respond):folder>/<name>")
def static_file(folder: str, name: str) -> BaseResponse:
    """Serve one of the page's files; asked about again at each load, so that no two versions ever mix."""
    found = asset(f"{folder}/{name}")
    if found is None:
        raise Problem(404, "there is no such file; check the address")
    response = compressible(found.body, found.content_type, found.compressed)
    response.headers["Cache-Control"] = "no-cache"
    response.set_etag(found.digest.hex()[:16], weak=True)
    return response.make_conditional(request)


@bp.get("/s/<survey_hash>")
def page(survey_hash: str) -> BaseResponse:
    """Show the respondent's page; under the first digits of the hash as well, without a redirect.

    A redirect could name another survey's fingerprint, and the page would say that it fits.
    """
    if not is_hash(survey_hash):
        survey_hash = _whole_hash(survey_hash)
    survey = get_store().get_survey(survey_hash)
    state = get_store().state(survey_hash)
    if survey is None or state is None:
        raise unknown()
    return render_page(survey, closed=not state.is_open)


def render_page(
    survey: Survey, *, closed: bool = False, preview: bool = False, document: str | None = None
) -> Response:
    """Render the page for a survey; a designer's preview gives its own address of the document and sends nothing."""
    g.csp = {"form-action": "'none'", **({"frame-ancestors": "'self'"} if preview else {})}
    data = {
        "hash": survey.hash,
        "document": document or url_for("api.survey", survey_hash=survey.hash),
        "reports": url_for("api.submit", survey_hash=survey.hash),
        "paper": None if preview or not paper.is_possible(survey) else paper.address(survey.hash),
        "closed": closed,
        "preview": preview,
        "languages": list(languages.LANGUAGES.items()),
        "more": on_demand(),
        "long": languages.LONG_LIST,
        "strings": languages.page_strings(survey),
    }
    # Letters as they are: escaped, Arabic would weigh a kilobyte more.
    packed = htmlsafe_json_dumps(data, partial(json.dumps, ensure_ascii=False, separators=(",", ":")))
    html = render_template("respond/page.html", data=data, packed=packed, scripts=scripts(), **shell())
    response = compressible(html.encode(), "text/html; charset=utf-8")
    response.headers["Cache-Control"] = "no-cache"
    response.vary.add("Accept-Language")
    return response


def _whole_hash(prefix: str) -> str:
    """Find the hash whose first digits these are, if it is one only."""
    if not _SHORTEST_PREFIX <= len(prefix) < 64 or set(prefix) - set("0123456789abcdef"):
        raise Problem(404, "this is no address of a survey; check the link")
    query = select(surveys.c.hash).where(surveys.c.hash.startswith(prefix)).limit(2)
    with get_store().read() as tx:
        found = tx.execute(query).scalars().all()
    if len(found) != 1:
        raise Problem(404, "these digits do not lead to one survey; use the whole link")
    return str(found[0])


@bp.record_once
def _init(state: Any) -> None:
    languages.init_app(state.app)
