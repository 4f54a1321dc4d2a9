"""Scales, numbers, ticked options, long lists and skip rules in documents and in the Python client."""

from __future__ import annotations

import os
from collections.abc import Iterator
from fractions import Fraction
from itertools import combinations, product
from typing import Any

import pytest
from hushpoll_client import (
    SCALE,
    Channel,
    ChannelError,
    MechanismError,
    Report,
    ReportError,
    Survey,
    SurveyError,
    mechanisms,
    read_answers,
    strict_json,
)
from hushpoll_client.channel.base import below
from hushpoll_client.delivery.record import RecordFormat
from hushpoll_client.exact import exp_below
from hushpoll_client.kind import KINDS
from hushpoll_client.mechanism.sampled import best_ask, unit_variance
from hushpoll_client.mechanism.subset import best_size

LIST = {"id": "list", "kind": "choice", "text": "Which?", "options": [*"abcde"]}
TICKS = {
    "id": "used",
    "kind": "multiple",
    "text": "Which?",
    "options": [*"abcd"],
    "mechanism": {"epsilon": 1},
}
SCALE_OF_5 = {"id": "mood", "kind": "scale", "text": "How often?", "points": 5}
HOURS = {"id": "hours", "kind": "number", "text": "Hours?", "min": 0, "max": 80, "step": 1}
YES_NO = {"id": "cheated", "kind": "yes_no", "text": "Did you?", "mechanism": {"epsilon": 1}}
WHY = {
    "id": "why",
    "kind": "choice",
    "text": "Why?",
    "options": ["Time", "Fear"],
    "mechanism": {"epsilon": 1},
    "after": {"question": "cheated", "answers": ["Yes"]},
}


def draft(*questions: dict[str, Any]) -> dict[str, Any]:
    return {"hushpoll": 1, "title": "Kinds", "questions": list(questions)}


def read(*questions: dict[str, Any]) -> Survey:
    survey = Survey.from_draft(draft(*questions))
    assert Survey.from_published(survey.canonical, survey.hash) == survey
    return survey


def worst_ratio(channel: Channel, answers: list[Any]) -> Fraction:
    """The largest ratio over all reports, by listing every one of them."""
    tables = [channel.chances(answer) for answer in answers]
    assert all(sum(table.values()) == 1 for table in tables)
    assert all(channel.wire.legal(report) for report in tables[0])
    return max(max(t[z] for t in tables) / min(t[z] for t in tables) for z in tables[0])


def ticked(options: int, at_most: int) -> list[tuple[int, ...]]:
    return [chosen for size in range(at_most + 1) for chosen in combinations(range(options), size)]


# Epsilon, by enumeration ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("epsilon", ["0.1", "1", "3"])
@pytest.mark.parametrize(("options", "size"), [(3, 2), (6, 2), (7, 5)])
def test_a_set_of_options_keeps_its_epsilon_exactly(epsilon: str, options: int, size: int) -> None:
    channel = mechanisms.subset(options, epsilon, size).device
    assert worst_ratio(channel, list(range(options))) == channel.ratio <= exp_below(Fraction(epsilon))
    assert channel.epsilon > float(epsilon) - 1e-9


@pytest.mark.parametrize("epsilon", ["0.1", "1", "3"])
@pytest.mark.parametrize(("sizes", "ask"), [([2] * 4, 2), ([2, 3, 4], 2), ([5, 2], 1), ([2] * 3, 3)])
def test_openly_sampled_answers_keep_their_epsilon_exactly(epsilon: str, sizes: list[int], ask: int) -> None:
    channel = mechanisms.sampled(sizes, epsilon, ask).device
    answers = list(product(*(range(size) for size in sizes)))
    assert worst_ratio(channel, answers) == channel.ratio <= exp_below(Fraction(epsilon))
    assert channel.epsilon > float(epsilon) - 1e-9


@pytest.mark.parametrize("epsilon", ["0.1", "1", "3"])
@pytest.mark.parametrize(("options", "at_most"), [(2, 1), (5, 2), (4, 4)])
def test_one_of_the_ticked_items_keeps_its_epsilon_exactly(epsilon: str, options: int, at_most: int) -> None:
    channel = mechanisms.padded(options, epsilon, at_most).device
    assert worst_ratio(channel, ticked(options, at_most)) == channel.ratio <= exp_below(Fraction(epsilon))
    assert channel.epsilon > float(epsilon) - 1e-9


