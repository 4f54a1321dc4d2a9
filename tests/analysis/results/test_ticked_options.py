"""Tick lists that ask two or more: the number ticked and pairs of options, in every form of the report."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from hushpoll_analysis import report, simulate
from hushpoll_analysis.results.survey import SurveyResults
from hushpoll_client import Survey

N = 12_000


def survey(ask: int) -> Survey:
    question = {
        "id": "used",
        "kind": "multiple",
        "text": "Which?",
        "options": ["bus", "bike", "<car>"],
        "mechanism": {"name": "sampled", "epsilon": 3, "ask": ask},
    }
    return Survey.from_draft({"hushpoll": 1, "title": "Ticks", "questions": [question]})


def results_of(ask: int, weights: bool = False) -> tuple[SurveyResults, np.ndarray]:
    rng = np.random.default_rng(2)
    bus = rng.random(N) < 0.5
    ticks = np.stack(
        [bus, np.where(bus, rng.random(N) < 0.6, rng.random(N) < 0.1), rng.random(N) < 0.3], axis=1
    )
    codes = simulate(survey(ask).questions[0].channel, ticks.astype(np.int64), seed=4)
    frame = pd.DataFrame({"used_reported": codes, "w": 1.0})
    return report(survey(ask), frame, **({"weights": "w"} if weights else {})), ticks


def test_pairs_and_the_number_ticked_are_reported() -> None:
    results, ticks = results_of(2)
    entry = results.to_dict()["questions"][0]
    json.dumps(entry, allow_nan=False)
    assert abs(entry["ticked"]["estimate"] - ticks.sum(axis=1).mean()) < 4 * entry["ticked"]["se"]
    assert entry["ticked"]["low"] < entry["ticked"]["estimate"] < entry["ticked"]["high"]
    assert [pair["options"] for pair in entry["pairs"]] == [
        ["bus", "bike"],
        ["bus", "<car>"],
        ["bike", "<car>"],
    ]
    first = entry["pairs"][0]
    truth = {
        "both": (ticks[:, 0] & ticks[:, 1]).mean(),
        "only_first": (ticks[:, 0] & ~ticks[:, 1]).mean(),
        "only_second": (~ticks[:, 0] & ticks[:, 1]).mean(),
        "neither": (~ticks[:, 0] & ~ticks[:, 1]).mean(),
    }
    for cell, share in truth.items():
        assert abs(first[cell]["estimate"] - share) < 4 * first[cell]["se"]
    assert sum(first[cell]["estimate"] for cell in truth) == pytest.approx(1.0)
    text, page = results.to_text(), results.to_html()
    assert "options ticked, on average" in text
    assert "bus and bike" in text
    assert "Options ticked, on average" in page
    assert "bike and &lt;car&gt;" in page
    folded = page[page.index("<details") :]
    assert "Pairs of options" in folded


def test_one_question_each_tells_no_pairs() -> None:
    results, _ = results_of(1)
    entry = results.to_dict()["questions"][0]
    assert "pairs" not in entry
    assert "ticked" not in entry
    assert "ticked together" not in results.to_text()
    weighed, _ = results_of(2, weights=True)
    assert "pairs" not in weighed.to_dict()["questions"][0]
