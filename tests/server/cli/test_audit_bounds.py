"""The statistical audit: close to epsilon from below, and quick to catch a planted fault. Coins are seeded."""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hushpoll_analysis.planning.draft_resolution import read_draft
from hushpoll_analysis.planning.optimal import designed
from hushpoll_analysis.simulation.epsilon_audit import audit_channel, audited_answers, buffered, lower_bound
from hushpoll_analysis.simulation.whole_report import MOST_CASES, audit_person, parts_of
from hushpoll_analysis.simulation.whole_report_audit import audit_drawn, draw_whole
from hushpoll_client import Report, Survey, mechanisms
from hushpoll_client.cli import main

DRAWS = 1_000_000


def coins(seed: int) -> Callable[[int], bytes]:
    return buffered(np.random.default_rng(seed).bytes)


CASES = [("0.5", 2)]
LONG = [case for case in itertools.product(("0.5", "1", "2", "4"), (2, 3, 4)) if case not in CASES]


@pytest.mark.parametrize(
    ("epsilon", "options"), [*CASES, *(pytest.param(*case, marks=pytest.mark.long) for case in LONG)]
)
def test_bound_is_close_and_a_planted_fault_is_caught(epsilon: str, options: int) -> None:
    claimed = float(epsilon)
    honest = mechanisms.krr(options=options, epsilon=epsilon)
    bound = audit_channel(honest.device, DRAWS, coins(1))
    assert 0.97 * claimed <= bound <= honest.epsilon
    faulty = mechanisms.krr(options=options, epsilon=f"{1.1 * claimed:.3f}")
    assert audit_channel(faulty.device, DRAWS, coins(2)) > claimed


def test_the_bound_holds_as_often_as_it_says() -> None:
    """Draw many tables at the worst case and count bounds above the truth: at most 1 % plus noise."""
    generator = np.random.default_rng(3)
    channel = mechanisms.warner(epsilon=1).device
    share = channel.truth_weight / 2**53
    tables = generator.binomial(2000, [share, 1 - share], size=(400, 2))
    bounds = [lower_bound([[int(a), 2000 - int(a)], [int(b), 2000 - int(b)]]) for a, b in tables]
    assert np.mean(np.array(bounds) > channel.epsilon) <= 0.025


def test_many_options_are_audited_by_a_spread_of_answers() -> None:
    answers = audited_answers(mechanisms.krr(options=1000, epsilon=3).device)
    assert (len(answers), answers[0], answers[-1]) == (16, 0, 999)
    assert audited_answers(mechanisms.krr(options=4, epsilon=3).device) == (0, 1, 2, 3)


def test_reports_that_never_occur_give_no_evidence() -> None:
    assert lower_bound([[100, 0], [100, 0]]) == 0.0
    assert lower_bound([[1000, 0], [0, 1000]]) > 4


# The whole person ------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class FakeData:
    """Random sampling plus fake data: one of d questions is answered through K-ary response, the others at random.

    It counts on amplification by sampling and so gives the one question more: ln(d (e^epsilon - 1) + 1).
    """

    questions: int
    options: int
    epsilon: str

    @property
    def truths(self) -> Iterable[Any]:
        return itertools.product(range(self.options), repeat=self.questions)

    @property
    def cases(self) -> int:
        return int(self.options ** (2 * self.questions))

    def chances(self, answer: Any) -> Mapping[Any, Fraction]:
        row = mechanisms.krr(options=self.options, epsilon=self.epsilon).device.row
        fake = Fraction(1, self.options ** (self.questions - 1))
        return {
            report: sum(Fraction(row(truth)[code], 2**53) for truth, code in zip(answer, report, strict=True))
            * fake
            / self.questions
            for report in itertools.product(range(self.options), repeat=self.questions)
        }


