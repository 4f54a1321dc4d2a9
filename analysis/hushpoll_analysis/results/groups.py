"""Every question within the groups of another: cross-table, conditional shares, test and differences."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from hushpoll_client import Channel, Mechanism, Survey
from hushpoll_client.delivery.report import FEWEST_REPORTS
from hushpoll_client.messages import msg, sentence
from hushpoll_client.survey import Question
from hushpoll_client.survey.group import OTHER

from hushpoll_analysis.errors import AnalysisError
from hushpoll_analysis.sample.columns import ExactView, Variable, randomized_variable
from hushpoll_analysis.sample.design_keywords import SampleKeys
from hushpoll_analysis.sample.link_groups import by_link, displayed_names, folded_rows
from hushpoll_analysis.sample.members import pair_of
from hushpoll_analysis.sample.option_columns import YES_NO, option_of
from hushpoll_analysis.sample.tally import Tally, group_names, question_of, total_of
from hushpoll_analysis.tables.design_means import compare_design_means
from hushpoll_analysis.tables.differences import Comparison
from hushpoll_analysis.tables.frames import compare, crosstab
from hushpoll_analysis.tables.means import MeanComparison, compare_means, tells_shares

from .group_table import GroupShare, GroupTable, sentences
from .group_words import many, methods, one_report, outside
from .numbers import values_of
from .respondents import Respondents, Rows

# Beyond this many cells nobody reads a table, and most cells would hold nothing but noise.
MOST_CELLS = 1000


def group_tables(
    counted: Tally,
    level: float,
    minimum: int,
    only: Sequence[str] | None = None,
    reference: str | None = None,
    respondents: Respondents | None = None,
) -> tuple[GroupTable, ...]:
    """Make the table of every question but the grouping one, or of `only` some, against the `reference` group.

    `respondents` are those of a sample design, where there is one.
    """
    by = counted.by
    assert by is not None
    grouping = _randomized_groups(counted.survey, by)
    text = msg("Group") if by_link(counted.survey, by) else by if grouping is None else grouping.text
    if grouping is not None and not grouping.option and not tells_shares(grouping.question):
        raise AnalysisError(
            msg(
                'question "{by}", mechanism: its reports do not determine shares, so they cannot form groups',
                by=by,
            ),
            "group by another question, or by a column of the data",
        )
    group_question = by if grouping is None else grouping.question.id
    questions = [
        q for q in counted.survey.questions if q.id != group_question and (only is None or q.id in only)
    ]
    if not questions:
        raise AnalysisError(
            msg('"{by}" is the only question, so nothing is left to show by it', by=by), "leave `by` out"
        )
    tables = (GroupTable(question, by, text, grouping is not None) for question in questions)
    return tuple(
        _filled(table, counted, grouping, level, minimum, reference, respondents=respondents)
        for table in tables
    )


def _filled(
    table: GroupTable,
    counted: Tally,
    grouping: _RandomizedGroups | None,
    level: float,
    minimum: int,
    reference: str | None,
    *,
    respondents: Respondents | None,
) -> GroupTable:
    """Return the table of a question with its shares, tests, differences and means, or with why there are none."""
    by, question, survey = table.by, table.question, counted.survey
    joint, notes = counted.joint[question.id], list[str]()
    together = grouping is not None and grouping.block is not None and grouping.block == question.block
    if together:
        try:
            pair_of(survey, by, question.id)
        except AnalysisError as error:
            return replace(table, notes=(sentence(error.sentence),))
        assert grouping is not None
        joint = _folded(joint, len(grouping.question.options), len(question.options))
    labels: tuple[str, ...] = () if grouping is None else grouping.labels
    renamed: dict[str, str] = {}
    if grouping is None:
        joint, labels, renamed, group_notes = _exact_groups(counted, question, minimum)
        labels = tuple(msg("other") if label == OTHER and by_link(survey, by) else label for label in labels)
        notes += group_notes
    shares_known = tells_shares(question)
    reason = _refusal(labels, question, minimum, shares_known)
    if reason:
        return replace(table, notes=(*notes, reason))
    base = labels[0] if reference is None else reference
    if base not in labels:
        raise AnalysisError(
            msg('"{base}" is not a group of {by}', base=base, by=by),
            msg("compare with one of {known}", known=", ".join(labels)),
        )
    names = {by: labels, question.id: question.labels}
    mechanisms: Any = {question.id: question.mechanism} | (
        {} if grouping is None else {by: grouping.mechanism}
    )
    # Two questions of a block were randomized together, which stands in the survey.
    mechanisms = survey if together else mechanisms
    reports, sample = joint, SampleKeys()
    if respondents is not None:
        reports, sample = _chosen(respondents.of(question.id, by), by, labels, renamed, grouping is None)
    groups, keys = _groups(by, labels, grouping), sample.given
    means = _means(reports, mechanisms, groups, question, level, base, sample=sample)
    group_notes = [] if means is None else [mean.note for mean in means.means if mean.note]
    if not shares_known:
        return replace(table, notes=(*notes, *sentences(group_notes)), numbers=means)
    cross = None
    if question.channel.listed:
        cross = crosstab(reports, mechanisms, by, question.id, labels=names, level=level, **keys)
    comparison = compare(
        reports, mechanisms, question.id, by, reference=base, labels=names, level=level, **keys
    )
    group_notes = [
        *comparison.notes,
        *dict.fromkeys([*(note for note in comparison.shares["note"] if note), *group_notes]),
    ]
    shares = _shares(comparison)
    if grouping is None and question.channel.listed:
        group_notes += one_report(joint, labels)
    notes += sentences(
        [*group_notes, *outside(shares, question.labels, labels), methods(comparison), many(comparison)]
    )
    return replace(
        table,
        shares=shares,
        cross=cross,
        comparison=comparison,
        notes=tuple(notes),
        numbers=means,
        upper_half=_upper_half(reports, groups, question, level, base, together=together),
    )


def _upper_half(
    reports: Any, groups: Variable, question: Question, level: float, reference: str, *, together: bool
) -> MeanComparison | None:
    """Compare the share of the upper half of a scale: the mean of what is 1 there and 0 below.

    None where the designer did not choose it, where some people were not asked, for a sample design, and where question
    and groups were randomized `together`.
    """
    if (
        together
        or not question.answers.upward
        or question.after is not None
        or isinstance(reports, pd.DataFrame)
    ):
        return None
    points = len(question.options)
    values = np.arange(points) >= points - points // 2
    return compare_means(
        reports,
        groups,
        outcome=question.mechanism,
        values=values.astype(float),
        level=level,
        reference=reference,
    )


def _exact_groups(
    counted: Tally, question: Question, minimum: int
) -> tuple[Any, tuple[str, ...], dict[str, str], list[str]]:
    """Return the groups that are shown, what groups by link are called, and say which are not shown.

    Exact groups are people who can be counted: a small one would show little more than its members' reports.
    """
    by, joint, labels = counted.by, counted.joint[question.id], counted.groups or ()
    assert by is not None
    notes: list[str] = []
    renamed: dict[str, str] = {}
    if by_link(counted.survey, by):
        joint, labels, renamed = _put_together(question, joint, labels, minimum)
        notes += _told_together(counted, labels, minimum)
    sizes = np.array([total_of(question, row) for row in joint])
    small = [labels[position] for position in np.flatnonzero(sizes < minimum)]
    if small:
        notes.append(
            msg(
                "Not shown, with fewer than {minimum} reports: {names}.",
                minimum=minimum,
                names=", ".join(small),
            )
        )
    visible = tuple(label for label, size in zip(labels, sizes, strict=True) if size >= minimum)
    return joint[sizes >= minimum], visible, renamed, notes


def _put_together(
    question: Question, joint: Any, labels: tuple[str, ...], minimum: int
) -> tuple[Any, tuple[str, ...], dict[str, str]]:
    """Hide the groups of a survey in which few were asked this question, and what would give them away."""
    sizes = {name: total_of(question, row) for name, row in zip(labels, joint, strict=True)}
    named = displayed_names(sizes, max(minimum, FEWEST_REPORTS))
    folded, visible = folded_rows(joint, labels, named)
    return folded, visible, named


def _told_together(counted: Tally, labels: tuple[str, ...], minimum: int) -> list[str]:
    """Return which groups are not shown on their own, and why."""
    hidden = [name for name in counted.survey.groups if name not in labels]
    if OTHER not in labels or not hidden:
        return []
    fewest = max(minimum, FEWEST_REPORTS)
    return [
        msg(
            "Shown together as “{other}”: {names}. A group of fewer than {fewest} reports is not shown on its own, nor "
            "what would tell it by subtraction.",
            other=msg("other"),
            names=", ".join(hidden),
            fewest=fewest,
        )
    ]


def _folded(table: Any, rows: int, columns: int) -> Any:
    """Add up the reports of a pair over the joint sizes, where these are counted separately."""
    shape = (len(table) // rows, rows, table.shape[1] // columns, columns)
    return np.asarray(table).reshape(shape).sum(axis=(0, 2))


@dataclass(frozen=True)
class _RandomizedGroups:
    """The randomized question, or the one option of it, that makes the groups."""

    question: Question
    text: str
    labels: tuple[str, ...]
    mechanism: Mechanism | Channel
    option: bool = False

    @property
    def block(self) -> str | None:
        """The block that the question stands in."""
        return self.question.block


def _randomized_groups(survey: Survey, by: str) -> _RandomizedGroups | None:
    """Find what makes the groups; None where a column of the data does, or the link."""
    option = option_of(by, survey)
    if option is not None:
        question = question_of(survey, option[0])
        (member,) = option[1].members
        text = f"{question.text} {question.labels[member]}"
        return _RandomizedGroups(question, text, YES_NO, option[1].channel, True)
    question_of_groups = survey.questions_by_id.get(by)
    if question_of_groups is None:
        return None
    return _RandomizedGroups(
        question_of_groups, question_of_groups.text, question_of_groups.labels, question_of_groups.mechanism
    )


def _groups(by: str, labels: tuple[str, ...], grouping: _RandomizedGroups | None) -> Variable:
    if grouping is None:
        return Variable(by, labels, ExactView(len(labels)), randomized=False)
    variable = randomized_variable(by, {by: grouping.mechanism}, labels)
    assert variable is not None
    return variable


def _means(
    reports: Any,
    mechanisms: Any,
    groups: Variable,
    question: Question,
    level: float,
    reference: str,
    *,
    sample: SampleKeys,
) -> MeanComparison | None:
    """Compare means, where answers are numbers and the reports determine their mean.

    The reports are rows of a sample, with what randomized them; without a sample design, joint counts. Two questions of
    one block were randomized together, as their survey says, and have no means.
    """
    values = values_of(question)
    if values is None or isinstance(mechanisms, Survey):
        return None
    if isinstance(reports, pd.DataFrame):
        names = {groups.name: groups.labels}
        return compare_design_means(
            reports, mechanisms, question, groups.name, sample, names, level=level, reference=reference
        )
    rounding = float(question.answers.spacing)
    return compare_means(reports, groups, question.mechanism, values, level, reference, rounding=rounding)


def _chosen(
    rows: Rows, by: str, labels: tuple[str, ...], renamed: dict[str, str], exact: bool
) -> tuple[Any, SampleKeys]:
    """Return the respondents of the groups that are shown."""
    frame, keys = rows
    if not exact:
        return rows
    named = frame.assign(**{by: pd.Series(group_names(frame[by]), index=frame.index).replace(renamed)})
    return named[named[by].isin(labels)].reset_index(drop=True), keys


def _refusal(labels: tuple[str, ...], question: Question, minimum: int, shares_known: bool) -> str:
    if len(labels) < 2:
        return msg(
            "A comparison needs two groups of at least {minimum} reports; there are {count}.",
            minimum=minimum,
            count=len(labels),
        )
    if not shares_known:
        return ""
    cells = len(labels) * len(question.labels)
    if cells > MOST_CELLS:
        return msg(
            "A table of {cells:,} cells is too large to show; the limit is {most:,}. Use `crosstab`.",
            cells=cells,
            most=MOST_CELLS,
        )
    return ""


def _shares(comparison: Comparison) -> tuple[GroupShare, ...]:
    frame = comparison.shares
    return tuple(
        GroupShare(group=str(group), option=str(option), **{str(key): value for key, value in row.items()})
        for (group, option), row in zip(frame.index, frame.to_dict(orient="records"), strict=True)
    )
