"""What a query engine groups reports by, and what reports say of an option or of a question of a block."""

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
from hushpoll_analysis.sample.distinct_rows import add_up
from hushpoll_analysis.sample.engine_sums import digit_at, digit_rows, engine_sums
from hushpoll_analysis.sample.option_columns import OPTION, option_of
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


FEW_REPORTS = 1 << 8
"""Different reports of several options at once that are put together as they are; more are taken apart."""
MOST_LISTED = 1 << 20
"""Different reports whose meaning is listed for the engine."""
REPORT = "(report)"
_LISTED, _PLACE, _CODE = "(listed)", "(place)", "(code)"


def question_by_option(survey: Survey, name: str) -> Question | None:
    """Return the question whose reports speak of several options at once, with too many different ones to keep
    whole.
    """
    if grouping_column(survey, name) is not None:
        return None
    entry, marginal = reporting_entry(survey, name)
    if marginal is not None or not isinstance(entry, Question) or not sampler(entry.channel).parts:
        return None
    # The mean and the quantiles of sets need them whole.
    needs_sets = entry.answers.ordered or entry.answers.values is not None
    if entry.channel.outcomes > (MOST_REPORTS if needs_sets else FEW_REPORTS):
        return entry
    return None


def with_codes(survey: Survey, table: Any, names: Sequence[str]) -> tuple[Any, dict[str, Any]]:
    """Return a table and the codes of questions, options and exact columns in it; -1 for people who were not asked."""
    columns = {}
    for name in names:
        if grouping_column(survey, name) is None:
            entry, marginal = reporting_entry(survey, name)
            columns[name] = column_of(entry.id) if marginal is None else f"({name})"
            if marginal is not None:
                table = _with_part(table, column_of(entry.id), entry, marginal, columns[name])
    return table, {name: table[columns[name]] if name in columns else as_text(table[name]) for name in names}


def as_text(column: Any) -> Any:
    """Write the values of a column as pandas does."""
    if column.type().is_boolean():
        return column.ifelse("True", "False")
    return column.cast("string")


def _with_part(table: Any, column: str, entry: Question | Block, marginal: Marginal, called: str) -> Any:
    """Add a column of what reports say of one option, or of one question of a block."""
    report_sampler = sampler(entry.channel)
    if report_sampler.digits:
        (member,) = marginal.members
        digit = digit_at(_ibis(), table[column], report_sampler.digits - 1 - member // 4)
        return table.mutate(**{called: digit // (1 << member % 4) % 2})
    outcomes = entry.channel.outcomes
    if outcomes > MOST_LISTED:
        raise AnalysisError(
            f'"{entry.id}" has {outcomes:,} different reports, too many to tell a query engine what each says',
            "give a random part of the reports, as one table",
        )
    codes = report_sampler.part_codes(marginal, report_sampler.read(np.arange(outcomes))[0])
    listed = _ibis().memtable(pd.DataFrame({_LISTED: np.arange(outcomes), called: codes.astype(np.int64)}))
    return table.join(listed, table[column].cast("int64") == listed[_LISTED]).drop(_LISTED)


def option_sums(chosen: Any, keys: Sequence[str], question: Question, most: int) -> pd.DataFrame | None:
    """Add up what the column `REPORT` says of each option; None where that would be more than `most` rows.

    Each row of the result tells of one option (`OPTION`): in the column of the question whether it was reported.
    """
    report_sampler = sampler(question.channel)
    different = 1
    if keys:
        different = int(chosen.select(*keys).distinct().count().execute())
    if 2 * report_sampler.options * different > most:
        return None
    if report_sampler.digits:
        step = max(1, most // (16 * different))
        tables = [
            option_table
            for start in range(0, report_sampler.digits, step)
            for option_table in _digit_sums(
                chosen, keys, question, (start, min(start + step, report_sampler.digits)), most
            )
        ]
    else:
        tables = []
        for option, marginal in enumerate(report_sampler.parts):
            codes = _with_part(chosen, REPORT, question, marginal, _CODE)
            sums = engine_sums(codes, [*keys, _CODE], most)
            tables.append(sums.rename(columns={_CODE: question.id}).assign(**{OPTION: option}))
    return add_up(tables)


def _digit_sums(
    chosen: Any, keys: Sequence[str], question: Question, digit_range: tuple[int, int], most: int
) -> list[pd.DataFrame]:
    """Add up some digits of bitmaps, each of which tells of four options."""
    report_sampler = sampler(question.channel)
    rows = digit_rows(_ibis(), chosen[REPORT], *digit_range)
    cut = chosen.mutate(**{_PLACE: rows["place"]})
    cut = cut.mutate(**{_CODE: digit_at(_ibis(), cut[REPORT], cut[_PLACE])})
    sums = engine_sums(cut, [*keys, _PLACE, _CODE], most)
    position, code = (sums.pop(name).to_numpy(dtype=np.int64) for name in (_PLACE, _CODE))
    tables = []
    for bit in range(4):
        option = 4 * (report_sampler.digits - 1 - position) + bit
        mine = sums.assign(**{OPTION: option, question.id: code >> bit & 1})
        tables.append(mine[option < report_sampler.options])
    return tables


def _ibis() -> Any:
    import ibis

    return ibis
