"""The program over given columns: minimize tr(A J(v)^-1) over chances v >= 0 with sum v = 1 and sum v c = 0.

A primal-dual interior-point method. The Hessian is known in closed form, 2 (c_i' J^-1 c_j)(c_i' M c_j) with
M = J^-1 A J^-1, so that a step costs one Cholesky factor of the size of the number of columns: thousands of times less
than the matrix inequality of the same program needs for twenty answers.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from hushpoll_analysis.channel.base import Floats
from hushpoll_analysis.errors import AnalysisError

_MOST_STEPS = 150
_RANK = 1e-9
# A trace of every direction keeps J regular where the target needs fewer; it costs less than 1e-6 of the variance.
_TRACE = 1e-13


@dataclass(frozen=True, eq=False)
class Optimum:
    """Chances of the columns; `value` is tr(A J^-1), `prices` the multipliers of sum v c = 0."""

    chances: Floats
    value: float
    prices: Floats
    slack: float
    """What the duality gap still is, as a share of the value."""


@dataclass(eq=False)
class _State:
    chances: Floats
    multipliers: Floats
    slacks: Floats


class _Step:
    """One linearization: the factor of the Newton system at a state."""

    def __init__(self, points: Floats, target: Floats, rows: Floats, state: _State | None) -> None:
        count = len(points)
        self.rows = rows
        if state is None:
            chances = np.full(count, 1.0 / count)
        else:
            chances = state.chances
        spread = (points.T * chances) @ points
        inverse = np.linalg.inv(spread)
        self.pull = inverse @ target @ inverse
        self.value = float(np.trace(target @ inverse))
        stretched = points @ self.pull
        self.gradient = -np.einsum("ij,ij->i", stretched, points)
        if state is None:
            top = -1.5 * float(self.gradient.min())
            multipliers = np.zeros(len(rows))
            multipliers[0] = top
            state = _State(chances, multipliers, self.gradient + top)
        self.state = state
        self.gap = float(state.chances @ state.slacks)
        self.dual_fault = self.gradient + rows.T @ state.multipliers - state.slacks
        self.primal_fault = rows @ state.chances
        self.primal_fault[0] -= 1.0
        self._curve = 2.0 * (points @ inverse @ points.T) * (stretched @ points.T)

    def done(self, tolerance: float) -> bool:
        """Return whether value, feasibility and optimality are as good as asked."""
        worst = float(np.abs(self.dual_fault).max())
        return (
            self.gap < tolerance * self.value
            and worst < 10.0 * tolerance * self.value
            and float(np.abs(self.primal_fault).max()) < 1e-9
        )

    def factor(self) -> None:
        """Factor the system once, for the predictor and the corrector."""
        self._curve[np.diag_indices_from(self._curve)] += self.state.slacks / self.state.chances
        self._lower = cho_factor(self._curve, lower=True, overwrite_a=True, check_finite=False)
        self._across = cho_solve(self._lower, self.rows.T, check_finite=False)
        self._inner = self.rows @ self._across

    def direction(self, aim: float) -> _State:
        """Return the Newton direction toward products v s = aim."""
        now = self.state
        right = -self.dual_fault - now.slacks + aim / now.chances
        free = cho_solve(self._lower, right, check_finite=False)
        multipliers: Floats = np.linalg.solve(self._inner, self.rows @ free + self.primal_fault).astype(
            np.float64
        )
        chances = free - self._across @ multipliers
        slacks = -now.slacks + aim / now.chances - now.slacks / now.chances * chances
        return _State(chances, multipliers, slacks)

    def room(self, way: _State) -> float:
        """Return the longest step, at most 1, that keeps chances and slacks positive."""
        shrink = [
            float((-x[dx < 0.0] / dx[dx < 0.0]).min(initial=1.0))
            for x, dx in ((self.state.chances, way.chances), (self.state.slacks, way.slacks))
        ]
        return min(shrink)

    def moved(self, way: _State, length: float) -> _State:
        """Go along a direction."""
        now = self.state
        return _State(
            now.chances + length * way.chances,
            now.multipliers + length * way.multipliers,
            now.slacks + length * way.slacks,
        )


def _directions(points: Floats) -> Floats:
    """Return an orthonormal basis of the directions that the columns reach."""
    _, sizes, turned = np.linalg.svd(points, full_matrices=False)
    return np.asarray(turned[sizes > _RANK * sizes[0]].T, dtype=np.float64)


def spanned(points: Floats, functionals: Floats) -> bool:
    """Return whether the columns can estimate functionals (one row each) without bias."""
    reached = _directions(points)
    missed = functionals - functionals @ reached @ reached.T
    return bool(np.all(np.abs(missed).max(axis=1) <= 1e-9 * np.abs(functionals).max(axis=1)))


def minimize(points: Floats, target: Floats, tolerance: float) -> Optimum:
    """Find the best chances of the columns at `places` (one row each), to a relative tolerance.

    Where the columns reach only some directions, the target has to lie in those.
    """
    reached = _directions(points)
    size, weight = float(np.abs(points).max()), float(np.trace(target))
    scaled = points @ reached / size
    scaled_target = reached.T @ target @ reached / weight
    scaled_target += _TRACE / len(scaled_target) * np.eye(len(scaled_target))
    best = _descended(scaled, scaled_target, tolerance)
    return Optimum(
        best.state.chances,
        best.value * weight / size**2,
        reached @ best.state.multipliers[1:] * weight / size**3,
        best.gap / best.value,
    )


def _descended(scaled: Floats, target: Floats, tolerance: float) -> _Step:
    rows = np.vstack([np.ones(len(scaled)), scaled.T])
    state, best = None, None
    for number in range(_MOST_STEPS):
        try:
            step = _Step(scaled, target, rows, state)
            if step.gap < 1e-5 * step.value:
                best = step
            if step.done(tolerance):
                return step
            step.factor()
            ahead = step.direction(0.0)
            after = step.moved(ahead, step.room(ahead))
            share = float(after.chances @ after.slacks) / step.gap
            way = step.direction(max(share**3, 1e-4) * step.gap / len(scaled))
        except np.linalg.LinAlgError:
            break
        state = step.moved(way, step.room(way) * (0.9 if number < 5 else 0.98))
    if best is None:
        raise AnalysisError("the search for the best channel did not settle", "try another epsilon")
    return best
