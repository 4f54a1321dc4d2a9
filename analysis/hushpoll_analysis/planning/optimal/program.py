"""The best channel of all: columns are added while one would help, until none can, and that is the proof.

For any chances v with value phi = tr(A J^-1), and any lambda, let m be the largest d_S - lambda . c_S over all subsets
S. Then no channel has a value below phi^2 / m (Cauchy and Schwarz). At the optimum m = phi.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from hushpoll_analysis.channel.base import Floats
from hushpoll_analysis.planning.optimal.interior import Optimum, minimize
from hushpoll_analysis.planning.optimal.pricing import ENUMERATED, intervals, mirror, value_all, value_found
from hushpoll_analysis.planning.optimal.problem import Masks, Problem

GAP = 1e-4
_CLOSE, _CHEAP = 1e-6, 12  # a smaller gap, which is cheap up to so many answers
_ROUGH = 1e-2  # where nothing is proven, and bringing the columns down to 64 loses more
_MOST_COLUMNS, _MOST_KEPT = 700, 500
_MOST_ADDED = 150
_MOST_ROUNDS, _MOST_UNPROVEN = 60, 12

Progress = Callable[[float], None]
"""Is told the gap that remains, as a share of the value."""


@dataclass(frozen=True, eq=False)
class Solution:
    """Subsets with their chances, n times the variance they reach, and the certified bound (None without a proof)."""

    masks: Masks
    chances: Floats
    value: float
    bound: float | None


def solve(problem: Problem, progress: Progress | None = None) -> Solution:
    """Find the channel with the least variance, to a gap of 1e-4 or less."""
    proven = problem.options <= ENUMERATED
    if problem.options <= _CHEAP:
        goal = _CLOSE
    elif proven:
        goal = GAP
    else:
        goal = _ROUGH
    masks, gap, bound = intervals(problem.options), 1.0, 0.0
    for left in reversed(range(_MOST_ROUNDS if proven else _MOST_UNPROVEN)):
        optimum = minimize(problem.places(masks), problem.target, min(max(0.05 * gap, 1e-9), 1e-2))
        value, largest, added, worth = priced(problem, masks, optimum)
        bound = max(bound, value**2 / largest)
        gap = value / bound - 1.0
        if progress is not None:
            progress(gap)
        useful = worth > value * (1.0 + 0.05 * goal)
        if gap < goal or not useful.any() or not left:
            break
        order = np.argsort(-worth[useful])[:_MOST_ADDED]
        masks = np.union1d(_kept(masks, optimum), _paired(problem, added[useful][order]))
    return Solution(masks, optimum.chances, value, bound if proven else None)


def priced(problem: Problem, masks: Masks, optimum: Optimum) -> tuple[float, float, Masks, Floats]:
    """Return the value, the largest value of a column, and the columns that could be added with theirs."""
    points = problem.places(masks)
    inverse = np.linalg.pinv((points.T * optimum.chances) @ points, rcond=1e-14, hermitian=True)
    pull, value = inverse @ problem.target @ inverse, float(np.trace(problem.target @ inverse))
    if problem.options <= ENUMERATED:
        largest, added, worth = value_all(problem, pull, optimum.prices)
    else:
        starts = np.union1d(masks, _random_starts(problem.options))
        largest, added, worth = value_found(problem, pull, optimum.prices, starts)
    return value, max(largest, value), added, worth


def _kept(masks: Masks, optimum: Optimum) -> Masks:
    """Let go of the columns that carry least once there are many: a step costs the cube of their number."""
    if len(masks) <= _MOST_COLUMNS:
        return masks
    return masks[np.sort(np.argsort(-optimum.chances)[:_MOST_KEPT])]


def _paired(problem: Problem, masks: Masks) -> Masks:
    if problem.mirrored:
        return np.union1d(masks, mirror(masks, problem.options))
    return masks


def _random_starts(options: int) -> Masks:
    """Return further subsets to flip from; the same in every run, so that designs can be repeated."""
    everything = (1 << options) - 1
    return np.random.default_rng(options).integers(1, everything, 200, dtype=np.uint64)