@pytest.mark.parametrize(("questions", "options"), [(2, 2), (3, 3), (5, 2)])
def test_sampling_with_fake_data_is_caught(questions: int, options: int) -> None:
    """Each value by itself keeps epsilon 1; the whole report does not: ln(d (e - 1) + 1), 2.26 for five questions."""
    more = math.log(questions * (math.e - 1) + 1)
    planted = FakeData(questions, options, f"{more:.15f}")
    first_value = [
        {
            code: sum(chance for report, chance in planted.chances(truth).items() if report[0] == code)
            for code in (0, 1)
        }
        for truth in ((0,) * questions, (1,) + (0,) * (questions - 1))
    ]
    assert math.log(first_value[0][0] / first_value[1][0]) < 1.0 + 1e-9, (
        "question by question nothing is seen"
    )
    claimed = mechanisms.krr(options=options, epsilon="1").device.ratio
    audit = audit_person([planted], [claimed])
    assert audit.passed is False
    assert audit.epsilon == pytest.approx(more, abs=1e-9)
    honest = mechanisms.sampled([options] * questions, "1", 1).device
    same = audit_person(parts_of_channels(honest), [honest.ratio])
    assert same.passed
    assert same.epsilon == pytest.approx(1.0, abs=1e-9)


def parts_of_channels(*channels: Any) -> list[Any]:
    from hushpoll_analysis.simulation.whole_report import ChannelPart

    return [ChannelPart(channel) for channel in channels]


EVERY = {
    "hushpoll": 1,
    "title": "Every kind",
    "questions": [
        {"id": "a", "kind": "yes_no", "text": "A?", "mechanism": {"epsilon": 1}},
        {
            "id": "b",
            "kind": "choice",
            "text": "B?",
            "options": ["x", "y", "z"],
            "mechanism": {"epsilon": 0.5},
        },
        {"id": "c", "kind": "scale", "text": "C?", "points": 5, "mechanism": {"epsilon": 1}},
        {
            "id": "d",
            "kind": "multiple",
            "text": "D?",
            "options": ["x", "y", "z"],
            "mechanism": {"epsilon": 1},
        },
    ],
}


def test_the_whole_person_costs_exactly_the_sum() -> None:
    survey = read_draft(EVERY)
    audit = audit_person(parts_of(survey), [question.channel.ratio for question in survey.questions])
    assert audit.passed
    assert audit.cases <= MOST_CASES
    assert audit.epsilon == pytest.approx(survey.epsilon_total, abs=1e-12)


@pytest.mark.parametrize(
    "design",
    [
        mechanisms.subset(options=5, epsilon="1", size=2),
        mechanisms.padded(4, "1", 2),
        mechanisms.sampled([2] * 4, "2", 2),
        mechanisms.krr(options=6, epsilon="2"),
        mechanisms.designed(designed(5, "1", "cumulative"), "1"),
    ],
    ids=lambda design: design.name,
)
def test_every_form_is_enumerated_as_its_integers_say(design: Any) -> None:
    audit = audit_person(parts_of_channels(design.device), [design.device.ratio])
    assert audit.passed
    assert audit.epsilon == pytest.approx(design.epsilon, abs=1e-12)
    less = audit_person(parts_of_channels(design.device), [design.device.ratio * Fraction(999, 1000)])
    assert less.passed is False


def test_a_report_that_excludes_an_answer_has_no_finite_epsilon() -> None:
    poll = mechanisms.or_poll(decoy_share="0.4").device
    audit = audit_person(parts_of_channels(poll), [poll.ratio])
    assert audit.epsilon == math.inf
    assert audit.passed
    claimed = audit_person(parts_of_channels(poll), [Fraction(3)])
    assert claimed.passed is False


def test_a_survey_too_large_to_enumerate_is_sampled(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], seeded_coins: None
) -> None:
    question = EVERY["questions"][2]  # type: ignore[index]
    many = {**EVERY, "questions": [{**question, "id": f"q{number}"} for number in range(6)]}
    for name, document in (("few", {**EVERY, "questions": EVERY["questions"][:2]}), ("many", many)):  # type: ignore[index]
        file = tmp_path / f"{name}.json"
        file.write_text(json.dumps(document))
        with pytest.raises(SystemExit) as stopped:
            main(["audit", str(file), "--draws", "1000", "--json"])
        assert stopped.value.code == 0
        person = json.loads(capsys.readouterr().out)["person"]
        assert person["enumerated"] is (name == "few")
        assert person["passed"] is True
        assert (person["bound"] is None) is (name == "few")
        with pytest.raises(SystemExit):
            main(["audit", str(file), "--draws", "1000"])
        output = capsys.readouterr().out
        expected = (
            "claimed 1.5, exactly 1.5, 36 cases enumerated: holds"
            if name == "few"
            else "cases being too many to list: holds"
        )
        assert expected in output


