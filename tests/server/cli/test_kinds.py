"""Every kind of question on the command line: checked, planned, asked in the terminal."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from hushpoll_analysis import plan
from hushpoll_analysis.documents import parse_survey
from hushpoll_client import HushpollError, Survey
from hushpoll_client.cli import hushpoll, main
from hushpoll_client.cli.interview import as_list, as_number, ask
from hushpoll_client.delivery.report import Report, read_answers

PLACES = [f"Place {number}" for number in range(1, 41)]
QUESTIONS: list[dict[str, Any]] = [
    {"id": "drank", "kind": "yes_no", "text": "Did you drink?", "mechanism": {"epsilon": 1}},
    {
        "id": "where",
        "kind": "choice",
        "text": "Where?",
        "options": PLACES,
        "after": {"question": "drank", "answers": ["Yes"]},
        "mechanism": {"epsilon": 1},
    },
    {
        "id": "mood",
        "kind": "scale",
        "text": "How are you?",
        "points": 5,
        "labels": ["Bad", "Good"],
        "mechanism": {"epsilon": 1},
    },
    {
        "id": "hours",
        "kind": "number",
        "text": "How many hours?",
        "min": 0,
        "max": 80,
        "step": 0.5,
        "unit": "hours",
        "mechanism": {"epsilon": 1, "target": "distribution", "bins": 8},
    },
    {
        "id": "used",
        "kind": "multiple",
        "text": "Which did you use?",
        "options": ["tea", "coffee", "milk, warm"],
        "at_most": 2,
        "mechanism": {"epsilon": 2},
    },
]
DOCUMENT = {"hushpoll": 1, "title": "Every kind", "questions": QUESTIONS}


@pytest.fixture
def survey() -> Survey:
    return parse_survey(json.dumps(DOCUMENT).encode())


@pytest.fixture
def typing(monkeypatch: pytest.MonkeyPatch) -> Callable[..., list[str]]:
    """Type these lines, one at each prompt, as text or as what the prompt's type makes of it."""

    def type_in(*lines: str) -> list[str]:
        left = list(lines)

        def prompt(_text: str, type: Any = None, default: Any = None, **_more: Any) -> Any:
            line = left.pop(0)
            return type.convert(line, None, None) if type is not None else line or default

        monkeypatch.setattr("click.prompt", prompt)
        return left

    return type_in


def test_the_terminal_asks_every_kind(
    survey: Survey, typing: Callable[..., list[str]], capsys: pytest.CaptureFixture[str]
) -> None:
    left = typing("2", "ace 1", "Place 17", "4", "12.5", "1, coffee")
    answers = ask(survey)
    assert answers == {
        "drank": "Yes",
        "where": "Place 17",
        "mood": "4",
        "hours": "12.5",
        "used": ["tea", "coffee"],
    }
    assert left == []
    assert read_answers(survey, answers) == [1, 16, 3, 25, (0, 1)]
    out, prompts = capsys.readouterr()
    assert out == "", "only the result goes to stdout"
    assert "40 options: type a part of yours." in prompts
    assert "11 options hold that, 1 are not shown; type more of yours." in prompts
    assert "0 to 80 hours, in steps of 0.5" in prompts
    assert "1 (Bad)" in prompts
    assert "Tick at most 2" in prompts
    assert "What is sent could come from any answer; it is at most 2.72 times likelier from yours." in prompts


@pytest.mark.parametrize("typed", ["Yes", "yes", "y", "Y", " 2 ", "YES"])
def test_yes_can_be_typed_as_people_do(survey: Survey, typing: Callable[..., list[str]], typed: str) -> None:
    typing(typed, "Place 17", "4", "12.5", "1, coffee")
    assert ask(survey)["drank"] == "Yes"


def test_options_that_are_numbers_go_by_their_own_names(
    typing: Callable[..., list[str]], capsys: pytest.CaptureFixture[str]
) -> None:
    options = ["0", "1", "2", "3 or more"]
    question = {
        "id": "n",
        "kind": "choice",
        "text": "How many?",
        "options": options,
        "mechanism": {"epsilon": 1},
    }
    cars = parse_survey(json.dumps({**DOCUMENT, "questions": [question]}).encode())
    typing("4", "1")
    assert ask(cars) == {"n": "1"}
    prompts = capsys.readouterr().err
    assert "'4' is not an option; type one of those" in prompts
    assert "1  0" not in prompts, "a number beside a number would be read as either"


