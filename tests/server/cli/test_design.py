"""`hushpoll design` and `survey check --profile`: output, exit status, one line on stderr for bad input."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
import termios
from pathlib import Path
from typing import Any

import pytest
from hushpoll_client import Channel

from tests.client.documents import exam
from tests.command import run_command, run_line


@pytest.fixture(autouse=True)
def own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))


def test_a_design_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, err = run_line(capsys, "design --options 5 --epsilon 1 --target cumulative --json")
    assert (status, err) == (0, "")
    design = json.loads(out)
    assert {
        "options",
        "epsilon",
        "target",
        "n_variance",
        "bound",
        "outcomes",
        "candidates",
        "channel",
    } <= set(design)
    assert design["n_variance"] == pytest.approx(10.4452, rel=1e-5)
    assert design["bound"] <= design["n_variance"]
    assert design["epsilon"] <= 1
    assert design["channel"]["form"] == "columns"
    assert Channel.from_json(design["channel"]).outcomes == design["outcomes"] <= 64
    assert design["candidates"][0]["respondents"] == 1.0
    assert [sorted(candidate) for candidate in design["candidates"]] == [
        ["mechanism", "n_variance", "respondents"]
    ] * len(design["candidates"])


def test_the_worst_case_is_a_table(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ("--options", "21", "--epsilon", "1", "--target", "mean", "--worst", "--json")
    _, out, _ = run_command(capsys, "design", *arguments)
    design = json.loads(out)
    assert design["channel"]["form"] == "matrix"
    assert 3.98 < design["bound"] <= design["n_variance"] < 1.01 * 3.991


def test_a_design_for_people(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, err = run_line(capsys, "design --options 5 --epsilon 1 --target cumulative")
    assert (status, err) == (0, "")
    assert "the best possible" in out
    assert out.index("designed ") < out.index("krr")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--options", "1", "--epsilon", "1", "--target", "mean"), "options is 1"),
        (("--options", "2000", "--epsilon", "1", "--target", "mean"), "options is 2000"),
        (("--options", "5", "--epsilon", "0", "--target", "mean"), "epsilon must be greater than 0"),
        (("--options", "5", "--epsilon", "lots", "--target", "mean"), "epsilon must be a number"),
        (("--options", "5", "--epsilon", "1", "--target", "median"), "median"),
        (("--options", "5", "--epsilon", "1", "--target", "shares", "--worst"), "for the mean only"),
        (("--options", "5", "--epsilon", "1"), "--target"),
    ],
)
def test_bad_requests(capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], message: str) -> None:
    status, out, err = run_command(capsys, "design", *arguments)
    assert (status, out) == (2, "")
    assert message in err
    assert err.count("\n") == 1


def on_a_terminal(folder: Path, *arguments: str) -> tuple[dict[str, Any], bytes]:
    """Run a command whose errors go to a terminal: what it prints, and what the terminal shows."""
    command = [sys.executable, "-c", "from hushpoll_client.cli import main; main()", *arguments]
    there, here = pty.openpty()
    termios.tcsetwinsize(here, (24, 80))  # in a terminal without a width nothing can be shown
    # Nothing is kept in a fresh folder, so that there is something to wait for.
    environment = os.environ | {"XDG_CACHE_HOME": str(folder), "DATA": str(folder)}
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=here, check=True, env=environment)
    os.set_blocking(there, False)
    try:
        progress = os.read(there, 10_000)
    except BlockingIOError:
        progress = b""
    os.close(here)
    os.close(there)
    return json.loads(done.stdout), progress


def test_progress_shows_on_a_terminal_only(tmp_path: Path) -> None:
    arguments = ("design", "--options", "9", "--epsilon", "0.77", "--target", "cumulative", "--json")
    design, progress = on_a_terminal(tmp_path, *arguments)
    assert design["options"] == 9
    assert b"Closing the gap" in progress


def test_the_plan_of_a_survey_shows_that_it_searches(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An epsilon between the slider's stops has no channel at hand; with twenty bins the search takes half a minute."""
    age = {"id": "age", "kind": "number", "text": "Age?", "min": 0, "max": 99, "step": 1}
    question = age | {"mechanism": {"epsilon": "0.77", "target": "distribution", "bins": 9}}
    file = tmp_path / "ages.json"
    file.write_text(json.dumps({"hushpoll": 1, "title": "Ages", "questions": [question]}))
    arguments = ("plan", "--survey", str(file), "--n", "1000", "--json")
    plan, progress = on_a_terminal(tmp_path / "fresh", *arguments)
    assert plan["questions"][0]["id"] == "age"
    assert b"Closing the gap" in progress
    # What was found before is at hand: there is nothing to wait for, and nothing to show.
    assert on_a_terminal(tmp_path / "fresh", *arguments) == (plan, b"")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "another"))
    status, out, err = run_command(capsys, *arguments)
    assert (status, json.loads(out), err) == (0, plan, "")


def test_profiles_are_printed_on_request(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    file = tmp_path / "exam.json"
    file.write_text(json.dumps(exam()))
    status, out, _ = run_command(capsys, "survey", "check", str(file), "--profile", "--json")
    assert status == 0
    checked = json.loads(out)
    for question in checked["questions"]:
        epsilons, deltas = zip(*question["profile"], strict=True)
        assert epsilons[0] == 0
        assert list(deltas) == sorted(deltas, reverse=True)
        if question["epsilon"] is not None:
            assert deltas[-1] == 0
    assert len(checked["profile"]) == len(checked["questions"][0]["profile"])
    assert all(0 <= delta <= 1 for _, delta in checked["profile"])
    _, out, _ = run_command(capsys, "survey", "check", str(file), "--json")
    assert "profile" not in json.loads(out)
    _, out, _ = run_command(capsys, "survey", "check", str(file), "--profile")
    assert "epsilon and delta" in out
