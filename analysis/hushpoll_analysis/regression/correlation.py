"""Correlations of randomized and exact variables."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd

from hushpoll_analysis.channel.base import Floats
from hushpoll_analysis.counts import check_level
from hushpoll_analysis.errors import AnalysisError
from hushpoll_analysis.result import PlottedResult, rows_as_json
from hushpoll_analysis.sample.columns import Mechanisms, check_frame, check_names, refuse_skipped
from hushpoll_analysis.sample.design_keywords import SampleKeys, takes_sample
from hushpoll_analysis.sample.distinct_rows import times_of
from hushpoll_analysis.sample.missing import takes_missing
from hushpoll_analysis.sample.option_columns import with_options
from hushpoll_analysis.sample.row_designs import Designs, with_designs
from hushpoll_analysis.sample.streams import takes_streams
from hushpoll_analysis.tidy import Tidy, keeps_call

from .correlation_pairs import ColumnPair, read_moments

FEW = 10
"""Joint reports of a kind that are expected: with fewer a note says so."""


@dataclass(frozen=True, eq=False)
class Correlation(Tidy, PlottedResult):
    """Estimated correlations with standard errors; unclipped, so one may leave [-1, 1] by chance."""

    words = "correlation"
    plotted_column = "r"
    marks_zero = True

    names: tuple[str, ...]
    n: int
    level: float
    r: Floats = field(repr=False)
    se: Floats = field(repr=False)
    low: Floats = field(repr=False)
    high: Floats = field(repr=False)
    p_value: Floats = field(repr=False)
    notes: tuple[str, ...] = ()
    degrees_of_freedom: int | None = None
    """Of the t intervals under a sample design; None means normal intervals."""

    def to_frame(self) -> pd.DataFrame:
        """Return one row for each pair, with its score interval; what is shown lies within -1 and 1."""
        pairs = list(combinations(range(len(self.names)), 2))
        columns = ["r", "se", "low", "high", "p_value"]
        rows = [[float(getattr(self, column)[pair]) for column in columns] for pair in pairs]
        index = pd.MultiIndex.from_tuples(
            [(self.names[a], self.names[b]) for a, b in pairs], names=["first", "second"]
        )
        frame = pd.DataFrame(rows, columns=columns, index=index)
        clipped = frame[["r", "low", "high"]].clip(-1.0, 1.0)
        return frame.join(clipped.set_axis(["shown_r", "shown_low", "shown_high"], axis=1))

    def to_dict(self) -> dict[str, Any]:
        """Return the correlations as JSON values, pair by pair."""
        return {
            "names": list(self.names),
            "n": self.n,
            "level": self.level,
            "degrees_of_freedom": self.degrees_of_freedom,
            "pairs": rows_as_json(self.to_frame().reset_index()),
            "notes": list(self.notes),
        }

    def matrix(self) -> pd.DataFrame:
        """Return the matrix of correlations."""
        return pd.DataFrame(self.r, index=self.names, columns=self.names)


@keeps_call
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

    The interval holds all :math:`\rho` that a score test does not reject: under :math:`\rho` the mean of
    :math:`w = xy/\sqrt{S_{xx} S_{yy}} - \rho (x^2/S_{xx} + y^2/S_{yy})/2` is 0, and its variance is taken at the
    likeliest joint reports with such a mean, not at those that came. Where reports are rare the statistic is skew, and
    is brought to a normal one by the cube root of a gamma variable with its skewness. The p-value is the level at
    which the interval reaches 0. Under a sample design the reports count as many equal answers as r is worth, with t.

    References
    ----------
    Fox, Tracy, "Measuring associations with randomized response", Social Science Research 13 (1984); Owen, Biometrika
    75 (1988); Wilson, Hilferty, "The distribution of chi-square", PNAS 17 (1931).
    """
    check_level(level)
    check_names(columns)
    check_frame(data)
    if len(columns) < 2 or len(set(columns)) != len(columns):
        raise AnalysisError("a correlation needs at least two columns, each named once")
    refuse_skipped(channels, columns, "use crosstab or compare, which take each answer by itself")
    data, sample = sample.in_frame(data)
    data, channels, _ = with_options(data, channels, columns)
    n = int(times_of(data).sum())
    if n < 3:
        raise AnalysisError(f"a correlation needs at least 3 respondents, got {n}")
    channels = with_designs(channels, designs, data)
    design = sample.design_or_simple(data)
    report_columns = [read_moments(data, channels, name) for name in columns]
    mean = design.mean(np.stack([column.values for column in report_columns], axis=1))
    variance = np.array(
        [
            float(design.mean(column.around(m)[:, None])[0])
            for column, m in zip(report_columns, mean, strict=True)
        ]
    )
    for name, own_variance in zip(columns, variance, strict=True):
        if not own_variance > 0.0:
            raise AnalysisError(
                f"{name}: the estimated variance of the true values is {own_variance:.3g}, not above zero, so it "
                "has no correlation",
                "there are too few reports, or all answers are the same",
            )
    notes = [
        f"the decoy share of {column.name} was estimated from {column.decoy.answers:,} answers; its uncertainty is "
        "part of these standard errors"
        for column in report_columns
        if column.decoy is not None
    ]
    df = design.freedom
    size = len(columns)
    r, low, high, se, p_value = (
        *(np.eye(size) for _ in range(3)),
        np.zeros((size, size)),
        np.zeros((size, size)),
    )
    for a, b in combinations(range(size), 2):
        pair = ColumnPair(
            report_columns[a], report_columns[b], (mean[a], mean[b]), (variance[a], variance[b])
        )
        figures = pair.figures(design, level, df)
        for matrix, value in zip((r, se, low, high, p_value), figures, strict=False):
            matrix[a, b] = matrix[b, a] = value
        if figures.expected < FEW:
            notes.append(
                f"{columns[a]} and {columns[b]}: without a correlation fewer than {FEW} joint reports of one kind are "
                "expected, so the interval rests on few people"
            )
    return Correlation(
        tuple(columns),
        n,
        level=level,
        r=r,
        se=se,
        low=low,
        high=high,
        p_value=p_value,
        notes=tuple(notes),
        degrees_of_freedom=df,
    )
