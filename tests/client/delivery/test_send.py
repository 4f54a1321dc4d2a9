"""Fetching surveys and sending reports, against a small server in this process."""

from __future__ import annotations

import json
import threading
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hushpoll_client import Report, SubmitError, Survey, SurveyError
from hushpoll_client.delivery.link import Link
from hushpoll_client.delivery.send import fetch_survey, submit

SURVEY = Survey.from_draft(
    {
        "hushpoll": 1,
        "title": "Exam",
        "questions": [
            {"id": "cheated", "kind": "yes_no", "text": "?", "mechanism": {"name": "warner", "truth": "3/4"}}
        ],
    }
)
INVITED = Survey.from_draft({**SURVEY.as_document(published=False), "settings": {"invitation": True}})
HASH = SURVEY.hash
VECTORS = Path(__file__).parents[2] / "vectors"


@dataclass
class FakeServer:
    """Serves one document; answers reports with the statuses given: 0 hangs up, -200 sends a page instead."""

    document: bytes = SURVEY.canonical
    statuses: list[int] = field(default_factory=list)
    bodies: list[bytes] = field(default_factory=list)
    paths: list[str] = field(default_factory=list)
    url: str = ""


@pytest.fixture
def server() -> Iterator[FakeServer]:
    fake = FakeServer()

    class Handler(BaseHTTPRequestHandler):
        def log_message(self, format: str, *args: object) -> None:
            pass

        def answer(self, status: int, body: bytes = b"") -> None:
            self.send_response(status)
            if status == 307:
                self.send_header("Location", "/elsewhere")
            if status in (429, 503):
                self.send_header("Retry-After", "7")
            if status == 200 and body == b"<html>":
                self.send_header("Content-Type", "text/html")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def do_GET(self) -> None:
            fake.paths.append(self.path)
            self.answer(200 if self.path == f"/api/surveys/{HASH}" else 404, fake.document)

        def do_POST(self) -> None:
            fake.paths.append(self.path)
            fake.bodies.append(self.rfile.read(int(self.headers["Content-Length"])))
            assert self.headers["Content-Type"] == "application/json"
            status = fake.statuses.pop(0) if fake.statuses else 201
            if status == 0:
                self.close_connection = True
                return
            if status == -200:
                return self.answer(200, b"<html>")
            self.answer(status, json.dumps({"detail": "reports[0]: \x1b[31mwrong"}).encode())

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as http:
        thread = threading.Thread(target=http.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        thread.start()
        fake.url = f"http://127.0.0.1:{http.server_port}"
        yield fake
        http.shutdown()
        thread.join()


def test_the_survey_is_checked_against_the_link(server: FakeServer) -> None:
    link = Link.parse(f"{server.url}/s/{HASH}#{HASH}")
    assert fetch_survey(link).hash == HASH
    server.document = SURVEY.canonical.replace(b"Exam", b"exam")
    with pytest.raises(SurveyError, match="hash is not the one in the link"):
        fetch_survey(link)


def test_a_survey_above_the_clients_cap_is_refused(server: FakeServer) -> None:
    with pytest.raises(SurveyError, match=r"total epsilon of one person is above 1\b"):
        fetch_survey(Link.parse(f"{server.url}/s/{HASH}"), cap="1")


def test_an_unknown_survey_and_a_silent_server_are_explained(server: FakeServer) -> None:
    with pytest.raises(SubmitError, match="no survey at this address"):
        fetch_survey(Link.parse(f"{server.url}/s/{'0' * 64}"))
    with pytest.raises(SubmitError, match="does not answer"):
        fetch_survey(Link.parse(f"http://127.0.0.1:9/s/{HASH}"), timeout=5)


def test_the_same_bytes_are_sent_until_they_arrive(server: FakeServer) -> None:
    report = Report.new(SURVEY, [1])
    server.statuses = [503, 0, 201]
    waits: list[float] = []
    link = Link.parse(f"{server.url}/s/{HASH}")
    assert submit(link, SURVEY, report, sleep=waits.append) == 201
    assert server.bodies == [report.to_bytes()] * 3
    assert waits == [7.0, 1.0]


def test_the_number_of_bytes_tells_nothing(server: FakeServer) -> None:
    """Every kind, block and group, with a code and without: padding gives all reports of a survey one length."""
    surveys = {
        entry["hash"]: Survey.from_published(entry["published"].encode()) for entry in vectors("surveys.json")
    }
    coins, codes = np.random.default_rng(1), ("", ".CODE")
    lengths: dict[tuple[str, str], set[int]] = defaultdict(set)
    unpadded: dict[tuple[str, str], set[int]] = defaultdict(set)
    for vector in vectors("reports.json"):
        survey = surveys[vector["survey"]]
        for code in codes[: 1 + survey.settings.invitation]:
            link = Link.parse(f"{server.url}/s/{survey.hash}#{survey.hash}{code}")
            for _ in range(6):
                report = Report.new(
                    survey,
                    vector["device_answers"],
                    coins.bytes,
                    vector.get("ranks"),
                    vector.get("group"),
                )
                submit(link, survey, report)
                lengths[survey.hash, code].add(len(server.bodies[-1]))
                unpadded[survey.hash, code].add(len(server.bodies[-1].rstrip(b" ")))
                assert Report.parse(survey, server.bodies[-1]) == (report, code[1:] or None)
    assert {len(sizes) for sizes in lengths.values()} == {1}
    assert sum(len(sizes) > 1 for sizes in unpadded.values()) >= 5


def vectors(name: str) -> list[dict[str, Any]]:
    """Read the vectors that both languages replay."""
    return json.loads((VECTORS / name).read_text(encoding="ascii"))


def test_an_invitation_is_sent_only_where_it_is_asked_for(server: FakeServer) -> None:
    report = Report.new(SURVEY, [1])
    link = Link.parse(f"{server.url}/s/{HASH}#{HASH}.code")
    submit(link, SURVEY, report)
    submit(link, INVITED, report)
    assert server.bodies == [report.to_bytes(), report.to_bytes("code")]


@pytest.mark.parametrize(
    ("status", "message"),
    [
        (403, "invitation"),
        (404, "does not know"),
        (409, "another report"),
        (410, "closed"),
        (422, r"reports\[0\]:  \[31mwrong"),
        (413, "refused"),
    ],
)
def test_a_refusal_is_final_and_explained(server: FakeServer, status: int, message: str) -> None:
    server.statuses = [status]
    with pytest.raises(SubmitError, match=message):
        submit(Link.parse(f"{server.url}/s/{HASH}"), SURVEY, Report.new(SURVEY, [1]))
    assert len(server.bodies) == 1


def test_a_report_that_the_server_had_already_has_arrived(server: FakeServer) -> None:
    server.statuses = [200]
    report = Report.new(SURVEY, [1])
    assert submit(Link.parse(f"{server.url}/s/{HASH}"), SURVEY, report) == 200
    assert server.bodies == [report.to_bytes()]


def test_a_page_of_another_server_is_not_a_receipt(server: FakeServer) -> None:
    server.statuses = [-200, 201]
    report = Report.new(SURVEY, [1])
    assert submit(Link.parse(f"{server.url}/s/{HASH}"), SURVEY, report, sleep=lambda _: None) == 201
    assert server.bodies == [report.to_bytes()] * 2


def test_a_report_follows_no_redirect(server: FakeServer) -> None:
    server.statuses = [307, 307]
    with pytest.raises(SubmitError, match="kept on this machine"):
        submit(
            Link.parse(f"{server.url}/s/{HASH}"),
            SURVEY,
            Report.new(SURVEY, [1]),
            attempts=2,
            sleep=lambda _: None,
        )
    assert "/elsewhere" not in server.paths


def test_an_error_of_the_server_is_no_refusal(server: FakeServer) -> None:
    server.statuses = [500, 201]
    link = Link.parse(f"{server.url}/s/{HASH}")
    report = Report.new(SURVEY, [1])
    assert submit(link, SURVEY, report, sleep=lambda seconds: None) == 201
    assert len(server.bodies) == 2
