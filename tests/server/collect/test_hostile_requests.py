"""Hostile requests: never a 5xx, never a bad row. Several thousand always, more than 100,000 with --long."""

from __future__ import annotations

import json
import os
from collections import Counter

import numpy as np
import pytest
from flask.testing import FlaskClient
from hushpoll_client import Report, ReportError, Survey
from hushpoll_server.collect import closing
from hushpoll_server.collect.intake import Intake
from hushpoll_server.problems import Problem
from hushpoll_server.store.surveys import Store

from tests.serving import bearer, make_survey, new_report, sealed_records

SEED = 20_260_101
ODD_VALUES: list[bytes] = [
    b"null", b"true", b"false", b"-0", b"-1", b"0", b"1", b"00", b"01", b"+1", b".5", b"1.", b"1.0", b"1e0", b"1E400",
    b"-1e-400", b"4", b"255", b"256", b"65536", b"9007199254740993", b"18446744073709551616", b"9" * 400, b"9" * 5000,
    b"NaN", b"-NaN", b"Infinity", b"-Infinity", b'""', b'"0"', b'"\\u0000"', b'"\\ud800"', b'"\\udc00\\ud800"',
    b'"\xff"', b'"\xed\xa0\x80"', b"[]", b"{}", b"[[]]", b"[" * 500 + b"]" * 500, b'{"a":' * 200 + b"1" + b"}" * 200,
    b"'1'", b'"\\x"', b"undefined", b"0x1", b"1_0", b"\xc0\x80", b"\xef\xbb\xbf1", b"/*1*/1", b"1,", b",1", b"\x00",
]  # fmt: skip
KINDS = [
    "application/json",
    "application/json;charset=utf-8",
    "text/plain",
    "",
    "application/x-ndjson",
    "a/b;c=d",
    "\x00",
]


class Hostile:
    """Requests that are nearly right, wrong in one or several ways; seeded, so that a failure can be repeated."""

    def __init__(self, survey: Survey, seed: int) -> None:
        self.survey = survey
        self.dice = np.random.default_rng(seed)
        self.ids = [os.urandom(16).hex().encode() for _ in range(40)]

    def pick(self, options: list[bytes]) -> bytes:
        return options[int(self.dice.integers(len(options)))]

    def value(self) -> bytes:
        if self.dice.random() < 0.7:
            return str(int(self.dice.integers(-1, 6))).encode()
        return self.pick(ODD_VALUES)

    def legal(self) -> tuple[int, ...]:
        return tuple(int(self.dice.integers(question.channel.outcomes)) for question in self.survey.questions)

    def identity(self) -> bytes:
        if self.dice.random() < 0.8:
            return b'"' + self.pick(self.ids) + b'"'
        return self.pick(
            [*ODD_VALUES, b'"' + b"A" * 32 + b'"', b'"' + b"a" * 31 + b'"', b'"' + b"a" * 33 + b'"']
        )

    def body(self) -> bytes:
        if self.dice.random() < 0.4:
            return self.bent(Report(self.pick(self.ids).decode(), self.legal()).to_bytes())
        reports = b",".join(self.value() for _ in range(int(self.dice.choice([3, 3, 3, 3, 0, 2, 4, 40]))))
        parts = [b'"id":' + self.identity(), b'"reports":[' + reports + b"]"]
        if self.dice.random() < 0.15:
            key = self.pick([b'"invitation"', b'"id"', b'"reports"', b'"x"', b'""', b"id", b'"\\u0069d"'])
            parts.append(key + b":" + self.pick(ODD_VALUES))
        self.dice.shuffle(parts)
        return self.bent(b"{" + b",".join(parts) + b"}")

    def bent(self, body: bytes) -> bytes:
        """Return the body, at times cut, doubled, flipped or padded."""
        luck = self.dice.random()
        position = int(self.dice.integers(len(body)))
        if luck < 0.06:
            return body[:position]
        if luck < 0.12:
            return body[:position] + bytes([int(self.dice.integers(256))]) + body[position + 1 :]
        if luck < 0.15:
            return body * 2
        if luck < 0.18:
            return self.pick(ODD_VALUES)
        if luck < 0.2:
            return b" " * int(self.dice.integers(70_000)) + body
        return body

    def request(self) -> tuple[str, dict[str, object]]:
        hashes = [self.survey.hash] * 12 + ["0" * 64, "x", self.survey.hash.upper()]
        path = f"/api/surveys/{hashes[int(self.dice.integers(len(hashes)))]}/reports"
        kind = KINDS[0] if self.dice.random() < 0.9 else KINDS[int(self.dice.integers(len(KINDS)))]
        if self.dice.random() < 0.05:
            lines = [self.body() for _ in range(int(self.dice.integers(1, 6)))]
            return path + "/batch", {"data": b"\n".join(lines), "content_type": "application/x-ndjson"}
        return path, {"data": self.body(), "content_type": kind}


