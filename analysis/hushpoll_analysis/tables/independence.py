"""Tests of independence between randomized answers.

If the true answers are independent, so are the reports, since each is randomized on its own. The plain chi-square test
on the reports is therefore already calibrated; randomization costs power, not validity. With weights, strata or
clusters the statistic is corrected by Rao and Scott's second-order method.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import product

import numpy as np
from hushpoll_client.messages import joined, msg
from scipy import stats

from hushpoll_analysis.channel.base import Floats
from hushpoll_analysis.channel.stacked import StackedView
from hushpoll_analysis.errors import AnalysisError
from hushpoll_analysis.sample.columns import Codes
from hushpoll_analysis.sample.design import SampleDesign

from .joint import JointReports

_MOST_CELLS = 400
_TABLES, _MOST_DRAWN, _SEED = 4999, 5_000_000, 1


@dataclass(frozen=True)
class IndependenceTest:
    """A test that the true answers are independent; `df` is a pair for the F form of a sample design."""

    statistic: float
    df: tuple[float, ...]
    p_value: float
    method: str
    note: str


def independence_test(joint: JointReports) -> tuple[IndependenceTest | None, str]:
    """Test that the variables are (mutually) independent; without a test the text says why there is none."""
    try:
        return _test(joint), ""
    except AnalysisError as error:
        return None, error.problem


def _test(joint: JointReports) -> IndependenceTest:
    if any(isinstance(variable.view, StackedView) for variable in joint.variables):
        return _within_designs(joint)
    if joint.together:
        return _of_pair(joint)
    table = _occurring(joint.frequencies)
    if min(table.shape) < 2:
        name = joint.variables[int(np.argmin(table.shape))].name
        raise AnalysisError(msg("all reports of {name} are the same, so there is nothing to test", name=name))
    if joint.design is None:
        return _pearson(table, joint.n)
    _check_size(table)
    return _rao_scott(joint)


def _check_size(table: Floats) -> None:
    """Refuse a table that has no test under a sample design."""
    if table.ndim != 2:
        raise AnalysisError(msg("under a sample design only two variables are tested, not more"))
    if table.size > _MOST_CELLS:
        raise AnalysisError(
            msg(
                "the table has {cells:,} cells, and under a sample design at most {most} are tested",
                cells=table.size,
                most=_MOST_CELLS,
            )
        )


def _of_pair(joint: JointReports) -> IndependenceTest:
    """Test the estimated cells, where reports are not independent when the answers are: randomized together, say.

    The differences of the estimated cells from the products of their margins are held against the covariance that they
    have where the products are the truth (a score test; with a sample design its own covariance, in the F form).
    """
    rows, columns = (len(variable.labels) for variable in joint.variables)
    first = np.array([joint.mean({0: i}) for i in range(rows)])
    second = np.array([joint.mean({1: j}) for j in range(columns)])
    gaps, influence = [], []
    for i, j in product(range(rows - 1), range(columns - 1)):
        gaps.append(joint.mean({0: i, 1: j}) - first[i] * second[j])
        inverses = [joint.matrices[0][i], joint.matrices[1][j]]
        margins = second[j] * joint.functional([inverses[0], None]) + first[i] * joint.functional(
            [None, inverses[1]]
        )
        influence.append(joint.functional(inverses) - margins + first[i] * second[j])
    flat, gap = np.stack(influence).reshape(len(gaps), -1), np.array(gaps)
    df = float(len(gaps))
    if joint.design is not None:
        design = joint.design.without_population
        values = (np.stack(influence) - gap[:, None, None]).reshape(len(gaps), -1)[:, joint.cells].T
        statistic = float(gap @ np.linalg.solve(design.covariance(values), gap)) / df
        freedom = float(design.degrees_of_freedom)
        note = msg(
            "the estimated cells against the products of their margins, with the sample design's covariance"
        )
        return IndependenceTest(
            statistic, (df, freedom), float(stats.f.sf(statistic, df, freedom)), "Wald F", note
        )
    truth = np.multiply.outer(_possible(first), _possible(second))
    chances = joint.expected_reports(truth).reshape(-1)
    mean = flat @ chances
    covariance = (flat * chances) @ flat.T - np.outer(mean, mean)
    statistic = float(joint.n * gap @ np.linalg.solve(covariance, gap))
    note = msg(
        "the estimated cells against the products of their margins: both answers were randomized together"
    )
    return IndependenceTest(statistic, (df,), float(stats.chi2.sf(statistic, df)), "Score", note)


def _possible(shares: Floats) -> Floats:
    cut = np.clip(shares, 0.0, 1.0)
    return np.asarray(cut / cut.sum(), dtype=np.float64)


def _within_designs(joint: JointReports) -> IndependenceTest:
    """Return the sum of the chi-squares within every combination of designs: who got which design must not count.

    Under a sample design the estimated cells are tested, which are right whichever design a respondent got.
    """
    if joint.design is not None:
        _check_size(joint.estimate)
        return _of_pair(joint)
    parts: list[list[Codes]] = []
    for variable in joint.variables:
        view = variable.view
        if isinstance(view, StackedView):
            outcomes = np.arange(view.outcomes)
            parts.append([view.part(outcomes, g).astype(np.int64) for g in range(len(view.blocks))])
        else:
            parts.append([np.arange(view.outcomes)])
    tests = []
    for chosen in product(*parts):
        counts = _occurring(joint.counts[np.ix_(*chosen)])
        if counts.sum() > 0 and min(counts.shape) > 1:
            tests.append(_pearson(counts / counts.sum(), round(float(counts.sum()))))
    if not tests:
        raise AnalysisError(msg("within each design all reports of a variable are the same: nothing to test"))
    statistic, df = sum(test.statistic for test in tests), sum(test.df[0] for test in tests)
    note = msg("sum of the chi-squares of the reports within each design")
    return IndependenceTest(statistic, (df,), float(stats.chi2.sf(statistic, df)), "Pearson", note)


def _pearson(table: Floats, n: int) -> IndependenceTest:
    expected = _expected(table)
    statistic = float(n * np.sum((table - expected) ** 2 / expected))
    df = table.size - 1 - sum(length - 1 for length in table.shape)
    if table.ndim == 2 and _is_sparse(n * expected):
        return _by_margins(table, n, statistic, df)
    small = float(n * expected.min())
    note = msg(
        "plain chi-square on the reports: randomized independently, they are independent when the answers are"
    )
    if small < 5:
        rough = msg(
            "the smallest expected count is {small:.1f}, below 5, so the p-value is rough", small=small
        )
        note = joined("; ", [note, rough])
    return IndependenceTest(statistic, (float(df),), float(stats.chi2.sf(statistic, df)), "Pearson", note)


def _is_sparse(expected: Floats) -> bool:
    """Return whether chi-square is too rough: a cell expected below 1, or more than a fifth of them below 5."""
    return float(expected.min()) < 1.0 or float(np.mean(expected < 5.0)) > 0.2


def _by_margins(table: Floats, n: int, statistic: float, df: int) -> IndependenceTest:
    """Compare chi-square with that of random tables that have the same margins (Patefield 1981): exact but for them."""
    counts = np.rint(n * table).astype(np.int64)
    margins = counts.sum(axis=1), counts.sum(axis=0)
    tables = min(_TABLES, max(_MOST_DRAWN // table.size, 499))
    tables_drawn = stats.random_table.rvs(*margins, size=tables, random_state=np.random.default_rng(_SEED))
    expected = n * _expected(table)
    statistics = np.sum((tables_drawn - expected) ** 2 / expected, axis=(1, 2))
    p_value = (1.0 + float(np.sum(statistics >= statistic * (1.0 - 1e-9)))) / (1.0 + tables)
    note = msg(
        "chi-square on the reports, compared with {tables:,} random tables of the same margins because expected "
        "counts are small",
        tables=tables,
    )
    return IndependenceTest(statistic, (float(df),), p_value, "Pearson", note)


def _rao_scott(joint: JointReports) -> IndependenceTest:
    """Correct to second order (Rao and Scott 1984; Thomas and Rao 1987), in the F form.

    Design effects are taken at the cells that are expected under independence; R's svychisq takes the observed ones.
    """
    assert joint.design is not None
    # Independence is a statement about where people come from, whatever part of them was asked.
    design = joint.design.without_population
    assert joint.codes is not None
    table = joint.frequencies
    rows, columns = (np.flatnonzero(table.sum(axis=axis) > 0) for axis in (1, 0))
    table = table[np.ix_(rows, columns)]
    expected = _expected(table)
    statistic = float(joint.n * np.sum((table - expected) ** 2 / expected))
    flat = expected.reshape(-1)
    contrast = _interaction(len(rows), len(columns), flat)
    first, second = (
        np.searchsorted(levels, codes) for levels, codes in zip((rows, columns), joint.codes, strict=True)
    )
    cell = first * len(columns) + second
    indicator = np.eye(table.size)[cell]
    covariance = design.covariance(indicator - table.reshape(-1))
    simple = (np.diag(flat) - np.outer(flat, flat)) / joint.n
    effects = np.linalg.solve(contrast.T @ simple @ contrast, contrast.T @ covariance @ contrast)
    trace, square = float(np.trace(effects)), float(np.trace(effects @ effects))
    if not trace > 0:
        raise AnalysisError(msg("the sample design leaves no variance for a test"))
    numerator = trace**2 / square
    freedom = design.degrees_of_freedom - _lost(design, joint.codes)
    if freedom < 1:
        raise AnalysisError(
            msg("a variable is the same within clusters, and there are too few clusters for its answers")
        )
    denominator = numerator * freedom
    # Answers that only clusters differ in use up their number of the clusters' differences.
    f_value = statistic / trace * freedom / design.degrees_of_freedom
    p_value = float(stats.f.sf(f_value, numerator, denominator))
    note = msg("chi-square on the weighted reports, corrected for weights, strata and clusters")
    return IndependenceTest(f_value, (numerator, denominator), p_value, "Rao-Scott F", note)


def _lost(design: SampleDesign, codes: Sequence[Codes]) -> int:
    """Return how many degrees of freedom a variable takes that is constant within a cluster."""
    if design.clusters is None:
        return 0
    lost = 0
    for codes_of_axis in codes:
        first = np.zeros(int(design.clusters.max()) + 1, dtype=np.int64)
        first[design.clusters[::-1]] = codes_of_axis[::-1]
        if np.array_equal(first[design.clusters], codes_of_axis):
            lost = max(lost, len(np.unique(codes_of_axis)) - 1)
    return lost


def _interaction(rows: int, columns: int, weights: Floats) -> Floats:
    """Interaction contrasts, made orthogonal to the main effects under the expected table."""
    first = np.eye(rows)[:, 1:]
    second = np.eye(columns)[:, 1:]
    main = np.concatenate(
        [
            np.ones((rows * columns, 1)),
            np.kron(first, np.ones((columns, 1))),
            np.kron(np.ones((rows, 1)), second),
        ],
        axis=1,
    )
    both = np.kron(first, second)
    root = weights[:, None]
    fit = np.linalg.solve(main.T @ (root * main), main.T @ (root * both))
    return np.asarray(both - main @ fit, dtype=np.float64)


def _expected(table: Floats) -> Floats:
    axes = range(table.ndim)
    margins = [table.sum(axis=tuple(other for other in axes if other != axis)) for axis in axes]
    return np.asarray(reduce(np.multiply.outer, margins), dtype=np.float64)


def _occurring(table: Floats) -> Floats:
    """Leave out reports that did not come: they carry no information about independence."""
    for axis in range(table.ndim):
        total = table.sum(axis=tuple(other for other in range(table.ndim) if other != axis))
        table = np.compress(total > 0, table, axis=axis)
    return table
