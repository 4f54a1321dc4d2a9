"""The state that an earlier version left on a device: its reports are sent as they are, and its ledger counts."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hushpoll_client import Survey, asked_questions
from hushpoll_client.delivery.ledger import Ledger
from hushpoll_client.delivery.memory import Memory

# Written on 18 November 2026: a survey with a block, groups and a bitmap, and three surveys answered before it.
STATE: dict[str, Any] = json.loads((Path(__file__).parent / "waiting_state.json").read_text("ascii"))
SURVEY = Survey.from_published(STATE["document"].encode())


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, text in STATE["files"].items():
        (tmp_path / name).write_text(text, "ascii")
    return tmp_path


def test_a_waiting_report_of_an_earlier_version_is_sent_unchanged(folder: Path) -> None:
    memory = Memory(folder)
    record = memory.recall(SURVEY)
    assert record is not None
    assert record.report is not None
    assert record.report.to_body(SURVEY).decode() == STATE["body"]
    assert memory.keep(SURVEY, record.report) == record
    memory.sent(SURVEY, record.id)
    assert sorted(path.name for path in folder.iterdir()) == [f"{SURVEY.hash}.json", "ledger.json"]


def test_the_questions_drawn_by_an_earlier_version_are_asked_again(folder: Path) -> None:
    ranks = Memory(folder).ranks(SURVEY)
    assert ranks == tuple(STATE["ranks"])
    assert [question.id for question in asked_questions(SURVEY, ranks)] == ["b", "c", "town"]


def test_the_ledger_of_an_earlier_version_counts(folder: Path) -> None:
    ledger = Ledger(folder)
    assert ledger.added(STATE["server"], SURVEY) == STATE["added"]
    assert ledger.added("http://example.com", SURVEY) == STATE["added_com"]
    assert ledger.added("http://example.net", SURVEY) == ""
    ledger.note("http://example.com", SURVEY)
    entries = json.loads((folder / "ledger.json").read_text("ascii"))["entries"]
    assert entries[:3] == json.loads(STATE["files"]["ledger.json"])["entries"]
    assert len(entries) == 4
