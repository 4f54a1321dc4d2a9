"""Two columns and their correlation: unbiased stand-ins for hidden values, standard error, interval and test."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import product
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd

from hushpoll_analysis.channel.base import Floats
from hushpoll_analysis.channel.stacked import StackedView
from hushpoll_analysis.errors import AnalysisError
from hushpoll_analysis.interval.student import critical
from hushpoll_analysis.sample.columns import (
    Codes,
    EstimatedShare,
    Mechanisms,
    Variable,
    randomized_variable,
    read_column,
)
from hushpoll_analysis.sample.design import SampleDesign
from hushpoll_analysis.sample.listed_sets import read_listed

from .correlation_score import CorrelationTest

_STEP = 1e-6
ROUNDING = 1e-12
MOST_CELLS = 100_000  # of a table of all joint reports; larger ones have those that came
FEW_VALUES = 20  # columns with more values have no joint reports that would be expected to come often


@dataclass(frozen=True, eq=False)
class ReportColumn:
    """Unbiased stand-ins for each respondent's true value and its square; tables of both by report."""

    name: str
    values: Floats
    squares: Floats
    variable: Variable | None = None
    codes: Codes | None = None
    tables: tuple[Floats, Floats] | None = None

    @property
    def decoy(self) -> EstimatedShare | None:
        """The decoy share that was counted; None where there is none."""
        if self.variable is None:
            return None
        return self.variable.decoy

    def moved(self, step: float) -> ReportColumn:
        """Return the column if the decoy's share were another by a bit: the weights move with it."""
        assert self.variable is not None
        assert self.decoy is not None
        scores = np.arange(self.variable.view.options, dtype=np.float64)
        bits = [step * (power @ self.decoy.slope)[self.codes] for power in (scores, scores**2)]
        return replace(self, values=self.values + bits[0], squares=self.squares + bits[1])

    def around(self, mean: float) -> Floats:
        """Unbiased stand-in for (value - mean)^2: the square of a randomized value is not that of its stand-in."""
        return np.asarray(self.squares - 2.0 * mean * self.values + mean**2, dtype=np.float64)

    @property
    def each(self) -> tuple[Codes, Floats, Floats]:
        """A code for each respondent, and values and squares by code."""
        if self.tables is not None and self.codes is not None:
            return self.codes, *self.tables
        distinct, codes = np.unique(self.values, return_inverse=True)
        return codes.reshape(-1), distinct, distinct**2

    def grid(self) -> tuple[Floats, Floats]:
        """Values and squares under every report (n x M); of an exact column the one that it is."""
        if self.tables is None:
            return self.values[:, None], self.squares[:, None]
        shape = (len(self.values), len(self.tables[0]))
        return np.broadcast_to(self.tables[0], shape), np.broadcast_to(self.tables[1], shape)

    def channels(self) -> list[tuple[Floats, npt.NDArray[np.bool_]]]:
        """P(report | truth), K x M, of each design, and who was asked by it."""
        if self.variable is None:
            return [(np.ones((1, 1)), np.ones(len(self.values), dtype=bool))]
        view = self.variable.view
        if len(view.tables) == 1:
            return [(view.tables[0], np.ones(len(self.values), dtype=bool))]
        used = view.design_of[self.codes]
        return [(table, used == number) for number, table in enumerate(view.tables)]

    def back(self) -> Floats:
        """Return the weights that estimate a mean over truths, for each respondent's report (n x K)."""
        if self.variable is None:
            return np.ones((len(self.values), 1))
        return self.variable.weights[:, self.codes].T


class PairFigures(NamedTuple):
    """The figures of a pair; `expected` are joint reports of the rarest kind without a correlation."""

    r: float
    se: float
    low: float
    high: float
    p_value: float
    expected: float


class _Cells(NamedTuple):
    """Joint reports: standardized products, half the sums of standardized squares, frequencies."""

    products: Floats
    squares: Floats
    frequencies: Floats
    independent: Floats | None
    rarest: float


