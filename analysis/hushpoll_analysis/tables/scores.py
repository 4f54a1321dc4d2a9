"""Sum scores over several randomized items of one person."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import pandas as pd

from hushpoll_analysis.arguments import by_name
from hushpoll_analysis.channel.base import Floats
from hushpoll_analysis.counts import check_level, finite_numbers
from hushpoll_analysis.errors import AnalysisError
from hushpoll_analysis.interval import AUTO, effective_interval, interval
from hushpoll_analysis.interval.mover import BoundedEstimate, correlations, sum_limits
from hushpoll_analysis.interval.student import critical
from hushpoll_analysis.interval.wilson import Wilson
from hushpoll_analysis.result import PlottedResult
from hushpoll_analysis.sample.columns import (
    Codes,
    Mechanisms,
    Variable,
    check_frame,
    check_names,
    read_variable,
    refuse_skipped,
)
from hushpoll_analysis.sample.design import SampleDesign
from hushpoll_analysis.sample.design_keywords import SampleKeys, takes_sample
from hushpoll_analysis.sample.design_sample import DesignSample
from hushpoll_analysis.sample.members import refuse_together
from hushpoll_analysis.sample.missing import takes_missing
from hushpoll_analysis.sample.row_designs import Designs, with_designs
from hushpoll_analysis.sample.sample import CountedSample
from hushpoll_analysis.sample.weighted_notes import heavy_notes
from hushpoll_analysis.tidy import Tidy, keeps_call

_SAME_REPORTS = "every report is the same, so the standard error is 0 and says nothing; the interval holds"
_EVERYBODY = "everybody in the population was asked, and directly: this is its mean, without any error"


@dataclass(frozen=True)
class SumScore(Tidy, PlottedResult):
    """The mean of a sum over items with its interval, and how widely the true sums scatter.

    `sd` is the estimated standard deviation of the true scores between people (None where its square comes out below
    0), `reliability` Cronbach's alpha of the true items.
    """

    words = "mean score"
    plotted_column = "mean"

    items: tuple[str, ...]
    n: int
    level: float
    mean: float
    se: float
    low: float
    high: float
    sd: float | None
    reliability: float | None
    note: str = ""
    """What the interval does not say by itself."""

    def to_frame(self) -> pd.DataFrame:
        """Return one row."""
        row = {
            entry.name: getattr(self, entry.name)
            for entry in fields(self)
            if entry.name not in ("items", "note")
        }
        return pd.DataFrame([row], index=pd.Index([" + ".join(self.items)], name="score"))

    def _notebook_notes(self) -> tuple[str, ...]:
        return (self.note,)


@keeps_call
@takes_missing
@takes_sample
def sum_score(
    data: pd.DataFrame,
    mechanisms: Mechanisms,
    items: Sequence[str],
    *,
    values: Mapping[str, Sequence[float]] | None = None,
    level: float = 0.95,
    designs: Designs | None = None,
    sample: SampleKeys,
) -> SumScore:
    r"""Estimate the mean of a sum score over several items, of which some were randomized.

    Parameters
    ----------
    data, mechanisms, weights, strata, clusters, margins, designs, population, replicates
        As in `crosstab`.
    items
        The columns.
    values
        The points of each answer, where they are not 0, 1, 2, ...

    Notes
    -----
    A person's score is estimated without bias by :math:`\sum_j b_j(z_j)` with :math:`C_j b_j = v_j`; the mean has the
    standard error of these sums, which contains the covariance of the items. The variance of the true scores adds up
    unbiased estimates of squares and products, since items are randomized independently.

    The interval joins those of the items (exact ones where a report is scarce) by their correlation :math:`r`: the
    upper limit is :math:`\sum_j m_j + \sqrt{\sum_{jk} r_{jk} (u_j - m_j)(u_k - m_k)}`, the lower one likewise, and
    neither is nearer than the normal interval's. Items whose reports are all the same tell no correlation; 1 is taken.

    References
    ----------
    Zou, Huang, Zhang (2009), Comput. Stat. Data Anal. 53, 1080-1085.
    """
    check_level(level)
    check_names(items, "items")
    points_given = by_name(values, "values")
    if isinstance(items, str) or len(items) < 2 or len(set(items)) != len(items):
        raise AnalysisError("a sum score needs at least two items", "name each column once")
    refuse_together(mechanisms, items, "a sum score needs items that were randomized one by one")
    refuse_skipped(
        mechanisms, [item for item in items if item not in points_given], "say what it counts with values="
    )
    data, sample = sample.among_asked(check_frame(data), mechanisms, items)
    if len(data) < 2:
        raise AnalysisError(f"a standard error needs at least 2 respondents, got {len(data)}")
    mechanisms = with_designs(mechanisms, designs, data)
    columns = [read_variable(data, name, mechanisms) for name in items]
    points = [_points(variable, points_given) for variable, _ in columns]
    firsts = np.stack(
        [variable.view.solution(v)[codes] for (variable, codes), v in zip(columns, points, strict=True)],
        axis=1,
    )
    squares = np.stack(
        [variable.view.solution(v**2)[codes] for (variable, codes), v in zip(columns, points, strict=True)],
        axis=1,
    )
    design = sample.design_or_simple(data)
    total = firsts.sum(axis=1)
    mean = float(design.mean(total[:, None])[0])
    variance = float(design.covariance((total - mean)[:, None], lambda: _noise(columns, points))[0, 0])
    se = math.sqrt(max(variance, 0.0) + _decoy_variance(columns, points, design))
    half = se * critical(level, design.freedom)
    parts = [
        _part(variable, codes, v, design, level) for (variable, codes), v in zip(columns, points, strict=True)
    ]
    covariance = design.covariance(firsts - design.mean(firsts))
    correlation = correlations(covariance, np.array([error for _, error in parts]))
    low, high = sum_limits([estimate for estimate, _ in parts], correlation)
    low, high = min(low, mean - half), max(high, mean + half)
    sd, alpha = _spread(firsts, squares, design)
    if se > 0.0:
        note = ""
    elif design.sampling_fraction < 1.0 or high > low:
        note = _SAME_REPORTS
    else:
        note = _EVERYBODY
    note = " ".join(filter(None, [note, *heavy_notes(design, allowed=True)]))
    return SumScore(
        tuple(items),
        len(data),
        level=level,
        mean=mean,
        se=se,
        low=low,
        high=high,
        sd=sd,
        reliability=alpha,
        note=note,
    )


def _part(
    variable: Variable, codes: Codes, values: Floats, design: SampleDesign, level: float
) -> tuple[BoundedEstimate, float]:
    """Return one item's mean with its own limits, and its standard error."""
    view, decoy = variable.view, variable.counted_decoy
    if design.is_simple:
        counts = np.bincount(codes, minlength=view.outcomes)
        item = CountedSample(view, counts, decoy=decoy).quantity(values)
        item_interval = interval(item, AUTO, level)
    else:
        item = DesignSample(view, codes=codes, design=design, decoy=decoy).quantity(values)
        # Weighted reports have no lattice, on which the exact interval is needed.
        item_interval, _ = effective_interval(item, Wilson.name, level, design.degrees_of_freedom)
    return BoundedEstimate(item.estimate, item_interval.low, item_interval.high), item.se


