"""Blocks: questions of which each person is asked some, whose answers are sent jointly for one epsilon."""

from __future__ import annotations

import itertools
import math
import os
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hushpoll_client import (
    HushpollError,
    Report,
    ReportError,
    SubmitError,
    Survey,
    SurveyError,
    asked_questions,
    draw_ranks,
    read_answers,
)
from hushpoll_client.delivery.memory import Memory
from hushpoll_client.delivery.record import RecordFormat
from hushpoll_client.exact import exp_below

from tests.vectors.surveys import blocks_draft, choice, member, survey, yes_no


def of_five(ask: int = 2, epsilon: Any = 2) -> dict[str, Any]:
    names = [f"q{number}" for number in range(5)]
    return survey(*map(member, names)) | {"blocks": [{"questions": names, "ask": ask, "epsilon": epsilon}]}


def test_a_report_has_one_value_for_a_block_in_place_of_its_first_question() -> None:
    survey_read = Survey.from_draft(blocks_draft())
    assert [entry.id for entry in survey_read.entries] == ["first", "block1", "block2", "last"]
    assert [question.block for question in survey_read.questions] == [
        None, "block1", "block1", "block1", "block2", "block2", None,
    ]  # fmt: skip
    again = Survey.from_published(survey_read.canonical, survey_read.hash)
    assert again == survey_read == Survey.parse(survey_read.canonical)
    answers = read_answers(
        survey_read, {"first": "Yes", "a": "No", "b": "y", "c": 5, "d": "No", "e": "Yes", "last": "No"}
    )
    report = Report.new(survey_read, answers)
    assert len(report.reports) == 4
    parsed, _ = Report.parse(survey_read, report.to_bytes())
    assert parsed == report
    packed = RecordFormat.of(survey_read)
    assert packed.unpack(packed.pack(report.reports)) == report.reports


def test_documents_without_blocks_stay_as_they_were() -> None:
    plain = Survey.from_draft(survey(yes_no("q", {"name": "warner", "epsilon": 1})))
    assert "blocks" not in plain.document
    assert plain.entries == plain.questions
    with pytest.raises(SurveyError, match="blocks: is empty; leave it out"):
        Survey.from_draft(plain.as_document(published=False) | {"blocks": []})


@pytest.mark.parametrize(("sizes", "ask"), [((2, 2, 2), 2), ((2, 3, 2), 2), ((3, 2), 1), ((2, 2), 2)])
@pytest.mark.parametrize("epsilon", ["0.5", "2"])
def test_the_whole_person_s_epsilon_is_exact_over_the_whole_report(
    sizes: tuple[int, ...], ask: int, epsilon: str
) -> None:
    """Every report of every person, with questions around the block: the largest ratio is the product stated."""
    members = [
        choice(f"m{number}", [f"o{row}" for row in range(size)], {}) for number, size in enumerate(sizes)
    ]
    for question in members:
        del question["mechanism"]
    document = Survey.from_draft(
        survey(yes_no("before", {"name": "warner", "epsilon": 1}), *members)
        | {"blocks": [{"questions": [row["id"] for row in members], "ask": ask, "epsilon": epsilon}]}
    )
    lone, block = document.entries
    people = list(itertools.product(range(2), *map(range, sizes)))

    def chances(person: tuple[int, ...]) -> dict[tuple[int, int], Fraction]:
        first, joint = lone.channel.chances(person[0]), block.channel.chances(person[1:])
        return {(x, z): p * q for x, p in first.items() for z, q in joint.items()}

    chances_of_people = [chances(person) for person in people]
    assert all(sum(row.values()) == 1 for row in chances_of_people)
    pairs = itertools.product(chances_of_people, repeat=2)
    worst = max(row[report] / other[report] for row, other in pairs for report in row)
    ratio = math.prod(entry.channel.ratio or 0 for entry in document.entries)
    assert worst == ratio
    assert block.channel.ratio <= exp_below(Fraction(epsilon))
    assert document.epsilon_total <= 1 + float(epsilon)


def test_five_questions_cost_the_epsilon_of_one() -> None:
    alone = Survey.from_draft(
        survey(*(yes_no(f"q{number}", {"name": "warner", "epsilon": 1}) for number in range(5)))
    )
    block = Survey.from_draft(of_five(2, 1))
    assert alone.epsilon_total == pytest.approx(5)
    assert block.epsilon_total == pytest.approx(1)
    assert block.epsilon_total <= 1
    assert all(question.epsilon == block.epsilon_total for question in block.questions)


def test_drawn_questions_alone_need_an_answer() -> None:
    document = Survey.from_draft(of_five())
    seen = set()
    for _ in range(200):
        ranks = draw_ranks(document)
        questions = asked_questions(document, ranks)
        assert len(questions) == 2
        seen.add(tuple(question.id for question in questions))
        answers = read_answers(document, {question.id: "Yes" for question in questions}, ranks)
        assert sum(answer is None for answer in answers) == 3
        report = Report.new(document, answers, ranks=ranks)
        assert report.reports[0] // 4 == ranks[0]
    assert len(seen) == 10
    with pytest.raises(ReportError, match=r'question "q\d" has no answer'):
        read_answers(document, {}, ranks)
    with pytest.raises(ReportError, match=r'question "q\d" has no answer'):
        Report.new(document, [None] * 5, ranks=ranks)


