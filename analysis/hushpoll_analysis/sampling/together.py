"""A sample design whose rows each stand for several respondents that are alike."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt
import pandas as pd

from hushpoll_analysis.channel.view import Floats
from hushpoll_analysis.data.alike import SQUARES, WEIGHTS, AlikeRows, times_of
from hushpoll_analysis.data.columns import Codes, column_of
from hushpoll_analysis.errors import AnalysisError

from .weights import Column, SampleDesign

__all__ = ["GroupedDesign", "can_be_grouped", "grouped_design", "put_design_together", "strata_codes"]


@dataclass(frozen=True, eq=False)
class GroupedDesign(SampleDesign):
    """Sums of weights: every respondent is a unit of their own, and those of one row are in one stratum.

    With weights w and value v, sum (w v)^2 over the respondents of a row is v^2 sum w^2, so that three sums a row (how
    many, of w, of w^2) tell as much as all respondents.
    """

    times: Floats = field(kw_only=True)
    squares: Floats = field(kw_only=True)

    @property
    def n(self) -> int:
        """Number of respondents."""
        return round(float(self.times.sum()))

    @property
    def squared(self) -> Floats:
        """Sum of the squared weights of each row."""
        return self.squares

    @property
    def degrees_of_freedom(self) -> int:
        """Number of respondents minus number of strata."""
        return self.n - int((np.bincount(self.strata) > 0).sum())

    def among(self, chosen: npt.NDArray[np.bool_], share: float) -> GroupedDesign:
        """Give the design of a part of the respondents; the others weigh nothing."""
        return replace(self, weights=self.weights * chosen, squares=self.squares * chosen)

    def total_covariance(self, values: Floats, noise: Floats | None = None) -> Floats:
        """Covariance of the weighted totals of the columns of `values`, a row for each row of the design."""
        values = values.reshape(len(self.weights), -1)
        people = np.bincount(self.strata, weights=self.times)
        factor = people / np.maximum(people - 1.0, 1.0)
        sums = np.zeros((len(people), values.shape[1]))
        np.add.at(sums, self.strata, self.weights[:, None] * values)
        around = (values * (self.squares * factor[self.strata])[:, None]).T @ values
        middle = (sums * (factor / np.maximum(people, 1.0))[:, None]).T @ sums
        return np.asarray(around - middle, dtype=np.float64)


def grouped_design(data: pd.DataFrame, strata: Column = None) -> GroupedDesign:
    """Read the design of a table whose rows stand for several respondents each."""
    times = times_of(data)
    weights, squares = (
        (data[name].to_numpy(dtype=np.float64) if name in data.columns else times)
        for name in (WEIGHTS, SQUARES)
    )
    stratum = np.zeros(len(data), dtype=np.int64)
    if isinstance(strata, str):
        found, names = pd.factorize(column_of(data, strata))
        stratum = found.astype(np.int64)
        people = np.bincount(stratum, weights=times)
        if people.min() < 2:
            raise AnalysisError(
                f"stratum {names[int(people.argmin())]!r} has one respondent only, so its variance is unknown",
                "merge it with another stratum",
            )
    return GroupedDesign(weights, stratum, np.arange(len(data)), times=times, squares=squares)


def put_design_together(design: SampleDesign | None, rows: AlikeRows) -> SampleDesign | None:
    """Add up the weights of rows that were put together."""
    if design is None or rows.of_row is None:
        return design
    size = len(rows.frame)
    weights, squares = (
        np.asarray(np.bincount(rows.of_row, one, size), dtype=np.float64)
        for one in (design.weights, design.squared)
    )
    strata = np.zeros(size, dtype=np.int64)
    strata[rows.of_row] = design.strata
    return GroupedDesign(weights, strata, np.arange(size), times=rows.times, squares=squares)


def can_be_grouped(design: SampleDesign | None) -> bool:
    """Say whether sums of weights tell all of a design: no clusters, raking, finite population, replicates."""
    if design is None or isinstance(design, GroupedDesign):
        return True
    if any(one is not None for one in (design.adjusted, design.fractions, design.replicates)):
        return False
    return len(np.unique(design.clusters)) == len(design.clusters)


def strata_codes(design: SampleDesign | None) -> tuple[Codes, ...]:
    """Give what rows of a design must have in common to be put together."""
    return () if design is None or not design.strata.any() else (design.strata,)
