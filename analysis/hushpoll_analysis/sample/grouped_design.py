"""A sample design of rows that were put together, because they are alike."""

from __future__ import annotations

import numpy as np

from hushpoll_analysis.sample.columns import Codes
from hushpoll_analysis.sample.design import SampleDesign, SingleWeights
from hushpoll_analysis.sample.distinct_rows import DistinctRows


def put_design_together(design: SampleDesign | None, rows: DistinctRows) -> SampleDesign | None:
    """Add up the weights of rows that were put together."""
    if design is None or rows.of_row is None:
        return design
    size, single = len(rows.frame), design.single
    positive = design.weights > 0.0 if single is None else single.positive
    weights, squares, positive = (
        np.asarray(np.bincount(rows.of_row, values, size), dtype=np.float64)
        for values in (design.weights, design.squared, positive)
    )
    strata, most = np.zeros(size, dtype=np.int64), np.zeros(size)
    strata[rows.of_row] = design.strata
    np.maximum.at(most, rows.of_row, design.weights if single is None else single.most)
    return SampleDesign(weights, strata, single=SingleWeights(rows.times, squares, most, positive))


def can_be_grouped(design: SampleDesign | None) -> bool:
    """Return whether strata tell whose weights can be added up: no clusters, raking, finite population, replicates."""
    if design is None:
        return True
    limits = (design.clusters, design.adjusted, design.fractions, design.replicates)
    return all(limit is None for limit in limits)


def strata_codes(design: SampleDesign | None) -> tuple[Codes, ...]:
    """Return what rows of a design must have in common to be put together."""
    if design is None or not design.strata.any():
        return ()
    return (design.strata,)
