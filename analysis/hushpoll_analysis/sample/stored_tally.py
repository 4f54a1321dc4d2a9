"""Counts that were kept while reports came, as a tally: no report is read again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from hushpoll_client import Survey
from hushpoll_client.delivery.report import FEWEST_REPORTS
from hushpoll_client.survey import Question
from hushpoll_client.survey.group import FIELD

from hushpoll_analysis.channel.view import sampler
from hushpoll_analysis.sample.distinct_rows import TIMES
from hushpoll_analysis.sample.link_groups import by_link, folded_tally
from hushpoll_analysis.sample.members import with_member_counts
from hushpoll_analysis.sample.tally import Counts, Tally, question_of, total_of


@dataclass(frozen=True)
class GroupCounts:
    """Kept counts by group, in place of the respondents: enough for estimates weighted by the sizes of groups."""

    survey: Survey
    by_group: Tally

    @staticmethod
    def suffices(survey: Survey, by: str | None) -> bool:
        """Return whether counts tell all: they do not where reports speak of several options, or for two questions."""
        entries = [entry for entry in survey.entries if isinstance(entry, Question)]
        return by in (None, FIELD) and not any(sampler(entry.channel).parts for entry in entries)

    def tally(self, by: str | None, fewest: int = FEWEST_REPORTS) -> Tally:
        """Return the counts, of all or by group; groups are folded already."""
        if by == FIELD:
            return self.by_group
        return Tally(self.survey, self.by_group.n, self.by_group.counts)

    def alike(
        self, names: Sequence[str], beside: Sequence[str], weights: str | None, fewest: int = FEWEST_REPORTS
    ) -> pd.DataFrame:
        """Return a row for each group and report code that came, with the number of respondents it stands for."""
        groups = self.by_group.groups or ()
        (question,) = [name for name in names if name != FIELD] or [self.survey.entries[0].id]
        cells = self.by_group.joint[question]
        rows, codes = np.nonzero(cells)
        columns: dict[str, Any] = {FIELD: np.array(groups, dtype=object)[rows]}
        if question in names:
            columns[question] = codes
        return pd.DataFrame({**columns, TIMES: cells[rows, codes].astype(np.float64)})


def tally_from_counts(
    survey: Survey,
    groups: Mapping[int, Mapping[str, Sequence[int]]],
    by: str | None = None,
    joint: Mapping[str, Sequence[int]] | None = None,
    fewest: int = FEWEST_REPORTS,
) -> Tally:
    """Make the tally that `tally` would make of all reports.

    `groups` has the counts of every question outside blocks and of every block, for each group that has any; a survey
    without groups is group 0. Where `by` is a question, `joint` has for each entry a row of counts for each of its
    reports, one after the other. A group by link with fewer than `fewest` reports is not counted on its own.
    """
    tables = {number: _arrays(survey, counts) for number, counts in sorted(groups.items())}
    empty = {entry.id: np.zeros(sampler(entry.channel).cells, dtype=np.int64) for entry in survey.entries}
    totals = {name: sum((table[name] for table in tables.values()), zero) for name, zero in empty.items()}
    first = survey.entries[0]
    n, counted = total_of(first, totals[first.id]), with_member_counts(survey, totals)
    if by is None:
        return Tally(survey, n, counted)
    if by_link(survey, by):
        listed = list(tables.values())
        rows = {
            name: np.array([arrays[name] for arrays in listed]).reshape(len(listed), len(zero))
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


def _arrays(survey: Survey, counts: Mapping[str, Sequence[int]]) -> dict[str, Counts]:
    return {entry.id: np.asarray(counts[entry.id], dtype=np.int64) for entry in survey.entries}