def _attack(client: FlaskClient, store: Store, requests: int, seed: int) -> None:
    survey = make_survey()
    store.publish(survey)
    hostile = Hostile(survey, seed)
    statuses: Counter[int] = Counter()
    new = 0
    for number in range(requests):
        path, options = hostile.request()
        response = client.post(path, headers=bearer(store), **options)
        statuses[response.status_code] += 1
        assert response.status_code < 500, (number, path, options, response.data)
        if response.status_code >= 400:
            assert response.content_type == "application/problem+json", (number, response.data)
            assert json.loads(response.data)["detail"]
        elif response.status_code == 201:
            new += response.get_json()["new"]
    assert {200, 201, 404, 409, 415, 422} <= set(statuses), statuses
    closing.close(store, survey.hash)
    form = store.record_format(survey.hash)
    records = sealed_records(store, survey.hash)
    rows = [form.unpack(records[at : at + form.size]) for at in range(0, len(records), form.size)]
    assert len(rows) == store.count(survey.hash) == new
    assert all(form.holds(row) for row in rows)


@pytest.mark.parametrize("requests", [1_000, pytest.param(3_000, marks=pytest.mark.long)])
def test_hostile_requests(client: FlaskClient, store: Store, requests: int) -> None:
    _attack(client, store, requests, SEED)


@pytest.mark.long
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("run", range(4))
def test_a_hundred_thousand_hostile_requests(client: FlaskClient, store: Store, run: int) -> None:
    _attack(client, store, 15_000, SEED + 1 + run)


# fmt: off
PATHS = [
    "/", "/healthz", "/api", "/api/", "/api/surveys", "/api/openapi.json", "/api/surveys/%ff", "/static/", "/s/x",
    "/s/%00", "/static/../config.py", "/%2e%2e/", "//evil.example", "/design/", "/\u202e", "/s/" + "a" * 3000,
]
# fmt: on


@pytest.mark.parametrize("backend", ["sqlite"])
@pytest.mark.parametrize(
    "method", ["GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "PATCH", "TRACE", "BREW"]
)
def test_odd_methods_and_paths(client: FlaskClient, survey: Survey, method: str) -> None:
    odd = {
        "Accept": "\x00;q=x",
        "Cookie": "session=x; a=\xff",
        "Range": "bytes=9-1",
        "If-None-Match": '"',
        "X-Forwarded-For": "x" * 900,
    }
    for path in [
        *PATHS,
        f"/api/surveys/{survey.hash}",
        f"/api/surveys/{survey.hash}/reports",
        f"/s/{survey.hash}",
    ]:
        response = client.open(path, method=method, headers=odd, data=b"\x00=\xff&a")
        assert response.status_code < 500, (path, response.data)
        response.close()


@pytest.mark.parametrize("backend", ["sqlite"])
def test_the_quick_parser_agrees_with_the_strict_one(store: Store, survey: Survey) -> None:
    """What our own clients send is read without a JSON parser: accepted must be the same, with the same result."""
    intake = Intake(store.config, store, lambda *_: [])
    published = store.published(survey.hash)
    assert published is not None
    hostile = Hostile(survey, SEED)
    good = [new_report(survey).to_bytes() for _ in range(300)]
    agreed = Counter[bool]()
    for body in [*good, *(hostile.body() for _ in range(8_000))]:
        try:
            strict = Report.parse(survey, body)[0]
        except ReportError:
            strict = None
        try:
            quick = intake._read(published, body)
        except Problem:
            # Only the server refuses an invitation to a survey without invitations.
            assert strict is None or b"invitation" in body, body
            agreed[False] += 1
            continue
        assert strict is not None, body
        digest = store.id_digest(survey.hash, bytes.fromhex(strict.id))
        assert (quick.digest, published.format.unpack(quick.record)) == (digest, strict.reports)
        agreed[True] += 1
    assert agreed[True] > 500
    assert agreed[False] > 500
