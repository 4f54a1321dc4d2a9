"""Columns of a sample design, as they stand in a table of respondents: weights, strata, clusters."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from hushpoll_analysis.channel.base import Floats
from hushpoll_analysis.errors import AnalysisError
from hushpoll_analysis.sample.columns import Codes, read_column
from hushpoll_analysis.sample.distinct_rows import POSITIVE, times_of
from hushpoll_analysis.sample.row_order import in_row_order

Column = str | Sequence[Any] | npt.NDArray[Any] | pd.Series | None


def read_weights(data: pd.DataFrame, weights: Column) -> Floats:
    """Read the weights of all rows; without any, each respondent has the weight 1."""
    if weights is None:
        return times_of(data)
    values = pd.to_numeric(pd.Series(row_values(data, weights, "weights")), errors="coerce").to_numpy(
        dtype=np.float64
    )
    if not np.all(np.isfinite(values)):
        raise AnalysisError(
            f"{int((~np.isfinite(values)).sum())} weights are missing or no numbers", "give each row one"
        )
    if np.any(values < 0):
        row = int(np.flatnonzero(values < 0)[0])
        raise AnalysisError(f"weight {values[row]:g} in row {row} is negative", "weights must be 0 or more")
    if values.sum() == 0:
        raise AnalysisError("all weights are 0", "give at least some people a weight")
    if not 1e-100 < values.max() < 1e100:
        raise AnalysisError(
            f"the largest weight is {values.max():.3g}, whose square a computer cannot hold",
            "multiply all weights by one number, so that they are near 1 or add up to the population",
        )
    _check_several(data, values)
    return values


def _check_several(data: pd.DataFrame, weights: Floats) -> None:
    """Refuse weights of which one only is above 0."""
    remedy = "give at least two people a weight"
    if POSITIVE in data.columns:
        if data[POSITIVE].sum() < 2:
            raise AnalysisError(
                "all weights but one are 0, so there is one respondent and no standard error", remedy
            )
    elif np.count_nonzero(weights) < 2:
        row = int(np.argmax(weights))
        raise AnalysisError(
            f"all weights but that of row {row} are 0, so there is one respondent and no standard error",
            remedy,
        )


def read_groups(data: pd.DataFrame, column: Column, what: str) -> tuple[Codes, pd.Index[Any]]:
    """Return the number of each row's stratum or cluster, and the names of all."""
    codes, values = pd.factorize(pd.Series(row_values(data, column, what)))
    if (codes < 0).any():
        raise AnalysisError(f"{int((codes < 0).sum())} values of {what} are missing", "give each row one")
    return codes.astype(np.int64), pd.Index(values)


def row_values(data: pd.DataFrame, column: Column, what: str) -> npt.NDArray[Any]:
    """Return one value for each respondent, from a column's name or from values."""
    if isinstance(column, str):
        return np.asarray(read_column(data, column))
    values = in_row_order(column, data, what)
    if values.shape != (len(data),):
        raise AnalysisError(
            f"{what} has shape {values.shape} for {len(data)} respondents", "give one value for each"
        )
    return values
