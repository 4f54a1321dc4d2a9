"""A randomized number as the outcome of a linear model: each report stands for an unbiased number."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from hushpoll_client import Survey
from hushpoll_client.survey import Question

from hushpoll_analysis.channel.base import ChannelView
from hushpoll_analysis.channel.stacked import StackedView
from hushpoll_analysis.channel.table import TableView
from hushpoll_analysis.channel.two_group_designs import PartlyKnown
from hushpoll_analysis.channel.view import channel_view
from hushpoll_analysis.errors import AnalysisError
from hushpoll_analysis.sample.columns import randomized_variable, read_column, report_codes
from hushpoll_analysis.sample.listed_sets import read_listed
from hushpoll_analysis.sample.members import refuse_together, with_members
from hushpoll_analysis.sample.option_columns import option_names, with_options
from hushpoll_analysis.sample.row_designs import Designs, RowDesigns, with_designs

from .formula import parse_formula, variables_of
from .outcomes import HiddenNumber


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
    frame, known_channels, _ = with_options(data, channels, names)
    if known_channels is channels:
        return data, channels
    outcome, right, _ = parse_formula(formula)
    names_used = {outcome, *variables_of(right)}
    assert isinstance(known_channels, dict)
    return frame, {name: channel for name, channel in known_channels.items() if name in names_used}


def unbiased_outcome(
    formula: str, data: pd.DataFrame, channels: Any, designs: Designs | None = None
) -> tuple[pd.DataFrame, HiddenNumber] | None:
    """Put b_z with C b = v, whose mean given the truth is the number itself, in place of the outcome's reports.

    None where the outcome is not a randomized number of a survey, or of the surveys in `designs`. Least squares of
    these numbers are unbiased; their errors are neither normal nor of one size, so standard errors have to be robust.
    """
    outcome, right, _ = parse_formula(formula)
    if designs is not None:
        return _by_rows(outcome, right, with_designs(channels, designs, data, outcome), designs, data)
    if not isinstance(channels, Survey):
        return None
    question = channels.questions_by_id.get(outcome)
    if question is None or question.answers.values is None:
        return None
    hidden = [
        name
        for name in sorted(variables_of(right))
        if randomized_variable(name, channels, as_sets=True) is not None
    ]
    _refuse_hidden(outcome, hidden)
    data = with_members(data, channels, [outcome])
    number = _number(question, data)
    return data.assign(**{outcome: number.weights[number.codes]}), number


def _number(question: Question, data: pd.DataFrame) -> HiddenNumber:
    randomized = randomized_variable(
        question.id, {question.id: question.mechanism}, of_shares=False, as_sets=True
    )
    assert randomized is not None
    variable, codes = read_listed(randomized, read_column(data, question.id, True))
    weights = variable.view.solution([float(value) for value in question.answers.values or ()])
    return HiddenNumber(variable.view, codes, weights, float(question.answers.spacing))


def _refuse_hidden(outcome: str, hidden: list[str]) -> None:
    if hidden:
        raise AnalysisError(
            f"{outcome} and {hidden[0]} were both randomized, which a linear model of a number cannot take",
            "use exact predictors, or compare means between the groups with `report(..., by=...)`",
        )


def _by_rows(
    outcome: str, right: Any, channels: Any, designs: Designs, data: pd.DataFrame
) -> tuple[pd.DataFrame, HiddenNumber] | None:
    """Return the same where each row has its own design; None unless surveys say which number an answer stands for."""
    rows = None
    if isinstance(channels, dict):
        rows = channels.get(outcome)
    if not isinstance(rows, RowDesigns):
        return None
    surveys = [design for design in (designs[name] for name in rows.names) if isinstance(design, Survey)]
    questions = [question for survey in surveys for question in survey.questions if question.id == outcome]
    scales = {question.answers.values for question in questions}
    if not questions or None in scales or rows.unknown:
        return None
    if len(scales) > 1:
        raise AnalysisError(
            f"designs: the answers of {outcome!r} stand for different numbers in different surveys",
            "give surveys that ask it on the same scale",
        )
    _refuse_hidden(outcome, sorted(variables_of(right) & {str(name) for name in channels}))
    values = [float(value) for value in questions[0].answers.values or ()]
    blocks: list[ChannelView] = []
    for design in rows.designs:
        assert not isinstance(design, PartlyKnown), "surveys have none"
        blocks.append(TableView(np.eye(len(values))) if design is None else channel_view(design))
    view = StackedView(blocks, rows.fractions)
    column = read_column(data, outcome, True)
    reports = np.zeros(len(data), dtype=np.int64)
    for block_number, block in enumerate(blocks):
        reports[rows.rows == block_number] = report_codes(column[rows.rows == block_number], block.outcomes)
    number = HiddenNumber(
        view, view.codes(reports, rows.rows), view.solution(values), float(questions[0].answers.spacing)
    )
    return data.assign(**{outcome: number.weights[number.codes]}), number
