"""Reading a sample design from a table of respondents, or of rows that each stand for several of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from hushpoll_analysis.channel.base import Floats
from hushpoll_analysis.counts import check_population
from hushpoll_analysis.errors import AnalysisError
from hushpoll_analysis.sample.columns import Codes, check_frame
from hushpoll_analysis.sample.design import SampleDesign, SingleWeights
from hushpoll_analysis.sample.distinct_rows import MOST, POSITIVE, SQUARES, TIMES, times_of
from hushpoll_analysis.sample.raking import Margins, margin_dummies, people_of, raking_factors
from hushpoll_analysis.sample.replicates import read_replicates
from hushpoll_analysis.sample.row_order import in_row_order
from hushpoll_analysis.sample.weights import Column, read_groups, read_weights

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


def read_sample_design(
    data: pd.DataFrame,
    weights: Column = None,
    strata: Column = None,
    clusters: Column = None,
    margins: Margins | None = None,
    population: Population = None,
    replicates: Any = None,
) -> SampleDesign | None:
    """Read a design from columns (names or values); None when nothing was asked for.

    A `population` without weights gives each respondent the weight N/n of their stratum. `margins` then rakes the
    weights to known shares, keeps their sum (numbers of people: has theirs), and takes the raking into account in the
    variances. `replicates` are `Replicates`, or columns of bootstrap weights.
    """
    if all(value is None for value in (weights, strata, clusters, margins, population, replicates)):
        return None
    check_frame(data)
    _check_together(population, replicates, strata, clusters, margins)
    design = replace(simple_design(data), weights=read_weights(data, weights), is_simple=False)
    if strata is not None:
        design = replace(design, strata=read_groups(data, strata, "strata")[0])
    if clusters is not None:
        design = replace(design, clusters=read_groups(data, clusters, "clusters")[0])
    if replicates is not None:
        return replace(design, replicates=read_replicates(data, replicates))
    if strata is not None and clusters is not None:
        _check_nested(design, data, strata, clusters)
    _check_units(design, data, strata)
    if population is not None:
        expand = weights is None and clusters is None
        design = _of_population(design, data, population, strata, expand)
    if margins is None:
        return design
    if population is not None and clusters is None:
        _check_people(design, data, population, margins)
    # After the weights of the strata: raked before, they would not keep to the margins.
    factors = raking_factors(data, margins, design.weights)
    return replace(design.multiplied(factors), adjusted=margin_dummies(data, margins))


def simple_design(data: pd.DataFrame) -> SampleDesign:
    """Return the design of a simple random sample: weights of 1, no strata, each respondent a separate unit."""
    times = times_of(data)
    design = SampleDesign(times, np.zeros(len(data), dtype=np.int64), is_simple=True)
    if TIMES not in data.columns:
        return design
    squares, most, positive = (
        data[name].to_numpy(dtype=np.float64) if name in data.columns else otherwise
        for name, otherwise in ((SQUARES, times), (MOST, np.ones(len(data))), (POSITIVE, times))
    )
    return replace(design, single=SingleWeights(times, squares, most, positive))


def _check_together(
    population: Population, replicates: Any, strata: Column, clusters: Column, margins: Margins | None
) -> None:
    if replicates is None:
        return
    if any(value is not None for value in (population, strata, clusters, margins)):
        raise AnalysisError(
            "replicate weights carry the whole design", "leave strata, clusters, margins and population out"
        )


def _of_population(
    design: SampleDesign, data: pd.DataFrame, population: Population, strata: Column, expand: bool
) -> SampleDesign:
    """Add the fractions sampled; `expand` makes weights of them."""
    names = [None]
    if strata is not None:
        names = list(read_groups(data, strata, "strata")[1])
    fractions = sampling_fractions(data, population, design.strata, names, design.units)
    design_with_fractions = replace(design, fractions=fractions)
    if expand:
        return design_with_fractions.multiplied(1.0 / fractions[design.strata])
    return design_with_fractions


def _check_people(design: SampleDesign, data: pd.DataFrame, population: Population, margins: Margins) -> None:
    """Refuse margins of other numbers of people than the population; a fraction sampled is no number of people."""
    people = people_of(data, margins)
    if people is None or (isinstance(population, float | int) and population <= 1.0):
        return
    assert design.fractions is not None
    size = float(np.sum(design.units / design.fractions))
    if abs(people - size) > 1e-3 * size:
        raise AnalysisError(
            f"margins are of {people:,.0f} people, and the population has {size:,.0f}",
            "give numbers of the same population, or the margins as shares",
        )


def _check_nested(design: SampleDesign, data: pd.DataFrame, strata: Column, clusters: Column) -> None:
    """Refuse a cluster that has people in two strata: one unit was drawn, not two."""
    assert design.clusters is not None
    first = np.full(int(design.clusters.max()) + 1, -1, dtype=np.int64)
    first[design.clusters[::-1]] = design.strata[::-1]
    crossing = np.flatnonzero(first[design.clusters] != design.strata)
    if not len(crossing):
        return
    row = int(crossing[0])
    cluster = read_groups(data, clusters, "clusters")[1].tolist()[design.clusters[row]]
    names = read_groups(data, strata, "strata")[1].tolist()
    raise AnalysisError(
        f"cluster {cluster!r} has people in the strata {names[first[design.clusters[row]]]!r} and "
        f"{names[design.strata[row]]!r}, and clusters are drawn within strata",
        "if every stratum counts its own clusters, give each its own name, such as stratum and cluster together",
    )


def _check_units(design: SampleDesign, data: pd.DataFrame, strata: Column) -> None:
    """Refuse a stratum, or a sample, of one unit: its variance is unknown."""
    lonely = np.flatnonzero(design.units == 1)
    if not len(lonely):
        return
    if strata is None:
        raise AnalysisError("there is one cluster only", "a variance needs at least two")
    _, names = read_groups(data, strata, "strata")
    raise AnalysisError(
        f"stratum {names.tolist()[lonely[0]]!r} has one cluster only, so its variance is unknown",
        "merge it with another stratum",
    )
