"""Replicate weights: the variance of a statistic from its values under many sets of weights."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from hushpoll_analysis.channel.base import Floats
from hushpoll_analysis.errors import AnalysisError
from hushpoll_analysis.sample.row_order import in_row_order

REPLICATE_KINDS = ("brr", "fay", "jk1", "jkn", "jk2", "bootstrap", "sdr", "other")


@dataclass(frozen=True, eq=False)
class Replicates:
    """How replicate weights were made, as in R's `svrepdesign` (combined weights).

    Attributes
    ----------
    columns
        Names of the columns, or the weights themselves, one column a replicate.
    kind
        "brr", "fay" (needs `rho`), "jk1", "jkn" (needs `rscales`), "jk2", "bootstrap", "sdr" (successive differences,
        as of the American Community Survey) or "other".
    scale, rscales
        The variance is scale * sum of rscales * (difference)^2. By default 1/R for brr, 1/(R (1 - rho)^2) for fay,
        (R - 1)/R for jk1, 1/(R - 1) for bootstrap, 4/R for sdr, else 1.
    mse
        Differences from the estimate of the full sample; by default, as in R, from the mean of the replicates.
    """

    columns: Sequence[str] | npt.NDArray[Any] | pd.DataFrame
    kind: str = "bootstrap"
    scale: float | None = None
    rscales: Sequence[float] | None = None
    rho: float | None = None
    mse: bool = False


@dataclass(frozen=True, eq=False)
class ReplicateWeights:
    """Replicate weights (n x R) with the factor of each one's squared difference."""

    weights: Floats
    factors: Floats
    mse: bool

    @property
    def degrees_of_freedom(self) -> int:
        """Rank of the weights minus one, as R's `degf`."""
        return int(np.linalg.matrix_rank(self.weights)) - 1

    def among(self, chosen: npt.NDArray[np.bool_]) -> ReplicateWeights:
        """Return the weights of a part of the respondents; the others weigh nothing."""
        return replace(self, weights=self.weights * chosen[:, None])

    def spread(self, values: Floats, centre: Floats) -> Floats:
        """Covariance of a statistic from its values under each replicate (R x q)."""
        middle = centre
        if not self.mse:
            middle = values[self.factors > 0.0].mean(axis=0)
        gaps = values - middle
        return np.asarray((gaps * self.factors[:, None]).T @ gaps, dtype=np.float64)


def read_replicates(data: pd.DataFrame, replicates: Any) -> ReplicateWeights:
    """Check replicate weights against the data."""
    described = replicates
    if not isinstance(replicates, Replicates):
        described = Replicates(replicates)
    if described.kind not in REPLICATE_KINDS:
        raise AnalysisError(f"replicates: kind {described.kind!r} is not one of {', '.join(REPLICATE_KINDS)}")
    weights = _columns(data, described.columns)
    if weights.shape[1] < 2:
        raise AnalysisError("replicates: a variance needs at least two columns of weights")
    if not np.all(np.isfinite(weights)) or np.any(weights.sum(axis=0) <= 0.0):
        raise AnalysisError("replicates: every column needs finite weights with a positive sum")
    count = weights.shape[1]
    scale = _scale(described, count)
    if described.rscales is None:
        rscales = np.ones(count)
    else:
        rscales = np.asarray(described.rscales, dtype=np.float64)
    if rscales.shape != (count,) or np.any(rscales < 0.0):
        raise AnalysisError(f"replicates: rscales needs {count} numbers of 0 or more, one per replicate")
    weights_with_scale = ReplicateWeights(weights, scale * rscales, described.mse)
    if weights_with_scale.degrees_of_freedom < 1:
        raise AnalysisError(
            "replicates: all columns have the same weights, so they hold no variance",
            "give weights that differ from replicate to replicate",
        )
    return weights_with_scale


def replicates_beside(data: pd.DataFrame, replicates: Any) -> tuple[dict[str, Floats], Any]:
    """Return replicate weights that are not in the data as columns for it, and how to name them then."""
    described = replicates
    if not isinstance(replicates, Replicates):
        described = Replicates(replicates)
    if _are_names(described.columns):
        return {}, replicates
    weights = _columns(data, described.columns)
    names = [f"(replicate {number})" for number in range(weights.shape[1])]
    return dict(zip(names, weights.T, strict=True)), replace(described, columns=names)


def _are_names(columns: Any) -> bool:
    return (
        isinstance(columns, list | tuple)
        and bool(columns)
        and all(isinstance(column, str) for column in columns)
    )


def _columns(data: pd.DataFrame, columns: Any) -> Floats:
    if _are_names(columns):
        missing = [name for name in columns if name not in data.columns]
        if missing:
            raise AnalysisError(f"replicates: there is no column {missing[0]!r}")
        columns = data[list(columns)]
    if isinstance(columns, pd.DataFrame):
        columns = in_row_order(columns, data, "replicates")
    try:
        weights = np.asarray(columns, dtype=np.float64)
    except (TypeError, ValueError):
        raise AnalysisError("replicates: expected names of columns, or numbers, one column each") from None
    if weights.ndim != 2 or len(weights) != len(data):
        raise AnalysisError(
            f"replicates: weights have shape {weights.shape} for {len(data)} respondents",
            "give one row for each",
        )
    return weights


def _scale(replicates: Replicates, count: int) -> float:
    if replicates.kind == "fay":
        if replicates.rho is None or not 0.0 <= replicates.rho < 1.0:
            raise AnalysisError("replicates: kind 'fay' needs its rho, from 0 to below 1")
        return 1.0 / (count * (1.0 - replicates.rho) ** 2)
    if replicates.kind == "jkn" and replicates.rscales is None:
        raise AnalysisError("replicates: kind 'jkn' needs rscales, (n - 1)/n of each replicate's stratum")
    usual = {"brr": 1.0 / count, "jk1": (count - 1.0) / count, "bootstrap": 1.0 / (count - 1.0)}
    usual |= {"sdr": 4.0 / count}
    if replicates.scale is None:
        return usual.get(replicates.kind, 1.0)
    return float(replicates.scale)
