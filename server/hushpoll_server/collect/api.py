"""The API: the published survey, reports one by one or many at a time, health."""

from __future__ import annotations

import gzip
from functools import lru_cache
from typing import Any

from flask import Blueprint, Response, current_app, request
from hushpoll_client import HushpollError, ReportError, Survey, strict_json
from hushpoll_client.survey.group import check_group
from werkzeug.wrappers import Response as BaseResponse

from hushpoll_server.compression import compressible
from hushpoll_server.current_store import get_store
from hushpoll_server.people.access import needed_account
from hushpoll_server.problems import Problem, unavailable
from hushpoll_server.security import Throttle

from .health import Readiness
from .intake import Answer, Intake, read_body, unknown
from .invitations import may_be_used
from .openapi import openapi

bp = Blueprint("api", __name__)

# Codes looked up from one address: nobody guesses one of 100 random bits, but each costs a look into the database.
CODES_PER_MINUTE = 600
LARGEST_CHECK = 1024
LONGEST_CODE = 64


@bp.get("/api/surveys/<survey_hash>")
def survey(survey_hash: str) -> BaseResponse:
    """Serve the published document, byte for byte as it was hashed; it never changes."""
    published = get_store().published(survey_hash)
    if published is None:
        raise unknown()
    document = published.survey.canonical
    response = compressible(document, "application/json", _compressed(document))
    response.headers["Cache-Control"] = "public, max-age=31536000, immutable"
    response.set_etag(survey_hash, weak=True)
    return response.make_conditional(request)


@lru_cache(maxsize=16)
def _compressed(document: bytes) -> bytes:
    # The page asks for it each time that it is opened, and a list of a thousand options is long.
    return gzip.compress(document, 9, mtime=0)


@bp.post("/api/surveys/<survey_hash>/reports")
def submit(survey_hash: str) -> Response:
    """Store one report, once. Only requests that are not for a survey's hash get here: see `intake`."""
    return _respond(_intake().one(request.environ, survey_hash))


@bp.post("/api/surveys/<survey_hash>/reports/batch")
def submit_batch(survey_hash: str) -> Response:
    """Store many reports, all or none, for an account: anonymous ones would let an outsider isolate a report."""
    needed_account("batch")
    return _respond(_intake().many(request.environ, survey_hash))


@bp.post("/api/surveys/<survey_hash>/invitations/check")
def check_invitation(survey_hash: str) -> Response:
    """Answer 204 where an invitation may be used, 403 where it is unknown or spent; store and spend nothing."""
    published = get_store().published(survey_hash)
    if published is None:
        raise unknown()
    if not published.asks_invitation:
        raise Problem(404, "this survey asks for no invitation; answer it without one")
    seconds = current_app.extensions["hushpoll_code_checks"].wait(request.remote_addr or "")
    if seconds:
        detail = "too many codes were looked up from this address; try again later"
        raise Problem(429, detail, {"Retry-After": str(int(seconds) + 1)})
    code, group = _invitation(published.survey)
    if not may_be_used(get_store(), survey_hash, code, group):
        raise Problem(403, "this invitation is unknown or spent; ask the person who sent it")
    return _respond(Answer(204, b""))


@bp.get("/api/surveys/<survey_hash>/invitations/<code>")
def former_check(survey_hash: str, code: str) -> Response:
    """Refuse a code in an address: histories and logs of proxies keep addresses."""
    raise Problem(
        410, 'codes are no longer checked in an address; POST {"invitation": CODE} to .../invitations/check'
    )


def _invitation(survey: Survey) -> tuple[str, int | None]:
    """Read the code and, where the survey has groups, the group that it is looked up for."""
    body = read_body(request.environ, "application/json", LARGEST_CHECK, 65536)
    try:
        value = strict_json.loads(body)
    except HushpollError:
        value = None
    fields = {}
    if isinstance(value, dict):
        fields = dict(value)
    code = fields.pop("invitation", None)
    group = fields.pop("group", None)
    if fields or not isinstance(code, str) or not 0 < len(code) <= LONGEST_CODE:
        raise Problem(422, 'the body must be like {"invitation": CODE}; correct it', item="invitation")
    try:
        return code, check_group(survey.groups, group)
    except ReportError as error:
        raise Problem(422, str(error), item=error.item) from None


@bp.get("/api/openapi.json")
def describe() -> Response:
    """Describe this API for machines."""
    return _respond(Answer(200, openapi()))


@bp.get("/livez")
def live() -> Response:
    """Return whether the server runs; it does, or this would not be answered."""
    return _respond(Answer(200, b'{"status": "ok"}'))


@bp.get("/healthz")
@bp.get("/readyz")
def health() -> Response:
    """Return whether the server can store a report: 503 with a full disk, or a database that is away or frozen."""
    readiness = current_app.extensions["hushpoll_readiness"]
    assert isinstance(readiness, Readiness)
    if not readiness.ready():
        raise unavailable(
            "the server cannot store anything right now: its disk is full or its database is away"
        )
    return _respond(Answer(200, b'{"status": "ok"}'))


def _respond(answer: Answer) -> Response:
    response = Response(answer.body, answer.status, content_type=answer.content_type)
    response.headers["Cache-Control"] = "no-store"
    return response


def _intake() -> Intake:
    intake = current_app.extensions["hushpoll_intake"]
    assert isinstance(intake, Intake)
    return intake


@bp.record_once
def _init(state: Any) -> None:
    app = state.app
    intake = Intake(app.config["HUSHPOLL"], app.extensions["hushpoll"], app.wsgi_app)
    app.extensions["hushpoll_intake"] = intake
    app.extensions["hushpoll_code_checks"] = Throttle(CODES_PER_MINUTE)
    app.extensions["hushpoll_readiness"] = Readiness(app.extensions["hushpoll"])
    app.wsgi_app = intake
