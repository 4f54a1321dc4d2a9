"""The mean of a number with the least variance whatever the truth.

Minimize t over channels C from g points x, spread evenly over [-1, 1], to output values b with C b = x and
C b^2 - x^2 <= t. For given output values this is a linear program: a column lies between its smallest entry and
e^epsilon times that. A number between two points is first rounded to one of them at random so that its mean is right,
which keeps every ratio and adds at most h^2/4, with h the distance of the points.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.sparse import csr_array, eye_array, kron, vstack

from hushpoll_analysis.channel.base import Floats
from hushpoll_analysis.errors import AnalysisError
from hushpoll_analysis.planning.optimal.problem import beside, linear_program, points

GRID = 21
OUTPUTS = 15
_REACH = (1.05, 1.8)  # of the two outputs that one bit would have
_TRIED = 9
_ROUNDS = 12
_GAP = 1e-4
_MOST_EPSILON = 11.0  # beyond it nothing is gained, and the linear program is too stiff


@dataclass(frozen=True, eq=False)
class _Solved:
    table: Floats
    value: float
    means: Floats
    squares: Floats
    sums: Floats


def least_worst(grid: int, epsilon: float) -> Floats:
    """Return the table whose worst variance is least: rows are points, columns outputs equally far apart."""
    epsilon = min(epsilon, _MOST_EPSILON)
    edge = _edge(epsilon)

    def worst(reach: float) -> float:
        return _program(grid, epsilon, np.linspace(-reach * edge, reach * edge, OUTPUTS)).value

    tried = np.linspace(*_REACH, _TRIED)
    values = [worst(reach) for reach in tried]
    best = int(np.argmin(values))
    around = tried[max(best - 1, 0)], tried[min(best + 1, _TRIED - 1)]
    optimum = minimize_scalar(worst, bounds=around, method="bounded", options={"xatol": 1e-3})
    if optimum.fun < values[best]:
        reach = float(optimum.x)
    else:
        reach = float(tried[best])
    outputs = np.linspace(-reach * edge, reach * edge, OUTPUTS)
    table = _program(grid, epsilon, outputs).table
    used = table.max(axis=0) > 1e-9
    return _unbiased(table[:, used], outputs[used])


def _unbiased(table: Floats, outputs: Floats) -> Floats:
    """Correct each row by a trace that makes its sum and its mean exact: the program leaves 1e-9 of both."""
    x = points(len(table))
    for _ in range(3):
        moments = [table @ outputs**power for power in range(3)]
        spread = moments[0] * moments[2] - moments[1] ** 2
        short, off = 1.0 - moments[0], x - moments[1]
        level = (short * moments[2] - off * moments[1]) / spread
        slope = (off * moments[0] - short * moments[1]) / spread
        table = table * (1.0 + level[:, None] + slope[:, None] * outputs)
    return np.asarray(table, dtype=np.float64)


def _edge(epsilon: float) -> float:
    """Return the output that one bit would have for 1."""
    return (math.exp(epsilon) + 1.0) / math.expm1(epsilon)


def worst_variance(table: Floats) -> float | None:
    """Return the largest variance of one report over all numbers in [-1, 1], rounding included; None if biased."""
    x = points(len(table))
    chance = table.mean(axis=0)
    scaled = table / np.sqrt(chance)
    solved, *_ = np.linalg.lstsq(scaled, x, rcond=1e-12)
    if np.abs(scaled @ solved - x).max() > 2e-9:
        return None
    return worst_of(table @ (solved**2 / chance))


def worst_of(moments: Floats) -> float:
    """Return the largest variance from the second moments at the points: numbers between them are rounded at random."""
    x = points(len(moments))
    inside = [_between(*pair) for pair in zip(x, x[1:], moments, moments[1:], strict=False)]
    return float(max([*(moments - x**2), *inside]))


def _between(left: float, right: float, low: float, high: float) -> float:
    """Return the top of the parabola between two points: moments are mixed, the square of the mean is not."""
    slope = (high - low) / (right - left)
    at = min(max(slope / 2.0, left), right)
    return low + slope * (at - left) - at**2


def _program(grid: int, epsilon: float, outputs: Floats) -> _Solved:
    """Solve the linear program; unknowns are the table row by row, the columns' smallest entries, and t.

    Outputs are divided by their largest, so that a small epsilon, whose outputs are large, is no harder than another.
    """
    size = float(np.abs(outputs).max())
    x, outputs, count = points(grid) / size, outputs / size, len(outputs)
    cells = grid * count
    row_of = kron(eye_array(grid), np.ones((1, count)))
    mean_of = kron(eye_array(grid), outputs[None, :])
    square_of = kron(eye_array(grid), outputs[None, :] ** 2)
    copied = kron(np.ones((grid, 1)), eye_array(count))
    none = csr_array((grid, count))
    equal = vstack(
        [beside(row_of, none, np.zeros((grid, 1))), beside(mean_of, none, np.zeros((grid, 1)))], format="csr"
    )
    above = beside(eye_array(cells), -math.exp(epsilon) * copied, np.zeros((cells, 1)))
    below = beside(-eye_array(cells), copied, np.zeros((cells, 1)))
    spread = beside(square_of, none, -np.ones((grid, 1)))
    cost = np.zeros(cells + count + 1)
    cost[-1] = 1.0
    solution = linear_program(
        cost,
        1e-9,
        A_ub=vstack([spread, above, below], format="csr"),
        b_ub=np.concatenate([x**2, np.zeros(2 * cells)]),
        A_eq=equal,
        b_eq=np.concatenate([np.ones(grid), x]),
    )
    if solution.x is None:
        raise AnalysisError("no channel for the mean was found", "try another epsilon")
    table = np.maximum(solution.x[:cells].reshape(grid, count), 0.0)
    prices = solution.eqlin.marginals
    return _Solved(
        table,
        float(solution.fun) * size**2,
        prices[grid:] * size,
        -solution.ineqlin.marginals[:grid],
        prices[:grid] * size**2,
    )


@cache
def worst_bound(epsilon: float) -> float:
    """Return a variance that no channel for the numbers in [-1, 1] can stay below, whatever its outputs.

    The program's multipliers p >= 0 with sum p = 1, nu and eta prove sum(eta + nu x - p x^2), if no column g with any
    output b has sum_x g(x) (p b^2 - nu b - eta) < 0; a violation is taken off. Outputs that violate it are added until
    little is left. A channel for all numbers is one for the points, so that their bound holds for all.
    """
    if epsilon > _MOST_EPSILON:
        return 0.0
    reach = 1.3 * _edge(epsilon)
    x, best = points(GRID), 0.0
    outputs = np.union1d(np.linspace(-reach, reach, OUTPUTS), x)
    for _ in range(_ROUNDS):
        solution = _program(GRID, epsilon, outputs)
        weights = np.maximum(solution.squares, 0.0)
        weights = weights / weights.sum()
        proven = float(np.sum(solution.sums + solution.means * x - weights * x**2))
        where, values = _violations(weights, solution.means, solution.sums, math.exp(epsilon))
        best = max(best, proven + min(0.0, float(values.min())))
        if best > (1.0 - _GAP) * solution.value:
            break
        worst = where[np.argsort(values)[:30]]
        outputs = np.union1d(outputs[solution.table.max(axis=0) > 1e-9], np.concatenate([worst, -worst]))
    return best


def _violations(weights: Floats, means: Floats, sums: Floats, gain: float) -> tuple[Floats, Floats]:
    """Return the outputs at which a column could be worst, and the least value of any column there.

    A column is worst with e^epsilon where its term is negative, else 1. Between the roots of the terms the sum is a
    parabola, so that its minimum over all outputs is among the ends and the tops.
    """
    curved, sloped = weights > 1e-14, (weights <= 1e-14) & (means != 0.0)
    inside = np.sqrt(np.maximum(means**2 + 4.0 * weights * sums, 0.0))
    roots = [(means + sign * inside)[curved] / (2.0 * weights[curved]) for sign in (-1.0, 1.0)]
    edges = np.unique(np.concatenate([*roots, -sums[sloped] / means[sloped]]))
    between = np.concatenate([[edges[0] - 1.0], (edges[1:] + edges[:-1]) / 2.0, [edges[-1] + 1.0]])
    column = np.where(_terms(between, weights, means, sums) < 0.0, gain, 1.0)
    bottoms = (column @ means) / np.maximum(2.0 * (column @ weights), 1e-300)
    left, right = np.concatenate([[-np.inf], edges]), np.concatenate([edges, [np.inf]])
    where = np.concatenate([edges, bottoms[(left < bottoms) & (bottoms < right)]])
    terms = _terms(where, weights, means, sums)
    return where, np.sum(np.where(terms < 0.0, gain, 1.0) * terms, axis=1)


def _terms(outputs: Floats, weights: Floats, means: Floats, sums: Floats) -> Floats:
    return np.asarray(outputs[:, None] ** 2 * weights - outputs[:, None] * means - sums, dtype=np.float64)
