"""Pairs of groups: the difference and the ratio of a share, from the limits of both (MOVER), all pairs at once."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr, stdtr

from hushpoll_analysis.channel.base import Floats
from hushpoll_analysis.interval import IntervalMethod, joint_method
from hushpoll_analysis.interval.mover import BoundedEstimate, least_ratio, ratio_limits
from hushpoll_analysis.interval.roots import roots

from .many import ManyShares
from .within import TableShare

UNCLEAR = "the reference group's share is not clear of zero, so the ratio has no upper limit"
IMPOSSIBLE = "the reference group's share lies below zero, so no ratio is given"
NEGATIVE = "the group's share is below zero by chance, and so is the ratio"
SAME_REPORTS = "all reports are the same, so the standard error is 0 and says nothing; there is no p-value"
SMALLEST = 1e-12  # limits at smaller levels lose their digits
LARGEST = math.log(1.0 - 1e-9)
CLOSE = 1e-11
ROUNDING = 1e-12


@dataclass(frozen=True, eq=False)
class Pair:
    """A group's share and the reference's, with the covariance of the two estimates."""

    first: TableShare
    second: TableShare
    covariance: float

    @property
    def note(self) -> str:
        """Why nothing can be said of the pair; empty where something can."""
        return "; ".join(note for note in (self.first.note, self.second.note) if note)


@dataclass(frozen=True)
class PairFigures:
    """The figures of a pair; `figures` are those of `GroupDifference` from the difference to the ratio."""

    figures: tuple[float, ...]
    method: str
    note: str


def pair_figures(pairs: Sequence[Pair], level: float, together: int) -> list[PairFigures]:
    """Return everything about every pair."""
    usable = [pair for pair in pairs if not pair.note]
    usable_figures = iter(_Pairs(usable).figures(level, together) if usable else [])
    return [
        PairFigures((math.nan,) * 8, "", pair.note) if pair.note else next(usable_figures) for pair in pairs
    ]


class _Pairs:
    """The usable pairs as arrays: the groups' shares, and behind them the references'."""

    def __init__(self, pairs: Sequence[Pair]) -> None:
        self.pairs = pairs
        self.many = ManyShares([*(pair.first for pair in pairs), *(pair.second for pair in pairs)])
        first_errors, other = self.many.errors.reshape(2, -1)
        covariance, scale = np.array([pair.covariance for pair in pairs]), first_errors * other
        self.gap = np.subtract(*self.many.estimates.reshape(2, -1))
        self.se = np.sqrt(np.maximum(first_errors**2 + other**2 - 2.0 * covariance, 0.0))
        # Where all reports of the outcome are the same, what is left of the errors is rounding.
        varies = np.minimum(first_errors, other) > ROUNDING
        ratio = np.divide(covariance, scale, where=varies, out=np.zeros(len(pairs)))
        self.correlation = np.clip(ratio, -1.0, 1.0)

    def figures(self, level: float, together: int) -> list[PairFigures]:
        count = len(self.pairs)
        many = self.many
        if together != 1:
            many = ManyShares(self.many.shares, together)
        low, high = many.at(np.full(2 * count, 1.0 - (1.0 - level) / together))
        methods = [joint_method(pair) for pair in zip(many.names[:count], many.names[count:], strict=True)]
        ends = np.stack([self.gap, self.se, *self._limits(low, high), self._p_values(methods)], axis=1)
        parts = [BoundedEstimate(*row) for row in np.stack([many.estimates, low, high], axis=1).tolist()]
        figures = []
        for k, row in enumerate(ends.tolist()):
            ratio, words = _ratio(parts[k], parts[k + count], float(self.correlation[k]))
            if math.isnan(row[-1]):
                words = "; ".join(filter(None, (SAME_REPORTS, words)))
            figures.append(PairFigures((*row, *ratio), methods[k].name, words))
        return figures

    def _limits(self, low: Floats, high: Floats) -> tuple[Floats, Floats]:
        """Join the limits of both shares, as `difference_limits` does for one pair."""
        below, above = self.many.estimates - low, high - self.many.estimates
        (first, second), (over, under) = (distance.reshape(2, -1) for distance in (below, above))
        down = first**2 + under**2 - 2.0 * self.correlation * first * under
        up = over**2 + second**2 - 2.0 * self.correlation * over * second
        return self.gap - np.sqrt(np.maximum(down, 0.0)), self.gap + np.sqrt(np.maximum(up, 0.0))

    def _p_values(self, methods: Sequence[IntervalMethod]) -> Floats:
        """Return the level at which the interval of each difference reaches 0: 1 for equal shares."""
        p_values = np.where(self.gap == 0.0, 1.0, self._normal())
        searched = [k for k, method in enumerate(methods) if not method.normal and self.gap[k] != 0.0]
        if searched:
            p_values[searched] = _Pairs([self.pairs[k] for k in searched])._searched()
        return p_values

    def _searched(self) -> Floats:
        """Search the levels at which the intervals reach 0, all in one go."""

        def clear(log_tail: Floats) -> Floats:
            low, high = self._limits(*self.many.at(np.tile(1.0 - np.exp(log_tail), 2)))
            return np.where(self.gap > 0.0, low, -high)

        least, most = np.full((2, len(self.pairs)), [[math.log(SMALLEST)], [LARGEST]])
        beyond, never = clear(least) > 0.0, clear(most) <= 0.0
        inside = ~(beyond | never)
        # Where there is nothing to search, any root will do: it is not read.
        p_values = np.exp(roots(lambda at: np.where(inside, clear(at), at - least), least, most, CLOSE))
        p_values = np.where(never, 1.0, p_values)
        return np.where(beyond, np.fmin(self._normal(), SMALLEST), p_values)

    def _normal(self) -> Floats:
        """Return the p-values of normal differences, or those of t; none where the standard error is 0."""
        statistic = -np.abs(self.gap) / np.where(self.se > 0.0, self.se, math.nan)
        freedom = self.many.freedom[: len(self.pairs)]
        return np.asarray(2.0 * np.where(np.isnan(freedom), ndtr(statistic), stdtr(freedom, statistic)))


def _ratio(
    share: BoundedEstimate, other: BoundedEstimate, correlation: float
) -> tuple[tuple[float, float, float], str]:
    """Return the ratio with its limits; where the reference is not clear of 0 the lower limit alone.

    To give nothing there would leave the bounded ones as a selection, which covers less than it says.
    """
    if not other.high > 0.0:
        return (math.nan, math.nan, math.nan), IMPOSSIBLE
    if not other.low > 0.0:
        return (math.nan, least_ratio(share, other, correlation), math.inf), UNCLEAR
    limits = ratio_limits(share, other, correlation)
    return (share.estimate / other.estimate, *limits), "" if share.estimate >= 0.0 else NEGATIVE