def test_answers_to_other_questions_are_left_unread() -> None:
    document = Survey.from_draft(of_five())
    answers_in_file = {f"q{number}": "Yes" for number in range(5)}
    answers = read_answers(document, answers_in_file, [0])
    assert answers == [1, 1, None, None, None]


def test_the_questions_are_drawn_once_and_stored(tmp_path: Path) -> None:
    document, memory = Survey.from_draft(of_five()), Memory(tmp_path)
    first = memory.ranks(document)
    assert all(memory.ranks(document) == first for _ in range(20))
    assert Memory(tmp_path).ranks(document) == first
    memory.forget(document.hash)
    assert list(tmp_path.iterdir()) == []
    assert memory.ranks(Survey.from_draft(survey(yes_no("q", {"name": "warner", "epsilon": 1})))) == ()
    ranks = memory.ranks(document)
    record = memory.keep(document, Report.new(document, [1] * 5, ranks=ranks))
    assert memory.ranks(document) == ranks  # it may be asked for again until the report has arrived
    memory.sent(document, record.id)
    assert [path.name for path in tmp_path.iterdir()] == [f"{document.hash}.json"]
    memory.ranks(document)
    (tmp_path / f"{document.hash}.drawn").write_text('{"ranks":[10]}')
    with pytest.raises(SubmitError, match="damaged"):
        memory.ranks(document)


@pytest.mark.parametrize("report", [-1, 40, 1.0, "1", None, True])
def test_impossible_reports_of_a_block_are_refused(report: Any) -> None:
    with pytest.raises(ReportError, match="block1"):
        Report.check(Survey.from_draft(of_five()), {"id": "0" * 32, "reports": [report]})


def broken() -> Iterator[tuple[str, dict[str, Any], str]]:
    """What a designer can get wrong, each with the one message it gives."""
    good = of_five()
    block = good["blocks"][0]
    yield (
        "one question",
        good | {"blocks": [block | {"questions": ["q0"]}]},
        (
            "blocks.0.questions: a block needs at least two questions, has 1; name two or more, or ask the question "
            "outside a block"
        ),
    )
    yield (
        "more than all",
        good | {"blocks": [block | {"ask": 6}]},
        ("blocks.0.ask: 6 is not a number of its 5 questions; ask each person 1 to 5 of them"),
    )
    both = [block | {"questions": ["q0", "q1"]}, block | {"questions": ["q1", "q2"]}]
    yield (
        "two blocks",
        good | {"blocks": both},
        ('blocks.1.questions.0: "q1" stands in a block already; put every question in one block only'),
    )
    decoy = {"name": "or_poll", "decoy": "Brittany?", "decoy_counts": [412, 1000]}
    questions = [yes_no("q0", decoy), *good["questions"][1:]]
    yield (
        "a decoy",
        good | {"questions": questions},
        (
            'question 1 ("q0"), mechanism: a question of a block has no decoy; remove it, or take the question out of '
            "its block"
        ),
    )
    ruled = [*good["questions"][:4], member("q4") | {"after": {"question": "q0", "answers": ["Yes"]}}]
    yield (
        "a rule",
        good | {"questions": ruled},
        (
            'question 5 ("q4"), after: a question of a block has no skip rule; remove it, or take the question out of '
            "its block"
        ),
    )
    number = {"id": "q0", "kind": "number", "text": "?", "min": 0, "max": 9, "step": 1}
    yield (
        "a number",
        good | {"questions": [number, *good["questions"][1:]]},
        (
            'question 1 ("q0"), kind: a number question cannot be in a block; use one of: yes_no, choice, scale'
        ),
    )
    yield (
        "apart",
        good | {"blocks": [block | {"questions": ["q0", "q2"], "ask": 1}]},
        ("blocks.0.questions: are not neighbours in the survey, in its order; move them next to each other"),
    )
    yield (
        "no epsilon",
        good | {"blocks": [block | {"epsilon": 0}]},
        ("blocks.0.epsilon: must be greater than 0, got 0; try 1.0"),
    )


@pytest.mark.parametrize(
    ("draft", "message"), [case[1:] for case in broken()], ids=[case[0] for case in broken()]
)
def test_each_fault_of_a_block_has_one_clear_message(draft: dict[str, Any], message: str) -> None:
    with pytest.raises(HushpollError) as refusal:
        Survey.from_draft(draft)
    assert str(refusal.value) == message


def test_a_block_takes_one_answer_for_each_of_its_questions() -> None:
    (block,) = Survey.from_draft(of_five()).blocks
    for count in (4, 6):
        with pytest.raises(ValueError, match=r"zip\(\) argument 2"):
            block.randomize([0] * count, os.urandom, 0)
