"""Results as text: what print shows is short, has every column it names, and says what it is."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from hushpoll_analysis import (
    clusters,
    compare,
    correlate,
    crosstab,
    cumulative,
    estimate,
    linear,
    logit,
    mean,
    quantiles,
    simulate,
    sum_score,
    trend,
    weighted_estimate,
)
from hushpoll_client import mechanisms

COIN = mechanisms.warner(epsilon=1)
FOUR = mechanisms.krr(options=4, epsilon=1)


@pytest.fixture(scope="module")
def people() -> pd.DataFrame:
    rng = np.random.default_rng(3)
    n = 400
    truth = rng.integers(0, 2, n)
    return pd.DataFrame(
        {
            "y": simulate(COIN.device, truth, seed=1),
            "z": simulate(COIN.device, truth, seed=2),
            "x": rng.normal(size=n),
            "w": rng.random(n) + 0.5,
            "g": rng.integers(0, 3, n),
        }
    )


def results(people: pd.DataFrame) -> dict[str, Any]:
    mechanisms_by_name = {"y": COIN, "z": COIN}
    return {
        "estimate": estimate([1300, 700], COIN),
        "four": estimate([620, 500, 470, 410], FOUR),
        "entry": estimate([1300, 700], COIN)["Yes"],
        "sets": estimate([90, 60, 50, 40, 60], mechanisms.subset(options=5, epsilon=1, size=2)),
        "weighted": weighted_estimate(people, {"y": COIN}, "y", weights="w"),
        "crosstab": crosstab(people, mechanisms_by_name, "y", "z"),
        "compare": compare(people, {"y": COIN}, "y", "g"),
        "trend": trend([estimate([70, 30], COIN), estimate([60, 40], COIN)]),
        "cumulative": cumulative([620, 500, 470, 410], FOUR),
        "mean": mean([620, 500, 470, 410], FOUR, [1, 2, 3, 4]),
        "quantiles": quantiles([620, 500, 470, 410], FOUR, values=[0, 1, 2, 3]),
        "correlate": correlate(people, mechanisms_by_name, ["y", "z", "x"]),
        "sum_score": sum_score(people, mechanisms_by_name, ["y", "z"]),
        "clusters": clusters(people, mechanisms_by_name, ["y", "z"], 2, runs=20, seed=1),
        "logit": logit("y ~ x", people, {"y": COIN}),
        "moments": linear("x ~ y", people, {"y": COIN}, errors="any"),
    }


def test_every_result_has_a_summary_that_print_shows(people: pd.DataFrame) -> None:
    for name, result in results(people).items():
        text = result.summary()
        assert str(result) == text, name
        assert "..." not in text, name
        assert max(map(len, text.splitlines())) <= 130, name
        assert "array(" not in text, name
        assert "Fraction(" not in text, name


def test_an_estimate_prints_as_a_table() -> None:
    text = str(estimate([1300, 700], COIN))
    assert text.startswith("warner, n = 2,000 reports, 95 % wilson intervals")
    assert "0.1754" in text
    assert "0.1308" in text
    assert len(text) < 450
    assert repr(estimate([1300, 700], COIN)) == "<ShareEstimates of 1 shares, warner, n = 2,000; print it>"


def test_wide_tables_are_broken_not_cut(people: pd.DataFrame) -> None:
    comparison = compare(people, {"y": COIN}, "y", "g")
    text = comparison.summary()
    for column in comparison.to_frame().columns:
        assert column in text, column


def test_models_take_yes_and_no_as_text(people: pd.DataFrame) -> None:
    words = people.assign(y=people["y"].map({0: "No", 1: "Yes"}), z=people["z"].map({0: "No", 1: "Yes"}))
    mechanisms_by_name = {"y": COIN}
    assert logit("y ~ x", words, mechanisms_by_name).coef == pytest.approx(
        logit("y ~ x", people, mechanisms_by_name).coef
    )
    assert logit("y ~ x", words, {}).coef == pytest.approx(logit("y ~ x", people, {}).coef)
    assert linear("x ~ y", words, mechanisms_by_name).coef == pytest.approx(
        linear("x ~ y", people, mechanisms_by_name).coef
    )
    both = {"y": COIN, "z": COIN}
    assert crosstab(words, both, "y", "z").estimate == pytest.approx(
        crosstab(people, both, "y", "z").estimate
    )
