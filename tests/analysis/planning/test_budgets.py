"""One person's budget: each question its own epsilon, locks that hold, and remedies whose figures are true."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest
from hushpoll_analysis import AnalysisError, budget, plan
from hushpoll_analysis.planning.draft_resolution import read_draft
from hushpoll_analysis.planning.epsilon_search import EpsilonSearch, read_lock
from hushpoll_analysis.planning.margins import SLIDER_STOPS
from hushpoll_client import Survey
from hushpoll_client.cli import main
from hushpoll_client.formatting import at_most, epsilon_text
from hushpoll_client.mechanism.sampled import sampled

DRUG = {"id": "drug", "kind": "yes_no", "text": "Drugs?", "mechanism": {"epsilon": "1"}}
FACULTY = {
    "id": "faculty",
    "kind": "choice",
    "text": "Faculty?",
    "options": [f"f{number}" for number in range(12)],
    "mechanism": {"epsilon": "1"},
}
MOOD = {"id": "mood", "kind": "scale", "text": "Mood?", "points": 5, "mechanism": {"epsilon": "1"}}
HOURS = {
    "id": "hours",
    "kind": "number",
    "text": "Hours?",
    "min": 0,
    "max": 80,
    "step": 1,
    "unit": "hours",
    "mechanism": {"epsilon": "1"},
}
USED = {
    "id": "used",
    "kind": "multiple",
    "text": "Used?",
    "options": ["a", "b", "c", "d"],
    "mechanism": {"epsilon": "1"},
}
OR_POLL = {
    "id": "tax",
    "kind": "yes_no",
    "text": "Tax?",
    "mechanism": {"name": "or_poll", "decoy": "D?", "decoy_share": "0.4"},
}


def document(*questions: Any) -> dict[str, Any]:
    return {"hushpoll": 1, "title": "T", "questions": list(questions)}


def planned(*questions: Any, **requirements: Any) -> Any:
    survey: Survey = read_draft(document(*questions))
    open_ones = [question["id"] for question in questions if "name" not in question["mechanism"]]
    return budget(survey, recommended=open_ones, **requirements)


def test_a_harmless_question_with_twelve_options_leaves_the_drug_question_where_it_needs_to_be() -> None:
    budget_plan = planned(DRUG, FACULTY, n=500, margin=0.08)
    drug, faculty = budget_plan.questions
    assert drug.epsilon == pytest.approx(plan("warner", n=500, margin=0.08).epsilon, rel=1e-3)
    assert drug.epsilon < 1.24, "one slider for both gave it 2.8"
    assert 2.5 < faculty.epsilon < 2.8
    assert budget_plan.costliest == "faculty"
    alone = planned(DRUG, n=500, margin=0.08)
    assert alone.questions[0].epsilon == drug.epsilon


def test_every_question_gets_the_smallest_epsilon_that_is_enough() -> None:
    budget_plan = planned(DRUG, FACULTY, MOOD, USED, n=2000, margin=0.06, margins={"mood": 0.1})
    for question in budget_plan.questions:
        assert question.margin <= question.target_margin
        less = f"{0.99 * float(question.stated_epsilon):.6f}"
        assert question.search.margin(2000, less) > question.target_margin, question.id
    assert [question.target_margin for question in budget_plan.questions] == [0.06, 0.06, 0.1, 0.06]
    assert budget_plan.total == pytest.approx(sum(question.epsilon for question in budget_plan.questions))


def test_a_recommended_mechanism_that_changes_on_the_way_up_hides_no_smaller_epsilon() -> None:
    """At 740 answers 12 options reach 8 points at epsilon 1.93 (sets of two), not again before 2.39 (K-ary)."""
    (faculty,) = planned(FACULTY, n=740, margin=0.08).questions
    assert float(faculty.stated_epsilon) < 1.95
    assert faculty.search.margin(740, "2.2") > 0.08


def test_a_lock_is_never_raised_and_an_odds_factor_is_rounded_down() -> None:
    for lock in ("1.0", "3-fold", "at most 3-fold", "0.25"):
        budget_plan = planned(DRUG, FACULTY, n=500, margin=0.08, locks={"drug": lock})
        drug = budget_plan.questions[0]
        assert drug.locked
        assert drug.epsilon <= (math.log(3) if "fold" in lock else float(lock))
        assert drug.epsilon == pytest.approx(math.log(3) if "fold" in lock else float(lock), rel=1e-4)
    assert read_lock("20-fold") == "2.9957"
    assert math.exp(float(read_lock("1.5-fold"))) <= 1.5


@pytest.mark.parametrize("lock", ["0", "-1", "1-fold", "0.5-fold", "25", "many", "nan", "fold", "1e400-fold"])
def test_what_is_no_protection_is_refused(lock: str) -> None:
    with pytest.raises(AnalysisError, match="is not a level of protection; give an epsilon up to 20"):
        planned(DRUG, n=500, margin=0.08, locks={"drug": lock})


def test_a_lock_that_makes_the_margin_unreachable_says_so_with_three_ways_out() -> None:
    budget_plan = planned(DRUG, FACULTY, n=500, margins={"drug": 0.05}, locks={"drug": "1"}, margin=0.08)
    (problem,) = budget_plan.problems
    assert problem == (
        'question "drug" is locked at epsilon 1, which gives ±9.5 points with 500 answers, not the ±5 points it'
        " needs; lock it at epsilon 2.722 instead, ask 1,799 people, or accept the wider margin"
    )
    assert plan("warner", epsilon=1, margin=0.05).n == 1799
    wished = planned(DRUG, n=500, margin=0.05, locks={"drug": "1"})
    assert wished.problems == (), "a lock alone is the wish"
    assert wished.advice[0] == f"Q{problem[1:]}.", "and is never silent about what it costs"
    assert not wished.met
    enough = planned(DRUG, n=1800, margin=0.05, locks={"drug": "1"})
    assert enough.met
    assert not any("is locked at epsilon 1, which gives" in text for text in enough.advice)


def test_what_stays_as_it_is_and_misses_its_margin_is_said() -> None:
    budget_plan = planned(DRUG, {**DRUG, "id": "more"}, n=500, margin=0.08, kept=["drug"])
    assert budget_plan.advice[0] == (
        'Question "drug" stays as it is and gives ±9.5 points, not the ±8 points it needs; ask 703 people, change its'
        " mechanism, or accept the wider margin."
    )
    assert plan("warner", epsilon=1, margin=0.08).n == 703


def test_a_lock_above_what_is_needed_says_what_it_could_save() -> None:
    budget_plan = planned(DRUG, FACULTY, n=900, margin=0.08, locks={"drug": "3"})
    free = planned(DRUG, FACULTY, n=900, margin=0.08)
    assert budget_plan.costliest == "drug"
    needs = free.questions[0].epsilon
    (remark,) = [text for text in budget_plan.advice if text.startswith("It is locked")]
    assert remark == (
        f"It is locked at epsilon 3; its margin needs epsilon {epsilon_text(needs, 2)} only, and a lock there would"
        f" save {at_most(3.0 - needs)}."
    )


def test_a_costliest_question_that_is_out_of_reach_gets_remedies_with_figures() -> None:
    costly = {**FACULTY, "mechanism": {"epsilon": "4"}}
    budget_plan = planned(DRUG, costly, n=300, margin=0.05)
    assert budget_plan.costliest == "faculty"
    assert len(budget_plan.problems) == 2
    (more,) = [text for text in budget_plan.advice if text.startswith("With ") and "answers instead" in text]
    people, epsilon = int(more.split()[1].replace(",", "")), float(more.split()[-1].rstrip("."))
    again = planned(costly, n=people, margin=0.05).questions[0]
    assert again.epsilon == pytest.approx(epsilon, abs=0.01)
    assert again.met


@pytest.mark.parametrize(
    ("questions", "why"),
    [
        ((USED, DRUG), "a block holds questions with one answer out of a list only"),
        ((FACULTY,), "a block needs a second question beside it that it can hold"),
        (
            (DRUG, {**FACULTY, "after": {"question": "drug", "answers": ["Yes"]}}),
            "no question with a skip rule",
        ),
    ],
)
def test_where_a_question_cannot_be_asked_of_fewer_people_it_says_why(questions: Any, why: str) -> None:
    budget_plan = planned(*questions, n=900, margin=0.08)
    (remark,) = [text for text in budget_plan.advice if text.startswith("It cannot be asked of fewer people")]
    assert why in remark


def test_numbers_are_refined_between_the_stops_where_somebody_asks_for_it() -> None:
    """A number at ±8 % with 900 answers: the stop is 1, and .93 or less is enough; bins stay at a stop, and say so."""
    stop = planned(HOURS, n=900, margin=0.08, designs=0).questions[0]
    assert stop.stated_epsilon == "1"
    fine = planned(HOURS, n=900, margin=0.08, designs=1).questions[0]
    assert 0.85 < float(fine.stated_epsilon) <= 0.95
    assert fine.margin <= 0.08
    refined = {**HOURS, "mechanism": {"epsilon": fine.stated_epsilon}}
    assert (
        planned(refined, n=900, margin=0.08, designs=0).questions[0].stated_epsilon == fine.stated_epsilon
    ), "what was found is kept"
    bins = {**HOURS, "mechanism": {"epsilon": "1", "target": "distribution"}}
    budget_plan = planned(bins, n=4000, margin=0.1, designs=1)
    assert budget_plan.questions[0].stated_epsilon in {f"{stop:g}" for stop in SLIDER_STOPS}
    assert any("is one of the slider's stops" in text for text in budget_plan.advice)


def test_a_margin_that_no_epsilon_reaches_is_said_question_by_question() -> None:
    budget_plan = planned(DRUG, FACULTY, n=300)
    assert len(budget_plan.problems) == 2
    assert (
        "even without privacy the margin is ±5.7 points; ask more than 385 people" in budget_plan.problems[0]
    )


def test_a_question_without_an_epsilon_to_choose_stays_and_cannot_be_locked() -> None:
    budget_plan = planned(DRUG, OR_POLL, n=1000)
    assert budget_plan.total == math.inf
    assert budget_plan.to_dict()["epsilon_total"] is None
    assert budget_plan.costliest == "tax"
    with pytest.raises(AnalysisError, match='question "tax" has no epsilon to lock'):
        planned(DRUG, OR_POLL, n=1000, locks={"tax": 1})


def test_a_named_mechanism_keeps_its_name_and_moves_its_epsilon() -> None:
    question = {**FACULTY, "mechanism": {"name": "krr", "epsilon": "1"}}
    (planned_question,) = planned(question, n=740, margin=0.08).questions
    assert planned_question.to_dict()["mechanism"] == "krr"
    assert planned_question.epsilon == pytest.approx(plan("krr", 12, n=740, margin=0.08).epsilon, rel=1e-3)


def test_remedies_are_true() -> None:
    budget_plan = planned(DRUG, FACULTY, MOOD, n=500, margin=0.08)
    assert budget_plan.too_high
    assert budget_plan.advice[0].startswith("A total of 6 is too high")
    assert budget_plan.advice[1] == 'Question "faculty" costs most: epsilon 2.75 of 6 in total.'
    merged, more, wider, together = budget_plan.advice[2:]
    assert merged == "Merging its 12 answers to 5 would bring it to epsilon 1.96."
    five = {**FACULTY, "options": FACULTY["options"][:5]}
    assert planned(five, n=500, margin=0.08).questions[0].epsilon == pytest.approx(1.96, abs=0.01)
    assert more == "With 1,000 answers instead of 500 it would need epsilon 1.7."
    assert planned(FACULTY, n=1000, margin=0.08).questions[0].epsilon == pytest.approx(1.7, abs=0.01)
    assert wider == "With ±11.5 points instead of ±8 points it would need epsilon 1.68."
    assert planned(FACULTY, n=500, margin=0.115).questions[0].epsilon == pytest.approx(1.68, abs=0.01)
    assert together.startswith("Asking each person only ")


def test_the_figure_for_a_block_is_that_of_its_channel() -> None:
    """Five yes/no questions at 8 points: the epsilon that is promised gives every member the margin it needs."""
    five = [{**DRUG, "id": f"d{number}"} for number in range(5)]
    budget_plan = planned(*five, n=500, margin=0.08)
    advice = budget_plan.advice[-1]
    ask, epsilon = int(advice.split(" only ")[1].split()[0]), float(advice.split("epsilon ")[1].split()[0])
    channel = sampled([2] * 5, epsilon, ask)
    assert channel.epsilon <= epsilon
    size, weight = channel.device.weights[0]
    right = (2**53 - (size - 1) * weight + (size // 2 - 1) * weight) / 2**53
    variance = 0.25 / (2 * right - 1) ** 2
    assert 1.96 * math.sqrt(variance / (500 * ask // 5)) <= 0.08 * 1.001
    assert epsilon < budget_plan.total


@pytest.mark.parametrize(
    "question", [DRUG, FACULTY, MOOD, {**HOURS, "step": 4}, USED], ids=lambda question: question["id"]
)
def test_every_kind_is_planned_and_gets_advice(question: dict[str, Any]) -> None:
    budget_plan = planned(question, n=1500, margin=0.07)
    (planned_question,) = budget_plan.questions
    assert planned_question.margin <= 0.07
    assert not budget_plan.problems
    assert len(budget_plan.advice) >= 2, budget_plan.advice


def test_a_published_survey_is_planned_too() -> None:
    survey = read_draft(document(DRUG, MOOD))
    again = Survey.parse(survey.canonical)
    budget_plan = budget(again, 1000, margin=0.07)
    assert all(planned_question.margin <= 0.07 for planned_question in budget_plan.questions)
    assert EpsilonSearch(again.questions[1], False).follows_advice


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as stopped:
        main(["plan", *arguments])
    printed = capsys.readouterr()
    assert isinstance(stopped.value.code, int)
    return stopped.value.code, printed.out, printed.err


@pytest.fixture
def file(tmp_path: Path) -> str:
    path = tmp_path / "survey.json"
    path.write_text(json.dumps(document(DRUG, FACULTY)))
    return str(path)


def test_the_command_has_the_names_of_the_contract(capsys: pytest.CaptureFixture[str], file: str) -> None:
    arguments = [
        "--survey",
        file,
        "--n",
        "500",
        "--margin",
        ".08",
        "--margin",
        "faculty=.1",
        "--lock",
        "drug=1.0",
    ]
    status, out, err = run(capsys, *arguments, "--json")
    assert (status, err) == (0, "")
    budget_plan = json.loads(out)
    assert {"questions", "epsilon_total", "costliest", "advice"} <= set(budget_plan)
    drug, faculty = budget_plan["questions"]
    assert {"id", "epsilon", "margin", "needed", "locked"} <= set(drug)
    assert (drug["id"], drug["locked"], drug["needed"]) == ("drug", True, 0.08)
    assert drug["epsilon"] == pytest.approx(1.0)
    assert (faculty["locked"], faculty["needed"]) == (False, 0.1)
    assert faculty["margin"] <= 0.1
    assert budget_plan["costliest"] == "faculty"
    assert budget_plan["epsilon_total"] == pytest.approx(drug["epsilon"] + faculty["epsilon"])
    status, out, _ = run(capsys, *arguments)
    assert status == 0
    assert "drug" in out
    assert "locked" in out
    assert "Merging its 12 answers to 5" in out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["--n", "500", "--lock", "drug=1", "--margin", "drug=.05", "--margin", ".08"],
            "is locked at epsilon 1",
        ),
        (["--n", "500", "--lock", "foo=1"], "has no such question; use one of: drug, faculty"),
        (["--n", "500", "--lock", "drug"], "write --lock cheated=1.0"),
        (["--n", "500", "--lock", "drug=1", "--lock", "drug=2"], "given twice"),
        (["--n", "500", "--margin", "drug=5"], "0.05, not 5"),
        (["--n", "500", "--margin", "drug=x"], "is not a number"),
        (["--n", "500", "--margin", ".1", "--margin", ".2"], "more than once"),
        (["--n", "0"], "n is 0"),
        (["--n", "300"], "even without privacy"),
        ([], "--survey needs --n"),
        (["--n", "500", "--epsilon", "1"], "the survey says the rest"),
    ],
)
def test_bad_input_is_one_line_and_status_2(
    capsys: pytest.CaptureFixture[str], file: str, arguments: list[str], message: str
) -> None:
    status, out, err = run(capsys, "--survey", file, *arguments)
    assert (status, out) == (2, "")
    assert message in err
    assert err.count("\n") == 1


def test_a_lock_without_a_survey_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    status, _, err = run(capsys, "--mechanism", "warner", "--n", "500", "--lock", "a=1")
    assert (status, "--lock belongs to --survey" in err) == (2, True)
    status, _, err = run(capsys, "--n", "500")
    assert (status, "give --mechanism for one question, or --survey" in err) == (2, True)
