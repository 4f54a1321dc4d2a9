"""Every status of the contract, in the contract's order, on both databases."""

from __future__ import annotations

import gzip
from collections.abc import Callable

import pytest
from flask import Flask
from flask.testing import FlaskClient
from hushpoll_client import Report, Survey
from hushpoll_client.limits import MAX_OPTIONS, MAX_QUESTIONS
from hushpoll_client.survey.group import MAX_GROUPS
from hushpoll_server import create_app
from hushpoll_server.collect import closing, health, invitations
from hushpoll_server.collect.intake import LARGEST_REPORT
from hushpoll_server.config import Config
from hushpoll_server.store.surveys import Store
from sqlalchemy.exc import OperationalError

from tests.serving import make_survey, new_report, post, post_batch, sealed_records, used_codes


def problem(response, status: int) -> dict:
    """Check a problem document and return it."""
    assert response.status_code == status, response.data
    assert response.content_type == "application/problem+json"
    body = response.get_json()
    assert body["status"] == status
    assert body["detail"]
    assert body["title"]
    return body


def other_content(report: Report) -> bytes:
    return Report(report.id, (1 - report.reports[0], *report.reports[1:])).to_bytes()


def batch(client: FlaskClient, survey: Survey, lines: list[bytes], **options):
    return post_batch(client, survey, b"\n".join(lines) + b"\n", **options)


def test_a_report_is_stored_once(client: FlaskClient, survey: Survey, store: Store) -> None:
    report = new_report(survey).to_bytes()
    first, again = post(client, survey, report), post(client, survey, report)
    assert (first.status_code, again.status_code) == (201, 200)
    assert (first.get_json()["new"], again.get_json()["new"]) == (True, False)
    assert store.count(survey.hash) == 1


def test_spaces_are_no_other_content(client: FlaskClient, survey: Survey, store: Store) -> None:
    """Older clients send none, newer ones as many as hide the length; both may send the same report."""
    report = new_report(survey)
    plain = report.to_bytes()
    assert post(client, survey, plain).status_code == 201
    for again in (report.to_body(survey), plain + b"   ", plain + b"\r\n\t ", b" " + plain):
        assert post(client, survey, again).status_code == 200
    problem(post(client, survey, other_content(report) + b"   "), 409)
    problem(post(client, survey, plain + b" x"), 422)
    assert store.count(survey.hash) == 1


def test_the_document_is_served_byte_for_byte_and_for_ever(client: FlaskClient, survey: Survey) -> None:
    response = client.get(f"/api/surveys/{survey.hash}")
    assert response.data == survey.canonical
    assert response.content_type == "application/json"
    assert "immutable" in response.headers["Cache-Control"]
    etag = response.headers["ETag"]
    assert client.get(f"/api/surveys/{survey.hash}", headers={"If-None-Match": etag}).status_code == 304
    small = client.get(f"/api/surveys/{survey.hash}", headers={"Accept-Encoding": "gzip"})
    assert small.headers["Content-Encoding"] == "gzip"
    assert gzip.decompress(small.data) == survey.canonical


@pytest.mark.parametrize("name", ["0" * 64, "zz", "A" * 64, "%00", "../etc"])
def test_unknown_surveys_are_404(client: FlaskClient, survey: Survey, name: str) -> None:
    problem(client.get(f"/api/surveys/{name}"), 404)
    problem(client.post(f"/api/surveys/{name}/reports", data=b"x"), 404)


def test_same_id_with_other_content_is_409_until_sealed(
    client: FlaskClient, survey: Survey, store: Store
) -> None:
    reports = [new_report(survey) for _ in range(50)]
    for report in reports:
        assert post(client, survey, report.to_bytes()).status_code == 201
    problem(post(client, survey, other_content(reports[0])), 409)
    closing.close(store, survey.hash)
    # Nothing is left to compare with: the id alone is known.
    assert post(client, survey, other_content(reports[0])).status_code == 200
    assert post(client, survey, reports[1].to_bytes()).status_code == 200
    assert store.count(survey.hash) == 50


