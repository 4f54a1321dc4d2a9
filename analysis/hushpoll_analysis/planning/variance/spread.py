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

from hushpoll_client.channel import SCALE
from hushpoll_client.mechanism import Mechanism
from hushpoll_client.messages import msg

from hushpoll_analysis.channel.spread import FORMS, DecoyVariance, Spread, hit_or_miss
from hushpoll_analysis.errors import AnalysisError

TARGETS = ("shares", "mean", "cumulative")
"""What a plan can be made for: every share, the average of evenly spaced answers, "so much or more"."""


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
    if channel.form in FORMS:
        return FORMS[channel.form](channel)
    if channel.options == channel.outcomes == 2:
        return hit_or_miss(*(channel.row(answer)[1] / SCALE for answer in (0, 1)))
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


_TARGETS: dict[str, Callable[[Mechanism], Spread | MeanSpread]] = dict(
    zip(TARGETS, (_of_shares, _of_mean, _of_cumulative), strict=True)
)
