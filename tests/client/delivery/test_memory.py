"""Reports in the memory of the Python client: kept once, for their owner only."""

from __future__ import annotations

import json
import stat
from pathlib import Path

import pytest
from hushpoll_client import Report, SubmitError, Survey
from hushpoll_client.delivery.memory import Kept, Memory, state_folder

SURVEY = Survey.from_draft(
    {
        "hushpoll": 1,
        "title": "Exam",
        "questions": [
            {"id": "cheated", "kind": "yes_no", "text": "?", "mechanism": {"name": "warner", "truth": "3/4"}}
        ],
    }
)
HASH = SURVEY.hash


def test_a_report_is_stored_once_and_readable_by_its_owner_only(tmp_path: Path) -> None:
    memory = Memory(tmp_path / "state")
    assert memory.recall(SURVEY) is None
    first, second = Report.new(SURVEY, [1]), Report.new(SURVEY, [0])
    assert memory.keep(SURVEY, first) == Kept(first.id, first)
    (file,) = memory.folder.iterdir()
    waiting = json.loads(file.read_bytes())
    assert waiting == {"id": first.id, "reports": list(first.reports), "state": "waiting"}
    assert memory.keep(SURVEY, second) == Kept(first.id, first)
    memory.sent(SURVEY, first.id)
    assert memory.recall(SURVEY) == Kept(first.id, None)
    # What arrived is not kept, nor what older releases kept of it.
    file.write_text(json.dumps({**waiting, "state": "sent"}))
    assert memory.recall(SURVEY) == Kept(first.id, None)
    assert memory.keep(SURVEY, second) == Kept(first.id, None)
    (file,) = memory.folder.iterdir()
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(memory.folder.stat().st_mode) == 0o700
    assert json.loads(file.read_bytes()) == {"id": first.id, "state": "sent"}
    assert memory.forget(HASH)
    assert not memory.forget(HASH)
    assert memory.recall(SURVEY) is None


@pytest.mark.parametrize(
    "damage",
    [
        b"",
        b"{}",
        b"[]",
        b'{"id":"00","reports":[0],"state":"sent"}',
        b'{"id":"' + b"0" * 32 + b'","reports":[0]}',
    ],
)
def test_a_damaged_memory_never_leads_to_a_second_draw(tmp_path: Path, damage: bytes) -> None:
    (tmp_path / f"{HASH}.json").write_bytes(damage)
    with pytest.raises(SubmitError, match="remove it only if nothing was sent"):
        Memory(tmp_path).recall(SURVEY)


def test_the_state_folder_follows_the_users_settings(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    assert state_folder() == tmp_path / "hushpoll"
    monkeypatch.setenv("XDG_STATE_HOME", "relative")
    assert state_folder() == Path.home() / ".local" / "state" / "hushpoll"
