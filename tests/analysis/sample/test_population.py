"""Totals of a population: shares times its size, for every sample and every way to give the size."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hushpoll_analysis import weighted_estimate
from hushpoll_analysis.errors import AnalysisError
from hushpoll_analysis.planning.draft_resolution import read_draft
from hushpoll_analysis.sample.design_reading import read_sample_design
from hushpoll_analysis.simulation.respondents import simulate_survey

PEOPLE = 15_000
SURVEY = read_draft(
    {
        "hushpoll": 1,
        "title": "T",
        "questions": [
            {
                "id": "used",
                "kind": "multiple",
                "text": "?",
                "options": [f"o{k}" for k in range(12)],
                "mechanism": {"name": "sampled", "epsilon": 2, "ask": 2},
            },
            {"id": "a", "kind": "yes_no", "text": "?", "mechanism": {"epsilon": 1}},
            *({"id": f"q{k}", "kind": "yes_no", "text": "?"} for k in range(4)),
        ],
        "blocks": [{"questions": [f"q{k}" for k in range(4)], "ask": 2, "epsilon": 2}],
    }
)


def people(n: int, seed: int) -> pd.DataFrame:
    """Return reports with a weight, a stratum and a cluster for each respondent."""
    rng = np.random.default_rng(seed)
    truth = {"used": [0.3] * 12} | {name: [0.7, 0.3] for name in ("a", "q0", "q1", "q2", "q3")}
    reports = {f"{name}_reported": column for name, column in simulate_survey(SURVEY, n, truth, seed)}
    return pd.DataFrame(reports).assign(
        w=PEOPLE / n,
        stratum=rng.choice(["p", "q"], n),
        cluster=rng.integers(0, 40, n),
        sex=rng.choice(["f", "m"], n),
    )


@pytest.fixture(scope="module")
def sample() -> pd.DataFrame:
    return people(1000, 1)


@pytest.mark.parametrize("name", ["used", "used[o1]", "q0", "a"])
@pytest.mark.parametrize("how", [{"weights": "w"}, {"population": PEOPLE}])
def test_a_total_is_the_share_of_all_people_not_of_those_who_were_asked(
    sample: pd.DataFrame, name: str, how: dict[str, object]
) -> None:
    got = weighted_estimate(sample, SURVEY, name, **how)
    for share in got.shares:
        assert share.total == pytest.approx(share.estimate * PEOPLE, rel=1e-9)
        assert share.total_se == pytest.approx(share.se * PEOPLE, rel=1e-3)


@pytest.mark.parametrize("samples", [60, pytest.param(150, marks=pytest.mark.long)])
def test_the_total_of_a_question_of_a_block_varies_as_its_standard_error_says(samples: int) -> None:
    rng = np.random.default_rng(5)
    totals, errors = [], []
    for _ in range(samples):
        sample = people(400, int(rng.integers(1 << 30)))
        # Weights vary from respondent to respondent: so does the size of the population that they tell.
        share = weighted_estimate(
            sample.assign(w=rng.gamma(2.0, 10.0, 400)), SURVEY, "q0", weights="w"
        ).shares[1]
        totals.append(share.total)
        errors.append(share.total_se)
    assert np.std(totals, ddof=1) / np.mean(errors) == pytest.approx(1.0, abs=0.2 if samples == 150 else 0.3)


def test_being_asked_a_few_of_many_questions_is_no_heavy_weight(sample: pd.DataFrame) -> None:
    assert not any("heavy" in note for note in weighted_estimate(sample, SURVEY, "used", weights="w").notes)


NUMBERS = {"sex": {"f": 8000, "m": 7000}}
SHARES = {"sex": {"f": 8 / 15, "m": 7 / 15}}
STRATA = {"p": 12_000, "q": 3000}


@pytest.mark.parametrize("margins", [NUMBERS, SHARES])
def test_margins_beside_a_population_make_up_that_population_once(
    sample: pd.DataFrame, margins: dict[str, dict[str, float]]
) -> None:
    for how in ({"population": PEOPLE}, {"population": STRATA, "strata": "stratum"}):
        got = weighted_estimate(sample, SURVEY, "a", margins=margins, **how)
        assert sum(share.total for share in got.shares) == pytest.approx(PEOPLE)


def test_weights_of_strata_keep_to_the_margins(sample: pd.DataFrame) -> None:
    uneven = sample.assign(sex=np.where(sample["stratum"] == "p", sample["sex"], "m"))
    design = read_sample_design(uneven, strata="stratum", population=STRATA, margins=SHARES)
    assert design is not None
    women = float(design.weights[uneven["sex"] == "f"].sum())
    assert [women, design.total] == pytest.approx([8000, PEOPLE])


def test_margins_of_another_population_are_refused(sample: pd.DataFrame) -> None:
    with pytest.raises(AnalysisError, match="15,000 people, and the population has 20,000"):
        weighted_estimate(sample, SURVEY, "a", margins=NUMBERS, population=20_000)
