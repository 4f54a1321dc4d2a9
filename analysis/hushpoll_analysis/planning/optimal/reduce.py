"""From hundreds of columns to at most 64, the most that is published.

The information J of the optimum fixes at most K (K + 1) / 2 linear equations, so that a basic solution of them has no
more columns and loses nothing. Where that is still too many, the columns with the smallest chances go, a batch at a
time, and the chances of the others are found anew; then columns that would help are let in and the smallest go again,
while that brings the variance down.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress

import numpy as np

from hushpoll_analysis.channel.base import Floats
from hushpoll_analysis.errors import AnalysisError
from hushpoll_analysis.planning.optimal.interior import Optimum, minimize, spanned
from hushpoll_analysis.planning.optimal.pricing import ENUMERATED
from hushpoll_analysis.planning.optimal.problem import Masks, Problem, linear_program
from hushpoll_analysis.planning.optimal.program import Solution, priced

MOST_OUTCOMES = 64
_FAINT = (1e-5, 1e-6, 1e-7, 0.0)
_VERTICES = 4
_EXACT = 1e-10
_BATCH = 0.06
_LET_IN = (
    34,
    5,
    27,
    13,
    20,
    8,
    40,
    3,
)  # so many columns at a time; after a whole round without gain it is over
_GAIN = 1e-5
_CHEAP = 14


def reduced(problem: Problem, solution: Solution, most: int = MOST_OUTCOMES) -> tuple[Masks, Floats]:
    """Return at most `most` columns with their chances, which sum to 1 and keep every row's sum."""
    masks, chances = _strong(problem, solution.masks, solution.chances)
    # Above twenty answers a vertex has hundreds of columns and takes longer than leaving them out.
    if problem.options < len(masks) and problem.options <= ENUMERATED:
        masks = _basic(problem, masks, chances, most)
    if len(masks) > most:
        masks = _exchanged(problem, *_few(problem, masks, most))
    masks, chances = _strong(
        problem, masks, minimize(problem.places(masks), problem.target, _EXACT).chances, 1e-7
    )
    return masks, _settled(problem, masks, chances)


def _few(problem: Problem, masks: Masks, most: int) -> tuple[Masks, Optimum]:
    """Return at most `most` columns; where these cannot be a channel, start from arcs of a circle."""
    try:
        return _pruned(problem, masks, most)
    except AnalysisError:
        return min((candidate for candidate in _arcs(problem)), key=lambda candidate: candidate[1].value)


def _arcs(problem: Problem) -> Iterator[tuple[Masks, Optimum]]:
    """Give, for each length, the K arcs of neighbours on a circle of the answers: their rows have equal sums."""
    options, everything = problem.options, (1 << problem.options) - 1
    for length in range(1, options // 2 + 1):
        arc = (1 << length) - 1
        turned = [(arc << k | arc >> (options - k)) & everything for k in range(options)]
        masks = np.unique(np.array(turned, dtype=np.uint64))
        if spanned(problem.places(masks), problem.centred @ problem.basis):
            with suppress(AnalysisError):
                yield masks, minimize(problem.places(masks), problem.target, 1e-7)


def _pruned(problem: Problem, masks: Masks, most: int) -> tuple[Masks, Optimum]:
    optimum = minimize(problem.places(masks), problem.target, 1e-7)
    while len(masks) > most:
        left = max(most, int(len(masks) * (1.0 - _BATCH)))
        masks = masks[np.argsort(-optimum.chances)[:left]]
        optimum = minimize(problem.places(masks), problem.target, 1e-7)
    return masks, optimum


def _exchanged(problem: Problem, masks: Masks, optimum: Optimum) -> Masks:
    most, failures, turn = len(masks), 0, 0
    while failures < len(_LET_IN) and turn < 10 * len(_LET_IN):
        _, _, added, worth = priced(problem, masks, optimum)
        better = added[np.argsort(-worth)[: _LET_IN[turn % len(_LET_IN)]]]
        failures, turn = failures + 1, turn + 1
        try:
            tried, reached = _pruned(problem, np.union1d(masks, better), most)
        except AnalysisError:
            continue
        if reached.value < optimum.value * (1.0 - _GAIN):
            masks, optimum, failures = tried, reached, 0
    return masks


def _strong(problem: Problem, masks: Masks, chances: Floats, most: float = 1.0) -> tuple[Masks, Floats]:
    """Leave out faint columns, but none without which the target could not be estimated exactly."""
    functionals = problem.centred @ problem.basis
    for share in _FAINT:
        strong = chances > min(share, most) * chances.max()
        if spanned(problem.places(masks[strong]), functionals):
            break
    return masks[strong], chances[strong]


def _basic(problem: Problem, masks: Masks, chances: Floats, most: int) -> Masks:
    """Find a vertex of the channels that have the same information; of a few, the one with the fewest columns."""
    points = problem.places(masks)
    points = points / np.abs(points).max()
    upper = np.triu_indices(points.shape[1])
    products = (points[:, :, None] * points[:, None, :])[:, upper[0], upper[1]]
    equations = np.vstack([np.ones(len(masks)), points.T, products.T])
    seeded, fewest = np.random.default_rng(len(masks)), masks
    for _ in range(_VERTICES):
        # Any direction leads to a vertex; these, the same in every run, like large chances to stay.
        cost = seeded.uniform(0.5, 1.0, len(masks)) / (chances + chances.max())
        solution = linear_program(cost, 1e-10, vertex=True, A_eq=equations, b_eq=equations @ chances)
        if solution.x is not None:
            left = masks[solution.x > 1e-9 * solution.x.max()]
            if len(left) < len(fewest) and spanned(problem.places(left), problem.centred @ problem.basis):
                fewest = left
        if len(fewest) <= most or points.shape[1] > _CHEAP:
            break
    return fewest


def _settled(problem: Problem, masks: Masks, chances: Floats) -> Floats:
    """Correct the chances by least squares until rows sum to 1 as exactly as doubles can say."""
    columns = problem.columns(masks).T * chances
    for _ in range(3):
        missing = 1.0 - columns.sum(axis=1)
        factor, *_ = np.linalg.lstsq(columns, missing, rcond=None)
        columns = columns * (1.0 + factor)
        chances = chances * (1.0 + factor)
    return chances
