"""gunicorn's thread worker, with an end to waiting and with our own words for what it cannot read.

A phone that loses its network in the middle of a request says nothing any more; without a limit it would hold a thread
for good, and a few dozen of them the whole server. Requests that gunicorn refuses before the application sees them get
a problem document with the same headers as everything else, and nothing of the request is repeated.
"""

from __future__ import annotations

import socket
import struct
from typing import Any

from gunicorn.http import errors  # type: ignore[import-untyped]
from gunicorn.workers.gthread import ThreadWorker  # type: ignore[import-untyped]
from werkzeug.http import HTTP_STATUS_CODES

from hushpoll_server import problems
from hushpoll_server.config import Config
from hushpoll_server.security import plain_headers

_SILENT_SECONDS = Config.from_environment().silent_seconds

_FAILED = "something went wrong on the server; send the same request again later"
_REFUSALS: list[tuple[type[Exception], int, str]] = [
    (errors.LimitRequestLine, 414, "the address is too long; shorten it"),
    (errors.LimitRequestHeaders, 431, "the request has too many or too long headers; send fewer"),
    (errors.ExpectationFailed, 417, "this server meets no expectations but 100-continue; leave Expect out"),
    (errors.UnsupportedTransferCoding, 501, "send the body plain or chunked"),
    (errors.ParseException, 400, "this is not an HTTP request that can be read; send it again"),
]


class Worker(ThreadWorker):  # type: ignore[misc]
    """Runs the application in threads."""

    def handle(self, conn: Any) -> Any:
        """Handle a connection; whoever is silent for too long in the middle of a request is cut off."""
        # An option of the socket itself: it outlasts gunicorn's switching between waiting and not waiting.
        limit = struct.pack("ll", _SILENT_SECONDS, 0)
        conn.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, limit)
        conn.sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, limit)
        return super().handle(conn)

    def handle_error(self, req: Any, client: Any, addr: Any, exc: Exception) -> None:
        """Answer a request that could not be read, or that failed outside the application."""
        status, detail = next(
            ((status, detail) for kind, status, detail in _REFUSALS if isinstance(exc, kind)),
            (500, _FAILED),
        )
        if (
            "Response" in type(exc).__name__
        ):  # a header that the application tried to send: not the client's fault
            status, detail = 500, _FAILED
        if status == 500:
            self.log.exception("a request could not be answered")
        else:
            self.log.warning("a request could not be read")
        try:
            client.sendall(refusal(status, detail))
        except OSError:
            self.log.debug("nobody is there to read the refusal")


def refusal(status: int, detail: str) -> bytes:
    """Write a whole response: a problem document, then the connection ends."""
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
