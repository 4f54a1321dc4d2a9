"""How widely one randomized report scatters, in closed form where a channel has one; and what a counted decoy adds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from hushpoll_client.channel import SCALE
from hushpoll_client.channel.sampled import SampledChannel
from hushpoll_client.mechanism import Mechanism

from hushpoll_analysis.errors import AnalysisError


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


def hit_or_miss(low: float, high: float) -> Spread:
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
    return hit_or_miss(channel.row(0)[1] / SCALE, channel.kept / SCALE)


def _of_member(channel: Any) -> Spread:
    return hit_or_miss(*(float(chance) for chance in channel.member(0)))


def _of_sampled(channel: SampledChannel) -> Spread:
    """Each member is estimated from the reports that asked it; the largest joint size is the least precise."""
    spreads = []
    for size in set(channel.sizes):
        for joint, weight in channel.weights:
            if joint % size == 0:
                remaining = joint // size
                low = remaining * weight / SCALE
                spreads.append(hit_or_miss(low, 1.0 - (size - 1) * low))
    worst = max(spreads, key=lambda spread: spread.unit_variance(spread.worst_share()))
    rare = len(channel.sizes) / channel.ask
    return Spread(rare * worst.chosen, rare * worst.other, rare * worst.weight, rare)


FORMS: dict[str, Callable[[Any], Spread]] = {
    "krr": _of_krr,
    "subset": _of_member,
    "padded": _of_member,
    "sampled": _of_sampled,
}
