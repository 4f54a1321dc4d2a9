"""The ledger of `hushpoll answer`: what the surveys of a server add up to on this machine; and groups by link."""

from __future__ import annotations

import json
import math
import re
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hushpoll_client import Survey
from hushpoll_client.delivery.ledger import Ledger
from hushpoll_server.collect.invitations import invite

from tests.server.cli import test_answer
from tests.server.cli.test_answer import Server, stored
from tests.vectors.surveys import survey, yes_no

backend, server, run = test_answer.backend, test_answer.server, test_answer.run
Run = Callable[..., tuple[int, str, str]]
WARNER = {"name": "warner", "truth": "3/4"}


def publish(server: Server, title: str, **more: Any) -> Survey:
    mechanism = more.pop("mechanism", WARNER)
    published = Survey.from_draft(survey(yes_no("cheated", mechanism), title=title) | more)
    server.store.publish(published)
    return published


def link(server: Server, survey: Survey, tail: str = "") -> str:
    return f"{server.url}/s/{survey.hash}#{survey.hash}{tail}"


@pytest.fixture
def yes(tmp_path: Path) -> str:
    path = tmp_path / "yes.json"
    path.write_text('{"cheated": "Yes"}')
    return str(path)


def test_renamed_copies_add_up_before_any_question(server: Server, run: Run, yes: str) -> None:
    """Three copies of one question under three titles: each costs ln 3 again, and the command says so."""
    copies = [publish(server, f"Copy {number}") for number in range(3)]
    assert "answered here before" not in run(link(server, copies[0]), "--answers", yes)[2]
    assert "before this one: 1. Total epsilon" in run(link(server, copies[1]), "--answers", yes)[2]
    err = run(link(server, copies[2]), "--answers", yes)[2]
    total = math.ceil(100 * 3 * math.log(3)) / 100
    assert (
        f"Surveys of this server answered here before this one: 2. Total epsilon with this one: {total:g}; odds change"
        " at most 27-fold."
    ) in err
    again = run(link(server, copies[2]), "--answers", yes)[2]
    assert "answered here before" not in again, "the same report again costs nothing"


def test_the_ledger_holds_no_answer_and_names_no_survey(
    server: Server, run: Run, yes: str, tmp_path: Path
) -> None:
    survey = publish(server, "Named nowhere")
    assert run(link(server, survey), "--answers", yes)[0] == 0
    path = tmp_path / "state" / "hushpoll" / "ledger.json"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    ledger = json.loads(path.read_text())
    assert set(ledger) == {"salt", "entries"}
    ((server_hash, digest, epsilon, day),) = ledger["entries"]
    assert re.fullmatch("[0-9a-f]{16}", server_hash)
    assert re.fullmatch("[0-9a-f]{16}", digest)
    assert float(epsilon) == pytest.approx(math.log(3))
    assert re.fullmatch(r"\d{4}-\d\d-\d\d", day)
    assert survey.hash[:8] not in path.read_text()
    assert "127.0.0.1" not in path.read_text()


def test_clear_empties_the_ledger_and_a_shared_device_has_none(
    server: Server, run: Run, yes: str, tmp_path: Path
) -> None:
    path = tmp_path / "state" / "hushpoll" / "ledger.json"
    kiosk = publish(server, "Kiosk", settings={"kiosk": True})
    assert run(link(server, kiosk), "--answers", yes)[0] == 0
    hurried = publish(server, "Quick exit", look={"quick_exit": True})
    assert run(link(server, hurried), "--answers", yes)[0] == 0
    assert not path.exists()
    first, second = publish(server, "First"), publish(server, "Second")
    run(link(server, first), "--answers", yes)
    assert path.exists()
    assert run(link(server, first), "--clear")[1] == "This machine is cleared.\n"
    assert not path.exists()
    assert "answered here before" not in run(link(server, second), "--answers", yes)[2]


def test_other_servers_do_not_count(server: Server, tmp_path: Path) -> None:
    ledger, survey = Ledger(tmp_path), publish(server, "Elsewhere")
    ledger.note("https://a.example", survey)
    other = publish(server, "Another")
    assert ledger.added("https://b.example", other) == ""
    assert "before this one: 1" in ledger.added("https://a.example", other)


def test_a_survey_without_a_limit_makes_the_total_unbounded(server: Server, tmp_path: Path) -> None:
    ledger = Ledger(tmp_path)
    ledger.note("s", publish(server, "Bounded"))
    decoy = {"name": "or_poll", "decoy": "Brittany?", "decoy_counts": [412, 1000]}
    sentence = ledger.added("s", publish(server, "Unbounded", mechanism=decoy))
    assert "Total epsilon with this one: unbounded; no limit to how much the odds change." in sentence


@pytest.mark.parametrize(
    "damage",
    ["", "null", "[]", "{", '{"salt":1,"entries":[]}', '{"entries":[[1]],"salt":"' + "0" * 32 + '"}'],
)
def test_a_damaged_ledger_does_not_stop_an_answer(
    server: Server, run: Run, yes: str, tmp_path: Path, damage: str
) -> None:
    path = tmp_path / "state" / "hushpoll" / "ledger.json"
    path.parent.mkdir(parents=True)
    path.write_text(damage)
    assert run(link(server, publish(server, "Damaged")), "--answers", yes)[0] == 0
    assert len(json.loads(path.read_text())["entries"]) == 1


# Groups ---------------------------------------------------------------------------------------------------------


def test_the_group_is_named_and_sent(server: Server, run: Run, yes: str) -> None:
    survey = publish(server, "Groups", groups=["Science", "Arts"])
    status, out, err = run(link(server, survey, ".g1"), "--answers", yes, "--json")
    assert status == 0
    assert "Your answers will be counted with: Arts" in err
    sent = json.loads(out)
    assert sent["group"] == 1
    assert [record[0] for record in stored(server, survey).values()] == [1]
    assert "new" in json.loads(run(link(server, survey, ".g1"), "--json")[1])


@pytest.mark.parametrize("tail", ["", ".g2", ".code"])
def test_a_link_without_a_group_is_refused(server: Server, run: Run, yes: str, tail: str) -> None:
    survey = publish(server, "Groups", groups=["Science", "Arts"])
    status, _, err = run(link(server, survey, tail), "--answers", yes)
    assert status == 2
    assert "the link names no group of this survey; ask for the link of your group; nothing was sent" in err
    assert stored(server, survey) == {}


def test_a_code_of_another_group_is_refused_before_any_question(server: Server, run: Run, yes: str) -> None:
    survey = publish(server, "Invited", groups=["Science", "Arts"], settings={"invitation": True})
    (code,) = invite(server.store, survey.hash, 1, 0)
    status, _, err = run(link(server, survey, f".g1.{code}"), "--answers", yes)
    assert (status, "this invitation is unknown here" in err) == (2, True)
    assert run(link(server, survey, f".g0.{code}"), "--answers", yes)[0] == 0
