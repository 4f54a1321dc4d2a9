"""Correlations of randomized and exact variables."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy import stats

from hushpoll_analysis.channel.view import Floats
from hushpoll_analysis.data.alike import times_of
from hushpoll_analysis.data.columns import (
    Codes,
    EstimatedShare,
    Mechanisms,
    Variable,
    check_frame,
    check_names,
    randomized_variable,
    read_column,
    refuse_skipped,
)
from hushpoll_analysis.data.counts import check_level
from hushpoll_analysis.data.drawn import rows_as_json
from hushpoll_analysis.data.listed_sets import read_listed
from hushpoll_analysis.data.missing import takes_missing
from hushpoll_analysis.data.option_columns import with_options
from hushpoll_analysis.data.row_designs import Designs, with_designs
from hushpoll_analysis.data.streams import takes_streams
from hushpoll_analysis.data.whiskers import draw_whiskers
from hushpoll_analysis.errors import AnalysisError
from hushpoll_analysis.sampling.design import SampleDesign
from hushpoll_analysis.sampling.keys import SampleKeys, takes_sample

__all__ = ["Correlation", "correlate"]

_STEP = 1e-6


@dataclass(frozen=True, eq=False)
class Correlation:
    """Estimated correlations with standard errors; unclipped, so one may leave [-1, 1] by chance."""

    names: tuple[str, ...]
    n: int
    level: float
    r: Floats = field(repr=False)
    se: Floats = field(repr=False)
    notes: tuple[str, ...] = ()
    degrees_of_freedom: int | None = None
    """Of the t intervals under a sample design; None means normal intervals."""

    def to_frame(self) -> pd.DataFrame:
        """Give one row for each pair, with its normal (t) interval."""
        tail, df = (1.0 - self.level) / 2.0, self.degrees_of_freedom
        z = float(stats.norm.isf(tail) if df is None else stats.t.isf(tail, df))
        rows = []
        for a in range(len(self.names)):
            for b in range(a + 1, len(self.names)):
                r, se = float(self.r[a, b]), float(self.se[a, b])
                size = abs(r) / se if se > 0.0 else np.inf
                p = 2.0 * float(stats.norm.sf(size) if df is None else stats.t.sf(size, df))
                rows.append((self.names[a], self.names[b], r, se, r - z * se, r + z * se, p))
        columns = ["first", "second", "r", "se", "low", "high", "p_value"]
        return pd.DataFrame(rows, columns=columns).set_index(["first", "second"])

    def to_dict(self) -> dict[str, Any]:
        """Give the correlations as JSON values, pair by pair."""
        return {
            "names": list(self.names),
            "n": self.n,
            "level": self.level,
            "degrees_of_freedom": self.degrees_of_freedom,
            "pairs": rows_as_json(self.to_frame().reset_index()),
            "notes": list(self.notes),
        }

    def matrix(self) -> pd.DataFrame:
        """Give the matrix of correlations."""
        return pd.DataFrame(self.r, index=self.names, columns=self.names)

    def plot(self, axes: Any = None) -> Any:
        """Draw the result with matplotlib and give the axes."""
        frame = self.to_frame()
        limits = (frame["r"], frame["low"], frame["high"])
        return draw_whiskers(
            list(frame.index), *limits, f"correlation, {self.level:.0%} interval", axes, zero=True
        )

    def _repr_html_(self) -> str:
        return self.to_frame().to_html(float_format=lambda value: f"{value:.4f}")


@takes_streams("data", "channels")
@takes_missing
@takes_sample
def correlate(
    data: pd.DataFrame,
    channels: Mechanisms,
    columns: Sequence[str],
    *,
    level: float = 0.95,
    designs: Designs | None = None,
    sample: SampleKeys,
) -> Correlation:
    r"""Correlate columns of which some were randomized.

    Parameters
    ----------
    data
        One row for each respondent; or, as in `logit`, where the reports are.
    channels
        A survey, or a mechanism for each randomized column; the others are exact numbers.
    columns
        The columns. A randomized one counts its answers 0, 1, 2, ...; one option of several is `question[option]`.
    weights, strata, clusters, margins, designs, population, replicates
        As in `crosstab`.

    Notes
    -----
    Means, squares and products of the true values have unbiased estimates, the means of b(z) with C b = v, C b = v^2
    and of products b(z) b'(z'), because answers are randomized independently. With S the moments formed from them,
    :math:`r = S_{xy} / \sqrt{S_{xx} S_{yy}}`; the standard error is that of the linearised r (delta method), with the
    part :math:`(dr/dq)^2 q(1-q)/m` of a decoy share q that was counted among m people.

    References
    ----------
    Fox, Tracy, "Measuring associations with randomized response", Social Science Research 13 (1984).
    """
    check_level(level)
    check_names(columns)
    check_frame(data)
    if len(columns) < 2 or len(set(columns)) != len(columns):
        raise AnalysisError("a correlation needs at least two columns, each named once")
    refuse_skipped(channels, columns, "use crosstab or compare, which take each answer by itself")
    data, keys = sample.in_frame(data)
    sample = SampleKeys(**keys)
    data, channels, _ = with_options(data, channels, columns)
    n = int(times_of(data).sum())
    if n < 3:
        raise AnalysisError(f"a correlation needs at least 3 respondents, got {n}")
    channels = with_designs(channels, designs, data)
    design, simple = sample.design_or_simple(data)
    read = [_moments(data, channels, name) for name in columns]
    mean = design.mean(np.stack([one.values for one in read], axis=1))
    variance = np.array(
        [float(design.mean(one.around(m)[:, None])[0]) for one, m in zip(read, mean, strict=True)]
    )
    for name, one in zip(columns, variance, strict=True):
        if not one > 0.0:
            raise AnalysisError(
                f"{name}: the estimated variance of the true values is {one:.3g}, not above zero, so it has no "
                "correlation",
                "there are too few reports, or all answers are the same",
            )
    r, se = np.eye(len(columns)), np.zeros((len(columns), len(columns)))
    for a in range(len(columns)):
        for b in range(a + 1, len(columns)):
            pair = _Pair(read[a], read[b], (mean[a], mean[b]), (variance[a], variance[b]))
            r[a, b] = r[b, a] = float(design.mean(pair.products[:, None])[0])
            noise = None if design.fractions is None else pair.noise(r[a, b])[:, None, None]
            error = design.covariance(pair.influence(r[a, b])[:, None], noise)[0, 0]
            error += _decoy_variance(design, (read[a], read[b]))
            se[a, b] = se[b, a] = float(np.sqrt(max(error, 0.0)))
    notes = tuple(
        f"the decoy share of {one.name} was estimated from {one.decoy.answers:,} answers; its uncertainty is part of "
        "these standard errors"
        for one in read
        if one.decoy is not None
    )
    df = None if simple else design.degrees_of_freedom
    return Correlation(tuple(columns), n, level, r, se, notes, df)


@dataclass(frozen=True, eq=False)
class _Column:
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
        return None if self.variable is None else self.variable.decoy

    def moved(self, step: float) -> _Column:
        """Give the column if the decoy's share were another by a bit: the weights move with it."""
        assert self.variable is not None
        assert self.decoy is not None
        scores = np.arange(self.variable.view.options, dtype=np.float64)
        bits = [step * (power @ self.decoy.slope)[self.codes] for power in (scores, scores**2)]
        return replace(self, values=self.values + bits[0], squares=self.squares + bits[1])

    def around(self, mean: float) -> Floats:
        """Unbiased stand-in for (value - mean)^2: the square of a randomized value is not that of its stand-in."""
        return np.asarray(self.squares - 2.0 * mean * self.values + mean**2, dtype=np.float64)

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
        """Give the weights that estimate a mean over truths, for each respondent's report (n x K)."""
        if self.variable is None:
            return np.ones((len(self.values), 1))
        return self.variable.weights[:, self.codes].T


