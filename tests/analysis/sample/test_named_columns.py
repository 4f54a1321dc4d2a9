"""Which columns a call names: an option, a function of a formula or a value of a margin is none of them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from hushpoll_analysis import compare, correlate, impute, linear, logit, weighted_estimate
from hushpoll_analysis.errors import AnalysisError
from hushpoll_analysis.planning.draft_resolution import read_draft
from hushpoll_analysis.sample.missing import names_in
from hushpoll_analysis.simulation.respondents import simulate_survey
from hushpoll_client import Survey

SURVEY = Survey.from_draft(
    {
        "hushpoll": 1,
        "title": "Named",
        "questions": [
            {"id": "a", "kind": "yes_no", "text": "A?", "mechanism": {"epsilon": 2}},
            {
                "id": "c",
                "kind": "choice",
                "text": "C?",
                "options": ["x", "y", "z"],
                "mechanism": {"epsilon": 2},
            },
        ],
    }
)


@pytest.fixture(scope="module")
def people() -> pd.DataFrame:
    rng = np.random.default_rng(5)
    n = 1_200
    return pd.DataFrame(
        {
            "a_reported": rng.integers(0, 2, n),
            "c_reported": rng.integers(0, 3, n),
            "age": rng.normal(40.0, 9.0, n),
            "my.age": rng.normal(40.0, 9.0, n),
            "sex": rng.choice(["f", "m"], n),
            # Columns that nobody names, though words of the calls below are their names.
            **{
                name: np.where(np.arange(n) < 500, np.nan, rng.normal(size=n))
                for name in ("x", "f", "C", "np")
            },
        },
        index=[f"r{number}" for number in rng.permutation(n)],
    )


def test_rows_are_left_out_for_columns_that_are_named_only(people: pd.DataFrame) -> None:
    compared = compare(people, SURVEY, "c", "sex", option="x", na_action="omit")
    assert not any("left out" in note for note in compared.notes)
    assert logit("a ~ C(sex) + np.log(age)", people, SURVEY, na_action="omit").n == len(people)
    raked = weighted_estimate(people, SURVEY, "a", margins={"sex": {"f": 0.5, "m": 0.5}}, na_action="omit")
    assert raked.n == len(people)
    assert logit("a ~ x", people, SURVEY, na_action="omit").n == 700


def test_words_of_a_formula() -> None:
    names = names_in(
        {"formula": "y ~ C(sex) + np.log(age) + `my age` + 2 * my.x + (1 | site.no)", "option": "x"}
    )
    assert {"y", "sex", "age", "my age", "my.x", "site.no"} <= set(names)
    assert not {"C", "x", "np.log", "1", "2"} & set(names)


def test_completed_tables_keep_the_names_of_their_rows(people: pd.DataFrame) -> None:
    fit = logit("a ~ sex", people, SURVEY)
    for completed in (impute(fit, 2, seed=1), impute(fit, 2, data=people, seed=1)):
        for frame in completed:
            assert frame.index.equals(people.index)


def test_effects_of_what_looks_at_all_rows(people: pd.DataFrame) -> None:
    steps = logit("a ~ center(age)", people, SURVEY).margins()
    plain = logit("a ~ age", people, SURVEY).margins()
    assert steps.loc[("age", "slope"), "effect"] == pytest.approx(
        plain.loc[("age", "slope"), "effect"], abs=1e-7
    )
    spline = logit("a ~ bs(age, df=4)", people, SURVEY).margins()
    assert np.isfinite(spline["effect"]).all()
    forgetful = logit("a ~ I(age - np.mean(age)) + sex", people, SURVEY)
    for call in (forgetful.margins, lambda: forgetful.predict(people.iloc[:5])):
        with pytest.raises(AnalysisError, match=r"np\.mean\(age\).*center"):
            call()
    assert len(forgetful.predict()) == len(people)
    assert len(forgetful.margins(["sex"])) == 1


@pytest.mark.parametrize("how", [SURVEY, {"a": SURVEY.questions[0].mechanism}])
def test_reports_come_before_the_true_values_of_a_simulated_table(people: pd.DataFrame, how: Any) -> None:
    """Simulated data have both: the truth under the name, the report in the reported column."""
    both = people.assign(a=1)
    assert weighted_estimate(both, how, "a").shares == weighted_estimate(people, how, "a").shares
    assert compare(both, how, "a", "sex").to_dict() == compare(people, how, "a", "sex").to_dict()
    for fit, formula in ((logit, "a ~ sex"), (linear, "age ~ a")):
        with_truth, other = (fit(formula, table, how) for table in (both, people))
        assert with_truth.to_dict() == other.to_dict()
    ages = [correlate(table, how, ["a", "age"]).to_dict() for table in (both, people)]
    assert ages[0] == ages[1]
    # A column that was not randomized is the one that is named.
    assert (
        compare(people.assign(sex_reported=0), how, "a", "sex").to_dict()
        == compare(people, how, "a", "sex").to_dict()
    )


def test_messages_of_models_tell_rows_and_numbers_of_the_table_that_was_given(people: pd.DataFrame) -> None:
    """The respondents are put together first, where many are alike."""
    rows = [100, 200, 300]
    wrong, gaps = people.copy(), people.copy()
    wrong.iloc[rows, wrong.columns.get_loc("a_reported")] = 7
    gaps["sex"] = gaps["sex"].where(~np.isin(np.arange(len(gaps)), rows))
    with pytest.raises(AnalysisError, match=r"has 3 values that are not report codes.* is 7 in row 100"):
        logit("a ~ sex", wrong, SURVEY)
    with pytest.raises(AnalysisError, match="'sex' has 3 missing values"):
        logit("a ~ sex", gaps, SURVEY)


PARTS = read_draft(
    {
        "hushpoll": 1,
        "title": "Parts",
        "questions": [
            {
                "id": "why",
                "kind": "multiple",
                "text": "Why?",
                "options": ["u", "v", "w"],
                "mechanism": {"epsilon": 3},
            },
            {"id": "b1", "kind": "yes_no", "text": "One?"},
            {"id": "b2", "kind": "yes_no", "text": "Two?"},
        ],
        "blocks": [{"questions": ["b1", "b2"], "ask": 2, "epsilon": 2}],
    }
)


@pytest.mark.parametrize("lacking", ["why_reported", "block1_reported", "sex"])
@pytest.mark.parametrize("outcome", ["why", "why[u]", "b1"])
def test_who_lacks_the_report_of_an_option_or_a_block_is_left_out(outcome: str, lacking: str) -> None:
    truth = {"why": [0.3, 0.4, 0.5], "b1": [0.5, 0.5], "b2": [0.5, 0.5]}
    codes = {
        name: pd.Series(some).astype(object) for name, some in simulate_survey(PARTS, 600, truth, seed=1)
    }
    table = pd.DataFrame(
        {f"{name.removesuffix('_reported')}_reported": column for name, column in codes.items()}
    )
    table["sex"] = np.where(np.arange(600) % 2, "f", "m")
    table.loc[:9, lacking] = None
    named = lacking == "sex" or lacking.startswith("why") == outcome.startswith("why")
    comparison = compare(table, PARTS, outcome, "sex", na_action="omit")
    assert comparison.n == (590 if named else 600)
    assert ("10 rows with missing values were left out" in comparison.notes) is named
    if named:
        rest = compare(table[10:].reset_index(drop=True), PARTS, outcome, "sex")
        assert comparison.to_dict()["differences"] == rest.to_dict()["differences"]


def test_true_values_that_are_missing_leave_nobody_out(people: pd.DataFrame) -> None:
    """Of a randomized question the reports are used, whatever stands under its name."""
    both = people.assign(a=np.nan)
    assert compare(both, SURVEY, "a", "sex", na_action="omit").n == len(people)


def test_who_has_no_name_of_a_design_is_left_out(people: pd.DataFrame) -> None:
    coin = SURVEY.questions[0].mechanism
    arms = people.assign(arm=np.where(np.arange(len(people)) % 2, "coin", "direct"))
    arms.iloc[:97, arms.columns.get_loc("arm")] = None
    keys: dict[str, Any] = {"designs": {"coin": coin, "direct": None}, "na_action": "omit"}
    for how in ("arm", {"a": "arm"}):
        assert logit("a ~ age", arms, how, **keys).n == len(people) - 97
    assert compare(arms, {"a": "arm"}, "a", "sex", **keys).n == len(people) - 97


def test_surveys_as_designs_serve_the_questions_that_a_formula_names(people: pd.DataFrame) -> None:
    arms = people.assign(arm=np.where(np.arange(len(people)) % 2, "one", "two"))
    designs = {"one": SURVEY, "two": SURVEY}
    by_column, other = (logit("a ~ age", arms, how, designs=designs) for how in ("arm", {"a": "arm"}))
    assert by_column.to_dict() == other.to_dict()
