"""Logs name code positions, never values: nothing that a client sends is in a log, at any level or error."""

from __future__ import annotations

import http.client
import logging
import socket
from collections.abc import Callable

import pytest
from hushpoll_client import Report
from hushpoll_server.logs import PlacesOnly

from tests.serving import LONGEST, LiveServer, first_line, make_survey, new_report

CANARY = "canary7f3a"


def test_no_log_holds_what_was_sent(live: Callable[..., LiveServer]) -> None:
    server = live(LOG_LEVEL="debug", SEAL_EVERY="1")
    survey = make_survey()
    server.store.publish(survey, minimum_batch=5)
    reports = [new_report(survey) for _ in range(8)]

    def send(path: str, body: bytes, **headers: str) -> int:
        connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=LONGEST)
        connection.request("POST", path, body, {"Content-Type": "application/json", **headers})
        status = connection.getresponse().status
        connection.close()
        return status

    path = f"/api/surveys/{survey.hash}/reports"
    mark = {"User-Agent": CANARY, "X-Forwarded-For": CANARY, "Cookie": f"session={CANARY}", "Referer": CANARY}
    for report in reports:
        assert send(f"{path}?q={CANARY}", report.to_bytes(), **mark) == 201
    assert send(path, Report(reports[0].id, (1, 3, 1)).to_bytes(), **mark) in (200, 409)
    assert send(path, b'{"id": "%s"}' % CANARY.encode(), **mark) == 422
    assert send(path, CANARY.encode() * 9000, **mark) == 413
    # What makes the server itself fail must not be quoted either.
    with server.store.write() as tx:
        tx.exec_driver_sql("ALTER TABLE inbox RENAME TO elsewhere")
    failing = new_report(survey)
    assert send(path, failing.to_bytes(), **mark) in (500, 503)
    with server.store.write() as tx:
        tx.exec_driver_sql("ALTER TABLE elsewhere RENAME TO inbox")
    assert send(path, failing.to_bytes(), **mark) == 201
    # Nor what the web server cannot even read: neither it nor whose it is.
    for raw in (f"GET /{CANARY}\x01 HTTP/9.9\r\n\r\n", f"GET / HTTP/1.1\r\nExpect: {CANARY}\r\n\r\n"):
        with socket.create_connection(("127.0.0.1", server.port), timeout=LONGEST) as connection:
            connection.sendall(raw.encode())
            assert first_line(connection).startswith(b"HTTP/1.1 4")
    server.terminate()
    log = server.log.read_text()
    assert "not stored" in log
    assert "could not be read" in log
    assert survey.hash not in log, "a line for each request would be a list of arrivals"
    assert "127.0.0.1" not in log.replace(f"127.0.0.1:{server.port}", "")
    assert CANARY not in log
    for report in [*reports, failing]:
        assert report.id not in log
        assert repr(bytes.fromhex(report.id))[2:-1] not in log


@pytest.mark.parametrize("backend", ["sqlite"])
def test_exceptions_are_written_without_their_message(caplog: pytest.LogCaptureFixture, backend: str) -> None:
    def choke(value: str) -> int:
        return int(value)

    try:
        try:
            choke(CANARY)
        except ValueError as error:
            raise RuntimeError(CANARY) from error
    except RuntimeError as error:
        record = logging.LogRecord(
            "x", logging.ERROR, __file__, 1, "failed", None, (type(error), error, error.__traceback__)
        )
    text = PlacesOnly("%(message)s").format(record)
    assert CANARY not in text
    assert "RuntimeError" in text
    assert "ValueError" in text
    assert "in choke" in text
