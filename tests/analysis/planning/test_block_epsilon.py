"""Blocks in one person's budget: one spender, the smallest epsilon for the margins of all its questions."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hushpoll_analysis import AnalysisError, budget
from hushpoll_analysis.planning.draft_resolution import read_draft
from hushpoll_analysis.planning.precision import Precision
from hushpoll_client.cli import main
from hushpoll_client.mechanism import Member, sampled

Z = 1.959963984540054
FACULTY = {
    "id": "faculty",
    "kind": "choice",
    "text": "Faculty?",
    "options": ["a", "b", "c"],
    "mechanism": {"epsilon": "1"},
}
YES_NO = [{"id": name, "kind": "yes_no", "text": f"{name}?"} for name in "abcde"]
MIXED = [
    YES_NO[0],
    {"id": "b", "kind": "choice", "text": "b?", "options": ["x", "y", "z"]},
    {"id": "c", "kind": "scale", "text": "c?", "points": 5},
]


def document(questions: list[dict[str, Any]], ask: int, epsilon: str = "1") -> dict[str, Any]:
    block = {"questions": [question["id"] for question in questions], "ask": ask, "epsilon": epsilon}
    return {"hushpoll": 1, "title": "T", "questions": [*questions, FACULTY], "blocks": [block]}


def planned(
    questions: list[dict[str, Any]], ask: int, n: int, epsilon: str = "1", **requirements: Any
) -> Any:
    return budget(read_draft(document(questions, ask, epsilon)), n, recommended=["faculty"], **requirements)


def margins(questions: list[dict[str, Any]], ask: int, epsilon: str, n: int) -> list[float]:
    """The members' margins, from the integers that such a block is published with."""
    sizes = [len(question.get("options", range(question.get("points", 2)))) for question in questions]
    block = sampled(sizes, epsilon, ask)
    targets = ["cumulative" if question["kind"] == "scale" else "shares" for question in questions]
    members = [Member.of(block, index) for index in range(len(sizes))]
    return [
        Precision(member, None, Z, target).margin(n) for member, target in zip(members, targets, strict=True)
    ]


@pytest.mark.parametrize(("questions", "ask"), [(YES_NO, 1), (YES_NO, 2), (MIXED, 2)])
def test_a_block_gets_the_smallest_epsilon_that_reaches_all_its_margins(
    questions: list[dict[str, Any]], ask: int
) -> None:
    n, needs = 4000, {questions[0]["id"]: 0.06}
    budget_plan = planned(questions, ask, n, margin=0.09, margins=needs)
    members = budget_plan.questions[: len(questions)]
    assert len({member.stated_epsilon for member in members}) == 1
    assert not budget_plan.problems
    required = [needs.get(question["id"], 0.09) for question in questions]
    epsilon = members[0].stated_epsilon
    reached = margins(questions, ask, epsilon, n)
    assert [member.margin for member in members] == pytest.approx(reached)
    assert all(margin <= need for margin, need in zip(reached, required, strict=True))
    less = margins(questions, ask, f"{0.995 * float(epsilon):.6f}", n)
    assert any(margin > need for margin, need in zip(less, required, strict=True)), "not the smallest"
    assert budget_plan.total == pytest.approx(members[0].epsilon + budget_plan.questions[-1].epsilon), (
        "counted once"
    )
    assert all(
        question["block"] == "block1" for question in budget_plan.to_dict()["questions"][: len(questions)]
    )
    assert "block" not in budget_plan.to_dict()["questions"][-1]


@pytest.mark.parametrize("name", ["b", "block1"])
def test_a_lock_of_a_member_or_of_the_block_is_a_cap_on_the_block(name: str) -> None:
    free = planned(YES_NO, 2, 4000, margin=0.09).questions[0]
    loose = planned(YES_NO, 2, 4000, margin=0.09, locks={name: "5"})
    assert all(
        member.locked and member.stated_epsilon == free.stated_epsilon for member in loose.questions[:5]
    )
    tight = planned(YES_NO, 2, 4000, margin=0.05, locks={name: "0.9", "c": "3-fold"})
    assert all(member.locked and member.stated_epsilon == "0.9" for member in tight.questions[:5]), (
        "the strictest lock holds"
    )
    assert tight.problems == ()
    advice = tight.advice[0]
    assert advice.startswith(
        'The block of questions "a" to "e" is locked at epsilon 0.9, which gives question "a" ±'
    )
    assert not tight.met
    people = int(advice.split("ask ")[1].split()[0].replace(",", ""))
    assert max(margins(YES_NO, 2, "0.9", people)) <= 0.05 < max(margins(YES_NO, 2, "0.9", people - 1))
    smaller = planned(YES_NO, 2, 4000, margins={"a": 0.05}, margin=0.3, locks={name: "0.9"})
    assert len(smaller.problems) == 1


