"""One yes/no column for each option of a question whose reports speak of several options at once.

Tables and models name such a column `question[option]`, as in `used[bus]`: whether the option was chosen or ticked,
seen through the option's own small channel. Respondents who were not asked about it, by an open coin, are left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from hushpoll_client import Channel, Survey
from hushpoll_client.mechanism import Mechanism

from hushpoll_analysis.channel.parts import Part
from hushpoll_analysis.channel.view import Sampler, analysis_channel, sampler
from hushpoll_analysis.errors import AnalysisError

from .columns import Mechanisms, column_of
from .members import with_members

__all__ = [
    "YES_NO",
    "option_names",
    "option_of",
    "option_reports",
    "options_of",
    "part_codes",
    "with_options",
]

YES_NO = ("No", "Yes")
_NAME = re.compile(r"(.+?)\[(.+)\]")

Labels = Mapping[str, Sequence[Any]] | None


def options_of(question: str, mechanisms: Mechanisms, labels: Labels = None) -> tuple[str, ...]:
    """Give the labels of the options that reports of a question tell one by one; none where a report is one answer."""
    known, own = _known(mechanisms)
    parts = _parts(known.get(question))
    given = {**own, **(labels or {})}.get(question, ())
    return tuple(map(str, given)) if len(given) == len(parts) else tuple(str(k) for k in range(len(parts)))


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
    _refuse_together(list(wanted.values()))
    known, own = _known(mechanisms)
    frame, asked = data.copy(deep=False), np.ones(len(data), dtype=bool)
    for name, (question, part, whole) in wanted.items():
        frame[name] = codes = part_codes(data, question, part, whole)
        asked &= codes >= 0
        known[name] = part.channel
    own |= dict.fromkeys(wanted, YES_NO)
    return frame[asked].reset_index(drop=True), known, {**own, **(labels or {})}


def option_reports(
    reports: Any, mechanisms: Mechanisms, question: str, option: str, labels: Labels = None
) -> tuple[Any, Mechanisms, Labels]:
    """Give what the reports say of one option: of a table of respondents, or of joint counts with a row a group."""
    name = f"{question}[{option}]"
    if isinstance(reports, pd.DataFrame):
        return with_options(reports, mechanisms, [name], labels)
    found = option_of(name, mechanisms, labels)
    assert found is not None
    known, own = _known(mechanisms)
    cells = found[1].counts(np.asarray(reports))
    return cells, {**known, name: found[1].channel}, {**own, name: YES_NO, **(labels or {})}


def _known(mechanisms: Mechanisms) -> tuple[dict[str, Any], dict[str, Sequence[Any]]]:
    """Mechanisms by name, and the labels that a survey gives."""
    if isinstance(mechanisms, Survey):
        questions = mechanisms.questions
        return {one.id: one.mechanism for one in questions}, {one.id: one.labels for one in questions}
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
    if option not in options:
        few = ", ".join(options[:12]) + (", ..." if len(options) > 12 else "")
        raise AnalysisError(f'{name}: "{question}" has no option "{option}"', f"its options are {few}")
    whole = sampler(analysis_channel(known[question]))
    return question, whole.parts[options.index(option)], whole


def _refuse_together(wanted: Sequence[tuple[str, Part, Sampler]]) -> None:
    """Two options of one report were randomized together, so that their tables are not each other's neighbours."""
    questions = [question for question, _, _ in wanted]
    twice = next((one for one in questions if questions.count(one) > 1), None)
    if twice is not None:
        raise AnalysisError(
            f'two options of "{twice}" were randomized together, so they cannot stand in one table as two columns',
            "use one option at a time, or `estimate(...).pair(...)`, where people are asked about two or more",
        )


def part_codes(data: pd.DataFrame, question: str, part: Part, whole: Sampler) -> npt.NDArray[np.int64]:
    """Give what each respondent's report says of one option; -1 where it says nothing."""
    column = column_of(data, question)
    codes, wrong = whole.read(column.to_numpy())
    if wrong is not None:
        raise AnalysisError(
            f"column {column.name!r} holds {column.iloc[wrong]!r} in row {wrong}, which is no report of this question",
            "check that column and mechanism belong together",
        )
    return whole.part_codes(part, codes)
