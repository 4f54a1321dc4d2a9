"""`hushpoll plan`: the contract's JSON, the text for people, one line for bad input."""

from __future__ import annotations

import json

import pytest
from hushpoll_analysis.planning.margins import plan
from hushpoll_client.cli import main


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as stopped:
        main(["plan", *arguments])
    printed = capsys.readouterr()
    assert isinstance(stopped.value.code, int)
    return stopped.value.code, printed.out, printed.err


def test_json_has_the_names_of_the_contract(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, err = run(capsys, "--mechanism", "warner", "--epsilon", "1", "--margin", ".05", "--json")
    assert (status, err) == (0, "")
    got = json.loads(out)
    assert got == plan("warner", epsilon=1, margin=0.05).to_dict()
    assert got["n"] == 1799
    contract = {
        "n",
        "epsilon",
        "margin",
        "margin_sampling_only",
        "margin_trusted_curator",
        "recorded_as_chosen",
    }
    assert contract | {"odds_factor"} <= set(got)


@pytest.mark.parametrize(
    ("arguments", "keywords"),
    [
        (
            ["krr", "--options", "5", "--n", "2000", "--margin", ".05"],
            {"options": 5, "n": 2000, "margin": 0.05},
        ),
        (["forced", "--forced", "1/6,1/12", "--n", "500"], {"forced": ["1/6", "1/12"], "n": 500}),
        (
            ["warner", "--truth", "3/4", "--n", "500", "--share", ".1"],
            {"truth": "3/4", "n": 500, "share": 0.1},
        ),
        (["or_poll", "--decoy-counts", "412,1000", "--n", "500"], {"decoy_counts": (412, 1000), "n": 500}),
        (
            [
                "unrelated",
                "--truth",
                ".7",
                "--decoy-share",
                ".3",
                "--epsilon",
                "2",
                "--n",
                "500",
                "--level",
                ".9",
            ],
            {"truth": ".7", "decoy_share": ".3", "epsilon": 2, "n": 500, "level": 0.9},
        ),
        (["crosswise", "--decoy-share", "1/4", "--margin", ".05"], {"decoy_share": "1/4", "margin": 0.05}),
    ],
)
def test_every_mechanism(
    capsys: pytest.CaptureFixture[str], arguments: list[str], keywords: dict[str, object]
) -> None:
    status, out, _ = run(capsys, "--mechanism", *arguments, "--json")
    assert status == 0
    assert json.loads(out) == plan(arguments[0], **keywords).to_dict()
    status, text, _ = run(capsys, "--mechanism", *arguments)
    assert status == 0
    assert "points" in text
    assert "trusted curator" in text


def test_a_hopeless_plan_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    _, text, _ = run(capsys, "--mechanism", "warner", "--epsilon", "0.00001", "--n", "10")
    assert "nothing is learnt" in text


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--mechanism", "warner", "--epsilon", "1"], "two of epsilon, n and margin"),
        (["--mechanism", "warner", "--epsilon", "nan", "--n", "10"], "epsilon is nan"),
        (["--mechanism", "warner", "--epsilon", "1", "--margin", "5"], "0.05, not 5"),
        (["--mechanism", "warner", "--truth", "1/2", "--n", "10"], "no information"),
        (["--mechanism", "or_poll", "--decoy-counts", "412", "--n", "10"], "412,1000"),
        (["--mechanism", "forced", "--forced", "1/6,x", "--n", "10"], "number"),
        (["--mechanism", "nobody", "--n", "10"], "--mechanism"),
        (["--mechanism", "krr", "--options", "x", "--n", "10"], "--options"),
        ([], "--mechanism"),
    ],
)
def test_bad_input_is_one_line(
    capsys: pytest.CaptureFixture[str], arguments: list[str], message: str
) -> None:
    status, out, err = run(capsys, *arguments)
    assert status == 2
    assert out == ""
    assert len(err.strip().splitlines()) == 1
    assert message in err
