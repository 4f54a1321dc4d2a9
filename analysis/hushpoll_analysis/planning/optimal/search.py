"""The search itself, for what is neither shipped nor kept, and the published integers of what it finds."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt
from hushpoll_client import Channel
from hushpoll_client.channel import SCALE
from hushpoll_client.exact import exp_below

from hushpoll_analysis.channel.base import Floats
from hushpoll_analysis.errors import AnalysisError
from hushpoll_analysis.planning.optimal.problem import Problem, Target
from hushpoll_analysis.planning.optimal.program import Progress, solve
from hushpoll_analysis.planning.optimal.reduce import reduced

from . import OptimalChannel
from .worst_case import least_worst, worst_bound, worst_variance

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


def search_best(
    options: int,
    epsilon: Fraction,
    target: Target,
    shares: Sequence[float] | None = None,
    progress: Progress | None = None,
) -> OptimalChannel:
    """Find the least-variance channel, bring it down to 64 outcomes, and round it."""
    problem = Problem.of(options, float(epsilon), target, shares)
    solution = solve(problem, progress)
    masks, chances = reduced(problem, solution)
    columns, order = integers(problem.columns(masks).T * chances, epsilon)
    channel = Channel.from_json(as_columns(columns, [int(masks[z]) for z in order[:-1]]))
    value = problem.n_variance(_floats(columns))
    if value is None:
        raise AnalysisError("the channel found cannot estimate the target exactly", "try another epsilon")
    # The bound is a double; a last digit must not lift it above what is reached.
    bound = None
    if solution.bound is not None:
        bound = min(solution.bound, value)
    return OptimalChannel(channel, value, bound)


def search_worst_case(grid: int, epsilon: Fraction) -> OptimalChannel:
    """Find the channel for the mean of a number whatever the truth."""
    columns, _ = integers(least_worst(grid, float(epsilon)), epsilon)
    value = worst_variance(_floats(columns))
    if value is None:
        raise AnalysisError("the channel found cannot estimate the mean exactly", "try another epsilon")
    return OptimalChannel(
        Channel.from_json(as_matrix(columns)), value, min(worst_bound(float(epsilon)), value)
    )


def _floats(columns: Table) -> Floats:
    return np.array(columns, dtype=np.float64).T / SCALE