def test_a_question_that_does_not_apply_is_not_asked(
    survey: Survey, typing: Callable[..., list[str]]
) -> None:
    left = typing("1", "3", "0", "")
    typed_answers = ask(survey)
    assert set(typed_answers) == {"drank", "mood", "hours", "used"}
    assert left == []
    answers = read_answers(survey, typed_answers)
    assert answers == [0, len(PLACES), 2, 0, ()]
    assert len(Report.new(survey, answers).reports) == 5, "the report has the same shape"


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (["1", "3", "12.3", "7", ""], "give 0 to 80 in steps of 0.5"),
        (["1", "3", "many", "7", ""], "is not a number on its grid"),
        (["1", "3", "7", "1,2,3", ""], "tick at most 2"),
        (["1", "3", "7", "9", ""], "type a number from 1 to 3"),
        (["maybe", "no", "3", "7", ""], "'maybe' is not an option; type a number from 1 to 2, or the option"),
        (["3", "n", "3", "7", ""], "'3' is not an option"),
        (["1", "3", "7", "1,1", ""], "name each option once"),
        (["2", "nowhere", "Place 40", "3", "7", ""], "no option holds that"),
    ],
)
def test_unreadable_input_is_explained_and_asked_again(
    survey: Survey,
    typing: Callable[..., list[str]],
    capsys: pytest.CaptureFixture[str],
    lines: list[str],
    message: str,
) -> None:
    left = typing(*lines)
    ask(survey)
    assert left == []
    assert message in capsys.readouterr().err


def test_a_check_prints_kinds_targets_rules_and_every_epsilon(tmp_path: Path, survey: Survey) -> None:
    file = tmp_path / "survey.json"
    file.write_text(json.dumps(DOCUMENT))
    printed = CliRunner().invoke(hushpoll, ["survey", "check", str(file)]).output
    assert f"hash   {survey.hash}" in printed
    assert "asked only after Yes to drank" in printed
    lines = {line.split()[0]: line.split() for line in printed.splitlines() if line}
    assert lines["mood"] == ["mood", "scale", "designed", "5", "cumulative", "1"]
    assert lines["hours"] == ["hours", "number", "designed", "8", "distribution", "1"]
    assert lines["used"][1:4] == ["multiple", survey.questions[4].mechanism.name, "3"]
    checked = json.loads(CliRunner().invoke(hushpoll, ["survey", "check", str(file), "--json"]).output)
    assert checked["hash"] == survey.hash
    assert checked["epsilon_total"] == pytest.approx(6, abs=1e-6)
    shapes = {question["id"]: question for question in checked["questions"]}
    assert shapes["where"]["after"] == {"question": "drank", "answers": ["Yes"]}
    assert (shapes["mood"]["target"], shapes["mood"]["points"]) == ("cumulative", 5)
    assert (shapes["hours"]["target"], shapes["hours"]["bins"], shapes["hours"]["unit"]) == (
        "distribution",
        8,
        "hours",
    )
    assert shapes["used"]["at_most"] == 2
    assert all(question["epsilon"] <= 2 for question in shapes.values())


def test_checking_what_was_resolved_gives_the_same_hash(tmp_path: Path, survey: Survey) -> None:
    file = tmp_path / "published.json"
    file.write_bytes(survey.canonical)
    checked = json.loads(CliRunner().invoke(hushpoll, ["survey", "check", str(file), "--json"]).output)
    assert checked["hash"] == survey.hash


