"""Waves: changes between surveys that were randomized differently, and how often their intervals hold."""

from __future__ import annotations

import itertools
import json
import re
import xml.etree.ElementTree as ElementTree
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hushpoll_analysis import AnalysisError, estimate, mean, report, simulate, trend
from hushpoll_analysis.interval.mover import BoundedEstimate, difference_limits
from hushpoll_analysis.planning.draft_resolution import read_draft
from hushpoll_analysis.results.figures import NumberAxis
from hushpoll_analysis.results.picture import waves_as_svg
from hushpoll_analysis.results.rendering import as_waves
from hushpoll_analysis.results.waves import OUTSIDE, FollowedQuestion, follow
from hushpoll_analysis.results.wording import wording
from hushpoll_analysis.simulation.respondents import simulate_survey
from hushpoll_client import Survey, SurveyError, mechanisms
from hushpoll_client.mechanism import Member
from hushpoll_client.survey.series import changed_question
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom


def wave(epsilon: float, more: Any = (), **keys: Any) -> Survey:
    questions = [
        {"id": "drug", "kind": "yes_no", "text": "Drugs?", "mechanism": {"epsilon": epsilon}},
        {
            "id": "why",
            "kind": "choice",
            "text": "Why?",
            "options": ["a", "b", "c"],
            "mechanism": {"epsilon": epsilon},
        },
        *more,
    ]
    return read_draft({"hushpoll": 1, "title": "T", "questions": questions, **keys})


TRUTH = {"drug": [0.7, 0.3], "why": [0.5, 0.3, 0.2]}


def results(survey: Survey, n: int, truth: dict[str, Any], seed: int) -> Any:
    frame = pd.DataFrame(
        {
            f"{name.removesuffix('_reported')}_reported": codes
            for name, codes in simulate_survey(survey, n, truth, seed)
        }
    )
    return report(survey, frame)


def test_waves_of_different_epsilon_show_no_change_where_there_is_none() -> None:
    """Stacked under the first wave's mechanism they would: -.28 or so, with an interval far from zero."""
    first, second = wave(4.0), wave(0.5)
    by_wave = {1: results(first, 20_000, TRUTH, 5), 2: results(second, 20_000, TRUTH, 6)}
    drug, why = follow(by_wave)
    yes = next(row for row in drug.rows if row.label == "Yes")
    (change,) = yes.changes
    assert not change.clear
    assert abs(change.estimate) < 0.06
    assert len(drug.randomized) == 2
    assert drug.changes == ("1 to 2",)
    assert [row.label for row in why.rows] == ["a", "b", "c"]
    counts = [np.array(by_wave[number]["drug"].counts) for number in (1, 2)]
    mechanism = mechanisms.warner(epsilon=4.0)
    stacked = [estimate(wave_counts, mechanism)["Yes"].estimate for wave_counts in counts]
    assert abs(stacked[1] - stacked[0]) > 0.1, "the false change that this is about"


def test_a_true_change_is_found_also_when_the_mechanism_changed() -> None:
    first = wave(2.0)
    krr = {"id": "drug", "kind": "yes_no", "text": "Drugs?", "mechanism": {"name": "krr", "epsilon": 1}}
    document = {**first.as_document(False), "questions": [krr, first.as_document(False)["questions"][1]]}
    second = read_draft(document)
    assert changed_question(first, second) == ""
    later = {**TRUTH, "drug": [0.5, 0.5]}
    drug, _ = follow({1: results(first, 8000, TRUTH, 1), 2: results(second, 8000, later, 2)})
    (change,) = next(row for row in drug.rows if row.label == "Yes").changes
    assert change.clear
    assert change.low < 0.2 < change.high
    assert change.text.startswith("+")


KINDS = [
    {"id": "mood", "kind": "scale", "text": "M?", "points": 5, "mechanism": {"epsilon": 2}},
    {
        "id": "hours",
        "kind": "number",
        "text": "H?",
        "min": 0,
        "max": 10,
        "step": 1,
        "mechanism": {"epsilon": 2},
    },
    {"id": "used", "kind": "multiple", "text": "U?", "options": ["x", "y"], "mechanism": {"epsilon": 2}},
]


