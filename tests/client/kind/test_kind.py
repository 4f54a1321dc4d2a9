"""Scales, numbers, ticked options and long lists: their documents, their answers, and the rows of the channel."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest
from hushpoll_client import (
    SCALE,
    ChannelError,
    Report,
    ReportError,
    Survey,
    SurveyError,
    read_answers,
    strict_json,
)
from hushpoll_client.exact import exp_below
from hushpoll_client.mechanism.sampled import best_ask

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


def draft(*questions: dict[str, Any]) -> dict[str, Any]:
    return {"hushpoll": 1, "title": "Kinds", "questions": list(questions)}


def read(*questions: dict[str, Any]) -> Survey:
    survey = Survey.from_draft(draft(*questions))
    assert Survey.from_published(survey.canonical, survey.hash) == survey
    return survey


def test_random_rounding_of_a_number_keeps_the_epsilon_of_the_channel() -> None:
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


def test_pairs_need_two_items_of_each_person() -> None:
    """A draft asks for pairs next to an epsilon; the published document has the number of items instead."""
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


def test_the_recommended_mechanism_follows_the_question() -> None:
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
def test_invalid_answers_are_refused(question: str, value: Any) -> None:
    krr = {"name": "krr", "epsilon": 1}
    survey = read(SCALE_OF_5 | {"mechanism": krr}, HOURS | {"mechanism": krr}, TICKS | {"at_most": 2})
    with pytest.raises(ReportError, match=f'question "{question}"'):
        read_answers(survey, {"mood": 1, "hours": 1, "used": ["a"], question: value})


def test_an_unknown_option_of_a_long_list_is_refused_with_similar_ones() -> None:
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


def test_the_ends_of_a_scale_have_their_number_and_their_label() -> None:
    krr = {"mechanism": {"name": "krr", "epsilon": 1, "target": "shares"}}
    (ends,) = read(SCALE_OF_5 | krr | {"labels": ["Never", "Always"]}).questions
    assert ends.options == ("1 (Never)", "2", "3", "4", "5 (Always)")
    (every,) = read(SCALE_OF_5 | krr | {"labels": [*"abcde"]}).questions
    assert every.options == tuple("abcde")
    (bare,) = read(SCALE_OF_5 | krr).questions
    assert bare.options == ("1", "2", "3", "4", "5")


def test_bins_have_the_share_of_their_numbers_and_are_named_by_them() -> None:
    mechanism = {"name": "krr", "epsilon": 1, "target": "distribution", "bins": 4}
    answers = read(HOURS | {"max": 9, "mechanism": mechanism}).questions[0].answers
    assert list(answers.chances) == [Fraction(3, 10), Fraction(2, 10), Fraction(3, 10), Fraction(2, 10)]  # type: ignore[attr-defined]
    assert list(map(str, answers.labels)) == ["0 to 2", "3 to 4", "5 to 7", "8 to 9"]
    single = read(HOURS | {"max": 3, "mechanism": mechanism}).questions[0].answers
    assert list(map(str, single.labels)) == ["0", "1", "2", "3"]


def test_a_scale_from_0_has_its_points_from_0_to_10() -> None:
    krr = {"mechanism": {"name": "krr", "epsilon": 1, "target": "mean"}}
    scale = SCALE_OF_5 | krr | {"points": 11, "first": 0, "labels": ["Never", "Always"]}
    (question,) = read(scale).questions
    assert question.options == ("0 (Never)", *map(str, range(1, 10)), "10 (Always)")
    assert question.answers.values == tuple(map(Fraction, range(11)))
    assert question.document(published=True)["first"] == 0
    assert [question.answers.read("mood", given) for given in (0, "10", "0 (Never)")] == [0, 10, 0]
    for given in (11, -1, "11"):
        with pytest.raises(ReportError, match="a whole number from 0 to 10"):
            question.answers.read("mood", given)
