"""Which column would help: the value d_S - lambda . c_S of every subset S, or of the best that flips can find.

d_S = c_S' M c_S is what more of column S would take off the variance, lambda . c_S what the constraints charge for it.
Up to twenty answers all subsets are valued: sums over subsets are built by doubling, so that a million cost a tenth
of a second. Above, single answers are flipped in and out while that helps.
"""

from __future__ import annotations

import numpy as np

from hushpoll_analysis.channel.base import Floats

from .problem import Masks, Problem

ENUMERATED = 20
"""Up to so many answers every subset is looked at, which makes the bound a proof."""


def intervals(options: int) -> Masks:
    """Return the subsets to start from: all intervals and their complements."""
    everything = (1 << options) - 1
    runs = {(1 << end) - (1 << start) for start in range(options) for end in range(start + 1, options + 1)}
    subsets = (runs | {everything - run for run in runs}) - {0, everything}
    return np.array(sorted(subsets), dtype=np.uint64)


def mirror(masks: Masks, options: int) -> Masks:
    """Read the answers of each subset backwards."""
    turned = np.zeros_like(masks)
    for option in range(options):
        turned |= ((masks >> np.uint64(option)) & np.uint64(1)) << np.uint64(options - 1 - option)
    return turned


def value_all(problem: Problem, pull: Floats, prices: Floats) -> tuple[float, Masks, Floats]:
    """Return the largest value of all subsets, and the subsets that no single flip improves, with their values."""
    values = _all_values(problem, problem.basis @ pull @ problem.basis.T, problem.basis @ prices)
    top = np.ones(values.shape, dtype=bool)
    for option in range(problem.options):
        pairs = values.reshape(-1, 2, 1 << option)
        top.reshape(-1, 2, 1 << option)[:] &= pairs >= pairs[:, ::-1]
    subsets = np.flatnonzero(top)
    return float(values.max()), subsets.astype(np.uint64), values[subsets]


def _sums(weights: Floats) -> Floats:
    """Return the sum of the weights over every subset, in the order of the masks."""
    total = np.zeros(1)
    for weight in weights:
        total = np.concatenate([total, total + weight])
    return total


def _all_values(problem: Problem, pull: Floats, prices: Floats) -> Floats:
    gain, edge = problem.gain, pull.sum(axis=1)
    squares = np.zeros(1)
    for option in range(problem.options):
        crossed = _sums(pull[option, :option])
        squares = np.concatenate([squares, squares + pull[option, option] + 2.0 * crossed])
    mean = 1.0 + gain * _sums(problem.truth)
    corner, along = float(edge.sum()), _sums(edge)
    worth = (corner + 2.0 * gain * along + gain**2 * squares) / mean**2
    worth -= 2.0 * (corner + gain * along) / mean - corner
    charged = (float(prices.sum()) + gain * _sums(prices)) / mean - float(prices.sum())
    return np.asarray(worth - charged, dtype=np.float64)


def value_found(problem: Problem, pull: Floats, prices: Floats, starts: Masks) -> tuple[float, Masks, Floats]:
    """Return the same for what flips find from the given subsets; the largest value is then no proof."""
    bits, masks = np.uint64(1) << np.arange(problem.options, dtype=np.uint64), starts.copy()
    everything = np.uint64((1 << problem.options) - 1)
    values = _values(problem, pull, prices, masks)
    for _ in range(4 * problem.options):
        tried = masks[:, None] ^ bits
        gained = _values(problem, pull, prices, tried.reshape(-1)).reshape(tried.shape)
        gained[(tried == 0) | (tried == everything)] = -np.inf
        best = gained.argmax(axis=1)
        reached = gained[np.arange(len(masks)), best]
        better = reached > values * (1.0 + 1e-12)
        if not better.any():
            break
        masks[better] = tried[better, best[better]]
        values[better] = reached[better]
    masks, first = np.unique(masks, return_index=True)
    return float(values.max()), masks, values[first]


def _values(problem: Problem, pull: Floats, prices: Floats, masks: Masks) -> Floats:
    points = problem.places(masks)
    worth = np.einsum("ij,ij->i", points @ pull, points)
    return np.asarray(worth - points @ prices, dtype=np.float64)