@dataclass(frozen=True, eq=False)
class _Pair:
    first: _Column
    second: _Column
    mean: tuple[float, float]
    variance: tuple[float, float]

    @classmethod
    def of(cls, first: _Column, second: _Column, design: SampleDesign) -> _Pair:
        """Give a pair with its own means and variances."""
        both = (first, second)
        mean = [float(design.mean(one.values[:, None])[0]) for one in both]
        variance = [float(design.mean(one.around(m)[:, None])[0]) for one, m in zip(both, mean, strict=True)]
        return cls(first, second, (mean[0], mean[1]), (variance[0], variance[1]))

    @property
    def products(self) -> Floats:
        """Products of the standardized values."""
        scale = np.sqrt(self.variance[0] * self.variance[1])
        gaps = (self.first.values - self.mean[0]) * (self.second.values - self.mean[1])
        return np.asarray(gaps / scale, dtype=np.float64)

    def influence(self, r: float) -> Floats:
        """Give the linearised r of each respondent."""
        relative = [
            one.around(m) / v - 1.0
            for one, m, v in zip((self.first, self.second), self.mean, self.variance, strict=True)
        ]
        return np.asarray(self.products - r - 0.5 * r * (relative[0] + relative[1]), dtype=np.float64)

    def noise(self, r: float) -> Floats:
        """Unbiased estimates of Var(influence | truth), one a respondent."""
        values, squares = zip(*(one.grid() for one in (self.first, self.second)), strict=True)
        parts = [
            (square - 2.0 * m * value + m**2) / v - 1.0
            for value, square, m, v in zip(values, squares, self.mean, self.variance, strict=True)
        ]
        scale = np.sqrt(self.variance[0] * self.variance[1])
        products = (values[0] - self.mean[0])[:, :, None] * (values[1] - self.mean[1])[:, None, :] / scale
        grid = products - r - 0.5 * r * (parts[0][:, :, None] + parts[1][:, None, :])
        over, back = "nab,xa,yb->nxy", (self.first.back(), self.second.back())
        result = np.zeros(len(grid))
        for (one, by_one), (other, by_other) in product(self.first.channels(), self.second.channels()):
            mine = by_one & by_other
            spread = np.einsum(over, grid[mine] ** 2, one, other, optimize=True)
            spread -= np.einsum(over, grid[mine], one, other, optimize=True) ** 2
            result[mine] = np.einsum("nxy,nx,ny->n", spread, back[0][mine], back[1][mine])
        return result