def test_every_kind_is_followed() -> None:
    truth = {
        **TRUTH,
        "mood": [0.2] * 5,
        "hours": {"values": [2, 8], "shares": [0.5, 0.5]},
        "used": [0.4, 0.6],
    }
    by_wave = {name: results(wave(2.0, KINDS), 3000, truth, name) for name in (1, 2, 3)}
    followed = {question.id: question for question in follow(by_wave)}
    assert [row.label for row in followed["mood"].rows][-2:] == ["average", "median"]
    assert [row.label for row in followed["hours"].rows] == ["average"]
    assert followed["hours"].unit == "Average"
    assert [row.label for row in followed["used"].rows] == ["x", "y"]
    assert all(len(row.changes) == 2 for question in followed.values() for row in question.rows)
    assert all(len(row.points) == 3 for question in followed.values() for row in question.rows)
    (average,) = followed["hours"].averages
    numbers = [re.findall(r"\d+\.(\d+)", text) for text in (*average.estimates, average.changes[0].text)]
    assert all(len(set(map(len, decimals))) == 1 for decimals in numbers), "no limit has more decimals"
    for question in followed.values():
        picture = as_waves(question, ["Wave <1>", "Wave 2", "Wave 3"], "A picture")
        assert picture.count('<circle class="dot') == 3 * len(question.rows)
        assert "Wave &lt;1&gt;" in picture
        assert 'role="img" aria-label="A picture"' in picture
        check_file(question)
    with pytest.raises(AnalysisError, match="no change to draw"):
        waves_as_svg(replace(followed["hours"], rows=()), [], "")


def test_a_sentence_states_a_change_only_if_its_interval_excludes_zero() -> None:
    truths = ({"drug": [0.8, 0.2]}, {"drug": [0.8, 0.2]}, {"drug": [0.6, 0.4]})
    by_wave = {n: results(wave(2.0), 4000, {**TRUTH, **truth}, n) for n, truth in enumerate(truths, 1)}
    say, names = wording("en"), ["wave 1", "wave 2", "wave 3"]
    clear = follow(by_wave)[0]
    change = clear.rows[0].changes[-1]
    (text,) = clear.sentences(say, str, names)
    assert re.fullmatch(
        r"“Yes”: [\d.]+ % in wave 3, [\d.]+ points more than in wave 2 \([\d.]+ to [\d.]+\)\.", text
    )
    assert f"{100 * change.estimate:.1f} points more" in text
    assert f"({100 * change.low:.1f} to {100 * change.high:.1f})" in text
    (chance,) = follow({n: by_wave[n] for n in (1, 2)})[0].sentences(say, str, names[:2])
    assert "may be chance" in chance
    (less,) = follow({1: by_wave[3], 2: by_wave[1]})[0].sentences(say, str, names[:2])
    assert "points less than in wave 1" in less


def check_file(question: FollowedQuestion) -> None:
    """Assert that the file has every mark and word of the picture, within its edges, and needs nothing else."""
    picture = waves_as_svg(question, ["Welle <1>", "Welle 2", "Welle 3"], "Vom <Titel>", str.upper, "de")
    root = ElementTree.fromstring(picture)
    name = "{http://www.w3.org/2000/svg}text"
    texts = ["".join(text.itertext()) for text in root.iter(name)]
    caption = "Die Antworten wurden auf den Geräten der Befragten zufällig verändert. Vom <Titel>"
    assert {question.text, caption, *(row.label.upper() for row in question.rows)} <= set(texts)
    assert texts.count("Welle <1>") == texts.count("Welle 3") == len(question.rows)
    assert picture.count('<circle class="dot') == 3 * len(question.rows)
    assert not [text for text in texts if re.search(r"\d\.\d.*%", text)], "decimal commas"
    assert max(float(text.attrib["y"]) for text in root.findall(name)) < float(root.attrib["height"])
    assert "href" not in picture


