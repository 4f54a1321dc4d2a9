"""Cross-tables and comparisons: pandas in, pandas out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from hushpoll_client import Survey
from hushpoll_client.survey import Question

from hushpoll_analysis.arguments import by_name
from hushpoll_analysis.channel.view import sampler
from hushpoll_analysis.counts import check_level
from hushpoll_analysis.errors import AnalysisError
from hushpoll_analysis.sample.columns import (
    ExactView,
    Mechanisms,
    Variable,
    check_names,
    randomized_variable,
    read_column,
    read_variable,
)
from hushpoll_analysis.sample.design_keywords import SampleKeys, takes_sample
from hushpoll_analysis.sample.distinct_rows import TIMES
from hushpoll_analysis.sample.missing import takes_missing
from hushpoll_analysis.sample.option_columns import with_options, with_yes_no
from hushpoll_analysis.sample.row_designs import Designs, in_columns, with_designs
from hushpoll_analysis.sample.sampled_codes import sampled_codes
from hushpoll_analysis.sample.streams import takes_streams
from hushpoll_analysis.tidy import keeps_call

from .cells import CrossTable
from .design_means import compare_design_means
from .differences import Comparison, Outcome, compare_groups
from .independence import independence_test
from .intervals import cell_limits
from .joint import JointReports
from .means import MeanComparison, compare_means, tells_shares
from .options import OptionTable, TableRequest, compare_by_options, compare_options, option_table
from .reading import read_joint

Reports = pd.DataFrame | npt.ArrayLike


@keeps_call
@takes_streams("reports", "mechanisms")
@takes_missing
@takes_sample
def crosstab(
    reports: Reports,
    mechanisms: Mechanisms,
    rows: str,
    columns: str | Sequence[str],
    *,
    labels: Mapping[str, Sequence[Any]] | None = None,
    level: float = 0.95,
    simultaneous: bool = False,
    designs: Designs | None = None,
    sample: SampleKeys,
) -> CrossTable | OptionTable:
    r"""Estimate the joint shares of two or more variables from their randomized reports.

    Parameters
    ----------
    reports
        One row for each respondent with a column of report codes for each randomized variable (named as the question,
        or with `_reported` behind it), or an array of joint counts with one axis for each variable, in the order of
        `rows` and `columns`. Or where the reports of the survey are, if they are too many to read: Parquet files (a
        folder, or a pattern such as `parts/*.parquet`), a .csv, a query engine's table, the database's records.
    mechanisms
        The survey, or a mechanism for each randomized column (with `designs` also a column of their names). A column
        without one is exact: a grouping that was not randomized.
    rows, columns
        Names of the variables; `columns` may name several. A question whose reports speak of several options at once
        has a table for each of them, put together; `question[option]` is one of them, as Yes or No.
    labels
        Labels of a variable's answers in code order, where the survey does not give them.
    level, simultaneous
        Confidence level of the intervals; `simultaneous` makes it hold for all cells together (Bonferroni).
    weights, strata, clusters
        Sample design, as column names or values.
    margins
        Known shares of exact columns to which the weights are raked first, as in `rake`.
    population, replicates
        Finite population and replicate weights, as in `weighted_estimate`.
    designs
        Where people went through different mechanisms: ``designs={name: mechanism}`` (None: asked directly; or a
        survey for each name), and in `mechanisms` a column of these names, as in ``{"cheated": "wave"}``.

    Returns
    -------
    CrossTable
        `OptionTable` with a tick list or a long list as a whole: the share of each option, together with the others.

    Notes
    -----
    The joint channel is the Kronecker product of the channels, because every answer is randomized on its own (for decoy
    designs: the decoys are independent of the answers and of each other). A cell is estimated by
    :math:`\hat p_{ij} = \sum_{z} b_{iz_1} b_{jz_2} f_z`, with variance
    :math:`(\sum_z b_{iz_1}^2 b_{jz_2}^2 f_z - \hat p_{ij}^2)/(n-1)`. Its interval holds the values that a score test
    does not reject; under a sample design at the number of equal answers that the cell is worth, with t in place of z.
    An estimated decoy share joins by MOVER. Cells held together have exact limits of the frequencies behind them,
    joined by MOVER. Only very large tables have normal (t) intervals.

    References
    ----------
    Miettinen, Nurminen, "Comparative analysis of two rates", Statist. Med. 4 (1985);
    Chen, T., "Analysis of randomized response as purposively misclassified data", Proc. ASA Survey Research (1979).
    """
    check_names(rows, "rows")
    check_names(columns)
    names = [rows, *([columns] if isinstance(columns, str) else columns)]
    check_level(level)
    labels = by_name(labels, "labels")
    mechanisms, reports = in_columns(mechanisms, designs, reports)
    request = TableRequest(reports, mechanisms, labels, level, simultaneous, sample, designs)
    if request.whole_lists(names):
        return option_table(crosstab, request, names)
    reports, sample = sample.in_frame(reports)
    reports, mechanisms, labels = _with_options(reports, mechanisms, names, labels)
    mechanisms = with_designs(mechanisms, designs, reports)
    design = sample.design_of(reports)
    joint = read_joint(reports, mechanisms, names, design, labels)
    se = joint.standard_errors()
    test, untested = independence_test(joint)
    low, high, method = cell_limits(joint, se, level, joint.estimate.size if simultaneous else 1)
    return CrossTable(
        names=tuple(names),
        labels=tuple(variable.labels for variable in joint.variables),
        n=joint.n,
        effective_n=joint.effective_n,
        level=level,
        simultaneous=simultaneous,
        counts=joint.counts,
        estimate=joint.estimate,
        se=se,
        low=low,
        high=high,
        interval=method,
        test=test,
        remarks=joint.notes(),
        joint=joint,
        untested=untested,
    )


@keeps_call
@takes_streams("reports", "mechanisms")
@takes_missing
@takes_sample
def compare(
    reports: Reports,
    mechanisms: Mechanisms,
    outcome: str,
    by: str,
    *,
    option: Any = None,
    reference: Any = None,
    labels: Mapping[str, Sequence[Any]] | None = None,
    level: float = 0.95,
    simultaneous: bool = False,
    designs: Designs | None = None,
    sample: SampleKeys,
) -> Comparison:
    """Compare the shares of an outcome between groups: differences and ratios, with intervals.

    Parameters
    ----------
    reports, mechanisms, labels, weights, strata, clusters, margins, designs, population, replicates
        As in `crosstab`; a single column of names belongs to the outcome. Joint counts have a row for each group and a
        column for each report of the outcome.
    outcome
        The variable whose shares are compared; one option after the other where reports speak of several at once. Of a
        number whose reports tell the mean only, the means are compared, and a `MeanComparison` is given.
    by
        The variable that makes the groups: an exact column, or a randomized question. Where its reports speak of
        several options at once, the groups are those who chose or ticked each option, against those who did not.
    option
        One answer of the outcome; by default Yes of a yes/no question, and every answer otherwise.
    reference
        The group to compare the others with; by default every pair is compared.
    level, simultaneous
        Confidence level; `simultaneous` makes it hold for all comparisons together (Bonferroni).

    Notes
    -----
    Shares within a group are ratios of linear estimates; their covariance is that of the linearised influence values.
    Within an exact group a share has the interval of `estimate` (Wilson's, exact where a report is rare; at the
    effective size under a sample design). Within a randomized one it has the normal interval, or the score interval of
    the ratio where a joint report is rare: all R for which a score test does not reject p_gk - R p_g = 0. Differences
    and ratios are built from these limits (MOVER), with the covariance; for normal parts this is the normal interval
    and Fieller's. A ratio is given only where the reference's interval lies above 0. The p-value is the level at which
    the difference's interval reaches 0.

    References
    ----------
    Zou, Donner, "Construction of confidence limits about effect measures", Statist. Med. 27 (2008); Donner, Zou, Stat.
    Methods Med. Res. 21 (2012).
    """
    check_names([outcome, by], "outcome and by")
    check_level(level)
    labels = by_name(labels, "labels")
    mechanisms, reports = in_columns(mechanisms, designs, reports)
    request = TableRequest(reports, mechanisms, labels, level, simultaneous, sample, designs)
    lists = request.whole_lists([by, outcome])
    if by in lists:
        return compare_by_options(compare, request, outcome, by, option, reference)
    if outcome in lists:
        return compare_options(_read, request, outcome, by, option, reference)
    number = _only_mean(mechanisms, outcome)
    if number is not None:
        if option is not None:
            raise AnalysisError(
                f"{outcome}: its reports tell the mean only, so that no answer {option!r} can be compared",
                "leave option out",
            )
        return _compare_numbers(request, number, by, reference)  # type: ignore[return-value]
    joint = _read(request, outcome, by)
    answers = joint.variables[1]
    options = answers.chosen(option)
    outcomes = [Outcome(joint, k, answers.labels[k]) for k in options]
    return compare_groups(
        answers.name, outcomes, reference, level, level, len(options) if simultaneous else 0
    )


def _read(request: TableRequest, outcome: str, by: str) -> JointReports:
    """Read the joint reports of the groups and of one outcome."""
    names = [by, outcome]
    reports, sample = request.sample.in_frame(request.reports)
    reports, mechanisms, labels = _with_options(reports, request.mechanisms, names, request.labels)
    mechanisms = with_designs(mechanisms, request.designs, reports, outcome)
    named = with_yes_no(names, mechanisms, labels)
    return read_joint(reports, mechanisms, names, sample.design_of(reports), named)


def _only_mean(mechanisms: Mechanisms, outcome: str) -> Question | None:
    """Find the question whose answers are numbers of which the reports tell the mean and not the shares."""
    if not isinstance(mechanisms, Survey):
        return None
    question = mechanisms.questions_by_id.get(outcome)
    if question is None or question.answers.values is None or tells_shares(question):
        return None
    return question


def _compare_numbers(request: TableRequest, question: Question, by: str, reference: Any) -> MeanComparison:
    """Count the reports of each group, or take their joint counts, and compare the means."""
    reports, survey, sample, labels = request.reports, request.mechanisms, request.sample, request.labels
    keys = {"level": request.level, "reference": reference, "simultaneous": request.simultaneous}
    if sample.given and isinstance(reports, pd.DataFrame):
        return compare_design_means(reports, survey, question, by, sample, labels, **keys)
    sample.design_of(reports)
    design = sampler(question.channel)
    reports, channels, named = _with_options(reports, survey, [by], labels)
    group_labels = (named or {}).get(by)
    if isinstance(reports, pd.DataFrame):
        groups, codes = read_variable(reports, by, channels, group_labels)
        outcome = sampled_codes(read_column(reports, question.id, True), design)
        outcomes = groups.view.outcomes
        if TIMES in reports.columns:
            times = reports[TIMES].to_numpy(dtype=np.int64)
            rows_of_group = [(outcome[codes == code], times[codes == code]) for code in range(outcomes)]
            counts = np.stack([design.tally_counted(*group) for group in rows_of_group])
        else:
            counts = np.stack([design.tally(outcome[codes == code]) for code in range(outcomes)])
    else:
        counts = np.asarray(reports)
        variable = randomized_variable(by, channels, group_labels)
        groups = variable or Variable(
            by, tuple(group_labels or range(len(counts))), ExactView(len(counts)), False
        )
    values = np.array([float(value) for value in question.answers.values or ()])
    rounding = float(question.answers.spacing)
    return compare_means(counts, groups, outcome=question.mechanism, values=values, rounding=rounding, **keys)


def _with_options(
    reports: Reports, mechanisms: Mechanisms, names: Sequence[str], labels: Mapping[str, Sequence[Any]] | None
) -> tuple[Reports, Mechanisms, Mapping[str, Sequence[Any]] | None]:
    if not isinstance(reports, pd.DataFrame):
        return reports, mechanisms, labels
    return with_options(reports, mechanisms, names, labels)
