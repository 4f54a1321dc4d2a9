"""Tests of independence between randomized answers.

If the true answers are independent, so are the reports, since each is randomized on its own. The plain chi-square test
on the reports is therefore already calibrated; randomization costs power, not validity. With weights, strata or
clusters the statistic is corrected by Rao and Scott's second-order method.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from itertools import product

import numpy as np
from hushpoll_client.said import joined, said
from scipy import stats

from hushpoll_analysis.channel.stacked import StackedView
from hushpoll_analysis.channel.view import Floats
from hushpoll_analysis.data.columns import Codes

from .joint import JointReports

__all__ = ["IndependenceTest", "independence_test"]

_MOST_CELLS = 400


@dataclass(frozen=True)
class IndependenceTest:
    """A test that the true answers are independent; `df` is a pair for the F form of a sample design."""

    statistic: float
    df: tuple[float, ...]
    p_value: float
    method: str
    note: str


def independence_test(joint: JointReports) -> IndependenceTest | None:
    """Test that the variables are (mutually) independent; None when a single report of one variable occurs."""
    if any(isinstance(one.view, StackedView) for one in joint.variables):
        return _within_designs(joint)
    if joint.together:
        return _of_pair(joint)
    table = _occurring(joint.frequencies)
    if min(table.shape) < 2:
        return None
    if joint.design is None:
        return _pearson(table, joint.n)
    if table.ndim != 2 or table.size > _MOST_CELLS:
        return None
    return _rao_scott(joint)


def _of_pair(joint: JointReports) -> IndependenceTest | None:
    """Test the estimated cells, where reports are not independent when the answers are: randomized together, say.

    The differences of the estimated cells from the products of their margins are held against the covariance that they
    have where the products are the truth (a score test; with a sample design its own covariance, in the F form).
    """
    rows, columns = (len(one.labels) for one in joint.variables)
    first = np.array([joint.mean({0: i}) for i in range(rows)])
    second = np.array([joint.mean({1: j}) for j in range(columns)])
    gaps, influence = [], []
    for i, j in product(range(rows - 1), range(columns - 1)):
        gaps.append(joint.mean({0: i, 1: j}) - first[i] * second[j])
        own = [joint.matrices[0][i], joint.matrices[1][j]]
        margins = second[j] * joint.functional([own[0], None]) + first[i] * joint.functional([None, own[1]])
        influence.append(joint.functional(own) - margins + first[i] * second[j])
    flat, gap = np.stack(influence).reshape(len(gaps), -1), np.array(gaps)
    df = float(len(gaps))
    if joint.design is not None:
        design = joint.design.without_population
        values = (np.stack(influence) - gap[:, None, None]).reshape(len(gaps), -1)[:, joint.cells].T
        statistic = float(gap @ np.linalg.solve(design.covariance(values), gap)) / df
        freedom = float(design.degrees_of_freedom)
        note = said(
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
    note = said(
        "the estimated cells against the products of their margins: both answers were randomized together"
    )
    return IndependenceTest(statistic, (df,), float(stats.chi2.sf(statistic, df)), "Score", note)


def _possible(shares: Floats) -> Floats:
    cut = np.clip(shares, 0.0, 1.0)
    return np.asarray(cut / cut.sum(), dtype=np.float64)


def _within_designs(joint: JointReports) -> IndependenceTest | None:
    """Give the sum of the chi-squares within every combination of designs: who got which design must not count.

    Under a sample design the estimated cells are tested, which are right whoever got which.
    """
    if joint.design is not None:
        return _of_pair(joint) if joint.counts.ndim == 2 and joint.estimate.size <= _MOST_CELLS else None
    parts: list[list[Codes]] = []
    for one in joint.variables:
        view = one.view
        if isinstance(view, StackedView):
            whole = np.arange(view.outcomes)
            parts.append([view.part(whole, g).astype(np.int64) for g in range(len(view.blocks))])
        else:
            parts.append([np.arange(view.outcomes)])
    found = []
    for chosen in product(*parts):
        counts = _occurring(joint.counts[np.ix_(*chosen)])
        if counts.sum() > 0 and min(counts.shape) > 1:
            found.append(_pearson(counts / counts.sum(), round(float(counts.sum()))))
    if not found:
        return None
    statistic, df = sum(one.statistic for one in found), sum(one.df[0] for one in found)
    note = said("sum of the chi-squares of the reports within each design")
    return IndependenceTest(statistic, (df,), float(stats.chi2.sf(statistic, df)), "Pearson", note)


def _pearson(table: Floats, n: int) -> IndependenceTest:
    expected = _expected(table)
    statistic = float(n * np.sum((table - expected) ** 2 / expected))
    df = table.size - 1 - sum(length - 1 for length in table.shape)
    small = float(n * expected.min())
    note = said(
        "plain chi-square on the reports: randomized independently, they are independent when the answers are"
    )
    if small < 5:
        rough = said(
            "the smallest expected count is {small:.1f}, below 5, so the p-value is rough", small=small
        )
        note = joined("; ", [note, rough])
    return IndependenceTest(statistic, (float(df),), float(stats.chi2.sf(statistic, df)), "Pearson", note)


def _rao_scott(joint: JointReports) -> IndependenceTest | None:
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
        np.searchsorted(kept, codes) for kept, codes in zip((rows, columns), joint.codes, strict=True)
    )
    cell = first * len(columns) + second
    indicator = np.eye(table.size)[cell]
    covariance = design.covariance(indicator - table.reshape(-1))
    simple = (np.diag(flat) - np.outer(flat, flat)) / joint.n
    effects = np.linalg.solve(contrast.T @ simple @ contrast, contrast.T @ covariance @ contrast)
    trace, square = float(np.trace(effects)), float(np.trace(effects @ effects))
    if not trace > 0:
        return None  # the design leaves no variance for a test
    numerator = trace**2 / square
    denominator = numerator * design.degrees_of_freedom
    f_value = statistic / trace
    p_value = float(stats.f.sf(f_value, numerator, denominator))
    note = said("chi-square on the weighted reports, corrected for weights, strata and clusters")
    return IndependenceTest(f_value, (numerator, denominator), p_value, "Rao-Scott F", note)


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
    """Leave out reports that nobody made: they carry no information about independence."""
    for axis in range(table.ndim):
        total = table.sum(axis=tuple(other for other in range(table.ndim) if other != axis))
        table = np.compress(total > 0, table, axis=axis)
    return table