@given(st.floats(-1e6, 1e6), st.floats(1e-6, 1e6))
def test_an_axis_of_averages_holds_them_and_is_no_longer_than_it_must(low: float, width: float) -> None:
    axis = NumberAxis.around(low, low + width)
    slack = 1e-6 * max(abs(low), width)
    assert axis.low <= low + slack
    assert axis.high >= low + width - slack
    assert axis.high - axis.low <= 5 * width + slack


def block_waves(sizes: list[int], ask: int = 1, rate: bool = False) -> dict[int, Any]:
    """Waves of a block of five questions, each asked of a part of the people."""
    questions: list[dict[str, Any]] = [
        {"id": f"q{number}", "kind": "yes_no", "text": f"Number {number}?"} for number in range(4)
    ]
    last = {"kind": "scale", "points": 4} if rate else {"kind": "yes_no"}
    questions.append({"id": "q4", "text": "Last?", **last})
    block = {"questions": [question["id"] for question in questions], "ask": ask, "epsilon": 2}
    survey = read_draft({"hushpoll": 1, "title": "T", "questions": questions, "blocks": [block]})
    by_wave = {}
    for number, n in enumerate(sizes, 1):
        answers = np.random.default_rng(number).integers(0, 2, (n, 5))
        codes = simulate(survey.blocks[0].channel, answers, number)
        by_wave[number] = report(survey, pd.DataFrame({"block1_reported": codes}))
    return by_wave


def test_a_wave_that_asked_too_few_is_left_out_of_that_question_and_said() -> None:
    """120 people of whom a fifth is asked each question are enough reports, and too few of each question."""
    followed = follow(block_waves([2000, 120, 3000]))
    for question in followed:
        assert question.waves == ("1", "3")
        assert question.changes == ("1 to 3",)
        assert question.notes == ("Wave 2 is left out here: fewer than 50 people were asked this question.",)
        assert all(len(row.estimates) == 2 and len(row.changes) == 1 for row in question.rows)
    for question in follow(block_waves([2000, 120])):
        assert question.rows == ()
        assert question.waves == ()
        assert "A change needs two waves" in question.notes[-1]
    with pytest.raises(AnalysisError, match="fewer than 50 people were asked 'q1'"):
        trend(block_waves([2000, 120]), "Yes", question="q1")


def test_a_long_list_shows_no_change_where_there_is_none() -> None:
    """The largest of the last wave are so partly by chance: by intervals of one share seven of twenty had grown."""
    town = {
        "id": "town",
        "kind": "choice",
        "text": "Where?",
        "options": [f"t{k}" for k in range(200)],
        "mechanism": {"epsilon": 2},
    }
    survey = read_draft({"hushpoll": 1, "title": "T", "questions": [town]})
    uniform, other = np.full(200, 1 / 200), np.array([0.5, *[0.5 / 199] * 199])
    by_wave = {k: results(survey, 800, {"town": uniform.tolist()}, k) for k in (1, 2)}
    (same,) = follow(by_wave)
    assert len(same.rows) == 20
    assert not any(row.changes[0].clear for row in same.rows)
    assert "hold together for all 200" in same.notes[0]
    single = [
        trend([wave_results["town"].estimate for wave_results in by_wave.values()], row.label)
        for row in same.rows
    ]
    assert any((wave_trend.waves[1].change_low or 0.0) > 0.0 for wave_trend in single), (
        "what a reader was shown before"
    )
    (grown,) = follow({1: by_wave[1], 2: results(survey, 800, {"town": other.tolist()}, 3)})
    assert [row.label for row in grown.rows if row.changes[0].clear] == ["t0"]


def test_members_of_a_block_are_followed_with_their_average() -> None:
    by_wave = block_waves([4000, 3000], ask=2, rate=True)
    followed = {question.id: question for question in follow(by_wave)}
    assert set(followed["q4"].notes) <= {OUTSIDE}
    assert [row.label for row in followed["q4"].rows][-2:] == ["average", "median"]
    assert abs(followed["q0"].rows[0].changes[0].estimate) < 0.2