def many_coins(count: int, epsilon: str) -> Survey:
    """Return a draft with too many yes/no questions to list a person's reports."""
    questions = [
        {"id": f"q{number}", "kind": "yes_no", "text": f"Number {number}?", "mechanism": {"epsilon": epsilon}}
        for number in range(count)
    ]
    return read_draft({"hushpoll": 1, "title": "Many", "questions": questions})


def drawn_bound(survey: Survey, draws: int, seed: int, draw: Any = draw_whole) -> Any:
    person = audit_person(parts_of(survey), [entry.channel.ratio for entry in survey.entries])
    assert person.passed is None, "too many to list"
    return audit_drawn(survey, person, draws, coins(seed), draw=draw)


def test_whole_reports_that_are_drawn_hold_and_come_near_the_claim() -> None:
    audit = drawn_bound(many_coins(12, "0.1"), 4000, 4)
    assert audit.passed
    assert 0.1 < audit.bound <= audit.claimed
    every = {**EVERY, "questions": [*EVERY["questions"], *EVERY["questions"]]}  # type: ignore[misc]
    every["questions"] = [
        {**question, "id": f"q{index}"} for index, question in enumerate(every["questions"])
    ]  # type: ignore[arg-type]
    audit = drawn_bound(read_draft(every), 600, 5)
    assert audit.passed
    assert audit.bound > 0.5
    singles = [{**EVERY["questions"][0], "id": f"s{number}"} for number in range(8)]  # type: ignore[index,dict-item]
    inside = [{"id": f"b{number}", "kind": "yes_no", "text": "B?"} for number in range(6)]
    block = {"questions": [question["id"] for question in inside], "ask": 2, "epsilon": "2"}
    document = {"hushpoll": 1, "title": "B", "questions": [*inside, *singles], "blocks": [block]}
    audit = drawn_bound(read_draft(document), 600, 6)
    assert audit.passed
    assert audit.bound > 0.5


def one_coin(survey: Survey, answers: list[Any], source: Any) -> Any:
    """A broken device: all questions share the coin of the first."""
    shared = source(7 * 4)

    def again() -> Any:
        position = 0

        def draw(count: int) -> bytes:
            nonlocal position
            position += count
            return shared[position - count : position] if position <= len(shared) else source(count)

        return draw

    return [
        Report.new(single, [answer], again()).reports[0]
        for single, answer in zip(singles(survey), answers, strict=True)
    ]


def singles(survey: Survey) -> list[Survey]:
    if survey.hash not in SINGLE:
        SINGLE[survey.hash] = [
            Survey.from_draft(
                {"hushpoll": 1, "title": "One", "questions": [question.document(published=False)]}
            )
            for question in survey.questions
        ]
    return SINGLE[survey.hash]


SINGLE: dict[str, list[Survey]] = {}


def test_coins_that_questions_share_are_caught() -> None:
    """Each question by itself keeps its epsilon of .1; all with one coin tell two people apart for certain."""
    survey = many_coins(12, "0.1")
    audit = drawn_bound(survey, 1000, 7, one_coin)
    assert audit.passed is False
    assert audit.bound > 2 > audit.claimed
    counts = [[0, 0], [0, 0]]
    for answer in (0, 1):
        for _ in range(500):
            counts[answer][one_coin(survey, [answer] * 12, coins_left)[3]] += 1
    assert lower_bound(counts) <= 0.1, "question by question nothing is seen"


def test_a_device_that_sends_the_true_answer_too_often_is_caught() -> None:
    survey, stronger = many_coins(12, "0.1"), many_coins(12, "0.4")
    audit = drawn_bound(survey, 4000, 8, lambda _, answers, source: draw_whole(stronger, answers, source))
    assert audit.passed is False
    assert audit.bound > audit.claimed


coins_left = coins(9)


def test_a_survey_that_was_read_is_enumerated_from_its_published_integers() -> None:
    survey = Survey.parse(read_draft(EVERY).canonical)
    audit = audit_person(parts_of(survey), [question.channel.ratio for question in survey.questions])
    assert audit.passed
