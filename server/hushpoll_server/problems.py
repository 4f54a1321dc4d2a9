"""What went wrong, in the same shape everywhere: `application/problem+json`, or a plain page for a browser."""

from __future__ import annotations

import json
import logging
from typing import Any

from flask import Flask, Response, render_template, request
from flask_babel import force_locale
from sqlalchemy.exc import DataError, DBAPIError, InterfaceError, InternalError, OperationalError
from sqlalchemy.exc import TimeoutError as PoolTimeoutError
from werkzeug.exceptions import HTTPException, default_exceptions
from werkzeug.http import HTTP_STATUS_CODES
from werkzeug.wrappers import Response as BaseResponse

from .gunicorn_adapter import NoMoreData, ParseException
from .i18n.translation import direction, language, problem_page_language, translate

RETRY_SECONDS = 5
# Addresses that programs ask, never people.
HEALTH = ("/healthz", "/livez", "/readyz")

_STANDARD = {error.description for error in default_exceptions.values()}

log = logging.getLogger(__name__)


class Problem(Exception):
    """A request that is refused; `detail` says what, where and what to do."""

    def __init__(self, status: int, detail: str, headers: dict[str, str] | None = None, **extra: Any) -> None:
        super().__init__(detail)
        self.status = status
        self.detail = detail
        self.headers = headers or {}
        self.extra = extra


def unavailable(
    detail: str = "the report could not be stored right now; send the same report again",
) -> Problem:
    """Make a refusal that passes by itself."""
    return Problem(503, detail, {"Retry-After": str(RETRY_SECONDS)})


def document(status: int, detail: str, extra: dict[str, Any] | None = None) -> bytes:
    """Write a problem document (RFC 9457)."""
    title = HTTP_STATUS_CODES.get(status, "Error")
    return json.dumps(
        {"type": "about:blank", "title": title, "status": status, "detail": detail, **(extra or {})}
    ).encode()


def respond(
    status: int, detail: str, headers: dict[str, str] | None = None, extra: dict[str, Any] | None = None
) -> Response:
    """Answer a browser with a page and other clients with a problem document."""
    if _wants_page():
        response = Response(_page(status, detail), status)
        response.vary.add("Accept-Language")
    else:
        response = Response(document(status, detail, extra), status, content_type="application/problem+json")
    response.headers.update(headers or {})
    response.headers["Cache-Control"] = "no-store"
    return response


def _page(status: int, detail: str) -> str:
    """Return the page that says what happened and what to do, in the reader's language."""
    with force_locale(problem_page_language()):
        # What werkzeug says of itself is what the page says already, in English.
        text = ""
        if detail not in _STANDARD:
            text = translate(detail)
        return render_template(
            "respond/problem.html",
            status=status,
            detail=text,
            told_in="en" if text == detail else language(),
            language=language(),
            direction=direction(),
        )


def _wants_page() -> bool:
    if request.path.startswith(("/api/", *HEALTH)):
        return False
    best = request.accept_mimetypes.best_match(["application/problem+json", "text/html"])
    return best == "text/html" and request.accept_mimetypes["text/html"] > 0 and "Accept" in request.headers


def init_app(app: Flask) -> None:
    """Answer every error in this shape."""

    @app.errorhandler(Problem)
    def refuse(error: Problem) -> Response:
        return respond(error.status, error.detail, error.headers, error.extra)

    @app.errorhandler(HTTPException)
    def http(error: HTTPException) -> BaseResponse:
        if error.response is not None or error.code is None or error.code < 400:
            return error.get_response()
        headers = {name: value for name, value in error.get_headers() if name in ("Allow", "Retry-After")}
        return respond(error.code, error.description or "the request cannot be answered", headers)

    @app.errorhandler(Exception)
    def unexpected(error: Exception) -> Response:
        problem = of_exception(error, request.endpoint or "nowhere")
        return respond(problem.status, problem.detail, problem.headers)


def of_exception(error: Exception, where: str) -> Problem:
    """Return what to tell a client about an error that is not its own: 503 where it passes, else 500."""
    if isinstance(error, PoolTimeoutError) or (isinstance(error, DBAPIError) and passes(error)):
        log.error("database not available in %s: %s", where, type(error).__name__)
        return unavailable("the server cannot reach its database right now; try again in a few seconds")
    if isinstance(error, (ParseException, NoMoreData)):
        # Read late, as part of a form: the connection's own mistake, found by gunicorn.
        return Problem(400, "the body is cut off or its chunks are malformed; send it again")
    if isinstance(error, DataError):
        # PostgreSQL's text holds no NUL and its whole numbers end somewhere; SQLite minds neither.
        return Problem(400, "the request holds an invalid character or number; correct it")
    # The traceback names places, never values: see logs.py.
    log.error("unexpected %s in %s", type(error).__name__, where, exc_info=error)
    return Problem(500, "the server made a mistake; it has been noted without any of your data")


def passes(error: DBAPIError) -> bool:
    """Return whether a database error is one that time heals: full disk, lost connection, lock not given."""
    return error.connection_invalidated or isinstance(
        error, (OperationalError, InterfaceError, InternalError)
    )
