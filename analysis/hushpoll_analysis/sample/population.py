"""Finite populations: how much of each stratum was sampled."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from hushpoll_analysis.channel.base import Floats
from hushpoll_analysis.counts import check_population
from hushpoll_analysis.errors import AnalysisError
from hushpoll_analysis.sample.columns import Codes
from hushpoll_analysis.sample.row_order import in_row_order

Population = float | int | str | Mapping[Any, float] | npt.NDArray[Any] | pd.Series | None
"""The number of units of the population (people; clusters, where those were drawn), below 1 the fraction sampled.

For each stratum: a mapping, or a column that is constant within strata, as R's `fpc`."""


def sampling_fractions(
    data: pd.DataFrame, population: Population, strata: Codes, names: list[Any], units: npt.NDArray[np.int64]
) -> Floats:
    """Return the fraction sampled of each stratum, whose sampled units are counted in `units`."""
    if isinstance(population, Mapping):
        missing = [name for name in names if name not in population]
        if missing:
            raise AnalysisError(f"population: nothing is given for the stratum {missing[0]!r}", "add it")
        sizes: list[Any] = [population[name] for name in names]
    elif isinstance(population, str | np.ndarray | pd.Series | list):
        sizes = _by_column(data, population, strata, names)
    elif len(names) > 1 and float(population or 0.0) > 1.0:
        raise AnalysisError(
            f"population: there are {len(names)} strata",
            f"give the size of each, as in {{{names[0]!r}: 12000, ...}}",
        )
    else:
        sizes = [population] * len(names)
    return np.array([check_population(size, int(n)) for size, n in zip(sizes, units, strict=True)])


def _by_column(data: pd.DataFrame, column: Any, strata: Codes, names: list[Any]) -> list[Any]:
    if isinstance(column, str):
        if column not in data.columns:
            raise AnalysisError(f"population: there is no column {column!r}")
        column = data[column]
    values = pd.to_numeric(pd.Series(in_row_order(column, data, "population")), errors="coerce").to_numpy(
        dtype=np.float64
    )
    if len(values) != len(data):
        raise AnalysisError(f"population has {len(values)} values for {len(data)} respondents")
    sizes = []
    for stratum, name in enumerate(names):
        sizes_here = np.unique(values[strata == stratum])
        if len(sizes_here) != 1 or not np.isfinite(sizes_here[0]):
            raise AnalysisError(
                f"population: the stratum {name!r} has several sizes, or none", "give one for all"
            )
        sizes.append(float(sizes_here[0]))
    return sizes