@pytest.mark.parametrize(
    ("arguments", "planned"),
    [
        (["--mechanism", "subset", "--options", "1000"], {"mechanism": "subset", "options": 1000}),
        (
            ["--mechanism", "subset", "--options", "10", "--size", "2"],
            {"mechanism": "subset", "options": 10, "size": 2},
        ),
        (
            ["--mechanism", "sampled", "--options", "8", "--ask", "2"],
            {"mechanism": "sampled", "options": 8, "ask": 2},
        ),
        (
            ["--mechanism", "padded", "--options", "8", "--at-most", "3"],
            {"mechanism": "padded", "options": 8, "at_most": 3},
        ),
        (
            ["--mechanism", "krr", "--options", "5", "--target", "mean"],
            {"mechanism": "krr", "options": 5, "target": "mean"},
        ),
        (
            ["--mechanism", "designed", "--options", "5", "--target", "cumulative"],
            {"mechanism": "designed", "options": 5, "target": "cumulative"},
        ),
    ],
)
def test_plans_of_the_command_line_are_those_of_the_planner(
    arguments: list[str], planned: dict[str, Any]
) -> None:
    result = CliRunner().invoke(hushpoll, ["plan", *arguments, "--epsilon", "1", "--n", "1000", "--json"])
    expected = plan(**planned, epsilon=1, n=1000)
    assert json.loads(result.output) == expected.to_dict()
    printed = CliRunner().invoke(hushpoll, ["plan", *arguments, "--epsilon", "1", "--n", "1000"]).output
    unit = "% of the range" if planned.get("target") == "mean" else "points"
    assert f"±{100 * expected.margin:.1f} {unit}" in printed


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--mechanism", "sampled", "--options", "5", "--target", "mean"], "plan for shares"),
        (["--mechanism", "padded", "--options", "5"], "at_most"),
        (["--mechanism", "padded", "--options", "5", "--at-most", "6"], "1 to 5"),
        (["--mechanism", "krr", "--options", "5", "--at-most", "2"], "it is a parameter of padded"),
        (["--mechanism", "subset", "--options", "5", "--size", "5"], "2 to 4"),
        (["--mechanism", "krr", "--options", "5", "--target", "median"], "median"),
        (
            ["--mechanism", "one_bit", "--options", "5"],
            "tell only the mean, not shares; plan for target mean",
        ),
        (["--mechanism", "one_bit", "--options", "5", "--target", "cumulative"], "plan for target mean"),
    ],
)
def test_a_plan_that_makes_no_sense_ends_in_one_line(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as end:
        main(["plan", *arguments, "--epsilon", "1", "--n", "1000"])
    assert end.value.code == 2
    err = capsys.readouterr().err
    assert message in err
    assert "Traceback" not in err


def test_simulated_numbers_and_sets_have_the_given_shares(tmp_path: Path, survey: Survey) -> None:
    file, out = tmp_path / "survey.json", tmp_path / "reports.csv"
    file.write_text(json.dumps(DOCUMENT))
    truth = {
        "drank": [0.6, 0.4],
        "where": [1 / len(PLACES)] * len(PLACES),
        "mood": [0.1, 0.2, 0.4, 0.2, 0.1],
        "hours": {"values": [0, 37.5], "shares": [0.25, 0.75]},
        "used": {"sets": [[], ["tea", "milk, warm"]], "shares": [0.5, 0.5]},
    }
    done = CliRunner().invoke(
        hushpoll, ["simulate", str(file), "-n", "60", "--truth", json.dumps(truth), "--out", str(out)]
    )
    assert (done.exit_code, done.exception) == (0, None)
    assert len(out.read_text().splitlines()) == 61


@pytest.mark.parametrize(
    ("question", "target"),
    [("mood", "cumulative"), ("mood", "shares"), ("hours", "distribution"), ("mood", None)],
)
def test_a_target_that_the_reports_cannot_estimate_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], question: str, target: str | None
) -> None:
    selected = next(entry for entry in QUESTIONS if entry["id"] == question)
    mechanism = {"name": "one_bit", "epsilon": 1} | ({} if target is None else {"target": target})
    file = tmp_path / "survey.json"
    file.write_text(json.dumps(DOCUMENT | {"questions": [selected | {"mechanism": mechanism}]}))
    with pytest.raises(SystemExit) as stopped:
        main(["survey", "check", str(file)])
    assert stopped.value.code == 2
    assert capsys.readouterr().err == (
        f'hushpoll: question 1 ("{question}"), mechanism.target: the reports of “One bit for the mean” cannot tell '
        "this; report something else (mean), or choose another mechanism\n"
    )


@pytest.mark.parametrize(
    ("typed", "unit", "value"),
    [
        ("1,5", "", "1.5"),
        ("40 hours", "hours", "40"),
        ("40 Hours", "hours", "40"),
        ("1 000", "", "1000"),
        ("1 000 000,5", "", "1000000.5"),
        ("+3", "", "3"),
        ("\u22123", "", "-3"),
        ("-0,5", "", "-0.5"),
        ("forty", "hours", "forty"),
    ],
)
def test_numbers_are_typed_as_people_write_them(typed: str, unit: str, value: str) -> None:
    assert as_number(typed, unit) == value


def test_an_ambiguous_comma_is_asked_about() -> None:
    with pytest.raises(HushpollError, match=r"'1,000' can be read in two ways; type 1000, or 1\.000"):
        as_number("1,000")


@pytest.mark.parametrize(
    ("typed", "options"),
    [
        ("1,2", ["1", "2"]),
        ("1 2  3", ["1", "2", "3"]),
        ("beer, or wine, Tea", ["beer, or wine", "Tea"]),
        ("Tea; Beer, or wine", ["Tea", "Beer, or wine"]),
        ("Route 66, 3", ["Route 66", "3"]),
        ("Beer, tea", ["Beer", "tea"]),
        (" , ;", []),
    ],
)
def test_ticks_are_typed_as_people_write_them(typed: str, options: list[str]) -> None:
    assert as_list(typed, ("Beer, or wine", "Tea", "Route 66")) == options


def test_the_ends_of_a_scale_are_named_by_their_words(monkeypatch: pytest.MonkeyPatch) -> None:
    mood = next(question for question in QUESTIONS if question["id"] == "mood")
    survey = parse_survey(json.dumps({"hushpoll": 1, "title": "Moods", "questions": [mood]}))
    monkeypatch.setattr("click.prompt", lambda *_, **__: "good")
    assert ask(survey) == {"mood": "5 (Good)"}
