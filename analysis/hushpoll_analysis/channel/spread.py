"""How widely one randomized report scatters: the variance that planning and the poisoning line start from.

The share of option k is estimated by the mean of b_z over the reports z, with C b = e_k. With
g_x = sum_z C[x, z] b_z^2 the variance of that estimate is (sum_x h_x g_x - h_k^2) / n. Given h_k = s it is
largest when everybody else holds the answer with the largest g_x, so the worst case is a parabola in s and
needs no search.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from hushpoll_client.channel import SCALE, Channel

from hushpoll_analysis.errors import AnalysisError

if TYPE_CHECKING:
    from hushpoll_client.mechanism import Mechanism

__all__ = ["DecoyVariance", "Spread", "spread"]


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
    """

    chosen: float
    other: float
    weight: float

    def unit_variance(self, share: float) -> float:
        """n times the variance of the estimate at a true share, with the other answers at their worst."""
        return share * self.chosen + (1.0 - share) * self.other - share * share

    def worst_share(self, n: float = 1.0, decoy: DecoyVariance | None = None) -> float:
        """Give the true share in [0, 1] with the largest variance at n answers."""
        extra = decoy or DecoyVariance(0.0, 0.0, 0.0)
        # The variance is a parabola in the share: its ends, and its top where it has one.
        square = extra.factor * extra.slope**2 - 1.0 / n
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
        """Give dp/dq squared times q(1-q)/m, from what the device does at each answer to the decoy."""
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
        """Give the added variance at a true share."""
        return self.factor * (self.constant + self.slope * share) ** 2


def spread(mechanism: Mechanism) -> Spread:
    """Give the spread of the option that is hardest to estimate (Yes for yes/no, where both are the same)."""
    channel = mechanism.analysis
    if channel.evenly:
        return _evenly(channel)
    if channel.options == channel.outcomes == 2:
        return _two_by_two(channel)
    spreads = _general(mechanism)
    return max(spreads, key=lambda one: one.unit_variance(one.worst_share()))


def _evenly(channel: Channel) -> Spread:
    """Use the closed form, so that 1,000 options cost as little as two."""
    low, high = channel.row(0)[1] / SCALE, channel.kept / SCALE
    if high == low:
        raise AnalysisError("the channel says nothing about the true answer (every row is the same)")
    hit = (1.0 - low) / (high - low)
    miss = -low / (high - low)
    return Spread(
        chosen=high * hit**2 + (1.0 - high) * miss**2,
        other=low * hit**2 + (1.0 - low) * miss**2,
        weight=max(abs(hit), abs(miss)),
    )


def _two_by_two(channel: Channel) -> Spread:
    from_yes, from_no = channel.row(1)[1] / SCALE, channel.row(0)[1] / SCALE
    if from_yes == from_no:
        raise AnalysisError("the channel says nothing about the true answer (both rows are the same)")
    gap = from_yes - from_no
    hit, miss = (1.0 - from_no) / gap, -from_no / gap
    return Spread(
        chosen=from_yes * hit**2 + (1.0 - from_yes) * miss**2,
        other=from_no * hit**2 + (1.0 - from_no) * miss**2,
        weight=max(abs(hit), abs(miss)),
    )


def _general(mechanism: Mechanism) -> list[Spread]:
    """Any table, with the same weights b as `estimate` uses."""
    import numpy as np

    from .view import channel_view

    view = channel_view(mechanism)
    spreads = []
    for option in range(view.options):
        weights = view.solution(view.unit(option))
        moments = view.backward(weights**2)
        rest = float(np.delete(moments, option).max())
        spreads.append(Spread(float(moments[option]), rest, float(np.abs(weights).max())))
    return spreads