def test_margins_that_a_block_cannot_reach_come_with_the_best_number_to_ask() -> None:
    budget_plan = planned(YES_NO, 1, 1500, margin=0.05)
    (problem,) = budget_plan.problems
    assert "even without privacy the margin is ±5.7 points" in problem
    assert "of which about 300 are to each of its questions" in problem
    ask = int(problem.split("ask each person ")[1][0])
    epsilon = problem.split("which needs epsilon ")[1].split(",")[0]
    assert max(margins(YES_NO, ask, epsilon, 1500)) <= 0.05
    for other in range(1, 6):
        cheaper = f"{0.99 * float(epsilon):.4f}"
        assert max(margins(YES_NO, other, cheaper, 1500)) > 0.05, f"{other} would need less"


def test_remedies_of_a_block_are_true() -> None:
    budget_plan = planned(YES_NO, 1, 4000, margin=0.045, epsilon="3")
    assert budget_plan.costliest == "a"
    assert any('The block of questions "a" to "e" costs most' in text for text in budget_plan.advice)
    (other,) = [text for text in budget_plan.advice if text.startswith("Asking each person")]
    ask, epsilon = int(other.split()[3]), float(other.split()[-1].rstrip("."))
    assert max(margins(YES_NO, ask, f"{epsilon + 0.01:g}", 4000)) <= 0.045
    (more,) = [text for text in budget_plan.advice if "answers instead of 4,000" in text]
    people, needs = int(more.split()[1].replace(",", "")), float(more.split()[-1].rstrip("."))
    assert max(margins(YES_NO, 1, f"{needs + 0.01:g}", people)) <= 0.045
    (wider,) = [text for text in budget_plan.advice if "for all its questions" in text]
    wide, needs = float(wider.split("±")[1].split()[0]) / 100, float(wider.split()[-1].rstrip("."))
    assert max(margins(YES_NO, 1, f"{needs + 0.01:g}", 4000)) <= wide


def test_a_block_that_is_kept_stays_and_a_lock_of_what_is_no_block_is_refused() -> None:
    unchanged = planned(YES_NO, 2, 4000, margin=0.09, kept=["a"])
    assert unchanged.questions[0].stated_epsilon is None
    assert unchanged.questions[0].epsilon == pytest.approx(1.0)
    with pytest.raises(AnalysisError, match="use one of: a, b, c, d, e, faculty, block1"):
        planned(YES_NO, 2, 4000, locks={"block2": "1"})


def test_the_command_plans_a_block_and_refuses_what_is_out_of_reach(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    file = tmp_path / "blk.json"
    file.write_text(json.dumps(document(YES_NO, 1)))

    def run(*arguments: str) -> tuple[int, str, str]:
        with pytest.raises(SystemExit) as stopped:
            main(["plan", "--survey", str(file), *arguments])
        printed = capsys.readouterr()
        return int(stopped.value.code or 0), printed.out, printed.err

    status, out, _ = run("--n", "4000", "--margin", ".08", "--json")
    output = json.loads(out)
    assert status == 0
    assert {question["epsilon"] for question in output["questions"][:5]} == {
        output["questions"][0]["epsilon"]
    }
    assert output["epsilon_total"] == pytest.approx(
        output["questions"][0]["epsilon"] + output["questions"][5]["epsilon"]
    )
    assert all(question["margin"] <= 0.08 for question in output["questions"])
    status, out, err = run("--n", "1500", "--margin", ".2", "--margin", "a=.05")
    assert (status, out) == (2, "")
    assert 'of question "a" cannot be reached' in err
    assert err.count("\n") == 1
