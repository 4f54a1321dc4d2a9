"""One linear quantity a.h of the true shares, with everything an interval method needs."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from hushpoll_analysis.channel.decoy import EstimatedDecoy
from hushpoll_analysis.channel.stacked import StackedView
from hushpoll_analysis.channel.view import ChannelView, Floats
from hushpoll_analysis.data.counts import Counts
from hushpoll_analysis.errors import NotIdentifiedError

__all__ = [
    "FinitePopulation",
    "OneFrequency",
    "Quantity",
    "in_population",
    "known_shares",
    "line_of",
    "quantity",
]

# Weights closer than this, relative to the largest, are one value: a solved b carries rounding of about 1e-15.
SAME = 1e-9


@dataclass(frozen=True, eq=False)
class FinitePopulation:
    """A finite population behind one frequency."""

    growth: float
    """By how much its successes and trials were multiplied, to those that would have the variance without end."""
    fraction: float
    """The fraction that was drawn."""
    chances: tuple[float, float]
    """How likely a success is for who has the trait and who has not, the smaller one first."""


@dataclass(frozen=True, eq=False)
class OneFrequency:
    """An estimate that depends on one binomial frequency F only: b.f = intercept + slope F.

    Effective counts of a weighted sample need not be whole.
    """

    successes: float
    trials: float
    intercept: float
    slope: float
    finite: FinitePopulation | None = None

    @property
    def reports(self) -> tuple[float, float]:
        """Successes and trials that came in, where the others are worth more in a finite population."""
        growth = 1.0 if self.finite is None else self.finite.growth
        return self.successes / growth, self.trials / growth

    def at(self, probability: float) -> float:
        """Give the quantity that belongs to a probability of the frequency."""
        return self.intercept + self.slope * probability

    def probability(self, value: float) -> float:
        """Give the probability of the frequency that belongs to a value of the quantity."""
        return min(1.0, max(0.0, (value - self.intercept) / self.slope))


@dataclass(frozen=True, eq=False)
class Quantity:
    """The estimate b.f of a.h with its standard errors.

    Attributes
    ----------
    target, weights : ndarray
        a (per option) and b (per report), C b = a.
    estimate : float
        b.f, unbiased and unclipped.
    se : float
        sqrt((sum b^2 f - (b.f)^2) / (n - 1)), plus the decoy's share of the variance where q was estimated.
    se_privacy : float
        sqrt(sum_x h_x Var(b_z | x) / n): what remains when exactly these respondents are of interest. An estimated q
        stays in it, because more respondents would not remove it. Where the channel does not determine the mean of
        Var(b_z | x), its largest value stands in: an upper bound.
    bounds : tuple of float
        Smallest and largest possible a.h.
    line : OneFrequency or None
    """

    view: ChannelView
    counts: Counts | Floats
    target: Floats
    weights: Floats
    estimate: float
    se: float
    se_privacy: float
    bounds: tuple[float, float]
    line: OneFrequency | None
    decoy: EstimatedDecoy | None
    design_effect: float | None
    answers: float | None = None
    """The number of reports, where the counts are others that are worth as much."""

    @property
    def n(self) -> int:
        """The number of reports; effective ones of a weighted sample are rounded."""
        return round(self.size if self.answers is None else self.answers)

    @property
    def size(self) -> float:
        """What the counts add up to: n, or an effective size."""
        return float(self.counts.sum())

    @property
    def heaviest(self) -> float:
        """How far n times the estimate moves with one report at most: max |b_z|."""
        return float(np.max(np.abs(self.weights[self.view.possible])))


def quantity(
    view: ChannelView,
    counts: Counts | Floats,
    target: Floats,
    shares: Floats | None,
    decoy: EstimatedDecoy | None,
) -> Quantity:
    """Estimate a.h; `shares` are the unbiased shares, None when the channel determines only some quantities."""
    n = counts.sum().item()
    frequencies = counts / n
    weights = view.solution(target)
    estimate = float(weights @ frequencies)
    # Centred at the estimate: b^2 f - (b.f)^2 in one go would lose digits where b is large.
    sampling = float((weights - estimate) ** 2 @ frequencies) / (n - 1)
    privacy = _mean_noise(view, weights, frequencies, shares) / n
    extra = 0.0
    if decoy is not None:
        assert shares is not None
        extra = decoy.slope(shares, weights) ** 2 * decoy.variance
    variance = sampling + extra
    return Quantity(
        view,
        counts,
        target,
        weights,
        estimate,
        math.sqrt(variance),
        math.sqrt(max(privacy, 0.0) + extra),
        (float(target.min()), float(target.max())),
        None if decoy is not None else line_of(weights, counts, view),
        decoy,
        _design_effect(target, shares, variance, n),
    )


def known_shares(view: ChannelView, frequencies: Floats) -> Floats | None:
    """Give the unbiased shares; None where the channel determines only some quantities."""
    try:
        return view.shares(frequencies)
    except NotIdentifiedError:
        return None


def _mean_noise(view: ChannelView, weights: Floats, frequencies: Floats, shares: Floats | None) -> float:
    """Give the mean of Var(b | x), a linear quantity too; its largest value where the channel does not determine it."""
    if isinstance(view, StackedView):
        # Of each design with the shares of its own people, who may differ from the others.
        return float(view.noise_by_report(weights) @ frequencies)
    noise = view.noise(weights)
    if shares is not None:
        return float(noise @ shares)
    try:
        return float(view.solution(noise) @ frequencies)
    except NotIdentifiedError:
        return float(noise.max())


def line_of(weights: Floats, counts: Counts | Floats, view: ChannelView) -> OneFrequency | None:
    """Give the one frequency that carries b.f; None where several do."""
    low, high = float(weights[view.possible].min()), float(weights[view.possible].max())
    tolerance = SAME * max(abs(low), abs(high))
    upper = np.abs(weights - high) <= tolerance
    lower = np.abs(weights - low) <= tolerance
    if high - low <= 2 * tolerance or not np.all((upper | lower)[view.possible]):
        return None
    successes, trials = counts[upper & view.possible].sum(), counts.sum()
    return OneFrequency(successes.item(), trials.item(), low, high - low)


def in_population(wanted: Quantity, fraction: float, growth: float) -> OneFrequency | None:
    """Give the line in a finite population, its counts as they are worth more already; None where there is none.

    How much the randomization adds follows from the frequency where people have a trait or not; else it is not known
    there.
    """
    line = wanted.line
    if line is None or len(np.unique(wanted.target)) != 2:
        return line
    low, high = (line.probability(end) for end in wanted.bounds)
    return replace(line, finite=FinitePopulation(growth, fraction, (low, high)))


def _design_effect(target: Floats, shares: Floats | None, variance: float, n: float) -> float | None:
    """Variance over that of the same n answers without randomization; None where the latter is not positive."""
    if shares is None:
        return None
    plain = float(target**2 @ shares - (target @ shares) ** 2) / (n - 1)
    return variance / plain if plain > 0 else None
