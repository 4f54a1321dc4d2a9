"""The search itself, for what is neither shipped nor kept."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np
from hushpoll_client import Channel
from hushpoll_client.channel import SCALE

from hushpoll_analysis.channel.base import Floats
from hushpoll_analysis.errors import AnalysisError
from hushpoll_analysis.planning.optimal.integers import Table, as_columns, as_matrix, integers
from hushpoll_analysis.planning.optimal.problem import Problem, Target
from hushpoll_analysis.planning.optimal.program import Progress, solve
from hushpoll_analysis.planning.optimal.reduce import reduced

from . import OptimalChannel
from .worst_case import least_worst, worst_bound, worst_variance


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
    if solution.bound is None:
        bound = None
    else:
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