@pytest.mark.parametrize(
    ("body", "item"),
    [
        (b"", "body"),
        (b"[]", "body"),
        (b"null", "body"),
        (b'{"id": 1}', "id"),
        (b"\xff\xfe", "body"),
        (b"{", "body"),
        (b'{"id":"%s","reports":[0,0,0],"x":1}' % (b"a" * 32), "body"),
        (b'{"id":"%s","reports":[0,0]}' % (b"a" * 32), "reports"),
        (b'{"id":"%s","reports":[0,0,0,0]}' % (b"a" * 32), "reports"),
        (b'{"id":"%s","reports":[0,4,0]}' % (b"a" * 32), 'reports[1] ("reason")'),
        (b'{"id":"%s","reports":[0,-1,0]}' % (b"a" * 32), 'reports[1] ("reason")'),
        (b'{"id":"%s","reports":[true,0,0]}' % (b"a" * 32), 'reports[0] ("cheated")'),
        (b'{"id":"%s","reports":["0",0,0]}' % (b"a" * 32), 'reports[0] ("cheated")'),
        (b'{"id":"%s","reports":[0,0,null]}' % (b"a" * 32), 'reports[2] ("tax")'),
        (b'{"id":"%s","reports":[0,0,1.0]}' % (b"a" * 32), "body"),
        (b'{"id":"%s","reports":[0,0,1e0]}' % (b"a" * 32), "body"),
        (b'{"id":"%s","reports":[0,0,NaN]}' % (b"a" * 32), "body"),
        (b'{"id":"%s","reports":[0,0,Infinity]}' % (b"a" * 32), "body"),
        (b'{"id":"%s","reports":[0,0,18446744073709551616]}' % (b"a" * 32), 'reports[2] ("tax")'),
        (b'{"id":"%s","reports":[0,0,%s]}' % (b"a" * 32, b"9" * 5000), "body"),
        (b'{"id":"%s","id":"%s","reports":[0,0,0]}' % (b"a" * 32, b"b" * 32), "body"),
        (b'{"id":"%s","reports":[0,0,0]}' % (b"A" * 32), "id"),
        (b'{"id":"%s","reports":[0,0,0]}' % (b"a" * 31), "id"),
        (b'{"id":"%s","reports":[0,0,0]}' % (b"a" * 33), "id"),
        (b'{"id":"%s\\u0000","reports":[0,0,0]}' % (b"a" * 31), "id"),
        (b'{"id":"\\ud800","reports":[0,0,0]}', "body"),
        (b'{"id":"%s","reports":[0,0,0],"invitation":"x"}' % (b"a" * 32), "invitation"),
        (b'{"id":"%s","reports":[[[[[0]]]]]}' % (b"a" * 32), "body"),
        (b"[" * 30000 + b"]" * 30000, "body"),
        (b'{"id":"%s","reports":[0,0,0]} {}' % (b"a" * 32), "body"),
        (b'\xef\xbb\xbf{"id":"%s","reports":[0,0,0]}' % (b"a" * 32), "body"),
    ],
)
@pytest.mark.parametrize("backend", ["sqlite"])
def test_invalid_reports_are_422_and_say_which_item(
    client: FlaskClient, survey: Survey, store: Store, body: bytes, item: str
) -> None:
    assert problem(post(client, survey, body), 422)["item"] == item
    assert store.count(survey.hash) == 0


@pytest.mark.parametrize(
    "kind",
    [
        "",
        "text/plain",
        "application/x-www-form-urlencoded",
        "application/json; charset=latin-1",
        "application/jsonx",
    ],
)
@pytest.mark.parametrize("backend", ["sqlite"])
def test_other_types_are_415(client: FlaskClient, survey: Survey, kind: str) -> None:
    problem(post(client, survey, new_report(survey).to_bytes(), content_type=kind), 415)


@pytest.mark.parametrize("backend", ["sqlite"])
def test_compressed_bodies_are_415(client: FlaskClient, survey: Survey) -> None:
    headers = {"Content-Encoding": "gzip"}
    problem(post(client, survey, new_report(survey).to_bytes(), headers=headers), 415)


@pytest.mark.parametrize("kind", ["application/json; charset=utf-8", 'Application/JSON;charset="UTF-8"'])
@pytest.mark.parametrize("backend", ["sqlite"])
def test_the_content_type_may_name_utf8(client: FlaskClient, survey: Survey, kind: str) -> None:
    assert post(client, survey, new_report(survey).to_bytes(), content_type=kind).status_code == 201


