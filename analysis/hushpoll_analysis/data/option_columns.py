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

from hushpoll_analysis.channel.parts import Part
from hushpoll_analysis.channel.view import Sampler, analysis_channel, sampler
from hushpoll_analysis.errors import AnalysisError

from .columns import Mechanisms, read_column
from .members import with_members
from .row_designs import RowDesigns
from .row_order import value_at

__all__ = [
    "OPTION",
    "YES_NO",
    "each_option",
    "option_names",
    "option_of",
    "option_rows",
    "options_of",
    "part_codes",
    "with_options",
    "with_yes_no",
]

YES_NO = (msg("No"), msg("Yes"))
OPTION = "(option)"
"""Where sets are told option by option, in rows of their own, the column of the option that a row tells of."""
_NAME = re.compile(r"(.+?)\[(.+)\]")

Labels = Mapping[str, Sequence[Any]] | None


def options_of(question: str, mechanisms: Mechanisms, labels: Labels = None) -> tuple[str, ...]:
    """Return the labels of the options that reports of a question tell one by one.

    None where a report is one answer.
    """
    known, own = _known(mechanisms)
    parts = _parts(known.get(question))
    given = (labels or {}).get(question)
    if given is not None and parts and len(given) != len(parts):
        raise AnalysisError(f"{question}: {len(given)} labels for {len(parts)} options", "give one for each")
    named = own.get(question, ()) if given is None else given
    return tuple(map(str, named if len(named) == len(parts) else range(len(parts))))


def option_names(formula: str) -> list[str]:
    """Find the columns that a formula names in backquotes, as in "`used[bus]` ~ age"."""
    return [name for name in re.findall(r"`([^`]+)`", formula) if _NAME.fullmatch(name)]


def with_options(
    data: pd.DataFrame, mechanisms: Mechanisms, names: Iterable[str], labels: Labels = None
) -> tuple[pd.DataFrame, Mechanisms, Labels]:
    """Add the column, the channel and the labels of every option that is named; nothing changes where none is.

    A question of a block gets a column of its own too; who was not asked it is left out.
    """
    names = list(names)
    data = with_members(data, mechanisms, names)
    wanted = {name: found for name in names if (found := option_of(name, mechanisms, labels)) is not None}
    if not wanted:
        return data, mechanisms, labels
    _refuse_together([question for question, _, _ in wanted.values()])
    known, own = _known(mechanisms)
    frame, asked = data.copy(deep=False), np.ones(len(data), dtype=bool)
    for name, (question, part, whole) in wanted.items():
        frame[name] = codes = part_codes(data, question, part, whole)
        asked &= codes >= 0
        known[name] = part.channel
    own |= dict.fromkeys(wanted, YES_NO)
    return frame[asked].reset_index(drop=True), known, {**own, **(labels or {})}


def with_yes_no(
    names: Iterable[str], mechanisms: Mechanisms, labels: Labels = None
) -> dict[str, Sequence[Any]]:
    """Call the answers of randomized columns No and Yes where there are two and nobody has named them."""
    found = dict(labels or {})
    known = mechanisms if isinstance(mechanisms, Mapping) else {}
    return {name: YES_NO for name in names if _answers(name, known.get(name)) == len(YES_NO)} | found


def _answers(name: str, mechanism: Any) -> int | None:
    """Return the number of true answers; None for an exact column, and where a report speaks of several options."""
    if isinstance(mechanism, RowDesigns):
        return mechanism.options(name)
    if not isinstance(mechanism, Mechanism | Channel):
        return None
    channel = analysis_channel(mechanism)
    return channel.options if channel.listed else None


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
    wanted = options if chosen is None else tuple(chosen)
    for option in wanted:
        _check_option(question, option, options)
    known, own = _known(mechanisms)
    whole = sampler(analysis_channel(known[question]))
    if isinstance(reports, pd.DataFrame):
        reports = with_members(reports, mechanisms, names)
        told = option_rows(reports, question, whole)
    for option in wanted:
        name, part = f"{question}[{option}]", whole.parts[options.index(option)]
        seen: Any
        if isinstance(reports, pd.DataFrame):
            seen = _with_column(*told(part), name)
        else:
            axis = list(names).index(question)
            seen = np.moveaxis(part.counts(np.moveaxis(np.asarray(reports), axis, -1)), -1, axis)
        yield option, seen, {**known, name: part.channel}, {**own, name: YES_NO, **(labels or {})}


def _with_column(data: pd.DataFrame, codes: npt.NDArray[np.int64], name: str) -> pd.DataFrame:
    """Add a column of what reports say of one option, and leave out respondents who were not asked about it."""
    frame, asked = data.copy(deep=False), codes >= 0
    frame[name] = codes
    return frame if asked.all() else frame[asked].reset_index(drop=True)


def _question_of(name: str, mechanisms: Mechanisms, labels: Labels) -> str:
    found = option_of(name, mechanisms, labels)
    return name if found is None else found[0]


def _known(mechanisms: Mechanisms) -> tuple[dict[str, Any], dict[str, Sequence[Any]]]:
    """Mechanisms by name, and the labels that a survey gives."""
    if isinstance(mechanisms, Survey):
        questions = mechanisms.questions
        return {question.id: question.mechanism for question in questions}, {
            question.id: question.labels for question in questions
        }
    return (dict(mechanisms) if isinstance(mechanisms, Mapping) else {}), {}


def _parts(mechanism: Any) -> tuple[Part, ...]:
    if not isinstance(mechanism, Mechanism | Channel):
        return ()
    return sampler(analysis_channel(mechanism)).parts


def option_of(name: str, mechanisms: Mechanisms, labels: Labels = None) -> tuple[str, Part, Sampler] | None:
    """Find the option that a name such as `used[bus]` means: its question, its part, and the reports' sampler."""
    found = _NAME.fullmatch(name)
    known, _ = _known(mechanisms)
    if found is None or name in known or not _parts(known.get(found[1])):
        return None
    question, option = found.groups()
    options = options_of(question, mechanisms, labels)
    _check_option(question, option, options)
    whole = sampler(analysis_channel(known[question]))
    return question, whole.parts[options.index(option)], whole


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


def part_codes(data: pd.DataFrame, question: str, part: Part, whole: Sampler) -> npt.NDArray[np.int64]:
    """Return what each respondent's report says of one option; -1 where it says nothing."""
    return whole.part_codes(part, _reports_of(data, question, whole))


def option_rows(
    data: pd.DataFrame, question: str, whole: Sampler
) -> Callable[[Part], tuple[pd.DataFrame, npt.NDArray[np.int64]]]:
    """Return a function of a table that gives what each row says of an option; -1 where it says nothing."""
    if OPTION in data.columns:

        def told(part: Part) -> tuple[pd.DataFrame, npt.NDArray[np.int64]]:
            mine = data[data[OPTION] == part.members[0]]
            return mine, mine[question].to_numpy(dtype=np.int64)

        return told
    codes = _reports_of(data, question, whole)
    return lambda part: (data, whole.part_codes(part, codes))


def _reports_of(data: pd.DataFrame, question: str, whole: Sampler) -> npt.NDArray[Any]:
    """Read the column of a question's reports as codes."""
    column = read_column(data, question, True)
    codes, wrong = whole.read(column.to_numpy())
    if wrong is not None:
        raise AnalysisError(
            f"column {column.name!r} holds {value_at(column, wrong)!r} in row {wrong}, which is not a report of"
            " this question",
            "check that column and mechanism belong together",
        )
    return codes
