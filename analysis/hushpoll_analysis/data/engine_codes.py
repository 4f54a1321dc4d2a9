"""What reports say of an option, or of a question of a block, read by a query engine before it adds up."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from hushpoll_client import Block, Survey
from hushpoll_client.survey import Question

from hushpoll_analysis.channel.parts import Part
from hushpoll_analysis.channel.view import sampler
from hushpoll_analysis.errors import AnalysisError

from .distinct_rows import added
from .engine_groups import MOST_REPORTS, told_by
from .engine_sums import digit_at, digit_rows, engine_sums
from .option_columns import OPTION
from .tally import column_of, grouping_column

__all__ = ["FEW_REPORTS", "REPORT", "as_text", "option_sums", "told_by_option", "with_codes"]

FEW_REPORTS = 1 << 8
"""Different reports of several options at once that are put together as they are; more are taken apart."""
MOST_LISTED = 1 << 20
"""Different reports whose meaning is listed for the engine."""
REPORT = "(report)"
_LISTED, _PLACE, _CODE = "(listed)", "(place)", "(code)"


def told_by_option(survey: Survey, name: str) -> Question | None:
    """Return the question whose reports speak of several options at once, with too many different ones to keep
    whole.
    """
    if grouping_column(survey, name) is not None:
        return None
    entry, part = told_by(survey, name)
    if part is not None or not isinstance(entry, Question) or not sampler(entry.channel).parts:
        return None
    # The mean and the quantiles of sets need them whole.
    needs_sets = entry.answers.ordered or entry.answers.values is not None
    return entry if entry.channel.outcomes > (MOST_REPORTS if needs_sets else FEW_REPORTS) else None


def with_codes(survey: Survey, table: Any, names: Sequence[str]) -> tuple[Any, dict[str, Any]]:
    """Return a table, and what its rows say of questions, options and exact columns; -1 where nobody was asked."""
    read = {}
    for name in names:
        if grouping_column(survey, name) is None:
            entry, part = told_by(survey, name)
            read[name] = column_of(entry.id) if part is None else f"({name})"
            if part is not None:
                table = _with_part(table, column_of(entry.id), entry, part, read[name])
    return table, {name: table[read[name]] if name in read else as_text(table[name]) for name in names}


def as_text(column: Any) -> Any:
    """Write the values of a column as pandas does."""
    if column.type().is_boolean():
        return column.ifelse("True", "False")
    return column.cast("string")


def _with_part(table: Any, column: str, entry: Question | Block, part: Part, called: str) -> Any:
    """Add a column of what reports say of one option, or of one question of a block."""
    whole = sampler(entry.channel)
    if whole.digits:
        (member,) = part.members
        digit = digit_at(_ibis(), table[column], whole.digits - 1 - member // 4)
        return table.mutate(**{called: digit // (1 << member % 4) % 2})
    outcomes = entry.channel.outcomes
    if outcomes > MOST_LISTED:
        raise AnalysisError(
            f'"{entry.id}" has {outcomes:,} different reports, too many to tell a query engine what each says',
            "give a random part of the reports, as one table",
        )
    codes = whole.part_codes(part, whole.read(np.arange(outcomes))[0])
    listed = _ibis().memtable(pd.DataFrame({_LISTED: np.arange(outcomes), called: codes.astype(np.int64)}))
    return table.join(listed, table[column].cast("int64") == listed[_LISTED]).drop(_LISTED)


def option_sums(chosen: Any, keys: Sequence[str], question: Question, most: int) -> pd.DataFrame | None:
    """Add up what the column `REPORT` says of each option; None where that would be more than so many rows.

    Each row of the result tells of one option (`OPTION`): in the column of the question whether it was reported.
    """
    whole = sampler(question.channel)
    different = int(chosen.select(*keys).distinct().count().execute()) if keys else 1
    if 2 * whole.options * different > most:
        return None
    if whole.digits:
        step = max(1, most // (16 * different))
        found = [
            one
            for start in range(0, whole.digits, step)
            for one in _digit_sums(chosen, keys, question, (start, min(start + step, whole.digits)), most)
        ]
    else:
        found = []
        for option, part in enumerate(whole.parts):
            told = _with_part(chosen, REPORT, question, part, _CODE)
            sums = engine_sums(told, [*keys, _CODE], most)
            found.append(sums.rename(columns={_CODE: question.id}).assign(**{OPTION: option}))
    return added(found)


def _digit_sums(
    chosen: Any, keys: Sequence[str], question: Question, places: tuple[int, int], most: int
) -> list[pd.DataFrame]:
    """Add up some digits of bitmaps, each of which tells of four options."""
    whole = sampler(question.channel)
    rows = digit_rows(_ibis(), chosen[REPORT], *places)
    cut = chosen.mutate(**{_PLACE: rows["place"]})
    cut = cut.mutate(**{_CODE: digit_at(_ibis(), cut[REPORT], cut[_PLACE])})
    sums = engine_sums(cut, [*keys, _PLACE, _CODE], most)
    place, code = (sums.pop(name).to_numpy(dtype=np.int64) for name in (_PLACE, _CODE))
    found = []
    for bit in range(4):
        option = 4 * (whole.digits - 1 - place) + bit
        mine = sums.assign(**{OPTION: option, question.id: code >> bit & 1})
        found.append(mine[option < whole.options])
    return found


def _ibis() -> Any:
    import ibis

    return ibis