def _decoy_variance(
    columns: Sequence[tuple[Variable, Codes]], points: Sequence[Floats], design: SampleDesign
) -> float:
    """Return what counted decoy shares add: the weights of their items move with them."""
    total = 0.0
    for (variable, codes), values in zip(columns, points, strict=True):
        if variable.decoy is not None:
            slope = float(design.mean((values @ variable.decoy.slope)[codes][:, None])[0])
            total += slope**2 * variable.decoy.variance
    return total


def _points(variable: Variable, values: Mapping[str, Sequence[float]]) -> Any:
    if variable.name in values:
        points = finite_numbers(values[variable.name], f"values of {variable.name}")
        if len(points) != len(variable.labels):
            raise AnalysisError(
                f"{variable.name} has {len(variable.labels)} answers, {len(points)} values are given",
                "give one for each",
            )
        return points
    return np.arange(len(variable.labels), dtype=np.float64)


def _noise(columns: Sequence[tuple[Variable, Codes]], points: Sequence[Any]) -> Any:
    """Add up what the randomization adds to each person's sum: items are randomized independently."""
    parts = []
    for (variable, codes), v in zip(columns, points, strict=True):
        parts.append(variable.view.noise_by_report(variable.view.solution(v))[codes])
    return np.sum(parts, axis=0)[:, None, None]


def _spread(firsts: Any, squares: Any, design: SampleDesign) -> tuple[float | None, float | None]:
    """Return the standard deviation of the true sums, and alpha, from unbiased squares and products."""
    means = design.mean(firsts)
    variances = design.mean(squares) - means**2
    products = firsts.T @ (design.weights[:, None] * firsts) / design.total - np.outer(means, means)
    between = float(products.sum() - np.trace(products))
    variance = float(variances.sum()) + between
    if variance <= 0.0:
        return None, None
    k = firsts.shape[1]
    return math.sqrt(variance), k / (k - 1.0) * between / variance
