"""The variance of a channel summed over the quantities of a design problem, or the largest over all truths."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from hushpoll_client import Channel
from hushpoll_client.channel import SCALE

from hushpoll_analysis.channel.base import Floats
from hushpoll_analysis.planning.optimal.problem import Problem, points
from hushpoll_analysis.planning.optimal.worst_case import worst_of

_LARGE = 64  # reports beyond which tables are not written out


class Sets:
    """A report that is a set of options: each is in it with chance p if true, else q; shares follow from that."""

    def __init__(self, held: float, other: float, together: Callable[[bool], float]) -> None:
        self.held, self.other = held, other
        self.true_pair, self.other_pair = together(True), together(False)

    def variance(self, rows: Floats, truth: Floats) -> float:
        """Return n times the variance, summed over functionals, of the linear estimates at a truth."""
        gap = self.held - self.other
        mean = self.other + gap * truth
        # Two options are in together with one chance if one of them is true, and with another if none is.
        either = truth[:, None] + truth[None, :]
        both = either * self.true_pair + (1.0 - either) * self.other_pair
        np.fill_diagonal(both, mean)
        spread = both - np.outer(mean, mean)
        return float(np.sum((rows @ spread) * rows)) / gap**2


def n_variance(problem: Problem, channel: Channel, *, worst: bool) -> float | None:
    """Return n times the variance of the estimates from a channel; None if it does not determine them.

    At the problem's truth and summed over its quantities; `worst`: of the mean, at the worst truth.
    """
    return _worst(problem, channel) if worst else _expected(problem, channel)


def unary_n_variance(problem: Problem, epsilon: float, *, worst: bool) -> float:
    """Return the same of optimal unary encoding, with the usual estimate of each share, whatever the others are."""
    unary = _unary(epsilon)
    if worst:
        return _worst_sets(problem, unary)
    return unary.variance(problem.rows, problem.truth)


def _unary(epsilon: float) -> Sets:
    held, other = 0.5, 1.0 / (math.exp(epsilon) + 1.0)
    return Sets(held, other, lambda true: (held if true else other) * other)


def _sets(channel: Any) -> Sets:
    """Read a channel whose reports are sets of one size."""
    other, held = (float(chance) for chance in channel.member(0))
    size, rest = channel.size, channel.options - 1
    pair = (held * (size - 1) * (size - 2) + (1.0 - held) * size * (size - 1)) / (rest * max(rest - 1, 1))
    return Sets(held, other, lambda true: held * (size - 1) / rest if true else pair)


def _expected(problem: Problem, channel: Channel) -> float | None:
    if not channel.listed:
        return _sets(channel).variance(problem.centred, problem.truth)
    if channel.outcomes <= _LARGE:
        return problem.n_variance(_table(channel))
    # Only K-ary response is a list of so many reports: sets of one option.
    held, other = (weight / SCALE for weight in channel.row(0)[:2])
    return Sets(held, other, lambda true: 0.0).variance(problem.centred, problem.truth)


def _worst(problem: Problem, channel: Channel) -> float | None:
    if not channel.listed:
        return _worst_sets(problem, _sets(channel))
    table = _table(channel)
    x, chance = points(problem.options), table.mean(axis=0)
    solved, *_ = np.linalg.lstsq(table / np.sqrt(chance), x, rcond=1e-12)
    if np.abs(table / np.sqrt(chance) @ solved - x).max() > 2e-9:
        return None
    return worst_of(table @ (solved**2 / chance))


def _worst_sets(problem: Problem, sets: Sets) -> float:
    x = points(problem.options)
    at = [sets.variance(x[None, :], row) for row in np.eye(problem.options)]
    return worst_of(np.array(at) + x**2)


def _table(channel: Channel) -> Floats:
    return np.array(channel.rows, dtype=np.float64) / SCALE
