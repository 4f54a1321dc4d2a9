"""`hushpoll survey check` and `hushpoll audit`: output, exit status, one line on stderr for bad input."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import pytest
from hushpoll_client import Survey
from hushpoll_client.cli import hushpoll

from tests.client.documents import exam, one_question
from tests.command import run_command


def write(folder: Path, document: Any) -> str:
    file = folder / "survey.json"
    file.write_text(document if isinstance(document, str) else json.dumps(document))
    return str(file)


@pytest.mark.parametrize("published", [False, True])
def test_check_refuses_reordered_text_as_publishing_does(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], published: bool
) -> None:
    document = exam()
    if published:
        document = json.loads(Survey.from_draft(document).canonical)
    document["questions"][0]["text"] = "Have you \u202eever?"
    text = json.dumps(document, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    status, out, err = run_command(capsys, "survey", "check", write(tmp_path, text))
    assert (status, out) == (2, "")
    assert (
        "text: holds an invisible sign that turns the direction of writing (U+202E) at position 10; remove it"
        in err
    )
    assert err.startswith("hushpoll: question 1")


def test_check_prints_the_shape_of_the_contract(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = run_command(capsys, "survey", "check", write(tmp_path, exam()), "--json")
    value = json.loads(out)
    assert status == 0
    assert value["hash"] == Survey.from_draft(exam()).hash
    assert value["epsilon_total"] is None
    assert [q["id"] for q in value["questions"]] == ["cheated", "reason", "tax"]
    assert value["questions"][0]["epsilon"] == pytest.approx(1)
    assert value["questions"][1]["options"] == ["Time", "Fear", "Habit", "None"]
    assert value["questions"][2]["epsilon"] is None
    assert "a No reveals" in value["questions"][2]["epsilon_note"]


def test_check_prints_text_for_people(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = run_command(capsys, "survey", "check", write(tmp_path, exam()))
    assert status == 0
    assert "Total epsilon of one person: unbounded" in out
    assert "cheated" in out


def test_check_names_the_anchor_for_careless_answers(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    anchored = {**exam(), "anchor": {"question": "reason", "share": 1, "answer": "Fear"}}
    _, out, _ = run_command(capsys, "survey", "check", write(tmp_path, anchored))
    assert "shows careless answers: the true share of “Fear” to reason is 1" in out
    _, out, _ = run_command(capsys, "survey", "check", write(tmp_path, anchored), "--json")
    assert json.loads(out)["anchor"] == {"question": "reason", "share": "1", "answer": "Fear"}
    plain = {**exam(), "anchor": {"question": "cheated", "share": "1/12"}}
    _, out, _ = run_command(capsys, "survey", "check", write(tmp_path, plain))
    assert "the true share of Yes to cheated is 1/12" in out


def test_no_command_prints_an_epsilon_below_its_value(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Rounding any of these to the nearest fourth decimal would make it too small."""
    questions = [
        one_question(id=name, mechanism={"name": "warner", "epsilon": epsilon})["questions"][0]
        for name, epsilon in (("one", "1.00001"), ("two", "0.50002"))
    ]
    decoy = {"name": "crosswise", "decoy_share": "0.25", "decoy": "Born in spring?"}
    questions.append(one_question(id="three", mechanism=decoy)["questions"][0])
    file = write(tmp_path, {"hushpoll": 1, "title": "T", "questions": questions})
    out = run_command(capsys, "survey", "check", file)[1]
    assert re.findall(r"warner +2  (\S+)", out) == ["1.0001", "0.5001"]
    assert "epsilon_conditional 1.0987\n" in out  # ln 3 is 1.09861...
    two = write(tmp_path, {"hushpoll": 1, "title": "T", "questions": questions[:2]})
    assert "Total epsilon of one person: 1.5001\n" in run_command(capsys, "survey", "check", two)[1]
    audited = run_command(capsys, "audit", two, "--draws", "1000")[1]
    assert re.findall(r"^(?:one|two) +(\S+) ", audited, re.M) == ["1.0001", "0.5001"]


