"""`hushpoll design` and `survey check --profile`: output, exit status, one line on stderr for bad input."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
import termios
from pathlib import Path

import pytest
from hushpoll_client import Channel
from hushpoll_server.cli import main

from tests.client.documents import exam


@pytest.fixture(autouse=True)
def own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))


def run(capsys: pytest.CaptureFixture[str], *args: str) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as caught:
        main(list(args))
    output = capsys.readouterr()
    assert isinstance(caught.value.code, int)
    return caught.value.code, output.out, output.err


def test_a_design_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, err = run(
        capsys, "design", "--options", "5", "--epsilon", "1", "--target", "cumulative", "--json"
    )
    assert (status, err) == (0, "")
    made = json.loads(out)
    assert {
        "options",
        "epsilon",
        "target",
        "n_variance",
        "bound",
        "outcomes",
        "candidates",
        "channel",
    } <= set(made)
    assert made["n_variance"] == pytest.approx(10.4452, rel=1e-5)
    assert made["bound"] <= made["n_variance"]
    assert made["epsilon"] <= 1
    assert made["channel"]["form"] == "columns"
    assert Channel.from_json(made["channel"]).outcomes == made["outcomes"] <= 64
    assert made["candidates"][0]["respondents"] == 1.0
    assert [sorted(one) for one in made["candidates"]] == [["mechanism", "n_variance", "respondents"]] * len(
        made["candidates"]
    )


def test_the_worst_case_is_a_table(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ("--options", "21", "--epsilon", "1", "--target", "mean", "--worst", "--json")
    _, out, _ = run(capsys, "design", *arguments)
    made = json.loads(out)
    assert made["channel"]["form"] == "matrix"
    assert 3.98 < made["bound"] <= made["n_variance"] < 1.01 * 3.991


def test_a_design_for_people(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, err = run(capsys, "design", "--options", "5", "--epsilon", "1", "--target", "cumulative")
    assert (status, err) == (0, "")
    assert "the best possible" in out
    assert out.index("designed ") < out.index("krr")


@pytest.mark.parametrize(
    ("arguments", "said"),
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
def test_bad_requests(capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], said: str) -> None:
    status, out, err = run(capsys, "design", *arguments)
    assert (status, out) == (2, "")
    assert said in err
    assert err.count("\n") == 1


def test_progress_shows_on_a_terminal_only(tmp_path: Path) -> None:
    command = [sys.executable, "-c", "from hushpoll_server.cli import main; main()", "design"]
    command += ["--options", "9", "--epsilon", "0.77", "--target", "cumulative", "--json"]
    there, here = pty.openpty()
    termios.tcsetwinsize(here, (24, 80))  # in a terminal without a width nothing can be shown
    # Nothing is kept in a fresh folder, so that there is something to wait for.
    fresh = os.environ | {"XDG_CACHE_HOME": str(tmp_path), "DATA": str(tmp_path)}
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=here, check=True, env=fresh)
    os.set_blocking(there, False)
    shown = os.read(there, 10_000)
    os.close(here)
    os.close(there)
    assert json.loads(done.stdout)["options"] == 9
    assert b"Closing the gap" in shown


def test_profiles_are_printed_on_request(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    file = tmp_path / "exam.json"
    file.write_text(json.dumps(exam()))
    status, out, _ = run(capsys, "survey", "check", str(file), "--profile", "--json")
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
    _, out, _ = run(capsys, "survey", "check", str(file), "--json")
    assert "profile" not in json.loads(out)
    _, out, _ = run(capsys, "survey", "check", str(file), "--profile")
    assert "epsilon and delta" in out
