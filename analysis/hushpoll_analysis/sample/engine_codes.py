"""What reports say of an option, or of a question of a block, read by a query engine before it adds up."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from hushpoll_client import Block, Survey
from hushpoll_client.survey import Question

from hushpoll_analysis.channel.parts import Marginal
from hushpoll_analysis.channel.view import sampler
from hushpoll_analysis.errors import AnalysisError
from hushpoll_analysis.sample.distinct_rows import add_up
from hushpoll_analysis.sample.engine_groups import MOST_REPORTS, reporting_entry
from hushpoll_analysis.sample.engine_sums import digit_at, digit_rows, engine_sums
from hushpoll_analysis.sample.option_columns import OPTION
from hushpoll_analysis.sample.tally import column_of, grouping_column

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
