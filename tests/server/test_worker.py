"""What gunicorn itself answers, and clients that fall silent."""

from __future__ import annotations

import json
import socket
import urllib.request
from collections.abc import Callable

import pytest

from tests.serving import LiveServer


@pytest.fixture
def backend() -> str:
    """The worker does not know about databases."""
    return "sqlite"


def ask(port: int, request: bytes) -> tuple[int, dict[str, str], bytes]:
    """Send raw bytes and read the whole answer."""
    with socket.create_connection(("127.0.0.1", port), timeout=60) as connection:
        connection.sendall(request)
        answer = b""
        while part := connection.recv(65536):
            answer += part
    head, _, body = answer.partition(b"\r\n\r\n")
    status, *lines = head.decode().split("\r\n")
    return int(status.split()[1]), dict(line.split(": ", 1) for line in lines), body


def test_requests_that_cannot_be_read_get_our_headers_and_nothing_repeated(
    live: Callable[..., LiveServer],
) -> None:
    server = live()
    for request, expected in [
        (b"CANARY nonsense\r\n\r\n", 400),
        (b"GET /" + b"canary" * 2000 + b" HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", 414),
        (b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nX: " + b"canary" * 4000 + b"\r\n\r\n", 431),
        (b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nTransfer-Encoding: canary\r\n\r\n", 501),
        (b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nca nary: 1\r\n\r\n", 400),
    ]:
        status, headers, body = ask(server.port, request)
        assert status == expected
        assert headers["Content-Type"] == "application/problem+json"
        assert "default-src 'none'" in headers["Content-Security-Policy"]
        assert headers["X-Content-Type-Options"] == "nosniff"
        assert json.loads(body)["status"] == expected
        assert b"canary" not in body.lower()
    assert "canary" not in server.log.read_text().lower()


def test_silent_clients_do_not_hold_the_server(live: Callable[..., LiveServer]) -> None:
    """More clients than threads stop in the middle of a header or a body; the next one is answered all the same."""
    server = live(THREADS="4", SILENT_SECONDS="1")
    half = b"POST /api/surveys/" + b"0" * 64 + b"/reports HTTP/1.1\r\nHost: 127.0.0.1\r\n"
    body = b"POST /api/surveys/x/reports/batch HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 99\r\n\r\n{"
    silent = [socket.create_connection(("127.0.0.1", server.port)) for _ in range(12)]
    try:
        for number, connection in enumerate(silent):
            connection.sendall(half if number % 2 else body)
        with urllib.request.urlopen(f"{server.url}/healthz", timeout=45) as answer:
            assert answer.status == 200
    finally:
        for connection in silent:
            connection.close()