def test_a_change_needs_two_waves_with_enough_reports() -> None:
    first = results(wave(2.0), 500, TRUTH, 1)
    with pytest.raises(AnalysisError, match="at least two waves"):
        follow({1: first})
    few = results(wave(2.0), 10, TRUTH, 1)
    with pytest.raises(AnalysisError, match="50"):
        follow({1: first, 2: few})


def coverage(epsilons: tuple[float, float], n: tuple[int, int], shares: tuple[float, float]) -> float:
    """Enumerate both counts of reported Yes and add up the chances of those whose interval holds the true change."""
    parts, chances = [], []
    for epsilon, size, share in zip(epsilons, n, shares, strict=True):
        mechanism = mechanisms.warner(epsilon=epsilon)
        rows = np.array(mechanism.device.rows) / 2**53
        chance = binom.pmf(np.arange(size + 1), size, (1 - share) * rows[0][1] + share * rows[1][1])
        likely = np.flatnonzero(chance > 1e-7)
        estimates = [estimate([size - int(yes), int(yes)], mechanism)["Yes"] for yes in likely]
        parts.append([BoundedEstimate(entry.estimate, entry.low, entry.high) for entry in estimates])
        chances.append(chance[likely])
    true, total = shares[1] - shares[0], 0.0
    before, after = (
        list(zip(wave_estimates, chance, strict=True))
        for wave_estimates, chance in zip(parts, chances, strict=True)
    )
    for (first, p), (second, q) in itertools.product(before, after):
        low, high = difference_limits(second, first)
        total += p * q * (low <= true <= high)
    return total


CASES = [
    ((1.0, 2.0), (200, 300), (0.1, 0.3)),
    *(
        (epsilons, n, shares)
        for epsilons in ((1.0, 1.0), (0.5, 2.0), (2.0, 1.0), (4.0, 1.0))
        for n in ((150, 150), (400, 200))
        for shares in ((0.02, 0.02), (0.05, 0.2), (0.5, 0.5), (0.3, 0.1))
    ),
]


@pytest.mark.parametrize(("epsilons", "n", "shares"), CASES)
def test_intervals_of_change_hold_as_often_as_they_say(
    epsilons: tuple[float, float], n: tuple[int, int], shares: tuple[float, float]
) -> None:
    assert 0.93 <= coverage(epsilons, n, shares) <= 0.975


def test_intervals_of_change_are_wide_where_answers_are_rare_and_noise_is_small() -> None:
    """At epsilon 4 the exact limits of a rare answer are wide, as those of open answers are: more than stated."""
    assert 0.95 <= coverage((4.0, 4.0), (150, 150), (0.02, 0.02)) <= 0.965
    assert 0.97 <= coverage((4.0, 4.0), (60, 60), (0.02, 0.02)) <= 0.985


def simulated(kind: str, studies: int, seed: int) -> float:
    """How often the interval of a change holds where answers are drawn: of a choice, an average, a block's question."""
    rng, held = np.random.default_rng(seed), 0
    krr = mechanisms.krr(options=3, epsilon=1.5)
    first, second = np.array([0.5, 0.3, 0.2]), np.array([0.3, 0.4, 0.3])
    block = mechanisms.sampled([2, 2, 2], "2", 2)
    used = Member.of(block, 0) if kind == "member" else krr
    rows = np.array(used.device.rows) / 2**53
    values = [1.0, 2.0, 3.0]
    bounded: dict[tuple[int, ...], BoundedEstimate] = {}

    def part(counts: tuple[int, ...]) -> BoundedEstimate:
        if counts not in bounded:
            figure = (
                mean(list(counts), used, values)
                if kind == "average"
                else estimate(list(counts), used).estimates[-1]
            )
            bounded[counts] = BoundedEstimate(figure.estimate, figure.low, figure.high)
        return bounded[counts]

    truths = [np.array([0.8, 0.2]), np.array([0.6, 0.4])] if kind == "member" else [first, second]
    figures = [truth @ values if kind == "average" else truth[-1] for truth in truths]
    for _ in range(studies):
        parts = []
        for truth, n in zip(truths, (300, 400), strict=True):
            answered = rng.binomial(n, 2 / 3) if kind == "member" else n
            parts.append(part(tuple(int(count) for count in rng.multinomial(answered, truth @ rows))))
        low, high = difference_limits(parts[1], parts[0])
        held += low <= figures[1] - figures[0] <= high
    return held / studies


