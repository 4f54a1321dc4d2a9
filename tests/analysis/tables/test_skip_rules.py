"""Questions with a skip rule in tables and models: "does not apply" is their last answer, hidden like the others."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from hushpoll_analysis import (
    AnalysisError,
    anchored,
    clusters,
    compare,
    correlate,
    crosstab,
    linear,
    logit,
    multinomial,
    ordinal,
    report,
    resolve,
    sum_score,
    synthesize,
    weighted_estimate,
)
from hushpoll_analysis.sample.columns import randomized_variable
from hushpoll_analysis.simulation.groups import simulate_columns
from hushpoll_client import Survey

LAST = "does not apply"
CHOICE = {"kind": "choice", "options": ["x", "y"], "mechanism": {"name": "krr", "epsilon": 3}}
YES_NO = {"kind": "yes_no", "mechanism": {"epsilon": 3}}
SHARES = [0.3, 0.2, 0.1, 0.1, 0.1, 0.1, 0.1]
LONG = {
    "kind": "choice",
    "options": [f"o{k}" for k in range(7)],
    "mechanism": {"name": "subset", "epsilon": 3, "size": 2},
}


def _survey(mechanism: dict[str, Any]) -> Survey:
    decider = {"id": "yn", "kind": "yes_no", "text": "?", "mechanism": {"name": "warner", "epsilon": 3}}
    after = {"id": "af", "text": "?", "after": {"question": "yn", "answers": ["Yes"]}, **mechanism}
    return Survey.from_draft(resolve({"hushpoll": 1, "title": "t", "questions": [decider, after]}))


def _people(survey: Survey, shares: list[float], n: int = 3000) -> pd.DataFrame:
    truth = {"yn": [0.5, 0.5], "af": shares}
    columns = simulate_columns(survey, n, truth, seed=1)
    return pd.DataFrame({f"{name}_reported": codes for name, codes in columns.items()}).assign(
        g=np.arange(n) % 2
    )


@pytest.fixture(scope="module", params=[CHOICE, YES_NO], ids=["choice", "yes_no"])
def skip_survey(request: pytest.FixtureRequest) -> tuple[Survey, pd.DataFrame]:
    survey = _survey(request.param)
    return survey, _people(survey, [0.5, 0.5])


def test_tables_have_does_not_apply_as_their_last_answer(skip_survey: tuple[Survey, pd.DataFrame]) -> None:
    survey, people = skip_survey
    labels = (*survey.questions[1].options, LAST)
    assert tuple(difference.option for difference in compare(people, survey, "af", "g").differences) == labels
    assert crosstab(people, survey, "af", "yn").labels[0] == labels
    shares = weighted_estimate(people, survey, "af").to_frame()["estimate"]
    assert tuple(shares.index) == labels
    assert shares[LAST] == pytest.approx(0.5, abs=0.06)
    groups = {difference.group for difference in compare(people, survey, "yn", "af").differences}
    assert LAST in groups
    results = report(survey, people.drop(columns="g"), by="af")
    assert [share.group for share in results.groups[0].shares][-1] == LAST


def test_who_was_not_asked_never_said_yes_to_what_decides(skip_survey: tuple[Survey, pd.DataFrame]) -> None:
    survey, people = skip_survey
    cells = crosstab(people, survey, "af", "yn").table()
    assert abs(cells.loc[LAST, "Yes"]) < 0.05
    assert abs(cells.loc[survey.questions[1].options[0], "No"]) < 0.05


def test_models_take_it_as_outcome_and_as_predictor(skip_survey: tuple[Survey, pd.DataFrame]) -> None:
    survey, people = skip_survey
    first, second = survey.questions[1].options
    fit = multinomial("af ~ g", people, survey)
    assert fit.names == (f"{second}: Intercept", f"{second}: g", f"{LAST}: Intercept", f"{LAST}: g")
    chances = fit.predict(pd.DataFrame({"g": [0]}))["estimate"].droplevel("row")
    assert chances[LAST] == pytest.approx(0.5, abs=0.07)
    assert logit("af ~ g", people, survey, event=first).n == 3000
    assert logit("g ~ af", people, survey).n == 3000
    assert linear("g ~ af", people, survey).names[1:3] == (f"af[T.{second}]", f"af[T.{LAST}]")


def test_order_and_numbers_are_refused_with_what_to_do(skip_survey: tuple[Survey, pd.DataFrame]) -> None:
    survey, people = skip_survey
    with pytest.raises(AnalysisError, match=r"skip rule.*no place in their order.*use multinomial"):
        ordinal("af ~ g", people, survey)
    with pytest.raises(AnalysisError, match=r"skip rule.*no place in their order.*use crosstab or compare"):
        correlate(people, survey, ["af", "g"])


def test_made_up_people_and_groups_of_people_have_it(skip_survey: tuple[Survey, pd.DataFrame]) -> None:
    survey, people = skip_survey
    synthetic = synthesize(people, survey, ["af", "yn"], 400, seed=1).to_frame()
    assert set(synthetic["af_synthetic"]) == {*survey.questions[1].options, LAST}
    values = {"af": [0, 1, 2], "yn": [0, 1]}
    assert clusters(people, survey, ["af", "yn"], 2, values=values, runs=20, seed=1).n == 3000


def test_careless_people_are_shown_it_as_often_as_they_say_yes_before() -> None:
    survey = _survey(CHOICE)
    people = _people(survey, [0.5, 0.5])
    alone = anchored(people, survey, "af", "yn", 0.4)
    with_chances = anchored(people, survey, "af", "yn", 0.4, chances=[0.25, 0.25, 0.5])
    assert [share.estimate for share in alone.shares] == pytest.approx(
        [share.estimate for share in with_chances.shares]
    )
    assert alone.shares[-1].option == LAST


def test_a_long_list_keeps_its_last_answer() -> None:
    survey = _survey(LONG)
    people = _people(survey, SHARES, 6000)
    shares = weighted_estimate(people, survey, "af").to_frame()["estimate"]
    fit = multinomial("af ~ 1", people, survey)
    assert fit.names[-1] == f"{LAST}: Intercept"
    chances = np.exp([0.0, *fit.coef]) / np.exp([0.0, *fit.coef]).sum()
    # Both estimate the same shares; half of the people are not asked.
    assert chances == pytest.approx(shares.to_numpy(), abs=0.02)
    assert chances[-1] == pytest.approx(0.5, abs=0.04)
    assert linear("g ~ af", people, survey).names[7] == f"af[T.{LAST}]"
    corrected = anchored(people, survey, "af", "yn", 0.4)
    assert corrected.shares[-1].option == LAST


def test_too_few_labels_of_a_long_list_are_refused() -> None:
    survey = _survey(LONG)
    with pytest.raises(AnalysisError, match="af: 7 labels for 8 answers"):
        randomized_variable("af", survey, survey.questions[1].options, as_sets=True)


def test_a_sum_score_is_told_what_not_applying_counts() -> None:
    survey = _survey(YES_NO)
    people = _people(survey, [0.6, 0.4])
    with pytest.raises(AnalysisError, match=r'"af" has a skip rule.*say what it counts with values='):
        sum_score(people, survey, ["yn", "af"])
    score = sum_score(people, survey, ["yn", "af"], values={"af": [0, 1, 0]})
    assert score.mean == pytest.approx(0.5 + 0.5 * 0.4, abs=4 * score.se)
