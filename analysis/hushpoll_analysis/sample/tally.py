"""Counts of a survey's reports: all that estimates of shares need, wherever they were counted."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from hushpoll_client import Block, Survey
from hushpoll_client.messages import msg
from hushpoll_client.survey import Question
from hushpoll_client.survey.group import FIELD

from hushpoll_analysis.channel.view import sampler
from hushpoll_analysis.errors import AnalysisError
from hushpoll_analysis.sample.members import with_member_counts
from hushpoll_analysis.sample.option_columns import YES_NO, option_of

COLUMN_SUFFIX = "_reported"
# Beyond so many nobody reads a report that shows every question within each option.
MOST_OPTIONS = 50

Counts = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Tally:
    """How often each report came, per question, and jointly with the grouping question if there is one.

    `counts[id]` of a question, or of a block as a whole, has one entry per report code, or where reports speak of
    several things at once the counts of each part (`sampler(channel).parts`); `joint[id]` is a table with a row per
    code (or group) of `by`. `groups` holds the names of the rows when `by` is a column of the data that was not
    randomized. Where `by` is a question whose reports speak of several options at once, `by_option` has the counts by
    each of its options, and there is no `joint`.
    """

    survey: Survey
    n: int
    counts: Mapping[str, Counts]
    by: str | None = None
    joint: Mapping[str, Counts] = field(default_factory=dict)
    groups: tuple[str, ...] | None = None
    by_option: tuple[Tally, ...] = ()

    @classmethod
    def from_counts(cls, survey: Survey, counts: Mapping[str, npt.ArrayLike]) -> Tally:
        """Return the tally of given counts: {question id: [count per report code]}."""
        checked = {}
        for entry in survey.entries:
            if entry.id not in counts:
                raise AnalysisError(
                    f'no counts for question "{entry.id}"', "give one list of counts per question"
                )
            checked[entry.id] = _checked_counts(entry, counts[entry.id])
        totals = {entry.id: total_of(entry, checked[entry.id]) for entry in survey.entries}
        if len(set(totals.values())) > 1:
            raise AnalysisError(
                f"counts add up to different numbers of respondents: {totals}", "every report is complete"
            )
        return cls(survey, next(iter(totals.values())), with_member_counts(survey, checked))


def report_columns(survey: Survey, frame: pd.DataFrame) -> pd.DataFrame:
    """Return the columns that hold reports, and the groups by link where the survey has some."""
    columns = [column_of(entry.id) for entry in survey.entries]
    if survey.groups and FIELD in frame.columns:
        columns.append(FIELD)
    return frame[columns]


def column_of(question: str) -> str:
    """Return the column of a question: its id, marked as reported rather than true."""
    return question + COLUMN_SUFFIX


def question_of(survey: Survey, name: str) -> Question:
    """Return a question by its id; raise AnalysisError with those that there are."""
    try:
        return survey.question(name)
    except KeyError:
        ids = ", ".join(survey.questions_by_id)
        raise AnalysisError(
            msg('the survey has no question "{name}"', name=name), msg("its questions are {known}", known=ids)
        ) from None


def grouping_column(survey: Survey, by: str | None) -> str | None:
    """Return the name of an exact grouping column; None when grouping by a question, an option or not at all."""
    if by is None or by in tuple(survey.questions_by_id):
        return None
    if option_of(by, survey) is None:
        return by
    return None


def grouping_question(survey: Survey, by: str) -> Question:
    """Return the question that reports are grouped by, or whose option they are grouped by."""
    option = option_of(by, survey)
    return question_of(survey, by if option is None else option[0])


def option_groups(survey: Survey, by: str, codes: Mapping[str, Any]) -> Counts | None:
    """Return what each report says of the option to group by, -1 where nothing; None when grouping by a question."""
    option = option_of(by, survey)
    if option is None:
        return None
    question, marginal, report_sampler = option
    return report_sampler.part_codes(marginal, codes[question])


def check_columns(present: Iterable[Any], columns: list[str], grouping: str | None, where: str) -> None:
    names = [str(name) for name in present]
    missing = [name for name in columns if name not in names]
    if missing:
        raise AnalysisError(
            f'{where}: no column "{missing[0]}"',
            f"a report needs one column per question, named <id>{COLUMN_SUFFIX}",
        )
    foreign = [name for name in names if name.endswith(COLUMN_SUFFIX) and name not in columns]
    if foreign:
        raise AnalysisError(
            f'{where}: column "{foreign[0]}" is not a question of this survey', "check the survey or the file"
        )
    if grouping and grouping not in names:
        raise AnalysisError(
            f'{where}: "{grouping}" is neither a question of the survey nor a column of the data'
        )


def group_names(values: pd.Series[Any]) -> pd.Series[str]:
    """Name the values of a column that makes groups, as one file, many files and a table all do.

    One by one, so that a block of a file names a value as all others do: a day without a time is a day.
    """
    if not pd.api.types.is_datetime64_any_dtype(values.dtype):
        return values.astype(str)
    return values.map(lambda moment: str(moment.date() if moment == moment.normalize() else moment))


def total_of(question: Question | Block, counts: Counts) -> int:
    """Return the number of reports behind a question's counts; of a block's question those that asked it."""
    return sampler(question.channel).total(counts)


def grouping_names(survey: Survey, by: str) -> tuple[str, ...]:
    """Return what reports are grouped by: the name itself, or each option where reports speak of several at once."""
    question = survey.questions_by_id.get(by)
    if question is None or not sampler(question.channel).parts:
        return (by,)
    if len(question.labels) > MOST_OPTIONS:
        raise AnalysisError(
            msg(
                '"{by}" has {count:,} options, too many to show every question within each of them',
                by=by,
                count=len(question.labels),
            ),
            msg("group by one option, as in '{by}[{option}]'", by=by, option=question.labels[0]),
        )
    return tuple(f"{by}[{option}]" for option in question.labels)


def report_names(survey: Survey, by: str) -> list[str]:
    """Name the groups that reports of a question make, or what they say of one option: their codes."""
    question = grouping_question(survey, by)
    if question.id == by:
        codes = question.channel.outcomes
    else:
        codes = len(YES_NO)
    return [str(code) for code in range(codes)]


def foreign_code(question: Question | Block, value: Any, where: str, row: int | None = None) -> AnalysisError:
    """Return the error for a value that is not a report of a question; a GROUP BY knows it but not its row."""
    wire = question.channel.wire
    if value is None or (isinstance(value, float) and np.isnan(value)):
        value_text = "nothing"
    else:
        value_text = repr(str(value))
    return AnalysisError(
        f'{where}: column "{column_of(question.id)}" holds {value_text}'
        + ("" if row is None else f" in row {row + 1}"),
        f"reports of this question are the integers 0..{wire.below - 1}"
        if wire.below is not None
        else f"a report of this question is {wire.words}",
    )


def _checked_counts(question: Question | Block, counts: npt.ArrayLike) -> Counts:
    values = np.asarray(counts)
    cells = sampler(question.channel).cells
    if values.ndim != 1 or len(values) != cells:
        raise AnalysisError(f'question "{question.id}" has {cells} reports', "give that many counts")
    numbers = pd.to_numeric(pd.Series(values), errors="coerce").to_numpy(dtype=np.float64)
    if not np.all(np.isfinite(numbers)) or np.any(numbers < 0) or np.any(numbers != np.floor(numbers)):
        raise AnalysisError(
            f'counts of question "{question.id}" must be whole numbers >= 0, got {values.tolist()}'
        )
    return numbers.astype(np.int64)