@dataclass(frozen=True, eq=False)
class ColumnPair:
    first: ReportColumn
    second: ReportColumn
    mean: tuple[float, float]
    variance: tuple[float, float]

    @classmethod
    def of(cls, first: ReportColumn, second: ReportColumn, design: SampleDesign) -> ColumnPair:
        """Return a pair with its own means and variances."""
        both = (first, second)
        mean = [float(design.mean(column.values[:, None])[0]) for column in both]
        variance = [
            float(design.mean(column.around(m)[:, None])[0]) for column, m in zip(both, mean, strict=True)
        ]
        return cls(first, second, (mean[0], mean[1]), (variance[0], variance[1]))

    def figures(self, design: SampleDesign, level: float, df: int | None) -> PairFigures:
        """Return the correlation with its standard error, interval and p-value."""
        r = float(design.mean(self.products[:, None])[0])
        covariance = design.covariance(self.influence(r)[:, None], lambda: self.noise(r)[:, None, None])
        variance = max(float(covariance[0, 0]), 0.0)
        decoys = _decoy_variance(design, (self.first, self.second))
        se = float(np.sqrt(variance + decoys))
        cells = self._cells(design)
        spread = float(cells.frequencies @ (cells.products - r * cells.squares) ** 2)
        if not variance > ROUNDING * spread:
            return PairFigures(r, se, r, r, 0.0 if r else 1.0, np.inf)
        # What a finite population makes smaller, the linearised variance decides alone.
        worth = min(spread / variance, design.effective_n if design.fractions is None else np.inf)
        test = CorrelationTest(*cells[:4], max(worth, 2.0), decoys, df)
        half = se * critical(level, df)
        low, high = test.limits(level, min(-1.0, r - half), max(1.0, r + half))
        return PairFigures(r, se, low, high, test.p_value(), worth * cells.rarest)

    def _cells(self, design: SampleDesign) -> _Cells:
        """Return every joint report, also those that did not come where they can be listed."""
        (first_codes, values, squares), (other, second_values, other_squares) = (
            self.first.each,
            self.second.each,
        )
        width, share = len(second_values), design.weights / design.total
        margins = [np.bincount(first_codes, share, len(values)), np.bincount(other, share, width)]
        has_weight = share > 0.0
        listed, cell = np.unique((first_codes * width + other)[has_weight], return_inverse=True)
        came = frequencies = np.bincount(cell.reshape(-1), share[has_weight]).astype(np.float64)
        independent = None
        if len(values) * width <= MOST_CELLS and not self._by_rows:
            alone: Floats = np.outer(*margins).reshape(-1).astype(np.float64)
            every = np.flatnonzero(alone)
            independent, frequencies = alone[every], np.zeros(len(every))
            frequencies[np.searchsorted(every, listed)] = came
            listed = every
        a, b = np.divmod(listed, width)
        x, y = (values - self.mean[0])[a], (second_values - self.mean[1])[b]
        around = [
            (squared - 2.0 * m * value + m**2) / v
            for value, squared, m, v in zip(
                (values, second_values), (squares, other_squares), self.mean, self.variance, strict=True
            )
        ]
        few = max(map(np.count_nonzero, margins)) <= FEW_VALUES
        return _Cells(
            x * y / np.sqrt(self.variance[0] * self.variance[1]),
            (around[0][a] + around[1][b]) / 2.0,
            frequencies,
            independent,
            float(np.prod([margin[margin > 0.0].min() for margin in margins])) if few else np.inf,
        )

    @property
    def _by_rows(self) -> bool:
        """Whether respondents were asked by different designs, so that reports of two of them never meet."""
        variables = (column.variable for column in (self.first, self.second) if column.variable is not None)
        return any(isinstance(variable.view, StackedView) for variable in variables)

    @property
    def products(self) -> Floats:
        """Products of the standardized values."""
        scale = np.sqrt(self.variance[0] * self.variance[1])
        gaps = (self.first.values - self.mean[0]) * (self.second.values - self.mean[1])
        return np.asarray(gaps / scale, dtype=np.float64)

    def influence(self, r: float) -> Floats:
        """Return the linearised r of each respondent."""
        relative = [
            column.around(m) / v - 1.0
            for column, m, v in zip((self.first, self.second), self.mean, self.variance, strict=True)
        ]
        return np.asarray(self.products - r - 0.5 * r * (relative[0] + relative[1]), dtype=np.float64)

    def noise(self, r: float) -> Floats:
        """Unbiased estimates of Var(influence | truth), one a respondent."""
        values, squares = zip(*(column.grid() for column in (self.first, self.second)), strict=True)
        parts = [
            (square - 2.0 * m * value + m**2) / v - 1.0
            for value, square, m, v in zip(values, squares, self.mean, self.variance, strict=True)
        ]
        scale = np.sqrt(self.variance[0] * self.variance[1])
        products = (values[0] - self.mean[0])[:, :, None] * (values[1] - self.mean[1])[:, None, :] / scale
        grid = products - r - 0.5 * r * (parts[0][:, :, None] + parts[1][:, None, :])
        over, back = "nab,xa,yb->nxy", (self.first.back(), self.second.back())
        result = np.zeros(len(grid))
        for (table, by_one), (other, by_other) in product(self.first.channels(), self.second.channels()):
            mine = by_one & by_other
            spread = np.einsum(over, grid[mine] ** 2, table, other, optimize=True)
            spread -= np.einsum(over, grid[mine], table, other, optimize=True) ** 2
            result[mine] = np.einsum("nxy,nx,ny->n", spread, back[0][mine], back[1][mine])
        return result


def _decoy_variance(design: SampleDesign, columns: tuple[ReportColumn, ReportColumn]) -> float:
    """Return what counted decoy shares add to the variance of r: (dr/dq)^2 Var(q) of each."""
    total = 0.0
    for number, column in enumerate(columns):
        if column.decoy is None:
            continue
        ends = []
        for side in (1.0, -1.0):
            pair = list(columns)
            pair[number] = column.moved(side * _STEP)
            ends.append(float(design.mean(ColumnPair.of(pair[0], pair[1], design).products[:, None])[0]))
        total += ((ends[0] - ends[1]) / (2.0 * _STEP)) ** 2 * column.decoy.variance
    return total


def read_moments(data: pd.DataFrame, channels: Mechanisms, name: str) -> ReportColumn:
    """For each respondent, unbiased stand-ins for the true value and for its square."""
    randomized = randomized_variable(name, channels, as_sets=True)
    column = read_column(data, name, randomized is not None)
    if randomized is None:
        numbers = pd.to_numeric(column, errors="coerce").to_numpy(dtype=np.float64)
        if not np.all(np.isfinite(numbers)):
            raise AnalysisError(f"column {name!r} is exact and has values that are not finite numbers")
        return ReportColumn(name, numbers, numbers**2)
    variable, codes = read_listed(randomized, column)
    scores = np.arange(variable.view.options, dtype=np.float64)
    tables = variable.view.solution(scores), variable.view.solution(scores**2)
    return ReportColumn(name, tables[0][codes], tables[1][codes], variable, codes, tables)
