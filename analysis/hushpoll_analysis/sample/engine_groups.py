"""What a query engine groups reports by, and what each of its groups says of a question or of one option.

An engine groups by a column as it is, or by one digit of a bitmap. What a report of a block, or of several options at
once, says of one of them is read here, from the few groups that the engine gives back.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from hushpoll_client import Block, Survey
from hushpoll_client.survey import Question

from hushpoll_analysis.channel.parts import Marginal
from hushpoll_analysis.channel.view import sampler
from hushpoll_analysis.errors import AnalysisError
from hushpoll_analysis.sample.option_columns import option_of
from hushpoll_analysis.sample.tally import (
    Counts,
    column_of,
    foreign_code,
    grouping_column,
    grouping_names,
    question_of,
)

NOT_ASKED = "-1"
"""The group of those who were not asked a block's question, or about an option."""
MOST_REPORTS = 1 << 14
"""Different reports that are taken apart after the engine has grouped by them: each comes with every other question."""


@dataclass(frozen=True)
class EngineGroups:
    """A column to group by, or a digit of it, and the part of its reports that makes the groups."""

    column: str
    digit: int | None = None
    entry: Question | Block | None = None
    marginal: Marginal | None = None

    def merge(self, rows: pd.DataFrame, group: str, keys: Sequence[str], sums: Sequence[str]) -> pd.DataFrame:
        """Put the engine's groups together by what they say; those who were not asked are `NOT_ASKED`."""
        if self.marginal is None:
            return rows
        codes = self._codes(rows[group]).astype(str)
        merged: pd.DataFrame = (
            rows.assign(**{group: codes})
            .groupby([*keys, group], as_index=False, sort=False)[list(sums)]
            .sum()
        )
        return merged

    def _codes(self, groups: pd.Series[Any]) -> Counts:
        assert self.entry is not None
        assert self.marginal is not None
        report_sampler = sampler(self.entry.channel)
        reports = pd.to_numeric(groups, errors="coerce").to_numpy(dtype=np.float64)
        if self.digit is not None:
            (member,) = self.marginal.members
            return np.where(reports < 0, -1, np.nan_to_num(reports).astype(np.int64) >> member % 4 & 1)
        codes, wrong = report_sampler.read(reports)
        if wrong is not None:
            raise foreign_code(self.entry, groups.iloc[wrong], "table")
        return report_sampler.part_codes(self.marginal, codes)


def engine_groups(survey: Survey, by: str) -> EngineGroups:
    """Find what to group by: an exact column, a question, a question of a block, or one option."""
    if grouping_column(survey, by) is not None:
        return EngineGroups(by)
    entry, marginal = reporting_entry(survey, by)
    if marginal is None:
        return EngineGroups(column_of(by))
    digits = sampler(entry.channel).digits
    digit = None
    if digits:
        digit = digits - 1 - marginal.members[0] // 4
    if digit is None and entry.channel.outcomes > MOST_REPORTS:
        raise AnalysisError(
            f'"{by}" is told by {entry.channel.outcomes:,} different reports, too many to group by in a query engine',
            "count Parquet files without Spark: they are then read block by block",
        )
    return EngineGroups(column_of(entry.id), digit, entry, marginal)


def engine_suffices(survey: Survey, by: str | None) -> bool:
    """Return whether an engine can group by this; else reports are read block by block."""
    if by is None or grouping_column(survey, by) is not None:
        return True
    entry, marginal = reporting_entry(survey, grouping_names(survey, by)[0])
    return marginal is None or bool(sampler(entry.channel).digits) or entry.channel.outcomes <= MOST_REPORTS


def reporting_entry(survey: Survey, by: str) -> tuple[Question | Block, Marginal | None]:
    """Return whose reports tell of a question or an option, and which part of them does; None: they do as a whole."""
    option = option_of(by, survey)
    if option is not None:
        return question_of(survey, option[0]), option[1]
    question = question_of(survey, by)
    membership = survey.block_of(question)
    if membership is None:
        return question, None
    block, position = membership
    return block, sampler(block.channel).parts[position]