def _decoy_variance(design: SampleDesign, columns: tuple[_Column, _Column]) -> float:
    """Give what counted decoy shares add to the variance of r: (dr/dq)^2 Var(q) of each."""
    total = 0.0
    for place, column in enumerate(columns):
        if column.decoy is None:
            continue
        ends = []
        for side in (1.0, -1.0):
            pair = list(columns)
            pair[place] = column.moved(side * _STEP)
            ends.append(float(design.mean(_Pair.of(pair[0], pair[1], design).products[:, None])[0]))
        total += ((ends[0] - ends[1]) / (2.0 * _STEP)) ** 2 * column.decoy.variance
    return total


def _moments(data: pd.DataFrame, channels: Mechanisms, name: str) -> _Column:
    """For each respondent, unbiased stand-ins for the true value and for its square."""
    found = randomized_variable(name, channels, as_sets=True)
    column = read_column(data, name, found is not None)
    if found is None:
        numbers = pd.to_numeric(column, errors="coerce").to_numpy(dtype=np.float64)
        if not np.all(np.isfinite(numbers)):
            raise AnalysisError(f"column {name!r} is exact and has values that are not finite numbers")
        return _Column(name, numbers, numbers**2)
    variable, codes = read_listed(found, column)
    scores = np.arange(variable.view.options, dtype=np.float64)
    tables = variable.view.solution(scores), variable.view.solution(scores**2)
    return _Column(name, tables[0][codes], tables[1][codes], variable, codes, tables)