@pytest.mark.parametrize("studies", [400, pytest.param(1500, marks=pytest.mark.long)])
@pytest.mark.parametrize("kind", ["choice", "average", "member"])
def test_intervals_of_change_hold_of_choices_averages_and_questions_of_a_block(
    kind: str, studies: int
) -> None:
    assert abs(simulated(kind, studies, 3) - 0.9525) <= (0.0225 if studies == 1500 else 0.035)


def test_the_trend_has_these_intervals() -> None:
    first = estimate([130, 70], mechanisms.warner(epsilon=1))
    second = estimate([150, 150], mechanisms.warner(epsilon=2))
    low, high = difference_limits(
        *(BoundedEstimate(e["Yes"].estimate, e["Yes"].low, e["Yes"].high) for e in (second, first))
    )
    last = trend([first, second]).waves[-1]
    assert (last.change_low, last.change_high) == (low, high)


# The document ----------------------------------------------------------------------------------------------------

SERIES = {"name": "Drugs", "wave": 2, "previous": "ab" * 32}


def test_the_series_is_hashed_and_changes_nothing_else() -> None:
    plain, second = wave(1.0), wave(1.0, series=SERIES)
    assert plain.hash != second.hash
    assert "series" not in plain.document
    again = Survey.from_published(second.canonical, second.hash)
    assert again.series == second.series
    assert again.series is not None
    assert again.series.document() == SERIES


@pytest.mark.parametrize(
    ("changed", "message"),
    [({"wave": 1}, "from 2 to 1000"), ({"previous": "x"}, "64 lower-case"), ({"name": ""}, "empty")],
)
def test_a_series_that_is_none_is_refused(changed: dict[str, Any], message: str) -> None:
    with pytest.raises(SurveyError, match=message):
        wave(1.0, series={**SERIES, **changed})


def test_what_changed_between_waves_is_named() -> None:
    first = wave(1.0)
    assert changed_question(first, wave(2.0)) == ""
    assert "it has 5 questions, and the wave before had 2" in changed_question(first, wave(1.0, KINDS))
    inside = [{"id": name, "kind": "yes_no", "text": "?"} for name in ("x", "y")]
    block = {"questions": ["x", "y"], "ask": 1, "epsilon": 1}
    blocks = [
        read_draft({"hushpoll": 1, "title": "T", "questions": inside, "blocks": [{**block, "ask": ask}]})
        for ask in (1, 2)
    ]
    assert changed_question(*blocks) == "", "how many are asked is a matter of privacy"
    document = first.as_document(False)
    document["questions"][1]["options"] = ["a", "b", "d"]
    (mood,) = [kind for kind in KINDS if kind["id"] == "mood"]
    means = {**mood, "mechanism": {"epsilon": 2, "target": "mean"}}
    change = changed_question(wave(1.0, [mood]), wave(1.0, [means]))
    assert (
        change == 'question 3 ("mood") reports another target ("mean") than in the wave before ("cumulative")'
    )
    assert 'question 2 ("why") is not the one' in changed_question(first, Survey.from_draft(document))


def test_a_trend_is_json_whatever_names_its_waves() -> None:
    first, other = (estimate([400, 600 + more], mechanisms.warner(epsilon=2)) for more in (0, 40))
    fitted = trend({np.int64(2024): first, np.int64(2025): other})
    assert [wave["wave"] for wave in json.loads(json.dumps(fitted.to_dict()))["waves"]] == [2024, 2025]


def test_a_wave_without_any_width_is_refused() -> None:
    same = estimate([0, 500], mechanisms.warner(epsilon=2), interval="wald")
    with pytest.raises(AnalysisError, match="its interval has no width"):
        trend([same, same])
    certain = estimate([0, 500], mechanisms.warner(epsilon=2))
    assert np.isfinite(trend([certain, certain]).slope_se)
