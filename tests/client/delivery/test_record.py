"""Records of every form, packed and read back."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from hushpoll_client import (
    Report,
    Survey,
    mechanisms,
)
from hushpoll_client.delivery.record import RecordFormat

TICKS = {
    "id": "used",
    "kind": "multiple",
    "text": "Which?",
    "options": [*"abcd"],
    "mechanism": {"epsilon": 1},
}
SCALE_OF_5 = {"id": "mood", "kind": "scale", "text": "How often?", "points": 5}


def draft(*questions: dict[str, Any]) -> dict[str, Any]:
    return {"hushpoll": 1, "title": "Kinds", "questions": list(questions)}


def read(*questions: dict[str, Any]) -> Survey:
    survey = Survey.from_draft(draft(*questions))
    assert Survey.from_published(survey.canonical, survey.hash) == survey
    return survey


def surveys_of_every_form() -> Iterator[Survey]:
    yield read(
        {"id": "q", "kind": "choice", "text": "?", "options": [*"abcdefghij"], "mechanism": {"epsilon": 1}}
    )
    yield read(TICKS, {"id": "few", **TICKS, "at_most": 1} | {"id": "few"})
    yield read(
        SCALE_OF_5 | {"mechanism": {"name": "krr", "epsilon": 1}}, TICKS | {"mechanism": {"epsilon": 3}}
    )


def test_records_of_every_form_are_read_back() -> None:
    for survey in surveys_of_every_form():
        record = RecordFormat.of(survey)
        answers = [() if question.kind.several else 0 for question in survey.questions]
        for _ in range(50):
            report = Report.new(survey, answers)
            assert record.holds(report.reports)
            assert record.unpack(record.pack(report.reports)) == report.reports
            assert Report.parse(survey, report.to_bytes()) == (report, None)
            match = record.pattern.fullmatch(report.to_bytes())
            assert match is not None
            assert record.read(match[2]) == report.reports


def test_impossible_reports_are_refused() -> None:
    bitmap = mechanisms.subset(6, 1, 2).device.wire
    assert bitmap.legal("03")
    for report in ("3", "003", "01", "07", "C0", "c0", "g3", 3, None, "0 3", "03\n"):
        assert not bitmap.legal(report)
    joint = mechanisms.sampled([2, 3, 2], 1, 2).device
    legal = [report for report in range(100) if joint.wire.legal(report)]
    assert legal == sorted(joint.chances((0, 0, 0)))
    assert len(legal) == 6 + 4 + 6
