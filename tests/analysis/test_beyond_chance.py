"""Data and design are said to disagree where chance does not explain it, however many answers there are."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hushpoll_analysis import estimate, report, simulate, weighted_estimate
from hushpoll_analysis.channel.view import channel_view
from hushpoll_analysis.designing.resolving import read_draft
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
    found = [estimate(rng.multinomial(n, chances / chances.sum()), coin).notes for _ in range(200)]
    told = sum(says(notes, DISAGREE) for notes in found)
    assert told / 200 < 0.05
    # Nearly every survey has an estimate below 0, and says what that is.
    assert sum(says(notes, CHANCE) or says(notes, DISAGREE) for notes in found) / 200 > 0.9


def test_weighted_surveys_are_told_so_as_rarely() -> None:
    rng, coin = np.random.default_rng(4), mechanisms.krr(20, 2)
    told = 0
    for seed in range(60):
        reports = simulate(coin, (rng.random(800) < 0.4).astype(int), seed)
        data = pd.DataFrame({"a": reports, "w": rng.gamma(8.0, 0.125, 800)})
        told += says(weighted_estimate(data, {"a": coin}, "a", weights="w").notes, DISAGREE)
    assert told / 60 < 0.1


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
    told = {"estimate": 0, "report": 0}
    for seed in range(12):
        reports = simulate(survey.questions[0].mechanism, np.zeros((600, 20), dtype=int), seed)
        data = pd.DataFrame({"u_reported": reports, "w": 1.0})
        told["estimate"] += says(weighted_estimate(data, survey, "u", weights="w").notes, DISAGREE)
        told["report"] += says(report(survey, data, weights="w")["u"].remarks, DISAGREE)
    assert max(told.values()) <= 1


def test_reports_that_no_answers_explain_are_told_with_a_p_value_that_knows_of_all_answers() -> None:
    coin = mechanisms.krr(20, 2)
    counts = np.full(20, 250)
    counts[3] = 20
    (note,) = [one for one in estimate(counts, coin).notes if DISAGREE in one]
    wanted = estimate(counts, coin).estimates[3].misfit
    assert wanted is not None
    assert f"3 (p = {19 * wanted:.2g})" in note
    assert note.count("(p = ") == 1


def test_no_and_yes_are_one_test() -> None:
    assert says(estimate([995, 5], mechanisms.warner(epsilon=1)).notes, DISAGREE)
