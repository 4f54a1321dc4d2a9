"""Correlations of randomized and exact variables."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import pandas as pd
from scipy import stats

from hushpoll_analysis.channel.view import Floats
from hushpoll_analysis.data.columns import (
    Mechanisms,
    check_frame,
    column_of,
    randomized_variable,
)
from hushpoll_analysis.data.counts import check_level
from hushpoll_analysis.errors import AnalysisError

__all__ = ["Correlation", "correlate"]


@dataclass(frozen=True, eq=False)
class Correlation:
    """Estimated correlations with standard errors; unclipped, so one may leave [-1, 1] by chance."""

    names: tuple[str, ...]
    n: int
    level: float
    r: Floats = field(repr=False)
    se: Floats = field(repr=False)
    notes: tuple[str, ...] = ()

    def to_frame(self) -> pd.DataFrame:
        """Give one row for each pair, with its normal interval."""
        z = float(stats.norm.isf((1.0 - self.level) / 2.0))
        rows = []
        for a in range(len(self.names)):
            for b in range(a + 1, len(self.names)):
                r, se = float(self.r[a, b]), float(self.se[a, b])
                p = 2.0 * float(stats.norm.sf(abs(r) / se)) if se > 0.0 else 0.0
                rows.append((self.names[a], self.names[b], r, se, r - z * se, r + z * se, p))
        columns = ["first", "second", "r", "se", "low", "high", "p_value"]
        return pd.DataFrame(rows, columns=columns).set_index(["first", "second"])

    def matrix(self) -> pd.DataFrame:
        """Give the matrix of correlations."""
        return pd.DataFrame(self.r, index=self.names, columns=self.names)

    def _repr_html_(self) -> str:
        return self.to_frame().to_html(float_format=lambda value: f"{value:.4f}")


def correlate(
    data: pd.DataFrame, channels: Mechanisms, columns: Sequence[str], *, level: float = 0.95
) -> Correlation:
    r"""Correlate columns of which some were randomized.

    Parameters
    ----------
    data
        One row for each respondent.
    channels
        A survey, or a mechanism for each randomized column; the others are exact numbers.
    columns
        The columns. A randomized one counts its answers 0, 1, 2, ...

    Notes
    -----
    Means, squares and products of the true values have unbiased estimates, the means of b(z) with C b = v, C b = v^2
    and of products b(z) b'(z'), because answers are randomized independently. With S the moments formed from them,
    :math:`r = S_{xy} / \sqrt{S_{xx} S_{yy}}`; the standard error is that of the linearised r (delta method).

    References
    ----------
    Fox, Tracy, "Measuring associations with randomized response", Social Science Research 13 (1984).
    """
    check_level(level)
    check_frame(data)
    if len(columns) < 2 or len(set(columns)) != len(columns):
        raise AnalysisError("a correlation needs at least two columns, each named once")
    if len(data) < 3:
        raise AnalysisError(f"a correlation needs at least 3 respondents, got {len(data)}")
    read = [_moments(data, channels, name) for name in columns]
    values = np.stack([first for first, _ in read], axis=1)
    squares = np.stack([second for _, second in read], axis=1)
    n = len(data)
    mean = values.mean(axis=0)
    centred = values - mean
    covariance = centred.T @ centred / n
    # A variable with itself: the square of a randomized value is not the square of its estimate.
    within = squares - 2.0 * mean * values + mean**2
    variance = within.mean(axis=0)
    for name, one in zip(columns, variance, strict=True):
        if not one > 0.0:
            raise AnalysisError(
                f"{name}: the estimated variance of the true values is {one:.3g}, not above zero, so it has no "
                "correlation",
                "there are too few reports, or all answers are the same",
            )
    scale = np.sqrt(variance)
    r = covariance / np.outer(scale, scale)
    np.fill_diagonal(r, 1.0)
    se = np.zeros_like(r)
    relative = within / variance - 1.0
    for a in range(len(columns)):
        for b in range(a + 1, len(columns)):
            product = centred[:, a] * centred[:, b] / (scale[a] * scale[b])
            influence = product - r[a, b] - 0.5 * r[a, b] * (relative[:, a] + relative[:, b])
            se[a, b] = se[b, a] = float(np.sqrt(np.sum(influence**2) / n / (n - 1)))
    known = [randomized_variable(name, channels) for name in columns]
    notes = tuple(
        f"the decoy share of {one.name} was estimated; its own uncertainty is not in these standard errors"
        for one in known
        if one is not None and one.decoy is not None
    )
    return Correlation(tuple(columns), n, level, r, se, notes)


def _moments(data: pd.DataFrame, channels: Mechanisms, name: str) -> tuple[Floats, Floats]:
    """For each respondent, unbiased stand-ins for the true value and for its square."""
    column = column_of(data, name)
    variable = randomized_variable(name, channels)
    if variable is None:
        numbers = pd.to_numeric(column, errors="coerce").to_numpy(dtype=np.float64)
        if not np.all(np.isfinite(numbers)):
            raise AnalysisError(f"column {name!r} is exact and has values that are no finite numbers")
        return numbers, numbers**2
    codes = variable.codes(column)
    scores = np.arange(variable.view.options, dtype=np.float64)
    return variable.view.solution(scores)[codes], variable.view.solution(scores**2)[codes]
