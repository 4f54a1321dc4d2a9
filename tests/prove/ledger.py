"""What a report is, said again in a few lines, and a ledger of what was sent, to hold answers and rows against."""

from __future__ import annotations

import json
import re
import threading
from collections import Counter
from typing import Any, NamedTuple, NoReturn

from hushpoll_client import Survey

from tests.serving import LiveServer

from .crowd import recognised, stored

# A byte could hold more: 56 of 256 values are not reports.
OUTCOMES = 200
WIDTH = 3


class Sent(NamedTuple):
    """A report found in the bytes that were sent."""

    id: str
    reports: tuple[int, ...]


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len({key for key, _ in pairs}) < len(pairs):
        raise ValueError("a key appears twice")
    return dict(pairs)


def _none(_: str) -> NoReturn:
    raise ValueError("no whole number")


_DECODER = json.JSONDecoder(object_pairs_hook=_once, parse_float=_none, parse_constant=_none)


def _judge(value: object) -> Sent | None:
    if not isinstance(value, dict) or set(value) != {"id", "reports"}:
        return None
    name, reports = value["id"], value["reports"]
    if not isinstance(name, str) or not re.fullmatch("[0-9a-f]{32}", name):
        return None
    if not isinstance(reports, list) or len(reports) != WIDTH:
        return None
    legal = all(type(report) is int and 0 <= report < OUTCOMES for report in reports)
    return Sent(name, tuple(reports)) if legal else None


def read(body: bytes) -> Sent | None:
    """Read a body as a whole; None where it is not a report."""
    try:
        return _judge(_DECODER.decode(body.decode()))
    except (ValueError, RecursionError):
        return None


def within(data: bytes) -> list[Sent]:
    """Find every report that begins somewhere in these bytes, whatever stands around it."""
    text, reports = data.decode("latin-1"), []
    for start in re.finditer(r"\{", text):
        try:
            report = _judge(_DECODER.raw_decode(text, start.start())[0])
        except (ValueError, RecursionError):
            continue
        if report:
            reports.append(report)
    return reports


class Answer(NamedTuple):
    """The statuses of all answers on a connection, and whether it broke."""

    statuses: list[int]
    is_cut: bool


class Ledger:
    """What was sent and what was answered, to hold the store against at the end."""

    def __init__(self) -> None:
        self.statuses: Counter[int] = Counter()
        self.problems: list[str] = []
        self.possible: dict[str, tuple[int, ...]] = {}
        self.acknowledged: set[str] = set()
        # Their connection broke: what became of them was not told.
        self.unknown: set[str] = set()
        self.lock = threading.Lock()

    def note(self, request: bytes, bodies: list[bytes], answer: Answer) -> None:
        """Keep what a request could have stored, and what was said to it."""
        sent = {report.id: report.reports for data in (*bodies, request) for report in within(data)}
        with self.lock:
            self.statuses.update(answer.statuses)
            self.possible.update(sent)
            # 501 and 505 are what HTTP says to a coding or a version that nobody knows.
            wrong = [status for status in answer.statuses if status >= 500 and status not in (501, 505)]
            if 201 in answer.statuses:
                self.acknowledged |= set(sent)
                wrong += [] if sent else [201]
            if answer.is_cut:
                self.unknown |= set(sent)
            self.problems += [f"{status} for {request[:300]!r}" for status in wrong]

    def expect(self, request: bytes, body: bytes, answer: Answer) -> None:
        """Hold the answer to a well-formed request against what its body is."""
        expected = [422 if read(body) is None else 201]
        if answer.statuses != expected and not (answer.is_cut and not answer.statuses):
            with self.lock:
                self.problems.append(f"{answer.statuses} and not {expected} for {request[:300]!r}")

    def check(self, server: LiveServer, survey: Survey) -> int:
        """Compare the store with what was sent: every row and every id, each once; give their number."""
        store, form = server.store, server.store.record_format(survey.hash)
        rows = stored(store, survey)
        bad = sum(any(value >= OUTCOMES for value in form.unpack(row)) for row in rows)
        assert not bad, f"{bad} of {len(rows)} rows are not reports"
        name_of = {store.id_digest(survey.hash, bytes.fromhex(name)): name for name in self.possible}
        digests = recognised(store, survey)
        strange = [digest for digest in digests if digest not in name_of]
        assert not strange, f"{len(strange)} of {len(digests)} rows are of reports that nobody sent"
        names = {name_of[digest] for digest in digests}
        assert len(names) == len(digests), "an id is there twice"
        assert names >= self.acknowledged, f"{len(self.acknowledged - names)} acknowledged reports are lost"
        silent = names - self.acknowledged - self.unknown
        assert not silent, f"{len(silent)} reports were stored without a word"
        assert rows == sorted(form.pack(self.possible[name]) for name in names), "a row is not what was sent"
        return len(rows)