def test_a_number_s_random_rounding_keeps_the_channel_s_epsilon() -> None:
    """A mixture of two rows has no ratio larger than theirs: enumerated over all values of a grid."""
    question = read({**HOURS, "max": 40, "mechanism": {"name": "krr", "epsilon": 1}}).questions[0]
    rows, points, steps = question.channel.rows, len(question.options) - 1, 40
    mixed = []
    for value in range(steps + 1):
        point, rest = divmod(value * points, steps)
        other = rows[min(point + 1, points)]
        pairs = zip(rows[point], other, strict=True)
        mixed.append([Fraction((steps - rest) * a + rest * b, steps * SCALE) for a, b in pairs])
    ratios = [max(column) / min(column) for column in zip(*mixed, strict=True)]
    assert max(ratios) <= question.channel.ratio <= exp_below(Fraction(1))


def draws_used(channel: Channel, answer: Any, first: int) -> int:
    used = 0

    def draws() -> int:
        nonlocal used
        used += 1
        return first if used == 1 else int.from_bytes(os.urandom(6), "big")

    channel.pick(answer, draws)
    return used


@pytest.mark.parametrize("first", [0, SCALE // 2, SCALE - 1 - SCALE % 28])
def test_the_number_of_draws_does_not_depend_on_the_answer(first: int) -> None:
    subset = mechanisms.subset(10, 1, 3).device
    assert {draws_used(subset, answer, first) for answer in range(10)} == {4}
    sampled = mechanisms.sampled([2] * 8, 1, 2).device
    assert {draws_used(sampled, answer, first) for answer in product((0, 1), repeat=8)} == {2}
    padded = mechanisms.padded(6, 1, 2).device
    assert {draws_used(padded, answer, first) for answer in ticked(6, 2)} == {2}


def test_a_uniform_integer_is_drawn_again_in_the_last_round_only() -> None:
    edge = SCALE - SCALE % 7
    for draw, value in ((0, 0), (6, 6), (7, 0), (edge - 1, 6)):
        assert below(7, iter([draw]).__next__) == value
    assert below(7, iter([edge, SCALE - 1, 3]).__next__) == 3
    assert below(1, iter([SCALE - 1]).__next__) == 0


# Choices by variance --------------------------------------------------------------------------------------------


def test_the_best_set_size_is_the_known_one() -> None:
    assert [best_size(1000, epsilon) for epsilon in (1, 2, 4)] == [269, 119, 18]
    assert [best_size(10, epsilon) for epsilon in (1, 4)] == [3, 1]
    assert best_size(3, 1) == 1


def test_the_best_number_of_items_is_the_known_one() -> None:
    assert [best_ask(8, epsilon) for epsilon in (0.5, 1, 2, 4)] == [1, 1, 2, 3]
    variances = [unit_variance(8, best_ask(8, epsilon), epsilon) for epsilon in (0.5, 1, 2, 4)]
    assert variances == pytest.approx([32.6, 8.65, 2.28, 0.64], rel=0.005)
    halves = [min(unit_variance(5, s, epsilon, 0.5) for s in range(1, 6)) for epsilon in (0.5, 1, 2, 4)]
    assert halves == pytest.approx([20.8, 5.9, 1.65, 0.53], rel=0.01)


def test_pairs_need_two_items_of_each_person() -> None:
    """The wish stands in a draft beside an epsilon alone; what is published says it by the number asked."""
    assert [best_ask(8, epsilon, 2) for epsilon in (0.5, 1, 2, 4)] == [2, 2, 2, 3]
    eight = TICKS | {"options": [*"abcdefgh"], "mechanism": {"epsilon": 1, "pairs": True}}
    question = read(eight).questions[0]
    assert question.answers.pairs
    assert question.document()["mechanism"] == {"name": "sampled", "epsilon": "1", "ask": 2}
    limited = read(eight | {"at_most": 3}).questions[0]
    assert limited.mechanism.name == "sampled"
    for mechanism, message in (
        ({"epsilon": 1, "pairs": False}, r"mechanism\.pairs: must be true where it stands; write true"),
        (
            {"name": "sampled", "epsilon": 1, "pairs": True},
            "goes with an epsilon alone; leave it out and write ask",
        ),
    ):
        with pytest.raises(SurveyError, match=message):
            read(eight | {"mechanism": mechanism})
    published = strict_json.loads(read(eight).canonical)
    published["questions"][0]["mechanism"]["pairs"] = True
    with pytest.raises(SurveyError):
        Survey.from_published(strict_json.dumps(published))
    single_choice = {
        "id": "q",
        "kind": "choice",
        "text": "?",
        "options": ["a", "b"],
        "mechanism": {"epsilon": 1, "pairs": True},
    }
    with pytest.raises(SurveyError):
        read(single_choice)


def test_what_is_recommended_follows_the_question() -> None:
    def name(question: dict[str, Any]) -> dict[str, Any]:
        return read(question).questions[0].document()["mechanism"]

    ten = {"id": "q", "kind": "choice", "text": "?", "options": [*"abcdefghij"], "mechanism": {"epsilon": 1}}
    assert name(ten) == {"name": "subset", "epsilon": "1", "size": 3}
    assert name(ten | {"mechanism": {"epsilon": 4}}) == {"name": "krr", "epsilon": "4"}
    assert name(TICKS | {"mechanism": {"epsilon": 2}}) == {"name": "sampled", "epsilon": "2", "ask": 2}
    eight = TICKS | {"options": [*"abcdefgh"], "at_most": 3}
    assert name(eight) == {"name": "padded", "epsilon": "1"}
    assert name(eight | {"mechanism": {"epsilon": 4}}) == {"name": "sampled", "epsilon": "4", "ask": 3}
    shares = SCALE_OF_5 | {"mechanism": {"epsilon": 1, "target": "shares"}}
    assert name(shares)["target"] == "shares"


@pytest.mark.parametrize("question", [SCALE_OF_5, HOURS], ids=["scale", "number"])
def test_a_channel_to_be_computed_is_asked_of_the_analysis(question: dict[str, Any]) -> None:
    with pytest.raises(SurveyError, match="hushpoll_analysis"):
        read(question | {"mechanism": {"epsilon": 1}})


# Documents ------------------------------------------------------------------------------------------------------


def test_later_keys_are_absent_when_unused() -> None:
    survey = read(SCALE_OF_5 | {"mechanism": {"name": "krr", "epsilon": 1}}, TICKS, YES_NO)
    for key in (b"labels", b"unit", b"at_most", b"after"):
        assert key not in survey.canonical


def test_defaults_are_filled_in_and_numbers_are_spelled() -> None:
    bins = HOURS | {"min": "0.50", "max": 10.5, "step": 0.5, "mechanism": {"name": "krr", "epsilon": 1}}
    published = read(bins).questions[0].document()
    assert (published["min"], published["max"], published["step"]) == ("0.5", "10.5", "0.5")
    assert published["mechanism"]["target"] == "mean"
    bins["mechanism"] = {"name": "krr", "epsilon": 1, "target": "distribution"}
    assert read(bins).questions[0].document()["mechanism"]["bins"] == 20
    assert read(bins | {"max": 2}).questions[0].document()["mechanism"]["bins"] == 4


def test_bins_hold_every_number_once_and_differ_by_one_step_at_most() -> None:
    for high, bins in ((80, 20), (9, 4), (6, 7), (1000, 64), (3, 2)):
        mechanism = {"name": "krr", "epsilon": 1, "target": "distribution", "bins": bins}
        answers = read(HOURS | {"max": high, "mechanism": mechanism}).questions[0].answers
        edges = answers.edges  # type: ignore[attr-defined]
        held = [[v for v in range(high + 1) if first <= v <= last] for first, last in edges]
        assert [number_in_bin for several in held for number_in_bin in several] == list(range(high + 1))
        assert max(map(len, held)) - min(map(len, held)) <= 1
        for number, several in enumerate(held):
            assert {answers.row(value, lambda: 0) for value in several} == {number}


def test_a_mean_s_grid_is_right_on_average() -> None:
    """Exactly: over the draws below N, row i + 1 comes up rem times, so the mean of the grid values is the number."""
    survey = read(HOURS | {"min": "-3", "max": 94, "mechanism": {"name": "krr", "epsilon": 1}})
    answers = survey.questions[0].answers
    assert len(answers.labels) == 21
    for steps in (0, 1, 13, 50, 96, 97):
        rows = [answers.row(steps, iter([u]).__next__) for u in range(97)]
        assert sum(answers.values[row] for row in rows) / 97 == steps - 3


@pytest.mark.parametrize(
    ("question", "path", "problem"),
    [
        (SCALE_OF_5 | {"points": 1}, "points", "not a number of points"),
        (SCALE_OF_5 | {"points": 12}, "points", "not a number of points"),
        (SCALE_OF_5 | {"points": "five"}, "points", "not a number of points"),
        (SCALE_OF_5 | {"labels": ["a", "b", "c"]}, "labels", "do not match the 5 points"),
        (SCALE_OF_5 | {"labels": []}, "labels", "is empty"),
        (SCALE_OF_5 | {"mechanism": {"epsilon": 1, "target": "median"}}, "target", "cannot be reported"),
        (HOURS | {"min": 80}, "min", "must be less than the maximum"),
        (HOURS | {"min": 90}, "min", "must be less than the maximum"),
        (HOURS | {"step": 3}, "step", "does not divide the range"),
        (HOURS | {"step": 0}, "step", "greater than 0"),
        (HOURS | {"step": -1}, "step", "greater than 0"),
        (HOURS | {"max": 10**6 + 1}, "step", "1,000,000 steps"),
        (HOURS | {"max": "many"}, "max", "is not a number"),
        (HOURS | {"min": True}, "min", "is not a number"),
        (HOURS | {"min": None}, "min", "is not a number"),
        (HOURS | {"max": float("nan")}, "max", "is not a number"),
        (HOURS | {"max": float("inf")}, "max", "is not a number"),
        (HOURS | {"min": "1/3"}, "min", "is not a number"),
        (HOURS | {"max": 1e300}, "max", "is too large; write at most 20 digits"),
        (HOURS | {"max": "1e90"}, "max", "is too large; write at most 20 digits"),
        (HOURS | {"min": -1e300}, "min", "is too large; write at most 20 digits"),
        (HOURS | {"step": 1e-300}, "step", "has too many decimals; write at most 40"),
        (HOURS | {"unit": ""}, "unit", "is empty"),
        (HOURS | {"mechanism": {"epsilon": 1, "bins": 5}}, "bins", "a mean has no bins"),
        (
            HOURS | {"mechanism": {"epsilon": 1, "target": "distribution", "bins": 65}},
            "bins",
            "not a number of bins",
        ),
        (
            HOURS | {"max": 3, "mechanism": {"epsilon": 1, "target": "distribution", "bins": 5}},
            "bins",
            "bins",
        ),
        (TICKS | {"at_most": 5}, "at_most", "not a number of options"),
        (TICKS | {"at_most": 0}, "at_most", "not a number of options"),
        (TICKS | {"options": ["a"]}, "options", "at least two"),
        (TICKS | {"mechanism": {"name": "sampled", "epsilon": 1, "ask": 5}}, "ask", "from 1 to 4"),
        (
            TICKS | {"mechanism": {"name": "sampled", "epsilon": 1, "ask": 0}},
            "ask",
            "leave it out for the best",
        ),
        (
            LIST | {"mechanism": {"name": "subset", "epsilon": 1, "size": 1}},
            "size",
            "use krr for sets of one",
        ),
        (
            LIST | {"mechanism": {"name": "subset", "epsilon": 1, "size": 5}},
            "size",
            "leave it out for the best",
        ),
        (TICKS | {"mechanism": {"name": "padded", "epsilon": 1}}, "name", "how many options may be ticked"),
        (TICKS | {"mechanism": {"name": "krr", "epsilon": 1}}, "name", "not a mechanism for a multiple"),
        (YES_NO | {"mechanism": {"name": "subset", "epsilon": 1, "size": 2}}, "options", "three options"),
    ],
    ids=lambda value: value if isinstance(value, str) else None,
)
def test_bad_documents(question: dict[str, Any], path: str, problem: str) -> None:
    question = {"mechanism": {"name": "krr", "epsilon": 1}} | question
    with pytest.raises(SurveyError, match=problem) as refusal:
        Survey.from_draft(draft(question))
    assert path in refusal.value.path
    assert refusal.value.remedy


# Skip rules -----------------------------------------------------------------------------------------------------


def test_a_skipped_question_reports_that_it_does_not_apply() -> None:
    survey = read(YES_NO, WHY)
    why = survey.questions[1]
    assert why.options == ("Time", "Fear")
    assert why.labels == ("Time", "Fear", "does not apply")
    assert why.channel.options == 3
    assert read_answers(survey, {"cheated": "No"}) == [0, 2]
    assert read_answers(survey, {"cheated": "Yes", "why": "Fear"}) == [1, 1]
    lengths = {
        len(Report.new(survey, read_answers(survey, answers)).to_bytes())
        for answers in ({"cheated": "No"}, {"cheated": "Yes", "why": "Time"})
        for _ in range(50)
    }
    assert len(lengths) == 1


def test_a_yes_no_question_with_a_rule_has_three_answers() -> None:
    caught = YES_NO | {"id": "caught", "after": {"question": "cheated", "answers": ["Yes"]}}
    assert read(YES_NO, caught).questions[1].mechanism.name == "krr"
    with pytest.raises(SurveyError, match="exactly two options, this question has 3"):
        read(YES_NO, caught | {"mechanism": {"name": "warner", "epsilon": 1}})


def test_rules_chain() -> None:
    deeper = WHY | {"id": "fear", "after": {"question": "why", "answers": ["Fear"]}}
    survey = read(YES_NO, WHY, deeper)
    assert read_answers(survey, {"cheated": "No"}) == [0, 2, 2]
    assert read_answers(survey, {"cheated": "Yes", "why": "Time"}) == [1, 0, 2]
    assert read_answers(survey, {"cheated": "Yes", "why": "Fear", "fear": "Fear"}) == [1, 1, 1]


def test_answers_of_skipped_questions_are_refused_and_others_are_needed() -> None:
    survey = read(YES_NO, WHY)
    with pytest.raises(ReportError, match="is not asked after these answers"):
        read_answers(survey, {"cheated": "No", "why": "Fear"})
    with pytest.raises(ReportError, match="has no answer"):
        read_answers(survey, {"cheated": "Yes"})


OR_POLL = {"name": "or_poll", "decoy": "Brittany?", "decoy_share": 0.4, "epsilon": 1}


@pytest.mark.parametrize(
    ("questions", "problem"),
    [
        ((WHY, YES_NO), "not an earlier question"),
        ((WHY | {"after": {"question": "why", "answers": ["Time"]}},), "not an earlier question"),
        ((YES_NO, WHY | {"after": {"question": "cheated", "answers": ["Perhaps"]}}), "not an answer of"),
        ((YES_NO, WHY | {"after": {"question": "cheated", "answers": ["No", "Yes"]}}), "always shown"),
        ((YES_NO, WHY | {"after": {}}), "is empty"),
        ((YES_NO, TICKS | {"after": WHY["after"]}), "always asked"),
        ((YES_NO | {"mechanism": OR_POLL}, WHY), "cannot decide"),
        ((YES_NO, YES_NO | {"id": "b", "mechanism": OR_POLL, "after": WHY["after"]}), "exactly two options"),
    ],
)
def test_bad_rules(questions: tuple[dict[str, Any], ...], problem: str) -> None:
    with pytest.raises(SurveyError, match=problem) as refusal:
        Survey.from_draft(draft(*questions))
    assert refusal.value.remedy


# Answers --------------------------------------------------------------------------------------------------------


def test_answers_of_every_kind_are_read_from_files() -> None:
    krr = {"name": "krr", "epsilon": 1}
    labelled = SCALE_OF_5 | {"id": "l", "labels": [*"abcde"], "mechanism": krr}
    half = HOURS | {"id": "half", "min": -1, "max": 1, "step": 0.5, "mechanism": krr}
    survey = read(SCALE_OF_5 | {"mechanism": krr}, labelled, HOURS | {"mechanism": krr}, half, TICKS)
    answers = {"mood": 4, "l": "c", "hours": 37.0, "half": "-0.5", "used": ["d", "a"]}
    assert read_answers(survey, answers) == [3, 2, 37, 1, (0, 3)]
    answers = {"mood": "5", "l": 1, "hours": "80", "half": 1, "used": []}
    assert read_answers(survey, answers) == [4, 0, 80, 4, ()]


@pytest.mark.parametrize(
    ("question", "value"),
    [
        *(("mood", value) for value in (0, 6, "x", 2.5, None, True, [1])),
        *(("hours", value) for value in (-1, 81, 0.5, "x", None, True, [1], "1/2")),
        *(("used", value) for value in (["e"], ["a", "a"], "z", 1, None, [0], ["a", "b", "c"])),
    ],
)
def test_answers_that_are_none_are_refused(question: str, value: Any) -> None:
    krr = {"name": "krr", "epsilon": 1}
    survey = read(SCALE_OF_5 | {"mechanism": krr}, HOURS | {"mechanism": krr}, TICKS | {"at_most": 2})
    with pytest.raises(ReportError, match=f'question "{question}"'):
        read_answers(survey, {"mood": 1, "hours": 1, "used": ["a"], question: value})


def test_an_unknown_option_of_a_long_list_is_answered_with_those_that_look_like_it() -> None:
    towns = [f"Town {number}" for number in range(1, 1000)] + ["Besançon"]
    survey = read(LIST | {"options": towns, "mechanism": {"epsilon": 1}})
    for option, remedy in (
        ("besancon", '; did you mean "Besançon"?'),
        ("?", "; write one as the survey spells it"),
    ):
        with pytest.raises(ReportError, match="is not one of its 1,000 options") as refusal:
            read_answers(survey, {"list": option})
        assert str(refusal.value).endswith(remedy)
    short = read(TICKS)
    with pytest.raises(ReportError, match='"e" is not one of: a, b, c, d'):
        read_answers(short, {"used": ["a", "e"]})


@pytest.mark.parametrize(
    ("question", "answers"),
    [
        (TICKS, [(1, 0), (0, 0), (4,), (-1,), 1, None, ("a",), (True,)]),
        (TICKS | {"at_most": 1}, [(0, 1)]),
        (HOURS | {"mechanism": {"name": "krr", "epsilon": 1}}, [-1, 81, True, 1.0, None, "1"]),
        (
            HOURS | {"mechanism": {"name": "krr", "epsilon": 1, "target": "distribution"}},
            [-1, 81, True, None],
        ),
    ],
)
def test_true_answers_outside_the_channel_are_refused_without_being_repeated(
    question: dict[str, Any], answers: list[Any]
) -> None:
    survey = read(question)
    for answer in answers:
        with pytest.raises(ChannelError) as refusal:
            Report.new(survey, [answer])
        assert repr(answer) not in str(refusal.value).replace("0 to", "")


# Wire and records -----------------------------------------------------------------------------------------------


def surveys_of_every_form() -> Iterator[Survey]:
    yield read(
        {"id": "q", "kind": "choice", "text": "?", "options": [*"abcdefghij"], "mechanism": {"epsilon": 1}}
    )
    yield read(TICKS, {"id": "few", **TICKS, "at_most": 1} | {"id": "few"})
    yield read(
        SCALE_OF_5 | {"mechanism": {"name": "krr", "epsilon": 1}}, TICKS | {"mechanism": {"epsilon": 3}}
    )


def test_records_of_every_form_are_read_back() -> None:
    for survey in surveys_of_every_form():
        record = RecordFormat.of(survey)
        answers = [() if question.kind.several else 0 for question in survey.questions]
        for _ in range(50):
            report = Report.new(survey, answers)
            assert record.holds(report.reports)
            assert record.unpack(record.pack(report.reports)) == report.reports
            assert Report.parse(survey, report.to_bytes()) == (report, None)
            match = record.pattern.fullmatch(report.to_bytes())
            assert match is not None
            assert record.read(match[2]) == report.reports


def test_reports_that_nobody_could_send_are_refused() -> None:
    bitmap = mechanisms.subset(6, 1, 2).device.wire
    assert bitmap.legal("03")
    for report in ("3", "003", "01", "07", "C0", "c0", "g3", 3, None, "0 3", "03\n"):
        assert not bitmap.legal(report)
    joint = mechanisms.sampled([2, 3, 2], 1, 2).device
    legal = [report for report in range(100) if joint.wire.legal(report)]
    assert legal == sorted(joint.chances((0, 0, 0)))
    assert len(legal) == 6 + 4 + 6


def test_constructors_say_what_they_need() -> None:
    for make, problem in (
        (lambda: mechanisms.subset(2, 1), "at least three"),
        (lambda: mechanisms.subset(5, 1, 1), "from 2 to 4"),
        (lambda: mechanisms.subset(5, 1, 5), "from 2 to 4"),
        (lambda: mechanisms.sampled([2] * 40, 1, 20), "ask"),
        (lambda: mechanisms.padded(5, 1, 6), "from 1 to 5"),
        (lambda: mechanisms.sampled([2], 1, 1), "members"),
    ):
        with pytest.raises(MechanismError, match=problem):
            make()


def test_sets_are_no_answers_even_where_there_are_as_many_of_them() -> None:
    """Sets of two of three options are three reports: a table of one's own may be such a channel."""
    channel = mechanisms.subset(3, "1", 2).device
    mechanism = mechanisms.resolve(
        KINDS["choice"].mechanisms, "a choice", 3, {"name": "matrix", "epsilon": "1"}, channel
    )
    assert channel.outcomes == mechanism.options
    assert not mechanism.reports_are_answers
    assert mechanism.recorded_as_chosen is None


@pytest.mark.parametrize(
    ("kind", "name", "missing"), [("choice", "subset", "size"), ("multiple", "sampled", "ask")]
)
def test_a_published_choice_of_the_designer_is_never_guessed(kind: str, name: str, missing: str) -> None:
    fitting = KINDS[kind].mechanisms
    mechanism = mechanisms.resolve(fitting, "a question", 8, {"name": name, "epsilon": "1"})
    document = {"name": name, **mechanism.parameters}
    assert mechanisms.resolve(fitting, "a question", 8, document, mechanism.device) == mechanism
    with pytest.raises(MechanismError) as refused:
        mechanisms.resolve(fitting, "a question", 8, {"name": name, "epsilon": "1"}, mechanism.device)
    assert refused.value.field == missing


def test_the_ends_of_a_scale_have_their_number_and_their_label() -> None:
    krr = {"mechanism": {"name": "krr", "epsilon": 1, "target": "shares"}}
    (ends,) = read(SCALE_OF_5 | krr | {"labels": ["Never", "Always"]}).questions
    assert ends.options == ("1 (Never)", "2", "3", "4", "5 (Always)")
    (every,) = read(SCALE_OF_5 | krr | {"labels": [*"abcde"]}).questions
    assert every.options == tuple("abcde")
    (bare,) = read(SCALE_OF_5 | krr).questions
    assert bare.options == ("1", "2", "3", "4", "5")


@pytest.mark.parametrize("below_weight", [True, False])
def test_a_set_holds_the_answer_for_exactly_its_weight_of_draws(below_weight: bool) -> None:
    """The first draw that leaves the answer out is the weight itself: one more would exceed epsilon."""
    channel = mechanisms.subset(5, "1", 2).device
    draws = iter([channel.weight - below_weight, *[0] * 10])
    chosen = int(str(channel.pick(3, lambda: next(draws))), 16)
    assert bool(chosen >> 3 & 1) is below_weight


@pytest.mark.parametrize("below_weight", [True, False])
def test_a_ticked_item_is_reported_for_exactly_its_weight_of_draws(below_weight: bool) -> None:
    channel = mechanisms.padded(4, "1", 1).device
    draws = iter([channel.weight - below_weight, *[0] * 10])
    assert (channel.pick((2,), lambda: next(draws)) == 2) is below_weight


def test_bins_have_the_share_of_their_numbers_and_are_named_by_them() -> None:
    mechanism = {"name": "krr", "epsilon": 1, "target": "distribution", "bins": 4}
    answers = read(HOURS | {"max": 9, "mechanism": mechanism}).questions[0].answers
    assert list(answers.chances) == [Fraction(3, 10), Fraction(2, 10), Fraction(3, 10), Fraction(2, 10)]  # type: ignore[attr-defined]
    assert list(map(str, answers.labels)) == ["0 to 2", "3 to 4", "5 to 7", "8 to 9"]
    single = read(HOURS | {"max": 3, "mechanism": mechanism}).questions[0].answers
    assert list(map(str, single.labels)) == ["0", "1", "2", "3"]
