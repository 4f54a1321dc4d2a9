"""Counts that were kept while reports came, as a tally: no report is read again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from hushpoll_client import Survey
from hushpoll_client.group import FIELD
from hushpoll_client.report import FEWEST_REPORTS

from hushpoll_analysis.channel.view import sampler

from .link_groups import by_link, folded_tally
from .members import with_member_counts
from .tally import Counts, Tally, question_of, total_of

__all__ = ["kept_tally"]


def kept_tally(
    survey: Survey,
    groups: Mapping[int, Mapping[str, Sequence[int]]],
    by: str | None = None,
    joint: Mapping[str, Sequence[int]] | None = None,
    fewest: int = FEWEST_REPORTS,
) -> Tally:
    """Make the tally that `tally` would make of all reports.

    Parameters
    ----------
    survey : Survey
        What was asked.
    groups : {group: {entry: counts}}
        The counts of every question outside blocks and of every block, for each group that has any; a survey without
        groups is group 0.
    by : str, optional
        A question of the survey, or its groups.
    joint : {entry: counts}, optional
        Where `by` is a question: a row of counts for each of its reports, one after the other.
    fewest : int
        What a group by link needs to be counted on its own.
    """
    tables = {number: _arrays(survey, kept) for number, kept in sorted(groups.items())}
    empty = {entry.id: np.zeros(sampler(entry.channel).cells, dtype=np.int64) for entry in survey.entries}
    totals = {name: sum((one[name] for one in tables.values()), zero) for name, zero in empty.items()}
    first = survey.entries[0]
    n, counted = total_of(first, totals[first.id]), with_member_counts(survey, totals)
    if by is None:
        return Tally(survey, n, counted)
    if by_link(survey, by):
        listed = list(tables.values())
        rows = {
            name: np.array([one[name] for one in listed]).reshape(len(listed), len(zero))
            for name, zero in empty.items()
        }
        named = tuple(survey.groups[number] for number in tables)
        return folded_tally(Tally(survey, n, counted, FIELD, with_member_counts(survey, rows), named), fewest)
    outcomes = question_of(survey, by).channel.outcomes
    wide = {
        name: np.asarray((joint or {}).get(name, np.zeros(outcomes * len(zero))), dtype=np.int64)
        for name, zero in empty.items()
        if name != by
    }
    shaped = {name: cells.reshape(outcomes, -1) for name, cells in wide.items()}
    return Tally(survey, n, counted, by, with_member_counts(survey, shaped))


def _arrays(survey: Survey, kept: Mapping[str, Sequence[int]]) -> dict[str, Counts]:
    return {entry.id: np.asarray(kept[entry.id], dtype=np.int64) for entry in survey.entries}
