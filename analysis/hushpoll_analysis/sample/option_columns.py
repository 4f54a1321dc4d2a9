"""One yes/no column for each option of a question whose reports speak of several options at once.

Tables and models name such a column `question[option]`, as in `used[bus]`: whether the option was chosen or ticked,
seen through the option's own small channel. Respondents who were not asked about it, by an open coin, are left out.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from hushpoll_client import Channel, Survey
from hushpoll_client.mechanism import Mechanism
from hushpoll_client.messages import msg

from hushpoll_analysis.channel.base import Sampler
from hushpoll_analysis.channel.parts import Marginal
from hushpoll_analysis.channel.view import analysis_channel, sampler
from hushpoll_analysis.errors import AnalysisError
from hushpoll_analysis.sample.columns import Mechanisms, read_column
from hushpoll_analysis.sample.members import with_members
from hushpoll_analysis.sample.row_designs import RowDesigns
from hushpoll_analysis.sample.sampled_codes import sampled_codes

YES_NO = (msg("No"), msg("Yes"))
OPTION = "(option)"
"""Where sets are told option by option, in rows of their own, the column of the option that a row tells of."""
_NAME = re.compile(r"(.+?)\[(.+)\]")

Labels = Mapping[str, Sequence[Any]] | None


def options_of(question: str, mechanisms: Mechanisms, labels: Labels = None) -> tuple[str, ...]:
    """Return the labels of the options that reports of a question tell one by one.

    None where a report is one answer.
    """
    channels, survey_labels = _channels_and_labels(mechanisms)
    parts = _marginals(channels.get(question))
    names = (labels or {}).get(question)
    if names is not None and parts and len(names) != len(parts):
        raise AnalysisError(f"{question}: {len(names)} labels for {len(parts)} options", "give one for each")
    if names is None:
        names = survey_labels.get(question, ())
    return tuple(map(str, names if len(names) == len(parts) else range(len(parts))))


def option_names(formula: str) -> list[str]:
    """Find the columns that a formula names in backquotes, as in "`used[bus]` ~ age"."""
    return [name for name in re.findall(r"`([^`]+)`", formula) if _NAME.fullmatch(name)]


def with_options(
    data: pd.DataFrame, mechanisms: Mechanisms, names: Iterable[str], labels: Labels = None
) -> tuple[pd.DataFrame, Mechanisms, Labels]:
    """Add the column, the channel and the labels of every option that is named; nothing changes where none is.

    A question of a block gets a column too; people who were not asked it are left out.
    """
    names = list(names)
    data = with_members(data, mechanisms, names)
    options = {name: option for name in names if (option := option_of(name, mechanisms, labels)) is not None}
    if not options:
        return data, mechanisms, labels
    _refuse_together([question for question, _, _ in options.values()])
    channels, option_labels = _channels_and_labels(mechanisms)
    frame, is_asked = data.copy(deep=False), np.ones(len(data), dtype=bool)
    for name, (question, marginal, report_sampler) in options.items():
        frame[name] = codes = part_codes(data, question, marginal, report_sampler)
        is_asked &= codes >= 0
        channels[name] = marginal.channel
    option_labels |= dict.fromkeys(options, YES_NO)
    return frame[is_asked].reset_index(drop=True), channels, {**option_labels, **(labels or {})}


def with_yes_no(
    names: Iterable[str], mechanisms: Mechanisms, labels: Labels = None
) -> dict[str, Sequence[Any]]:
    """Return labels with No and Yes for randomized columns that have two answers and no labels yet."""
    all_labels = dict(labels or {})
    if not isinstance(mechanisms, Mapping):
        return all_labels
    return {
        name: YES_NO for name in names if _answers(name, mechanisms.get(name)) == len(YES_NO)
    } | all_labels


def _answers(name: str, mechanism: Any) -> int | None:
    """Return the number of true answers; None for an exact column, and where a report speaks of several options."""
    if isinstance(mechanism, RowDesigns):
        return mechanism.options(name)
    if not isinstance(mechanism, Mechanism | Channel):
        return None
    channel = analysis_channel(mechanism)
    if channel.listed:
        return channel.options
    return None


def each_option(
    reports: Any,
    mechanisms: Mechanisms,
    question: str,
    names: Sequence[str],
    labels: Labels = None,
    chosen: Sequence[str] | None = None,
) -> Iterator[tuple[str, Any, Mechanisms, Labels]]:
    """Go through the options of a question: its label, and reports, channels and labels that have it as a column.

    `reports` are a table of respondents, or joint counts with an axis for each of `names`, the variables of the table.
    """
    _refuse_together(
        [question, *(_question_of(name, mechanisms, labels) for name in names if name != question)]
    )
    options = options_of(question, mechanisms, labels)
    selected = options
    if chosen is not None:
        selected = tuple(chosen)
    for option in selected:
        _check_option(question, option, options)
    channels, option_labels = _channels_and_labels(mechanisms)
    report_sampler = sampler(analysis_channel(channels[question]))
    if isinstance(reports, pd.DataFrame):
        reports = with_members(reports, mechanisms, names)
        rows_of = option_rows(reports, question, report_sampler)
    for option in selected:
        name, marginal = f"{question}[{option}]", report_sampler.parts[options.index(option)]
        seen: Any
        if isinstance(reports, pd.DataFrame):
            seen = _with_column(*rows_of(marginal), name)
        else:
            axis = list(names).index(question)
            seen = np.moveaxis(marginal.counts(np.moveaxis(np.asarray(reports), axis, -1)), -1, axis)
        yield (
            option,
            seen,
            {**channels, name: marginal.channel},
            {**option_labels, name: YES_NO, **(labels or {})},
        )


def _with_column(data: pd.DataFrame, codes: npt.NDArray[np.int64], name: str) -> pd.DataFrame:
    """Add a column of what reports say of one option, and leave out respondents who were not asked about it."""
    frame, is_asked = data.copy(deep=False), codes >= 0
    frame[name] = codes
    if is_asked.all():
        return frame
    return frame[is_asked].reset_index(drop=True)


def _question_of(name: str, mechanisms: Mechanisms, labels: Labels) -> str:
    option = option_of(name, mechanisms, labels)
    if option is None:
        return name
    return option[0]


def _channels_and_labels(mechanisms: Mechanisms) -> tuple[dict[str, Any], dict[str, Sequence[Any]]]:
    """Mechanisms by name, and the labels that a survey gives."""
    if isinstance(mechanisms, Survey):
        questions = mechanisms.questions
        return {question.id: question.mechanism for question in questions}, {
            question.id: question.labels for question in questions
        }
    return (dict(mechanisms) if isinstance(mechanisms, Mapping) else {}), {}


def _marginals(mechanism: Any) -> tuple[Marginal, ...]:
    if not isinstance(mechanism, Mechanism | Channel):
        return ()
    return sampler(analysis_channel(mechanism)).parts


def option_of(
    name: str, mechanisms: Mechanisms, labels: Labels = None
) -> tuple[str, Marginal, Sampler] | None:
    """Find the option that a name such as `used[bus]` means: its question, its part, and the reports' sampler."""
    match = _NAME.fullmatch(name)
    channels, _ = _channels_and_labels(mechanisms)
    if match is None or name in channels or not _marginals(channels.get(match[1])):
        return None
    question, option = match.groups()
    options = options_of(question, mechanisms, labels)
    _check_option(question, option, options)
    report_sampler = sampler(analysis_channel(channels[question]))
    return question, report_sampler.parts[options.index(option)], report_sampler


