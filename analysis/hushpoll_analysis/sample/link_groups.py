"""Groups by link: known exactly, but shown on their own only where they are large enough to hide in.

A group with few reports would show little more than its members' reports, and so would the total minus all other
groups. Therefore small groups are put together, with as many of the next ones as that takes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from hushpoll_client import Survey
from hushpoll_client.delivery.report import FEWEST_REPORTS
from hushpoll_client.survey.group import FIELD, OTHER

from hushpoll_analysis.errors import AnalysisError
from hushpoll_analysis.sample.distinct_rows import TIMES
from hushpoll_analysis.sample.guarding import unguarded
from hushpoll_analysis.sample.option_columns import OPTION
from hushpoll_analysis.sample.tally import Tally, total_of


def by_link(survey: Survey, by: str | None) -> bool:
    """Return whether a column is the survey's own groups."""
    return bool(survey.groups) and by == FIELD


def displayed_names(sizes: Mapping[str, int], fewest: int = FEWEST_REPORTS) -> dict[str, str]:
    """Return what each group is shown as: its own name, or `other`.

    Groups with fewer than `fewest` reports are hidden, and then the smallest others, until those hidden are two or more
    with at least `fewest` reports together: what is left of the total shows no small group. A group without any report
    hides nothing.
    """
    come = {name: size for name, size in sizes.items() if size > 0}
    hidden = [name for name, size in come.items() if size < fewest or name == OTHER]
    rest = sorted((name for name in come if name not in hidden), key=come.__getitem__)
    merged = OTHER in hidden  # several groups already, put together when they were exported
    while (
        hidden
        and rest
        and ((len(hidden) < 2 and not merged) or sum(come[group] for group in hidden) < fewest)
    ):
        hidden.append(rest.pop(0))
    return {name: OTHER if name in hidden else name for name in sizes}


def check_names(survey: Survey, values: Sequence[Any], where: str) -> None:
    """Refuse a value of the column that is not a group of the survey."""
    foreign = [value for value in pd.unique(pd.Series(values)) if value not in (*survey.groups, OTHER)]
    if foreign:
        raise AnalysisError(
            f'{where}: column "{FIELD}" holds {str(foreign[0])!r}, which is not a group of this survey',
            f"its groups are {', '.join(survey.groups)}; small ones may be called {OTHER!r}",
        )


def folded_tally(counted: Tally, fewest: int = FEWEST_REPORTS) -> Tally:
    """Put the small groups of joint counts together, in the order of the survey."""
    assert counted.groups is not None
    groups = tuple(map(unguarded, counted.groups))
    counted = replace(counted, groups=groups)
    check_names(counted.survey, groups, "data")
    named = displayed_names(group_sizes(counted), fewest)
    order = [name for name in (*counted.survey.groups, OTHER) if name in named.values()]
    joint = {key: folded_rows(table, groups, named, order)[0] for key, table in counted.joint.items()}
    return replace(counted, joint=joint, groups=tuple(order))


def group_sizes(counted: Tally) -> dict[str, int]:
    """Count the reports of each group by link as it is shown; nothing where these are not counted."""
    if not by_link(counted.survey, counted.by) or counted.groups is None:
        return {}
    entry = counted.survey.entries[0]
    rows = counted.joint[entry.id]
    return {name: total_of(entry, row) for name, row in zip(counted.groups, rows, strict=True)}


def tally_of(counted: Tally, group: str) -> Tally | None:
    """Return the counts of one group that is shown on its own; None of any other."""
    if counted.groups is None or group not in counted.groups or group == OTHER:
        return None
    row = counted.groups.index(group)
    counts = {key: table[row] for key, table in counted.joint.items()}
    return Tally(counted.survey, group_sizes(counted)[group], counts)


def folded_rows(
    table: Any, labels: Sequence[str], named: Mapping[str, str], order: Sequence[str] | None = None
) -> tuple[Any, tuple[str, ...]]:
    """Add up the rows of a table that are shown under one name; give the names too."""
    names = tuple(order or dict.fromkeys([*(n for n in named.values() if n != OTHER), *named.values()]))
    rows = np.zeros((len(names), *np.shape(table)[1:]), dtype=np.int64)
    for label, row in zip(labels, table, strict=True):
        rows[names.index(named[label])] += row
    return rows, names


def folded_frame(survey: Survey, frame: pd.DataFrame, fewest: int = FEWEST_REPORTS) -> pd.DataFrame:
    """Put the small groups of a table of respondents together."""
    if not survey.groups or FIELD not in frame.columns:
        return frame
    frame = frame.assign(**{FIELD: frame[FIELD].map(str).map(unguarded)})
    check_names(survey, frame[FIELD].tolist(), "data")
    # Of options in rows of their own one tells how many respondents there are.
    respondents = frame
    if OPTION in frame.columns:
        respondents = frame[frame[OPTION] == 0]
    if TIMES in frame.columns:
        counted = respondents.groupby(FIELD)[TIMES].sum()
    else:
        counted = frame[FIELD].value_counts()
    sizes = {str(name): int(n) for name, n in counted.items()}
    return frame.assign(**{FIELD: frame[FIELD].map(displayed_names(sizes, fewest))})


def folded_population(
    survey: Survey, population: Mapping[str, float], frame: pd.DataFrame
) -> dict[str, float]:
    """Return the sizes of the groups as a folded frame shows them: what is not shown alone adds up."""
    unknown = [name for name in population if name not in survey.groups]
    missing = [name for name in survey.groups if name not in population]
    if unknown or missing:
        raise AnalysisError(
            f"population: {unknown[0]!r} is not a group of this survey"
            if unknown
            else f"population: nothing is given for the group {missing[0]!r}",
            f"give the size of each of {', '.join(survey.groups)}",
        )
    shown_groups = set(frame[FIELD])
    sizes = {name: float(population[name]) for name in survey.groups if name in shown_groups}
    if OTHER in shown_groups:
        sizes[OTHER] = sum(float(size) for name, size in population.items() if name not in shown_groups)
    return sizes
