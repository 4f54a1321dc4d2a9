"""Data and design are said to disagree where chance does not explain it, however many answers there are."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd
import pytest
from hushpoll_analysis import estimate, report, simulate, weighted_estimate
from hushpoll_analysis.channel.view import channel_view
from hushpoll_analysis.planning.draft_resolution import read_draft
from hushpoll_analysis.results.group_findings import group_findings
from hushpoll_analysis.results.texts import Texts
from hushpoll_analysis.results.wording import wording
from hushpoll_client import mechanisms

DISAGREE = "disagree by more than chance explains"
CHANCE = "is chance, not an error"


def says(notes: tuple[str, ...], words: str) -> bool:
    return any(words in note for note in notes)


@pytest.mark.parametrize(("options", "epsilon", "n"), [(5, 1, 2000), (20, 2, 5000), (50, 2, 20_000)])
def test_honest_surveys_are_told_so_in_one_of_twenty_at_most(options: int, epsilon: float, n: int) -> None:
    rng, coin = np.random.default_rng(options), mechanisms.krr(options, epsilon)
    # Two answers that people give: the estimates of all others scatter around 0.
    truth = np.zeros(options)
    truth[:2] = 0.6, 0.4
    chances = channel_view(coin).forward(truth)
    notes_of_surveys = [estimate(rng.multinomial(n, chances / chances.sum()), coin).notes for _ in range(200)]
    warned = sum(says(notes, DISAGREE) for notes in notes_of_surveys)
    assert warned / 200 < 0.05
    # Nearly every survey has an estimate below 0, and says what that is.
    assert sum(says(notes, CHANCE) or says(notes, DISAGREE) for notes in notes_of_surveys) / 200 > 0.9


def test_weighted_surveys_are_told_so_as_rarely() -> None:
    rng, coin = np.random.default_rng(4), mechanisms.krr(20, 2)
    warned = 0
    for seed in range(60):
        reports = simulate(coin, (rng.random(800) < 0.4).astype(int), seed)
        data = pd.DataFrame({"a": reports, "w": rng.gamma(8.0, 0.125, 800)})
        warned += says(weighted_estimate(data, {"a": coin}, "a", weights="w").notes, DISAGREE)
    assert warned / 60 < 0.1


def test_options_of_a_tick_list_are_many_tests_too() -> None:
    survey = read_draft(
        {
            "hushpoll": 1,
            "title": "T",
            "questions": [
                {
                    "id": "u",
                    "kind": "multiple",
                    "text": "?",
                    "options": [f"o{k}" for k in range(20)],
                    "mechanism": {"name": "sampled", "epsilon": 2, "ask": 4},
                }
            ],
        }
    )
    warned = {"estimate": 0, "report": 0}
    for seed in range(12):
        reports = simulate(survey.questions[0].mechanism, np.zeros((600, 20), dtype=int), seed)
        data = pd.DataFrame({"u_reported": reports, "w": 1.0})
        warned["estimate"] += says(weighted_estimate(data, survey, "u", weights="w").notes, DISAGREE)
        warned["report"] += says(report(survey, data, weights="w")["u"].remarks, DISAGREE)
    assert max(warned.values()) <= 1


def test_reports_that_no_answers_explain_are_told_with_a_p_value_that_knows_of_all_answers() -> None:
    coin = mechanisms.krr(20, 2)
    counts = np.full(20, 250)
    counts[3] = 20
    (note,) = [text for text in estimate(counts, coin).notes if DISAGREE in text]
    misfit = estimate(counts, coin).estimates[3].misfit
    assert misfit is not None
    assert f"3 (p = {19 * misfit:.2g})" in note
    assert note.count("(p = ") == 1


def test_no_and_yes_are_one_test() -> None:
    assert says(estimate([995, 5], mechanisms.warner(epsilon=1)).notes, DISAGREE)


@pytest.mark.parametrize(
    ("language", "pattern"),
    [("en", r"differ by 10\.8 points \(−9\.\d to 30\.\d\)"), ("de", r"um 10,8 Punkte \(−9,\d bis 30,\d\)")],
)
def test_a_difference_that_may_be_chance_has_the_sign_of_its_limits(language: str, pattern: str) -> None:
    yes_no = {"kind": "yes_no", "text": "?", "mechanism": {"name": "warner", "epsilon": 1}}
    survey = read_draft(
        {"hushpoll": 1, "title": "T", "questions": [{"id": letter, **yes_no} for letter in "ab"]}
    )
    data = pd.DataFrame(
        {
            "a_reported": [0] * 130 + [1] * 70 + [0] * 140 + [1] * 60,
            "b_reported": 0,
            "site": ["A"] * 200 + ["B"] * 200,
        }
    )
    results = report(survey, data, by="site", only="a")
    (words,) = group_findings(results.groups[0], Texts(survey, wording(language)))
    assert re.search(pattern, words)
    # B has less than A: A comes first.
    assert words.index("A") < words.index("B")


def test_one_dishonest_report_weighs_no_more_because_others_were_not_asked() -> None:
    survey = read_draft(
        {
            "hushpoll": 1,
            "title": "T",
            "questions": [
                {
                    "id": "u",
                    "kind": "multiple",
                    "text": "?",
                    "options": ["o0", "o1", "o2", "o3", "o4", "o5"],
                    "mechanism": {"name": "sampled", "epsilon": 2, "ask": 1},
                }
            ],
        }
    )
    reports = simulate(survey.questions[0].mechanism, np.zeros((600, 6), dtype=int), 1)
    data = pd.DataFrame({"u_reported": reports, "w": 1.0})
    plain, weighted = (report(survey, data, **keys)["u"] for keys in ({}, {"weights": "w"}))
    assert weighted.dishonest_weight == pytest.approx(plain.dishonest_weight)
