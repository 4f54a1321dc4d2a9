"""Answers to requests that never reach the application; they repeat nothing of the request."""

from __future__ import annotations

from werkzeug.http import HTTP_STATUS_CODES

from hushpoll_server import problems
from hushpoll_server.gunicorn_adapter import errors
from hushpoll_server.security import plain_headers

_FAILED = (500, "something went wrong on the server; send the same request again later")
_REFUSALS: list[tuple[type[Exception], int, str]] = [
    # A header that the application tried to send: not the client's fault.
    (errors.InvalidResponseHeader, *_FAILED),
    (errors.InvalidResponseHeaderName, *_FAILED),
    (errors.LimitRequestLine, 414, "the address is too long; shorten it"),
    (errors.LimitRequestHeaders, 431, "the request has too many or too long headers; send fewer"),
    (errors.ExpectationFailed, 417, "this server meets no expectations but 100-continue; leave Expect out"),
    (errors.UnsupportedTransferCoding, 501, "send the body plain or chunked"),
    (errors.ParseException, 400, "this is not an HTTP request that can be read; send it again"),
]


def refusal_of(error: Exception) -> tuple[int, str]:
    """Return the status and the detail for an error outside the application."""
    return next(
        ((status, detail) for kind, status, detail in _REFUSALS if isinstance(error, kind)),
        _FAILED,
    )


def refusal(status: int, detail: str) -> bytes:
    """Return a complete response with a problem document, which closes the connection."""
    body = problems.document(status, detail)
    headers = [
        ("Connection", "close"),
        ("Content-Type", "application/problem+json"),
        ("Content-Length", str(len(body))),
        ("Cache-Control", "no-store"),
        *plain_headers(secure=False),
    ]
    lines = [
        f"HTTP/1.1 {status} {HTTP_STATUS_CODES[status]}",
        *(f"{name}: {value}" for name, value in headers),
    ]
    return "\r\n".join([*lines, "", ""]).encode("latin-1") + body
