"""`hushpoll estimate` from outside: the contract's JSON, readable text, one line for every mistake."""

from __future__ import annotations

import json
import math
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hushpoll_analysis import estimate
from hushpoll_client import mechanisms

from tests.command import run_command

Run = Any


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    return partial(run_command, capsys, "estimate")


CASES = [
    ("warner", "--truth 3/4", "580,420", mechanisms.warner(truth="3/4")),
    ("warner", "--epsilon 1", "580,420", mechanisms.warner(epsilon=1)),
    ("forced", "--forced 1/6,1/6", "560,440", mechanisms.forced(["1/6", "1/6"])),
    ("krr", "--epsilon 1", "620,500,470,410", mechanisms.krr(options=4, epsilon=1)),
    ("or_poll", "--decoy-share 0.412", "400,600", mechanisms.or_poll(decoy_share=0.412)),
    ("or_poll", "--decoy-counts 4,10 --epsilon 1.5", "400,600", mechanisms.or_poll(decoy_counts=(4, 10), epsilon=1.5)),
    ("unrelated", "--truth .7 --decoy-share 3/10", "560,240", mechanisms.unrelated(truth=0.7, decoy_share=0.3)),
    ("crosswise", "--decoy-share 1/4", "105,205", mechanisms.crosswise(decoy_share=0.25)),
    ("triangular", "--decoy-share 1/4", "220,180", mechanisms.triangular(decoy_share=0.25)),
    ("mangat", "--truth 0.7", "240,260", mechanisms.mangat(truth=0.7)),
    ("kuk", "--red 4/5,1/5", "360,240", mechanisms.kuk(0.8, 0.2)),
    ("kuk", "--red 4/5,1/5 --draws 3", "50,100,120,70", mechanisms.kuk(0.8, 0.2, 3)),
    ("geometric", "--epsilon 2", "310,240,180,150,120", mechanisms.geometric(options=5, epsilon=2)),
    ("exponential", "--epsilon 2", "310,240,180,150,120", mechanisms.exponential(options=5, epsilon=2)),
    ("one_bit", "--epsilon 2", "310,240", mechanisms.one_bit(options=2, epsilon=2)),
    ("square_wave", "--epsilon 1", "31,24,18,15,12,40,30", mechanisms.square_wave(options=5, epsilon=1)),
    ("subset", "--epsilon .5", "310,240,180,150,120", mechanisms.subset(options=5, epsilon=0.5)),
    ("padded", "--epsilon 2 --at-most 2", "31,24,18,15,12,40", mechanisms.padded(options=4, epsilon=2, at_most=2)),
    ("sampled", "--epsilon 2 --ask 1", "31,24,18,15,12,40", mechanisms.sampled([2, 2, 2], 2, 1)),
]  # fmt: skip


@pytest.mark.parametrize(("name", "flags", "counts", "mechanism"), CASES)
def test_json_is_the_librarys_result(name: str, flags: str, counts: str, mechanism: Any, run: Run) -> None:
    code, out, err = run("--mechanism", name, *flags.split(), "--counts", counts, "--json")
    assert (code, err) == (0, "")
    value = json.loads(out)
    expected = estimate([int(count) for count in counts.split(",")], mechanism).to_dict()
    assert value == json.loads(json.dumps(expected))
    assert value["mechanism"] == name
    assert {"option", "reported", "estimate", "se", "low", "high", "shown", "se_privacy"} <= set(
        value["estimates"][0]
    )


def test_channel_file_takes_probabilities_or_weights(tmp_path: Path, run: Run) -> None:
    counts = ("--counts", "240,260,100", "--json")
    results = []
    half, quarter = 2**52, 2**51
    for table in (
        {"rows": [[0.5, 0.25, 0.25], [0.25, 0.5, 0.25], [0.25, 0.25, 0.5]]},
        {"rows": [[half, quarter, quarter], [quarter, half, quarter], [quarter, quarter, half]]},
        {"weights": [[2, 1, 1], [1, 2, 1], [1, 1, 2]]},
        {"form": "krr", "options": 3, "weight": quarter},
    ):
        file = tmp_path / "channel.json"
        file.write_text(json.dumps(table))
        for name in (("--mechanism", "matrix"), ("--mechanism", "channel"), ()):
            code, out, _ = run(*name, "--channel", str(file), *counts)
            assert code == 0
            results.append(json.loads(out))
    assert all(result == results[0] for result in results)
    assert results[0]["estimates"][0]["estimate"] == pytest.approx((0.4 - 0.25) / 0.25)


