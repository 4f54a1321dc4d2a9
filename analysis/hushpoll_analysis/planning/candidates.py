"""Every mechanism that could carry a question, with n times the variance it would give."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from hushpoll_client import Channel
from hushpoll_client.channel import SCALE
from hushpoll_client.errors import MechanismError
from hushpoll_client.exact import spell
from hushpoll_client.mechanism import MECHANISMS, Mechanism

from hushpoll_analysis.channel.base import Floats

from .optimal.problem import Problem, points
from .optimal.worst_case import worst_of

_LARGE = 64  # reports beyond which tables are not written out


@dataclass(frozen=True)
class Offer:
    """A mechanism with its variance, or with the reason why there is none."""

    name: str
    n_variance: float | None
    reason: str = ""
    mechanism: Mechanism | None = None


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


def offers(problem: Problem, epsilon: Fraction, worst: bool) -> Iterator[Offer]:
    """Yield every mechanism that needs nothing but an epsilon, in the order of the registry, then unary."""
    measure = _worst if worst else _expected
    for mechanism in MECHANISMS.values():
        if (
            not mechanism.in_surveys
            or mechanism.has_decoy
            or mechanism.fits == "set"
            or not mechanism.has_epsilon()
        ):
            continue
        if not mechanism.fits_options(problem.options):
            yield Offer(mechanism.name, None, f"does not take {problem.options} options")
            continue
        try:
            compiled = mechanism.compile(problem.options, {"epsilon": spell(epsilon)})
        except MechanismError as error:
            # A table of one's own and a designed one come with their integers: they are no offer by name.
            if error.field != "name":
                yield Offer(mechanism.name, None, error.problem)
            continue
        value = measure(problem, compiled.device)
        yield Offer(mechanism.name, value, "" if value is not None else "cannot estimate this", compiled)
    # With the usual estimate of each share, whatever the others are.
    unary = _unary(float(epsilon))
    yield Offer(
        "unary", _worst_sets(problem, unary) if worst else unary.variance(problem.rows, problem.truth)
    )


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
