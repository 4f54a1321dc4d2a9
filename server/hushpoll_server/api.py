"""The API: the published survey, reports one by one or many at a time, health."""

from __future__ import annotations

import json
from typing import Any

from flask import Blueprint, Response, current_app, request
from hushpoll_client import Report, ReportError
from werkzeug.wrappers import Response as BaseResponse

from . import invitations
from .accept import Incoming, Outcome
from .config import Config
from .openapi import openapi
from .problems import Problem
from .security import Throttle
from .store import Published, Store, get_store

bp = Blueprint("api", __name__)

LARGEST_REPORT = 64 * 1024
LARGEST_BATCH = 4 * 1024 * 1024
MOST_IN_BATCH = 10_000
# A body that is too large is read and dropped up to here, so that the client gets to read why.
_DROP_UP_TO = 1024 * 1024
_DROP_BATCH_UP_TO = 8 * 1024 * 1024

_REFUSED = {
    Outcome.OTHER_CONTENT: "this id was sent before with other content; a new report needs a new random id",
    Outcome.CLOSED: "this survey is closed; the report was not stored",
    Outcome.NOT_INVITED: "this survey takes one report per invitation, and this one is missing, unknown or spent",
}


@bp.get("/api/surveys/<survey_hash>")
def survey(survey_hash: str) -> BaseResponse:
    """The published document, byte for byte as it was hashed; it never changes."""
    known = _known(survey_hash)
    response = Response(known.survey.canonical, content_type="application/json")
    response.headers["Cache-Control"] = "public, max-age=31536000, immutable"
    response.set_etag(survey_hash)
    return response.make_conditional(request)


@bp.post("/api/surveys/<survey_hash>/reports")
def submit(survey_hash: str) -> Response:
    """Store one report, once; answer after it is on the disk."""
    known = _known(survey_hash)
    _throttle()
    body = _body("application/json", LARGEST_REPORT, _DROP_UP_TO)
    store = get_store()
    outcome = store.writer.submit([_read(store, known, body)])[0]
    if outcome in _REFUSED:
        raise Problem(outcome.value, _REFUSED[outcome])
    return _json({"stored": True, "new": outcome is Outcome.NEW}, outcome.value)


@bp.post("/api/surveys/<survey_hash>/reports/batch")
def submit_batch(survey_hash: str) -> Response:
    """Store many reports, all or none."""
    known = _known(survey_hash)
    _throttle()
    body = _body("application/x-ndjson", LARGEST_BATCH, _DROP_BATCH_UP_TO)
    lines = body.split(b"\n")
    if lines[-1] == b"":
        lines.pop()
    if not lines or len(lines) > MOST_IN_BATCH:
        raise Problem(
            422, f"body: holds {len(lines)} reports; send 1 to {MOST_IN_BATCH}, one per line", item="body"
        )
    store = get_store()
    reports = [_read(store, known, line, number) for number, line in enumerate(lines, 1)]
    outcomes = store.writer.submit(reports)
    if outcomes[-1] in _REFUSED:
        line = len(outcomes)
        raise Problem(
            outcomes[-1].value, f"line {line}: {_REFUSED[outcomes[-1]]}; nothing was stored", line=line
        )
    new = outcomes.count(Outcome.NEW)
    return _json({"received": len(outcomes), "new": new}, 201 if new else 200)


@bp.get("/api/openapi.json")
def describe() -> Response:
    """This API, described for machines."""
    return _json(openapi())


@bp.get("/healthz")
def health() -> Response:
    """Whether the server reaches its database."""
    store = get_store()
    with store.read() as tx:
        tx.exec_driver_sql("SELECT 1 FROM surveys LIMIT 1").all()
    return _json({"status": "ok"})


def _known(survey_hash: str) -> Published:
    known = get_store().published(survey_hash)
    if known is None:
        raise Problem(404, "no survey with this hash is published here; check the address")
    return known


def _throttle() -> None:
    throttle: Throttle = current_app.extensions["hushpoll_reports_throttle"]
    seconds = throttle.wait(request.remote_addr or "")
    if seconds:
        detail = "too many reports from this address; send the same report again later"
        raise Problem(429, detail, {"Retry-After": str(int(seconds) + 1)})


def _body(mimetype: str, largest: int, drop_up_to: int) -> bytes:
    """Read the body: 415 before 413, and what is too large is dropped, not kept."""
    environ = request.environ
    kind, _, parameters = environ.get("CONTENT_TYPE", "").partition(";")
    charset = parameters.replace(" ", "").lower()
    if kind.strip().lower() != mimetype or charset not in ("", "charset=utf-8", 'charset="utf-8"'):
        raise Problem(415, f"send the body as {mimetype} in UTF-8", {"Accept": mimetype})
    if environ.get("HTTP_CONTENT_ENCODING", "identity").lower() != "identity":
        raise Problem(415, "send the body without Content-Encoding", {"Accept-Encoding": "identity"})
    stream = environ["wsgi.input"]
    length = environ.get("CONTENT_LENGTH", "")
    if not length and not environ.get("wsgi.input_terminated"):
        return b""
    expected = int(length) if length else None
    body: bytes = stream.read(largest + 1 if expected is None else min(expected, largest + 1))
    if len(body) <= largest and (expected is None or expected <= largest):
        if expected is not None and len(body) < expected:
            raise Problem(400, "the body ended before its announced length; send it again")
        return body
    left = drop_up_to - len(body) if expected is None else min(drop_up_to, expected) - len(body)
    while left > 0:
        dropped = len(stream.read(min(left, 65536)))
        if not dropped:
            break
        left -= dropped
    raise Problem(413, f"the body is larger than {largest} bytes", {"Connection": "close"})


def _read(store: Store, known: Published, body: bytes, line: int | None = None) -> Incoming:
    """Check a report strictly and pack it; 422 says which item is wrong."""
    try:
        report, code = Report.parse(known.survey, body)
        if code is not None and not known.survey.settings.invitation:
            raise ReportError("invitation: this survey asks for none; leave it out")
    except ReportError as error:
        item = str(error).partition(":")[0]
        if line is None:
            raise Problem(422, str(error), item=item) from None
        raise Problem(422, f"line {line}: {error}; nothing was stored", item=item, line=line) from None
    return Incoming(
        known.number,
        identity := bytes.fromhex(report.id),
        known.format.pack(report.reports),
        store.id_digest(known.survey.hash, identity),
        _invitation(known, code),
    )


def _invitation(known: Published, code: str | None) -> bytes | None:
    if not known.survey.settings.invitation:
        return None
    return b"" if code is None else invitations.digest(known.survey.hash, code)


def _json(value: Any, status: int = 200) -> Response:
    response = Response(json.dumps(value), status, content_type="application/json")
    response.headers["Cache-Control"] = "no-store"
    return response


@bp.record_once
def _init(state: Any) -> None:
    config: Config = state.app.config["HUSHPOLL"]
    state.app.extensions["hushpoll_reports_throttle"] = Throttle(config.reports_per_minute)
