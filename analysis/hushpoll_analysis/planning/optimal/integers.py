"""From probabilities to integers out of 2^53 whose every ratio is at most L, just below e^epsilon, in exact arithmetic.

The solver's table misses the bound by its own rounding, so it is not rounded as it is: every column is mixed with a
trace of its mean, rounded once, and the last one, the largest, takes what remains of each row. The trace grows until
every column keeps the bound, the last one too.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt
from hushpoll_client.channel import SCALE
from hushpoll_client.exact import exp_below

from hushpoll_analysis.errors import AnalysisError

_FIRST_TRACE = Fraction(1, 2**45)
_LAST_TRACE = Fraction(1, 2**12)

Table = list[list[int]]


def integers(table: npt.ArrayLike, epsilon: Fraction) -> tuple[Table, list[int]]:
    """Return columns (not rows) of integers, the largest last, and which columns they were; rows sum to 2^53."""
    columns = _exact(np.asarray(table, dtype=np.float64))
    means = [sum(column, Fraction(0)) / len(column) for column in columns]
    order = sorted(range(len(columns)), key=lambda z: means[z])
    limit, trace = exp_below(epsilon), _FIRST_TRACE
    while trace <= _LAST_TRACE:
        rounded = _rounded([columns[z] for z in order[:-1]], [means[z] for z in order[:-1]], trace)
        if all(
            low >= 1 and Fraction(max(column), low) <= limit for column in rounded for low in [min(column)]
        ):
            return rounded, order
        trace *= 2
    raise AnalysisError(
        "the best channel has chances too small for integers out of 2^53",
        "use fewer options or another epsilon",
    )


def _exact(table: npt.NDArray[np.float64]) -> list[list[Fraction]]:
    # Equal doubles stay equal, so that a column of two values stays one.
    return [[Fraction(float(p)) for p in column] for column in table.T]


def _rounded(columns: list[list[Fraction]], means: list[Fraction], trace: Fraction) -> Table:
    rounded = [
        [round(((1 - trace) * p + trace * mean) * SCALE) for p in column]
        for column, mean in zip(columns, means, strict=True)
    ]
    rest = [SCALE - sum(row) for row in zip(*rounded, strict=True)]
    return [*rounded, rest]


def as_columns(columns: Table, masks: Sequence[int]) -> dict[str, Any]:
    """Publish two-valued columns; `masks` gives the answers with the larger weight, for all but the last."""
    options = len(columns[0])
    digits = -(-options // 4)
    return {
        "form": "columns",
        "options": options,
        "sets": [f"{mask:0{digits}x}" for mask in masks],
        "low": [min(column) for column in columns[:-1]],
        "high": [max(column) for column in columns[:-1]],
    }


def as_matrix(columns: Table) -> dict[str, Any]:
    """Publish a table weight by weight."""
    return {"form": "matrix", "rows": [list(row) for row in zip(*columns, strict=True)]}