def test_options_of_the_interval(run: Run) -> None:
    base = ("--mechanism", "krr", "--epsilon", "1", "--counts", "620,500,470,410", "--json")
    plain = json.loads(run(*base)[1])
    wide = json.loads(run(*base, "--simultaneous")[1])
    low = json.loads(run(*base, "--level", "0.5", "--interval", "jeffreys")[1])
    assert wide["estimates"][0]["low"] < plain["estimates"][0]["low"] < low["estimates"][0]["low"]
    assert (low["interval"], low["level"]) == ("jeffreys", 0.5)


def test_epsilon_is_null_when_unbounded_and_the_note_says_why(run: Run) -> None:
    value = json.loads(run("--mechanism", "mangat", "--truth", "0.7", "--counts", "240,260", "--json")[1])
    assert value["epsilon"] is None
    assert "reveals" in value["epsilon_note"]


def test_text_is_an_aligned_table_with_what_to_know(run: Run) -> None:
    code, out, err = run("--mechanism", "krr", "--epsilon", "1", "--counts", "620,500,470,30")
    assert (code, err) == (0, "")
    lines = out.splitlines()
    table = [line for line in lines[2:7] if line]
    assert len({len(line) for line in table}) == 1
    p0 = 1 / (3 + math.e)
    assert f"{(500 / 1620 - p0) / (p0 * (math.e - 1)):.4f}" in table[2]
    assert "not true" in out
    assert "epsilon 1" in out
    assert "One dishonest report" in out
    assert "data and design disagree" in out
    assert "nan" not in out


def test_a_dishonest_report_s_weight_is_rounded_up(run: Run) -> None:
    out = run("--mechanism", "warner", "--epsilon", "1", "--counts", "580,420")[1]
    assert "weighs at most as much as 1.59 honest ones" in out  # 1 + 1/(e - 1) is 1.58197...


def test_another_interval_than_the_usual_is_said(run: Run) -> None:
    out = run("--mechanism", "or_poll", "--decoy-counts", "412,1000", "--counts", "400,600")[1]
    assert "mover" in out
    assert "MOVER" in out
    assert "consistent, not unbiased" in out
    out = run("--mechanism", "kuk", "--red", "4/5,1/5", "--draws", "3", "--counts", "50,100,120,70")[1]
    assert "wald" in out
    assert "delta-method" in out
    assert "Blaker" in run("--mechanism", "warner", "--epsilon", "3", "--counts", "60,0")[1]


BAD = [
    (["--mechanism", "warner", "--truth", "1/2", "--counts", "1,2"], "1/2"),
    (["--mechanism", "warner", "--counts", "10,20"], "--epsilon or --truth"),
    (["--mechanism", "warner", "--epsilon", "1", "--truth", "3/4", "--counts", "10,20"], "one of the two"),
    (["--mechanism", "warner", "--epsilon", "1", "--counts", "10,-20"], "'-20' at position 2"),
    (["--mechanism", "warner", "--epsilon", "1", "--counts", "10,2.5"], "'2.5' at position 2"),
    (["--mechanism", "warner", "--epsilon", "1", "--counts", ""], "--counts: '' at position 1"),
    (["--mechanism", "warner", "--epsilon", "1", "--counts", "10"], "1 given"),
    (["--mechanism", "warner", "--epsilon", "1", "--counts", "10,20,30"], "3 given"),
    (["--mechanism", "warner", "--epsilon", "1", "--counts", "0,0"], "no reports"),
    (["--mechanism", "warner", "--epsilon", "1", "--counts", "0,1"], "standard error"),
    (["--mechanism", "warner", "--epsilon", "x", "--counts", "10,20"], "epsilon"),
    (["--mechanism", "warner", "--epsilon", "-1", "--counts", "10,20"], "epsilon"),
    (
        ["--mechanism", "warner", "--epsilon", "1", "--forced", ".1,.1", "--counts", "10,20"],
        "--forced does not belong",
    ),
    (["--mechanism", "warner", "--epsilon", "1", "--counts", "10,20", "--level", "95"], "level"),
    (["--mechanism", "warner", "--epsilon", "1", "--counts", "10,20", "--interval", "exact"], "--interval"),
    (["--mechanism", "nothing", "--counts", "10,20"], "--mechanism"),
    (["--counts", "10,20"], "--mechanism is missing"),
    (["--mechanism", "krr", "--epsilon", "1"], "--counts"),
    (["--mechanism", "krr", "--counts", "10,20"], "krr needs --epsilon"),
    (["--mechanism", "forced", "--forced", ".5,.6", "--counts", "10,20"], "forced"),
    (["--mechanism", "forced", "--forced", ".1,.1", "--counts", "10,20,30"], "3 given"),
    (["--mechanism", "or_poll", "--counts", "10,20"], "--decoy-share or --decoy-counts"),
    (["--mechanism", "or_poll", "--decoy-counts", "4", "--counts", "10,20"], "two numbers"),
    (["--mechanism", "or_poll", "--decoy-counts", "5,4", "--counts", "10,20"], "decoy_counts"),
    (["--mechanism", "crosswise", "--decoy-share", "0.5", "--counts", "10,20"], "1/2"),
    (["--mechanism", "kuk", "--red", "1/2", "--counts", "10,20"], "--red takes two"),
    (["--mechanism", "matrix", "--counts", "10,20"], "--channel"),
    (["--mechanism", "matrix", "--channel", "no-such-file.json", "--counts", "10,20"], "cannot be read"),
]


