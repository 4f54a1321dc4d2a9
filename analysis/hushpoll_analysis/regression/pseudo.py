"""A randomized number as the outcome of a linear model: each report stands for an unbiased number."""

from __future__ import annotations

from typing import Any

import pandas as pd
from hushpoll_client import Survey
from hushpoll_client.survey import Question

from hushpoll_analysis.data.columns import randomized_variable, read_column
from hushpoll_analysis.data.listed_sets import read_listed
from hushpoll_analysis.data.members import refuse_together, with_members
from hushpoll_analysis.data.option_columns import option_names, with_options
from hushpoll_analysis.errors import AnalysisError

from .formula import parse_formula, variables_of
from .outcomes import HiddenNumber

__all__ = ["formula_options", "unbiased_outcome"]


def formula_options(formula: str, data: pd.DataFrame, channels: Any) -> tuple[pd.DataFrame, Any]:
    """Add the columns of single options that a formula names in backquotes, as in "`used[bus]` ~ age"."""
    names = option_names(formula) if isinstance(formula, str) else []
    if isinstance(channels, Survey) and channels.blocks and isinstance(data, pd.DataFrame):
        outcome, right, _ = parse_formula(formula)
        used = [outcome, *variables_of(right)]
        refuse_together(channels, used, "use crosstab or compare for two questions of one block")
        data = with_members(data, channels, used)
    if not names or not isinstance(data, pd.DataFrame):
        return data, channels
    frame, known, _ = with_options(data, channels, names)
    if known is channels:
        return data, channels
    outcome, right, _ = parse_formula(formula)
    needed = {outcome, *variables_of(right)}
    assert isinstance(known, dict)
    return frame, {name: one for name, one in known.items() if name in needed}


def unbiased_outcome(
    formula: str, data: pd.DataFrame, channels: Any
) -> tuple[pd.DataFrame, HiddenNumber] | None:
    """Put b_z with C b = v, whose mean given the truth is the number itself, in place of the outcome's reports.

    None where the outcome is not a randomized number of a survey. Least squares of these numbers are unbiased; their
    errors are neither normal nor of one size, so standard errors have to be robust.
    """
    outcome, right, _ = parse_formula(formula)
    if not isinstance(channels, Survey):
        return None
    question = next((one for one in channels.questions if one.id == outcome), None)
    if question is None or question.answers.values is None:
        return None
    hidden = [
        name
        for name in sorted(variables_of(right))
        if randomized_variable(name, channels, as_sets=True) is not None
    ]
    if hidden:
        raise AnalysisError(
            f"{outcome} and {hidden[0]} were both randomized, which a linear model of a number cannot take",
            "use exact predictors, or compare means between the groups with `report(..., by=...)`",
        )
    data = with_members(data, channels, [outcome])
    number = _number(question, data)
    return data.assign(**{outcome: number.weights[number.codes]}), number


def _number(question: Question, data: pd.DataFrame) -> HiddenNumber:
    found = randomized_variable(question.id, {question.id: question.mechanism}, of_shares=False, as_sets=True)
    assert found is not None
    variable, codes = read_listed(found, read_column(data, question.id, True))
    weights = variable.view.solution([float(value) for value in question.answers.values or ()])
    return HiddenNumber(variable.view, codes, weights, float(question.answers.spacing))
