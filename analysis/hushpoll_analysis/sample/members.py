"""Questions of a block: one column of reports holds what was said of all that were asked."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from hushpoll_client import Block, Survey
from hushpoll_client.messages import msg
from hushpoll_client.survey import Question

from hushpoll_analysis.channel.parts import Marginal
from hushpoll_analysis.channel.view import sampler
from hushpoll_analysis.errors import AnalysisError
from hushpoll_analysis.sample.columns import Mechanisms, read_column
from hushpoll_analysis.sample.row_order import value_at

Counts = npt.NDArray[np.int64]
NOT_TOGETHER = msg("ask two or more questions of the block to each person, to see two of them together")


def with_member_counts(survey: Survey, counts: Mapping[str, Counts]) -> dict[str, Counts]:
    """Add the counts of every question of a block to those of the block (last axis)."""
    all_counts = dict(counts)
    for block in survey.blocks:
        if block.id in counts:
            for name, marginal in zip(block.questions, sampler(block.channel).parts, strict=True):
                all_counts[name] = marginal.counts(counts[block.id])
    return all_counts


def member_codes(survey: Survey, question: Question, codes: Mapping[str, npt.NDArray[Any]]) -> Counts | None:
    """Return what each report says of a question of a block, -1 where it was not asked; None for other questions."""
    membership = survey.block_of(question)
    if membership is None:
        return None
    block, position = membership
    report_sampler = sampler(block.channel)
    return report_sampler.part_codes(report_sampler.parts[position], codes[block.id])


def pair_of(survey: Survey, first: str, second: str) -> tuple[Block, Marginal, bool] | None:
    """Return the block of two of its questions, what its reports say of both, and whether they stand turned round.

    None where the two are not of one block; raises AnalysisError where no person is asked both.
    """
    for block in survey.blocks:
        if first in block.questions and second in block.questions:
            positions = (block.questions.index(first), block.questions.index(second))
            low, high = sorted(positions)
            for marginal in sampler(block.channel).pairs:
                if marginal.members == (low, high):
                    return block, marginal, positions != (low, high)
            raise AnalysisError(
                msg('nobody is asked "{first}" and "{second}" together', first=first, second=second),
                NOT_TOGETHER,
            )
    return None


def pair_table(survey: Survey, first: str, second: str, cells: Counts) -> Counts:
    """Return the counts of two questions of one block as a table, a row for each answer of the first."""
    pair = pair_of(survey, first, second)
    assert pair is not None
    block, marginal, turned = pair
    low, high = marginal.members
    sizes = [len(survey.question(block.questions[position]).options) for position in (low, high)]
    table = marginal.counts(cells).reshape(sizes)
    if turned:
        return table.T
    return table


def with_members(data: pd.DataFrame, mechanisms: Mechanisms, names: Iterable[str]) -> pd.DataFrame:
    """Add a column for every named question of a block, and leave out respondents who were not asked it."""
    if not isinstance(mechanisms, Survey) or not isinstance(data, pd.DataFrame):
        return data
    questions = [
        question
        for question in mechanisms.questions
        if question.block is not None and question.id in set(names)
    ]
    questions = [
        member
        for member in questions
        if not {member.id, f"{member.id}_reported"} & set(map(str, data.columns))
    ]
    if not questions:
        return data
    frame, is_asked = data.copy(deep=False), np.ones(len(data), dtype=bool)
    for question in questions:
        frame[question.id] = codes = _member_reports(data, mechanisms, question)[0]
        is_asked &= codes >= 0
    if not is_asked.any():
        raise AnalysisError(
            f"nobody is asked {' and '.join(member.id for member in questions)} together", NOT_TOGETHER
        )
    return frame[is_asked]


def asked_in_block(
    data: pd.DataFrame, mechanisms: Mechanisms, name: str
) -> tuple[npt.NDArray[np.bool_], float] | None:
    """Return who was asked a question of a block, and the share of all people who are.

    None where it is no question of a block, or has its column in the data.
    """
    if not isinstance(mechanisms, Survey) or {name, f"{name}_reported"} & set(map(str, data.columns)):
        return None
    question = mechanisms.questions_by_id.get(name)
    if question is None or question.block is None:
        return None
    codes, marginal = _member_reports(data, mechanisms, question)
    return codes >= 0, marginal.asked


def _member_reports(data: pd.DataFrame, survey: Survey, question: Question) -> tuple[Counts, Marginal]:
    membership = survey.block_of(question)
    assert membership is not None
    block, position = membership
    column, report_sampler = read_column(data, block.id, True), sampler(block.channel)
    codes, wrong = report_sampler.read(column.to_numpy())
    if wrong is not None:
        raise AnalysisError(
            msg(
                "column {column!r} holds {value!r} in row {row}, which is not a report of this block",
                column=column.name,
                value=value_at(column, wrong),
                row=wrong,
            ),
            "check that data and survey belong together",
        )
    return report_sampler.part_codes(report_sampler.parts[position], codes), report_sampler.parts[position]


def refuse_together(mechanisms: Mechanisms, names: Iterable[str], remedy: str) -> None:
    """Refuse two questions of one block where each is taken to be randomized on its own."""
    if not isinstance(mechanisms, Survey):
        return
    for block in mechanisms.blocks:
        inside = [name for name in block.questions if name in set(names)]
        if len(inside) > 1:
            raise AnalysisError(f"{inside[0]} and {inside[1]} are of one block, randomized together", remedy)