def _check_option(question: str, option: object, options: Sequence[str]) -> None:
    if option not in options:
        few = ", ".join(options[:12]) + (", ..." if len(options) > 12 else "")
        raise AnalysisError(
            f'{question}[{option}]: "{question}" has no option "{option}"', f"its options are {few}"
        )


def _refuse_together(questions: Sequence[str]) -> None:
    """Two options of one report were randomized together, so that their tables are not each other's neighbours."""
    twice = next((question for question in questions if questions.count(question) > 1), None)
    if twice is not None:
        raise AnalysisError(
            f'two options of "{twice}" were randomized together, so they cannot stand in one table as two columns',
            "use one option at a time, or `estimate(...).pair(...)`, where people are asked about two or more",
        )


def part_codes(
    data: pd.DataFrame, question: str, marginal: Marginal, report_sampler: Sampler
) -> npt.NDArray[np.int64]:
    """Return what each respondent's report says of one option; -1 where it says nothing."""
    return report_sampler.part_codes(marginal, _reports_of(data, question, report_sampler))


def option_rows(
    data: pd.DataFrame, question: str, report_sampler: Sampler
) -> Callable[[Marginal], tuple[pd.DataFrame, npt.NDArray[np.int64]]]:
    """Return a function of a table that gives what each row says of an option; -1 where it says nothing."""
    if OPTION in data.columns:

        def rows_of(marginal: Marginal) -> tuple[pd.DataFrame, npt.NDArray[np.int64]]:
            mine = data[data[OPTION] == marginal.members[0]]
            return mine, mine[question].to_numpy(dtype=np.int64)

        return rows_of
    codes = _reports_of(data, question, report_sampler)
    return lambda marginal: (data, report_sampler.part_codes(marginal, codes))


def _reports_of(data: pd.DataFrame, question: str, report_sampler: Sampler) -> npt.NDArray[Any]:
    """Read the column of a question's reports as codes."""
    return sampled_codes(read_column(data, question, True), report_sampler)