def test_check_reads_the_published_form(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    survey = Survey.from_draft(exam())
    status, out, _ = run_command(
        capsys, "survey", "check", write(tmp_path, survey.canonical.decode()), "--json"
    )
    assert (status, json.loads(out)["hash"]) == (0, survey.hash)


FIRST = 'question 1 ("cheated"), '
BROKEN: list[tuple[str, Any, str]] = [
    ("not JSON", "{", "not JSON: "),
    ("wrong version", exam(hushpoll=2), 'hushpoll: version 2 is not known; write "hushpoll": 1'),
    ("duplicate ids", exam(questions=exam()["questions"][:1] * 2), "question 2, id: \"cheated\" is used twice; give"),
    ("no options", one_question(kind="choice"), FIRST + "options: is missing; add it"),
    ("one option", one_question(kind="choice", options=["A"]), FIRST + "options: needs at least two options, has 1"),
    ("unknown mechanism", one_question(mechanism={"name": "magic"}), FIRST + "mechanism.name: 'magic' is not"),
    ("epsilon zero", one_question(mechanism={"epsilon": 0}), FIRST + "mechanism.epsilon: must be greater"),
    ("epsilon negative", one_question(mechanism={"epsilon": -2}), FIRST + "mechanism.epsilon: must be greater"),
    ("epsilon NaN", one_question(mechanism={"epsilon": float("nan")}), FIRST + "mechanism.epsilon: must be"),
    ("epsilon infinite", one_question(mechanism={"epsilon": float("inf")}), FIRST + "mechanism.epsilon: must"),
    ("epsilon as text", one_question(mechanism={"epsilon": "nan"}), FIRST + "mechanism.epsilon: must be"),
    ("share NaN", one_question(mechanism={"name": "forced", "forced": [float("nan"), 0]}), FIRST + "mechanism.forced"),
    ("title NaN", exam(title=float("nan")), "title: must be text, got NaN; write it in quotes"),
    ("version as a decimal", exam(hushpoll=1.0), 'hushpoll: version 1.0 is not known; write "hushpoll": 1'),
    ("no mechanism named", one_question(mechanism={}), FIRST + "mechanism.name: is missing; write a mechanism's name"),
    ("text over the limit", one_question(text="x" * 1001), FIRST + "text: has 1001 characters; keep at most 1000"),
    ("control characters", one_question(text="a\x07b"), FIRST + "text: holds a control character (U+0007) at"),
    ("10,000 questions", exam(questions=exam()["questions"][:1] * 10_000), "questions: has 10000 questions; keep"),
    ("unknown keys", one_question(colour="red"), 'unknown key "colour"; known here:'),
]  # fmt: skip


@pytest.mark.parametrize(("document", "line"), [row[1:] for row in BROKEN], ids=[row[0] for row in BROKEN])
def test_a_broken_file_gives_status_2_and_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], document: Any, line: str
) -> None:
    status, out, err = run_command(capsys, "survey", "check", write(tmp_path, document))
    assert status == 2
    assert out == ""
    assert err.count("\n") == 1
    assert line in err
    assert ";" in err, "the remedy follows a semicolon"


@pytest.mark.parametrize(
    "args", [["survey", "check", "absent.json"], ["nothing"], ["audit"], ["audit", "x", "--draws", "0"]]
)
def test_wrong_use_gives_status_2_and_one_line(capsys: pytest.CaptureFixture[str], args: list[str]) -> None:
    status, _, err = run_command(capsys, *args)
    assert status == 2
    assert err.count("\n") == 1


@pytest.mark.parametrize("args", [[], ["survey"], ["user"], ["user", "token"]])
def test_a_missing_subcommand_is_named(capsys: pytest.CaptureFixture[str], args: list[str]) -> None:
    """The command names what is missing in a line; it used to print its whole help on one."""
    status, out, err = run_command(capsys, *args)
    name = " ".join(["hushpoll", *args])
    assert (status, out, err.count("\n")) == (2, "", 1)
    assert err.startswith(f"{name}: give one of these commands: ")
    assert err.endswith(f"; see {name} --help\n")
    assert "Usage" not in err
    assert len(err) < 250


def leaves(group: click.Group, *path: str) -> Iterator[tuple[str, click.Command]]:
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        if isinstance(command, click.Group):
            yield from leaves(command, *path, name)
        else:
            yield " ".join((*path, name)), command


def test_every_command_that_ends_prints_json_on_request() -> None:
    without = [
        name
        for name, command in leaves(hushpoll)
        if "--json" not in {opt for p in command.params for opt in p.opts}
    ]
    assert without == ["serve"]


def test_audit_prints_bounds_and_no_bar_when_piped(tmp_path: Path) -> None:
    file = write(tmp_path, exam())
    # With coins of a seed: once in some 10,000 runs an honest survey fails its audit.
    program = (
        "import numpy as np\nfrom hushpoll_analysis.simulation import epsilon_audit\n"
        "from hushpoll_client.cli import main\n"
        "real, coins = epsilon_audit.buffered, np.random.default_rng(1).bytes\n"
        "epsilon_audit.buffered = lambda: real(coins)\nmain()"
    )
    command = [
        sys.executable,
        "-c",
        program,
        "audit",
        file,
        "--draws",
        "20000",
        "--json",
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    value = json.loads(done.stdout)
    assert done.stderr == ""
    assert value["passed"] is True
    assert [q["id"] for q in value["questions"]] == ["cheated", "reason", "tax"]
    assert 0.8 < value["questions"][0]["bound"] <= 1
