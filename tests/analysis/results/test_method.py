"""The method in words: its formulas must be those that gave the numbers."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hushpoll_analysis import estimate
from hushpoll_analysis.results.method import method_of
from hushpoll_client import Survey
from hushpoll_client.formatting import factor_text

DECOYS: dict[str, dict[str, Any]] = {
    "or_poll": {"decoy_share": "2/5"},
    "unrelated": {"truth": "7/10", "decoy_share": "2/5"},
    "crosswise": {"decoy_share": "2/5"},
}


def survey_of(**mechanism: Any) -> Survey:
    question = {
        "id": "did",
        "kind": "yes_no",
        "text": "Did you?",
        "mechanism": {"decoy": "Tea?", **mechanism},
    }
    return Survey.from_draft({"hushpoll": 1, "title": "Method", "questions": [question]})


def value_of(formula: str, **letters: float) -> float:
    """Compute a printed formula: `p̂ = ..., s = ...`, a letter before a bracket being a factor."""
    first, *rest = (step.split("=", 1)[1] for step in formula.replace("−", "-").split(",   "))
    clean = [
        side.replace("2φ", "2*φ").replace("2q", "2*q").replace(") q", ")*q").strip()
        for side in (first, *rest)
    ]
    names: dict[str, Any] = dict(letters)
    if rest:
        names["s"] = eval(clean[1], {}, names)
    return float(eval(clean[0], {}, names))


@pytest.mark.parametrize("flip", [None, "1"])
@pytest.mark.parametrize("name", DECOYS)
def test_the_printed_formula_gives_the_estimate(name: str, flip: str | None) -> None:
    survey = survey_of(name=name, **DECOYS[name], **({"epsilon": flip} if flip else {}))
    method = method_of(survey, 1000, 0.95)
    device = survey.questions[0].mechanism.device
    truthful = max(device.row(0)) / 2**53
    share = estimate([450, 550], survey.questions[0].mechanism)["Yes"].estimate
    printed = value_of(method.formulas[0].formula, f=0.55, q=0.4, θ=0.7, φ=truthful)
    assert printed == pytest.approx(share, abs=1e-9)
    assert ("flipped" in method.formulas[0].title) == (flip is not None)
    assert any("Warner" in work for work in method.references) == (flip is not None)


def test_an_estimated_decoy_share_has_its_own_term() -> None:
    exact = method_of(survey_of(name="or_poll", decoy_share="2/5"), 1000, 0.95)
    estimated = method_of(survey_of(name="or_poll", decoy_counts=[40, 100]), 1000, 0.95)
    assert not any("q (1 − q) / m" in step.formula for step in exact.formulas)
    assert any("q (1 − q) / m" in step.formula for step in estimated.formulas)
    assert "both contain its error" in estimated.paragraph


def test_the_paragraph_names_the_interval_that_was_used() -> None:
    survey = survey_of(name="or_poll", decoy_share="2/5")
    assert "Wilson score intervals" in method_of(survey, 1000, 0.95).paragraph
    likelihood = method_of(survey, 1000, 0.95, interval="likelihood").paragraph
    assert "likelihood-ratio intervals" in likelihood
    assert "Wilson" not in likelihood


@pytest.mark.parametrize("epsilon", [0.01, 0.25, 0.7, 1.0, 1.1, 2.0, 5.6, 7.0, 20.0])
def test_a_factor_of_at_most_is_not_rounded_down(epsilon: float) -> None:
    printed = float(factor_text(epsilon).replace(",", ""))
    assert math.exp(epsilon) <= printed * (1 + 1e-8) <= 1.0101 * math.exp(epsilon)


def test_round_factors_stay_round() -> None:
    assert factor_text(math.log(3)) == "3"
    assert factor_text(1.0) == "2.72"


def test_a_counted_decoy_is_called_consistent() -> None:
    def paragraph(**decoy: object) -> str:
        question = {
            "id": "d",
            "kind": "yes_no",
            "text": "?",
            "mechanism": {"name": "or_poll", "decoy": "Tea?", **decoy},
        }
        survey = Survey.from_draft({"hushpoll": 1, "title": "M", "questions": [question]})
        return method_of(survey, 1000, 0.95).paragraph

    assert "consistent" in paragraph(decoy_counts=[12, 30])
    assert "consistent" not in paragraph(decoy_share="0.4")
