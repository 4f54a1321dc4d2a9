"""The command line as a whole: unknown commands, and counts with and without their flag."""

from __future__ import annotations

import json

import pytest

from tests.command import run_command, run_line


@pytest.mark.parametrize(
    ("typed", "meant"), [("surveys", "survey"), ("estimates", "estimate"), ("reprot", "report")]
)
def test_for_an_unknown_command_the_nearest_is_suggested(
    capsys: pytest.CaptureFixture[str], typed: str, meant: str
) -> None:
    status, _, err = run_command(capsys, typed)
    assert status == 2
    assert err == f"hushpoll: no command '{typed}'; did you mean '{meant}'?\n"


def test_an_unknown_command_without_a_near_one_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    status, _, err = run_command(capsys, "xyzzy")
    assert status == 2
    assert "xyzzy" in err
    assert "did you mean" not in err


@pytest.mark.parametrize("counts", [["580,420"], ["580", "420"], ["--counts", "580,420"]])
def test_counts_follow_their_flag_or_come_alone(
    capsys: pytest.CaptureFixture[str], counts: list[str]
) -> None:
    status, out, _ = run_line(capsys, f"estimate {' '.join(counts)} --mechanism warner --truth 3/4 --json")
    assert status == 0
    assert json.loads(out)["estimates"][0]["estimate"] == pytest.approx(0.34)


@pytest.mark.parametrize(
    ("counts", "problem"),
    [([], "--counts is missing"), (["580,420", "--counts", "580,420"], "counts stand twice")],
)
def test_missing_and_doubled_counts_are_named(
    capsys: pytest.CaptureFixture[str], counts: list[str], problem: str
) -> None:
    status, _, err = run_command(capsys, "estimate", *counts, "--mechanism", "warner", "--truth", "3/4")
    assert status == 2
    assert problem in err
