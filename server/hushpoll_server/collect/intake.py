"""From a request to an answer for reports: read the body, check it, have it stored.

Reports are most of what a server gets, so a request for one goes straight from WSGI to here; Flask would take more
time than the commit. Everything else about a survey goes through Flask.
"""

from __future__ import annotations

import json
import logging
import re
import time
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from hushpoll_client import Report, ReportError
from werkzeug.http import HTTP_STATUS_CODES

from hushpoll_server import problems
from hushpoll_server.config import Config
from hushpoll_server.metrics.counting import count_refused, observe_seconds
from hushpoll_server.problems import Problem
from hushpoll_server.security import Throttle, check_clock, check_host, plain_headers
from hushpoll_server.store.surveys import Published, Store

from . import invitations
from .accept import Incoming, Outcome

LARGEST_REPORT = 64 * 1024
LARGEST_BATCH = 4 * 1024 * 1024
MOST_IN_BATCH = 10_000
# A body that is too large is read and dropped up to here, so that the client gets to read why.
_DROP_REPORT = 1024 * 1024
_DROP_BATCH = 8 * 1024 * 1024

_PATH = re.compile(r"/api/surveys/([0-9a-f]{64})/reports")
_REFUSED = {
    Outcome.OTHER_CONTENT: "this id was sent before with other content; a new report needs a new random id",
    Outcome.CLOSED: "this survey is closed; the report was not stored",
    Outcome.NOT_INVITED: "this survey takes one report per invitation, and this one is missing, unknown or spent",
}
_NEW = b'{"stored": true, "new": true}'
_KNOWN = b'{"stored": true, "new": false}'

Environ = dict[str, Any]
log = logging.getLogger(__name__)


class Answer(NamedTuple):
    """A status and a JSON body."""

    status: int
    body: bytes
    content_type: str = "application/json"
    headers: tuple[tuple[str, str], ...] = ()