@pytest.mark.parametrize("backend", ["sqlite"])
def test_too_large_is_413(client: FlaskClient, survey: Survey) -> None:
    largest = new_report(survey).to_bytes().ljust(64 * 1024)
    assert post(client, survey, largest).status_code == 201
    problem(post(client, survey, largest + b" "), 413)
    problem(post(client, survey, b" " * 5_000_000), 413)


def test_the_longest_report_of_the_largest_survey_fits() -> None:
    choice = {"kind": "choice", "text": "?", "options": [str(option) for option in range(MAX_OPTIONS)]}
    mechanism = {"name": "subset", "epsilon": "0.1", "size": 400}
    questions = [{"id": f"q{n}", **choice, "mechanism": mechanism} for n in range(MAX_QUESTIONS)]
    groups = [f"Group {number}" for number in range(MAX_GROUPS)]
    largest = Survey.from_draft({"hushpoll": 1, "title": "Large", "questions": questions, "groups": groups})
    report = Report("0" * 32, ("0" * (MAX_OPTIONS // 4),) * MAX_QUESTIONS, group=0)
    assert MAX_QUESTIONS * MAX_OPTIONS // 4 < len(report.to_body(largest, "c" * 64)) <= LARGEST_REPORT


def _refusals(survey: Survey) -> dict[str, Callable[[FlaskClient], object]]:
    """Requests that break several rules at once: the first rule in the contract's order must be the one named."""
    path = f"/api/surveys/{survey.hash}/reports"
    huge = b" " * 70_000
    return {
        "404 before 415": lambda c: problem(
            c.post(f"/api/surveys/{'0' * 64}/reports", data=b"x", content_type="text/plain"), 404
        ),
        "415 before 413": lambda c: problem(c.post(path, data=huge, content_type="text/plain"), 415),
        "413 before 422": lambda c: problem(c.post(path, data=huge, content_type="application/json"), 413),
        "422 before 410": lambda c: problem(c.post(path, data=b"{}", content_type="application/json"), 422),
    }


def test_the_order_of_the_checks(client: FlaskClient, store: Store) -> None:
    survey = make_survey(invitation=True)
    store.publish(survey)
    code, spare = invitations.invite(store, survey.hash, 2)
    report = new_report(survey)
    assert post(client, survey, report.to_bytes(code)).status_code == 201
    # 403 while open: missing, unknown, spent.
    for wrong in (None, "no-such-code", code):
        problem(post(client, survey, new_report(survey).to_bytes(wrong)), 403)
    # A known id comes before the invitation, spent or missing, and its content is still compared.
    assert post(client, survey, report.to_bytes(code)).status_code == 200
    assert post(client, survey, report.to_bytes()).status_code == 200
    problem(post(client, survey, other_content(report)), 409)
    # Closing seals: afterwards only the id is known. 410 comes before 403.
    closing.close(store, survey.hash)
    assert post(client, survey, report.to_bytes(code)).status_code == 200
    problem(post(client, survey, new_report(survey).to_bytes(spare)), 410)
    problem(post(client, survey, new_report(survey).to_bytes()), 410)
    for check in _refusals(survey).values():
        check(client)
    assert store.count(survey.hash) == 1


def test_a_batch_is_stored_as_a_whole(client: FlaskClient, survey: Survey, store: Store) -> None:
    lines = [new_report(survey).to_bytes() for _ in range(120)]
    first = batch(client, survey, lines)
    assert (first.status_code, first.get_json()) == (201, {"received": 120, "new": 120})
    more = [*lines, new_report(survey).to_bytes()]
    assert batch(client, survey, more).get_json() == {"received": 121, "new": 1}
    again = batch(client, survey, more)
    assert (again.status_code, again.get_json()) == (200, {"received": 121, "new": 0})
    assert store.count(survey.hash) == 121


def test_a_batch_with_one_bad_line_stores_nothing(client: FlaskClient, survey: Survey, store: Store) -> None:
    stored_report = new_report(survey)
    assert post(client, survey, stored_report.to_bytes()).status_code == 201
    lines = [new_report(survey).to_bytes() for _ in range(5)]
    assert problem(batch(client, survey, [*lines, b"{}"]), 422)["line"] == 6
    assert problem(batch(client, survey, [lines[0], b"", lines[1]]), 422)["line"] == 2
    assert problem(batch(client, survey, [*lines, other_content(stored_report)]), 409)["line"] == 6
    assert store.count(survey.hash) == 1
    # The same lines are still new: nothing of the refused batches was kept, in memory neither.
    assert batch(client, survey, lines).get_json() == {"received": 5, "new": 5}


def test_an_id_twice_in_one_batch(client: FlaskClient, survey: Survey, store: Store) -> None:
    report = new_report(survey)
    assert batch(client, survey, [report.to_bytes()] * 2).get_json() == {"received": 2, "new": 1}
    doubled = new_report(survey)
    problem(batch(client, survey, [doubled.to_bytes(), other_content(doubled)]), 409)
    assert store.count(survey.hash) == 1


def test_limits_of_a_batch(client: FlaskClient, survey: Survey, store: Store) -> None:
    problem(batch(client, survey, []), 422)
    assert problem(batch(client, survey, [b"{}"] * 10_001), 422)["line"] == 10_001
    problem(batch(client, survey, [b" " * 4_300_000]), 413)
    problem(batch(client, survey, [b"{}"], content_type="application/json"), 415)
    lines = [new_report(survey).to_bytes() for _ in range(10_000)]
    assert batch(client, survey, lines).get_json() == {"received": 10_000, "new": 10_000}
    # All but the minimum, until the survey is closed.
    assert len(sealed_records(store, survey.hash)) == 9_950 * store.record_format(survey.hash).size


def test_batches_spend_invitations_as_a_whole(client: FlaskClient, store: Store) -> None:
    survey = make_survey(invitation=True)
    store.publish(survey)
    codes = invitations.invite(store, survey.hash, 3)
    lines = [new_report(survey).to_bytes(code) for code in codes]
    problem(batch(client, survey, [*lines, new_report(survey).to_bytes(codes[0])]), 403)
    assert used_codes(store, survey.hash) == (3, 0)
    assert batch(client, survey, lines).status_code == 201
    assert used_codes(store, survey.hash) == (3, 3)


def test_reports_are_rate_limited_only_if_configured(config: Config, store: Store, survey: Survey) -> None:
    from dataclasses import replace

    limited = create_app(replace(config, reports_per_minute=3))
    client = limited.test_client()
    statuses = [post(client, survey, new_report(survey).to_bytes()).status_code for _ in range(5)]
    assert statuses == [201, 201, 201, 429, 429]
    refused = post(client, survey, new_report(survey).to_bytes())
    problem(refused, 429)
    assert int(refused.headers["Retry-After"]) >= 1
    other = post(client, survey, new_report(survey).to_bytes(), environ_base={"REMOTE_ADDR": "192.0.2.9"})
    assert other.status_code == 201
    lines = [new_report(survey).to_bytes() for _ in range(4)]
    secure = {"base_url": "https://localhost"}
    late = batch(client, survey, lines, environ_base={"REMOTE_ADDR": "192.0.2.9"}, **secure)
    problem(late, 429)  # every line counts, or a batch would be the way around the limit
    first = batch(client, survey, lines, environ_base={"REMOTE_ADDR": "192.0.2.10"}, **secure)
    assert "at most 3 reports a minute" in problem(first, 429)["detail"]
    assert store.count(survey.hash) == 4
    limited.extensions["hushpoll"].close()


def test_methods_and_paths_outside_the_api(client: FlaskClient, survey: Survey) -> None:
    refused = client.put(f"/api/surveys/{survey.hash}/reports")
    problem(refused, 405)
    assert "POST" in refused.headers["Allow"]
    problem(client.get("/nowhere"), 404)
    page = client.get("/nowhere", headers={"Accept": "text/html,*/*;q=.8"})
    assert page.status_code == 404
    assert page.content_type.startswith("text/html")
    unknown = client.get(f"/s/{'0' * 64}", headers={"Accept": "text/html"})
    assert "No survey with this hash is published here; check the address." in unknown.text


def test_health(client: FlaskClient, app: Flask, store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    assert client.get("/healthz").get_json() == {"status": "ok"}

    def down() -> None:
        raise OperationalError("SELECT 1", {}, Exception("gone"))

    monkeypatch.setattr(health, "FRESH_SECONDS", 0.0)
    monkeypatch.setattr(store, "write", down)
    refused = client.get("/healthz")
    problem(refused, 503)
    problem(client.get("/readyz", headers={"Accept": "text/html"}), 503)
    assert client.get("/livez").get_json() == {"status": "ok"}
    assert int(refused.headers["Retry-After"]) > 0