@pytest.mark.parametrize(("arguments", "message"), BAD, ids=range(len(BAD)))
def test_bad_input_ends_with_2_and_one_line(arguments: list[str], message: str, run: Run) -> None:
    code, out, err = run(*arguments)
    assert (code, out) == (2, "")
    assert err.count("\n") == 1
    assert message in err


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{", "not JSON"),
        ("[]", '{"rows"'),
        ('{"rows": []}', '{"rows"'),
        ('{"rows": [[1, 0], [true, 1]]}', "row 2 holds True"),
        ('{"rows": [[1, 0], [1]]}', "same number of columns"),
        ('{"weights": [[1, 1], [1, 1]]}', "true answers 0 and 1 give the same reports"),
        ('{"rows": [[1, -1], [1, 1]]}', "row 1"),
        ('{"rows": [[0.5, "x"], [1, 1]]}', "row 1"),
        ('{"rows": [[0.85, 0.15], [0.15, 0.58]]}', "row 2 sums to 0.73, not to 1 (or to 2^53)"),
        ('{"rows": [[2, 1], [1, 2]]}', "row 1 sums to 3"),
        ('{"rows": [[1, 0], [0, 1]], "weights": [[1, 0], [0, 1]]}', "needs"),
        ('{"form": "krr", "options": 2}', "unknown channel form"),
        ('{"rows": [[1, NaN], [1, 1]]}', "channel.json"),
    ],
)
def test_bad_channel_files_end_with_2_and_one_line(
    content: str, message: str, tmp_path: Path, run: Run
) -> None:
    file = tmp_path / "channel.json"
    file.write_text(content)
    code, out, err = run("--channel", str(file), "--counts", "10,20")
    assert (code, out) == (2, "")
    assert err.count("\n") == 1
    assert message in err


def test_help_names_every_option(run: Run) -> None:
    out = run("--help")[1]
    for flag in (
        "counts",
        "epsilon",
        "truth",
        "forced",
        "decoy-share",
        "decoy-counts",
        "channel",
        "level",
        "interval",
    ):
        assert f"--{flag}" in out


@pytest.mark.parametrize(
    ("mechanism", "counts", "expected_count"),
    [
        (mechanisms.subset(options=5, epsilon=0.5), [310, 240, 180, 150, 120], 5),
        (mechanisms.sampled([2, 2, 2], 2, 1), [31, 24, 18, 15, 12, 40], 6),
        (mechanisms.padded(options=4, epsilon=2, at_most=2), [31, 24, 18, 15, 12, 40], 6),
        (mechanisms.square_wave(options=5, epsilon=1), [31, 24, 18, 15, 12, 40, 30], 7),
        (mechanisms.krr(options=3, epsilon=1), [31, 24, 18], 3),
    ],
)
def test_a_channel_file_may_have_any_published_form(
    mechanism: Any, counts: list[int], expected_count: int, run: Run, tmp_path: Path
) -> None:
    path = tmp_path / "channel.json"
    path.write_text(json.dumps(mechanism.device.to_json()))
    written = ",".join(map(str, counts))
    code, out, err = run("--channel", str(path), "--counts", written, "--json")
    assert (code, err) == (0, "")
    output, expected = json.loads(out), estimate(counts, mechanism).to_dict()
    assert output["epsilon"] == expected["epsilon"]
    for entry, other in zip(output["estimates"], expected["estimates"], strict=True):
        assert entry["estimate"] == pytest.approx(other["estimate"])
        assert entry["se"] == pytest.approx(other["se"])
    code, _, err = run("--channel", str(path), "--counts", written + ",1")
    assert code == 2
    assert str(expected_count) in err


def test_what_makes_no_reports_is_refused(run: Run) -> None:
    code, _, err = run("--mechanism", "one_bit", "--epsilon", "2", "--counts", "3,4,5")
    assert code == 2
    assert "no number of options makes 3 reports of one_bit" in err
    code, _, err = run("--mechanism", "padded", "--epsilon", "2", "--counts", "3,4,5")
    assert code == 2
    assert "padded needs --at-most" in err
    code, _, err = run("--mechanism", "krr", "--epsilon", "2", "--at-most", "2", "--counts", "3,4,5")
    assert code == 2
    assert "--at-most does not belong to krr" in err
    code, _, err = run("--mechanism", "designed", "--counts", "3,4,5")
    assert code == 2
    assert "designed needs --channel" in err