class Intake:
    """Takes reports for one store; as WSGI middleware it takes single reports past Flask."""

    def __init__(self, config: Config, store: Store, application: Callable[..., Iterable[bytes]]) -> None:
        self.config = config
        self.store = store
        self.application = application
        self.throttle = Throttle(config.reports_per_minute)

    def __call__(self, environ: Environ, start_response: Callable[..., Any]) -> Iterable[bytes]:
        """Answer a request for one report here and hand on every other."""
        match = environ["REQUEST_METHOD"] == "POST" and _PATH.fullmatch(environ.get("PATH_INFO", ""))
        if not match:
            return self.application(environ, start_response)
        began = time.monotonic()
        answer = self.guarded(environ, match[1])
        observe_seconds(time.monotonic() - began)
        headers = [
            ("Content-Type", answer.content_type),
            ("Content-Length", str(len(answer.body))),
            ("Cache-Control", "no-store"),
            *plain_headers(environ.get("wsgi.url_scheme") == "https"),
            *answer.headers,
        ]
        start_response(f"{answer.status} {HTTP_STATUS_CODES[answer.status]}", headers)
        return [answer.body]

    def guarded(self, environ: Environ, survey_hash: str) -> Answer:
        """Turn whatever goes wrong into a problem document."""
        try:
            check_host(environ.get("HTTP_HOST", ""), self.config)
            check_clock(self.config)
            return self.one(environ, survey_hash)
        except Problem as error:
            problem = error
        except Exception as error:
            problem = problems.of_exception(error, "intake")
        count_refused(problem.status)
        body = problems.document(problem.status, problem.detail, problem.extra)
        return Answer(problem.status, body, "application/problem+json", tuple(problem.headers.items()))

    def one(self, environ: Environ, survey_hash: str) -> Answer:
        """Store one report, once."""
        published = self._known(survey_hash)
        self._pace(environ)
        body = read_body(environ, "application/json", LARGEST_REPORT, _DROP_REPORT)
        outcome = self.store.writer.submit([self._read(published, body)])[0]
        if outcome in _REFUSED:
            raise Problem(outcome.value, _REFUSED[outcome])
        return Answer(outcome.value, _NEW if outcome is Outcome.NEW else _KNOWN)

    def many(self, environ: Environ, survey_hash: str) -> Answer:
        """Store many reports, all or none."""
        published = self._known(survey_hash)
        lines = read_body(environ, "application/x-ndjson", LARGEST_BATCH, _DROP_BATCH).split(b"\n")
        if lines[-1] == b"":
            lines.pop()
        if not 1 <= len(lines) <= MOST_IN_BATCH:
            line = 1
            if lines:
                line = MOST_IN_BATCH + 1
            detail = (
                f"line {line}: the body holds {len(lines)} reports; send 1 to {MOST_IN_BATCH}, one per line"
            )
            raise Problem(422, f"{detail}; nothing was stored", item="body", line=line)
        self._pace(environ, len(lines))
        parsed_bodies: dict[bytes, bytes | None] = {}
        reports = [self._read(published, line, at, parsed_bodies) for at, line in enumerate(lines, 1)]
        outcomes = self.store.writer.submit(reports)
        last = outcomes[-1]
        if last in _REFUSED:
            line = len(outcomes)
            raise Problem(last.value, f"line {line}: {_REFUSED[last]}; nothing was stored", line=line)
        new = outcomes.count(Outcome.NEW)
        return Answer(201 if new else 200, json.dumps({"received": len(outcomes), "new": new}).encode())

    def _known(self, survey_hash: str) -> Published:
        published = self.store.published(survey_hash)
        if published is None:
            raise unknown()
        return published

    def _pace(self, environ: Environ, reports: int = 1) -> None:
        """Ask an address that sends too much to wait; every line of a batch is a report."""
        if 0 < self.throttle.limit < reports:
            detail = f"at most {self.throttle.limit} reports a minute are taken from one address; send fewer at once"
            raise Problem(429, f"{detail}; nothing was stored")
        seconds = self.throttle.wait(environ.get("REMOTE_ADDR", ""), reports)
        if seconds:
            detail = "too many reports from this address; send the same report again later"
            raise Problem(429, detail, {"Retry-After": str(int(seconds) + 1)})

    def _read(
        self,
        published: Published,
        body: bytes,
        line: int | None = None,
        parsed_bodies: dict[bytes, bytes | None] | None = None,
    ) -> Incoming:
        """Check a report strictly and pack it; 422 says which item is wrong."""
        # The bytes that our own clients send need no JSON parser; every other spelling gets the strict one.
        plain = None
        if not published.asks_invitation:
            plain = published.format.read_body(body, parsed_bodies)
        if plain is not None:
            return self._incoming(published, bytes.fromhex(plain[0].decode()), plain[1])
        try:
            report, code = Report.parse(published.survey, body)
            if code is not None and not published.asks_invitation:
                raise ReportError("this survey asks for none", "leave it out", "invitation")
        except ReportError as error:
            if line is None:
                raise Problem(422, str(error), item=error.item) from None
            detail = f"line {line}: {error}; nothing was stored"
            raise Problem(422, detail, item=error.item, line=line) from None
        packed = self._incoming(published, bytes.fromhex(report.id), published.format.pack(report.values))
        if not published.asks_invitation:
            return packed
        return packed._replace(
            invitation=b"" if code is None else invitations.digest(published.survey.hash, code, report.group)
        )

    def _incoming(self, published: Published, identity: bytes, record: bytes) -> Incoming:
        return Incoming(published.number, self.store.id_digest(published.survey.hash, identity), record, None)


def unknown() -> Problem:
    """Return the refusal for a hash that is not published here."""
    return Problem(404, "no survey with this hash is published here; check the address")


def read_body(environ: Environ, mimetype: str, largest: int, drop_up_to: int) -> bytes:
    """Read a request's body: 415 before 413, and what is too large is dropped, not kept."""
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
    expected = None
    if length:
        expected = int(length)
    body = _read(stream, largest + 1 if expected is None else min(expected, largest + 1))
    if len(body) <= largest and (expected is None or expected <= largest):
        if expected is not None and len(body) < expected:
            raise Problem(400, "the body ended before its announced length; send it again")
        return body
    left = (drop_up_to if expected is None else min(drop_up_to, expected)) - len(body)
    while left > 0:
        dropped = len(_read(stream, min(left, 65536)))
        if not dropped:
            break
        left -= dropped
    raise Problem(413, f"the body is larger than {largest} bytes", {"Connection": "close"})


def _read(stream: Any, size: int) -> bytes:
    """Read from the connection; whatever the web server cannot make sense of came from the client."""
    try:
        body: bytes = stream.read(size)
    except Exception:
        raise Problem(400, "the body is cut off or its chunks are malformed; send it again") from None
    return body
