"""How widely one randomized report scatters: the variance that planning and the poisoning line start from.

A linear quantity a.h is estimated by the mean of b_z over the reports z, with C b = a. With g_x = sum_z C[x, z] b_z^2
the variance of that estimate is (sum_x h_x g_x - (a.h)^2) / n. For a share, a share of several answers together or "4
or more" a is 0 or 1: given a.h = s the variance is largest when all people hold the answer with the largest g_x on
their side, so the worst case is a parabola in s and needs no search. For an average, a runs evenly from 0 to 1 and the
worst case lies between two answers.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import pairwise
from typing import Any

from hushpoll_client.channel import SCALE
from hushpoll_client.channel.sampled import SampledChannel
from hushpoll_client.mechanism import Mechanism
from hushpoll_client.messages import msg

from hushpoll_analysis.errors import AnalysisError

TARGETS = ("shares", "mean", "cumulative")
"""What a plan can be made for: every share, the average of evenly spaced answers, "so much or more"."""


@dataclass(frozen=True)
class Spread:
    """Second moments of one option's estimator.

    Attributes
    ----------
    chosen
        E[b_z^2] of a person whose true answer is the option.
    other
        The largest E[b_z^2] of a person with another true answer.
    weight
        max |b_z|: how many honest people one dishonest report can outweigh.
    square
        What the square of the share counts: 1, and more where only some of the reports tell of an option.
    """

    chosen: float
    other: float
    weight: float
    square: float = 1.0

    def among(self, fraction: float) -> Spread:
        """Return the same per respondent, where only a share of them is asked."""
        if fraction == 1.0:
            return self
        return Spread(
            self.chosen / fraction, self.other / fraction, self.weight / fraction, self.square / fraction
        )

    def unit_variance(self, share: float) -> float:
        """n times the variance of the estimate at a true share, with the other answers at their worst."""
        return share * self.chosen + (1.0 - share) * self.other - self.square * share * share

    def worst_share(self, n: float = 1.0, decoy: DecoyVariance | None = None) -> float:
        """Return the true share in [0, 1] with the largest variance at n answers."""
        extra = decoy or DecoyVariance(0.0, 0.0, 0.0)
        # The variance is a parabola in the share: its ends, and its top where it has one.
        square = extra.factor * extra.slope**2 - self.square / n
        linear = (self.chosen - self.other) / n + 2.0 * extra.factor * extra.constant * extra.slope
        candidates = [0.0, 1.0]
        if square < 0.0:
            candidates.append(min(1.0, max(0.0, -linear / (2.0 * square))))
        return max(candidates, key=lambda s: self.unit_variance(s) / n + extra.at(s))


@dataclass(frozen=True)
class DecoyVariance:
    """What an estimated decoy share adds: factor * (constant + slope * share)^2, by the delta method."""

    factor: float
    constant: float
    slope: float

    @classmethod
    def of(cls, mechanism: Mechanism) -> DecoyVariance:
        """Return dp/dq squared times q(1-q)/m, from what the device does at each answer to the decoy."""
        if mechanism.decoy_counts is None:
            return cls(0.0, 0.0, 0.0)
        yes, of = mechanism.decoy_counts
        q = yes / of
        without, within = (mechanism.given_decoy(decoy) for decoy in (0, 1))
        mixed = mechanism.analysis
        gap = mixed.row(1)[1] - mixed.row(0)[1]
        # The channel is linear in q and p = (f - C[0])/(C[1] - C[0]) on the Yes column, so dp/dq is linear in p.
        pull = [(within[x][1] - without[x][1]) / gap for x in (0, 1)]
        return cls(q * (1.0 - q) / of, pull[0], pull[1] - pull[0])

    def at(self, share: float) -> float:
        """Return the added variance at a true share."""
        return self.factor * (self.constant + self.slope * share) ** 2


@dataclass(frozen=True)
class MeanSpread:
    """Second moments of the estimator of an average: `points` from 0 to 1, and E[b_z^2] of people who hold them."""

    points: tuple[float, ...]
    moments: tuple[float, ...]
    weight: float
    asked: float = 1.0

    def among(self, fraction: float) -> MeanSpread:
        """Return the same per respondent, where only a share of them is asked."""
        return MeanSpread(self.points, self.moments, self.weight / fraction, fraction)

    @cached_property
    def hull(self) -> tuple[tuple[Spot, Spot], ...]:
        """The lines between answers above which no mixture of answers lies."""
        corners: list[Spot] = []
        for spot in zip(self.points, self.moments, strict=True):
            while len(corners) > 1 and _between(corners[-2], spot, corners[-1][0]) >= corners[-1][1]:
                corners.pop()
            corners.append(spot)
        return tuple(pairwise(corners))

    def unit_variance(self, share: float) -> float:
        """Return n times the variance at a true average, with the answers at their worst."""
        line = next(segment for segment in self.hull if share <= segment[1][0])
        return (_between(*line, share) - share * share) / self.asked

    def worst_share(self, n: float = 1.0, decoy: DecoyVariance | None = None) -> float:
        """Return the true average with the largest variance: two answers share the people, in the worst way."""
        spots = [spot for left, right in self.hull for spot in _turning(left, right)]
        return max(spots, key=self.unit_variance)


Spot = tuple[float, float]


def _between(left: Spot, right: Spot, share: float) -> float:
    return left[1] + (right[1] - left[1]) * (share - left[0]) / (right[0] - left[0])


def _turning(left: Spot, right: Spot) -> tuple[float, float, float]:
    """Return the ends of a segment, and where the line above it minus the square is largest."""
    top = (right[1] - left[1]) / (right[0] - left[0]) / 2.0
    return left[0], right[0], min(max(top, left[0]), right[0])


def spread(mechanism: Mechanism, target: str = "shares") -> Spread | MeanSpread:
    """Return the spread of the quantity of a target that is hardest to estimate (for yes/no: Yes, as No is the
    same).
    """
    if not isinstance(mechanism, Mechanism):
        raise AnalysisError(
            msg("mechanism is a {kind}", kind=type(mechanism).__name__),
            "make one with hushpoll_client.mechanisms",
        )
    only = mechanism.tells_only
    if only is not None and target != only and mechanism.analysis.options > 2:
        raise AnalysisError(
            msg(
                "the reports of {mechanism} tell only the {only}, not {target}",
                mechanism=mechanism.name,
                only=only,
                target=target,
            ),
            msg("plan for target {only}, or choose another mechanism", only=only),
        )
    return _TARGETS[target](mechanism).among(float(mechanism.asked))


def _of_shares(mechanism: Mechanism) -> Spread:
    channel = mechanism.analysis
    if channel.form in _FORMS:
        return _FORMS[channel.form](channel)
    if channel.options == channel.outcomes == 2:
        return _hit_or_miss(*(channel.row(answer)[1] / SCALE for answer in (0, 1)))
    units = [
        [float(option == column) for column in range(channel.options)] for option in range(channel.options)
    ]
    return _hardest(mechanism, units)


def _of_cumulative(mechanism: Mechanism) -> Spread:
    _check_ordered(mechanism)
    options = mechanism.analysis.options
    return _hardest(
        mechanism, [[float(answer >= first) for answer in range(options)] for first in range(1, options)]
    )


def _of_mean(mechanism: Mechanism) -> MeanSpread:
    _check_ordered(mechanism)
    options = mechanism.analysis.options
    points = tuple(answer / (options - 1) for answer in range(options))
    moments, weight = _moments(mechanism, points)
    return MeanSpread(points, moments, weight)


def _check_ordered(mechanism: Mechanism) -> None:
    if mechanism.analysis.several:
        raise AnalysisError(
            msg("{mechanism} is for a set of options, which has no order", mechanism=mechanism.name),
            "plan for shares, one per option",
        )


def _hardest(mechanism: Mechanism, targets: list[list[float]]) -> Spread:
    """Any table, with the same weights b as `estimate` uses."""
    spreads = []
    for target in targets:
        moments, weight = _moments(mechanism, tuple(target))
        chosen = max(moment for moment, held in zip(moments, target, strict=True) if held)
        other = max(moment for moment, held in zip(moments, target, strict=True) if not held)
        spreads.append(Spread(chosen, other, weight))
    return max(spreads, key=lambda target: target.unit_variance(target.worst_share()))


@lru_cache(maxsize=4096)
def _moments(mechanism: Mechanism, target: tuple[float, ...]) -> tuple[tuple[float, ...], float]:
    """Return E[b_z^2 | x] of every answer x, and the largest |b_z|."""
    import numpy as np

    from hushpoll_analysis.channel.view import channel_view, set_view

    sets = set_view(mechanism)
    if sets is not None:
        heaviest = max(map(abs, sets.ends(target)))
        return tuple(float(moment) for moment in sets.moments(target)), heaviest
    view = channel_view(mechanism)
    weights = view.solution(np.array(target))
    return tuple(float(moment) for moment in view.backward(weights**2)), float(np.abs(weights).max())


def _hit_or_miss(low: float, high: float) -> Spread:
    """Use the closed form for reports that hold an option or not, so that 1,000 options cost as little as two."""
    if high == low:
        raise AnalysisError("the channel says nothing about the true answer (every row is the same)")
    hit, miss = (1.0 - low) / (high - low), -low / (high - low)
    return Spread(
        chosen=high * hit**2 + (1.0 - high) * miss**2,
        other=low * hit**2 + (1.0 - low) * miss**2,
        weight=max(abs(hit), abs(miss)),
    )


def _of_krr(channel: Any) -> Spread:
    return _hit_or_miss(channel.row(0)[1] / SCALE, channel.kept / SCALE)


def _of_member(channel: Any) -> Spread:
    return _hit_or_miss(*(float(chance) for chance in channel.member(0)))


def _of_sampled(channel: SampledChannel) -> Spread:
    """Each member is estimated from the reports that asked it; the largest joint size is the least precise."""
    spreads = []
    for size in set(channel.sizes):
        for joint, weight in channel.weights:
            if joint % size == 0:
                remaining = joint // size
                low = remaining * weight / SCALE
                spreads.append(_hit_or_miss(low, 1.0 - (size - 1) * low))
    worst = max(spreads, key=lambda spread: spread.unit_variance(spread.worst_share()))
    rare = len(channel.sizes) / channel.ask
    return Spread(rare * worst.chosen, rare * worst.other, rare * worst.weight, rare)


_FORMS: dict[str, Callable[[Any], Spread]] = {
    "krr": _of_krr,
    "subset": _of_member,
    "padded": _of_member,
    "sampled": _of_sampled,
}
_TARGETS: dict[str, Callable[[Mechanism], Spread | MeanSpread]] = dict(
    zip(TARGETS, (_of_shares, _of_mean, _of_cumulative), strict=True)
)
