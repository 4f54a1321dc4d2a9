"""One linear quantity a.h of the true shares, with everything an interval method needs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np

from hushpoll_analysis.channel.base import ChannelView, Floats
from hushpoll_analysis.channel.decoy import EstimatedDecoy
from hushpoll_analysis.channel.stacked import StackedView
from hushpoll_analysis.counts import Counts
from hushpoll_analysis.errors import NotIdentifiedError

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
        if self.finite is None:
            growth = 1.0
        else:
            growth = self.finite.growth
        return self.successes / growth, self.trials / growth

    def worth(self, probability: float) -> float:
        """Return how many reports without end one report in the finite population is worth, at a probability."""
        if self.finite is None:
            return 1.0
        p, (low, high) = np.array([probability]), (np.array([end]) for end in self.finite.chances)
        variance = population_variance(p, np.array([self.finite.fraction]), low, high).item()
        total_variance = probability * (1.0 - probability)
        if variance > 0.0:
            return total_variance / variance
        if total_variance > 0.0:
            return math.inf
        return 1.0

    def at(self, probability: float) -> float:
        """Return the quantity that belongs to a probability of the frequency."""
        return self.intercept + self.slope * probability

    def probability(self, value: float) -> float:
        """Return the probability of the frequency that belongs to a value of the quantity."""
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
    sampling_fraction: float = 0.0
    """The fraction drawn of a finite population."""
    growth: float = 1.0
    """By how much the counts were multiplied, to those that would have the variance in a population without end."""
    shrink: float = 1.0
    """The ratio z/t by which `se` was divided, so that a normal interval is one of t."""

    @property
    def standard_error(self) -> float:
        """The standard error, whatever its interval takes in place of z."""
        return self.se * self.shrink

    @property
    def n(self) -> int:
        """The number of reports; effective ones of a weighted sample are rounded."""
        return round(self.size if self.answers is None else self.answers)

    @property
    def size(self) -> float:
        """What the counts add up to: n, or an effective size."""
        return float(self.counts.sum())

    @property
    def reports(self) -> float:
        """What the counts added up to, before a finite population made them worth more."""
        return self.size / self.growth

    @property
    def certain(self) -> bool:
        """Whether nothing was left to chance: the whole population was asked, and directly."""
        if self.sampling_fraction < 1.0 or self.decoy is not None:
            return False
        return float(np.max(np.abs(self.noise()[self.view.possible]))) <= SAME * self.heaviest**2

    def noise(self) -> Floats:
        """Unbiased estimates of Var(b | truth), by report; the largest where the channel determines none."""
        try:
            return self.view.noise_by_report(self.weights)
        except NotIdentifiedError:
            return np.full(self.view.outcomes, float(self.view.noise(self.weights).max()))

    def worth(self, shares: Floats) -> float:
        """Return how many reports without end one report in the finite population is worth, at true shares."""
        expected = self.view.forward(shares)
        total_variance = float((self.weights - self.weights @ expected) ** 2 @ expected)
        noise = min(float(self.view.noise(self.weights) @ shares), total_variance)
        variance = (1.0 - self.sampling_fraction) * total_variance + self.sampling_fraction * noise
        if variance > 0.0:
            return total_variance / variance
        if total_variance > 0.0:
            return math.inf
        return 1.0

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
        target=target,
        weights=weights,
        estimate=estimate,
        se=math.sqrt(variance),
        se_privacy=math.sqrt(max(privacy, 0.0) + extra),
        bounds=(float(target.min()), float(target.max())),
        line=None if decoy is not None else line_of(weights, counts, view),
        decoy=decoy,
        design_effect=_design_effect(target, shares, variance, n),
    )


def joint_covariance(quantities: Sequence[Quantity], shares: Floats | None, fraction: float) -> Floats:
    """Return the joint covariance of quantities of the same reports, n - 1 in the denominator.

    `shares` are the unbiased ones, which a counted decoy and a finite population need; `fraction` is the fraction of
    the population that was asked. The diagonal holds the squares of the standard errors.
    """
    first = quantities[0]
    frequencies, n = first.counts / first.size, first.reports
    weights = np.stack([quantity.weights for quantity in quantities])
    centred = weights - (weights @ frequencies)[:, None]
    result: Floats = (centred * frequencies) @ centred.T / (n - 1)
    if fraction > 0.0:
        result = (1.0 - fraction) * result + fraction * _privacy_covariance(
            first.view, weights, frequencies, shares
        ) / n
    if first.decoy is not None:
        assert shares is not None
        slopes = np.array([first.decoy.slope(shares, row) for row in weights])
        result = result + np.outer(slopes, slopes) * first.decoy.variance
    return result


def _privacy_covariance(
    view: ChannelView, weights: Floats, frequencies: Floats, shares: Floats | None
) -> Floats:
    """Return the mean of Cov(b, b' | x) of every pair of rows, from variances of their sums."""
    alone = np.array([_mean_noise(view, row, frequencies, shares) for row in weights])
    result = np.diag(alone)
    for i, j in combinations(range(len(weights)), 2):
        both = _mean_noise(view, weights[i] + weights[j], frequencies, shares)
        result[i, j] = result[j, i] = (both - alone[i] - alone[j]) / 2.0
    return result


def noise_line(low: Floats, high: Floats) -> tuple[Floats, Floats]:
    """Return u and v: the randomization's variance of one report is u + v p, at a probability p of success.

    `low` and `high` are the probabilities for who has a trait and who has not.
    """
    ends = low * (1.0 - low), high * (1.0 - high)
    v = (ends[1] - ends[0]) / (high - low)
    return ends[0] - v * low, v


def population_variance(p: Floats, fraction: Floats, low: Floats, high: Floats) -> Floats:
    """Return the variance of one report of which a fraction was drawn: never more than in a population without end."""
    (u, v), total_variance = noise_line(low, high), p * (1.0 - p)
    return np.asarray((1.0 - fraction) * total_variance + fraction * np.minimum(u + v * p, total_variance))


def known_shares(view: ChannelView, frequencies: Floats) -> Floats | None:
    """Return the unbiased shares; None where the channel determines only some quantities."""
    try:
        return view.shares(frequencies)
    except NotIdentifiedError:
        return None


def _mean_noise(view: ChannelView, weights: Floats, frequencies: Floats, shares: Floats | None) -> float:
    """Return the mean of Var(b | x), a linear quantity too.

    Its largest value where the channel does not determine it.
    """
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
    """Return the one frequency that carries b.f; None where several do."""
    low, high = float(weights[view.possible].min()), float(weights[view.possible].max())
    tolerance = SAME * max(abs(low), abs(high))
    upper = np.abs(weights - high) <= tolerance
    lower = np.abs(weights - low) <= tolerance
    if high - low <= 2 * tolerance or not np.all((upper | lower)[view.possible]):
        return None
    successes, trials = counts[upper & view.possible].sum(), counts.sum()
    return OneFrequency(successes.item(), trials.item(), low, high - low)


def in_population(quantity: Quantity, fraction: float, growth: float) -> Quantity:
    """Return the quantity with its finite population, whose counts are worth more already.

    How much the randomization adds follows from one frequency where people have a trait or not; else it is not known
    there, and the line says nothing of it.
    """
    line = quantity.line
    if line is not None and len(np.unique(quantity.target)) == 2:
        low, high = (line.probability(end) for end in quantity.bounds)
        line = replace(line, finite=FinitePopulation(growth, fraction, (low, high)))
    return replace(quantity, line=line, sampling_fraction=fraction, growth=growth)


def finite_population(quantity: Quantity, fraction: float) -> Quantity:
    """Return the quantity for a population of which this fraction was drawn at random without replacement.

    Its variance is (1 - f) se^2 + f se_privacy^2. Counts are scaled to the number of answers that would have this
    variance in a population without end, so that every interval method can be used; never to fewer, where by chance
    the reports vary less than their randomization alone would let them. Wilson's, the exact, the score and the
    likelihood interval take the variance at each share that they try in place of this one: near an
    edge all of it is the randomization's.
    """
    if fraction <= 0.0:
        return quantity
    extra = 0.0
    if quantity.decoy is not None:
        frequencies = quantity.counts / quantity.size
        shares = quantity.view.shares(frequencies)
        extra = quantity.decoy.slope(shares, quantity.weights) ** 2 * quantity.decoy.variance
    sampling, privacy = (max(error**2 - extra, 0.0) for error in (quantity.se, quantity.se_privacy))
    variance = (1.0 - fraction) * sampling + fraction * privacy
    if variance <= 0.0:
        return in_population(replace(quantity, se=math.sqrt(extra)), fraction, 1.0)
    growth = max(sampling / variance, 1.0)
    line = quantity.line
    if line is not None:
        line = replace(line, successes=line.successes * growth, trials=line.trials * growth)
    finite = replace(quantity, line=line, se=math.sqrt(variance + extra))
    if growth > 1.0:
        finite = replace(finite, counts=np.asarray(quantity.counts * growth, dtype=np.float64))
    return in_population(finite, fraction, growth)


def _design_effect(target: Floats, shares: Floats | None, variance: float, n: float) -> float | None:
    """Variance over that of the same n answers without randomization; None where the latter is not positive."""
    if shares is None:
        return None
    plain = float(target**2 @ shares - (target @ shares) ** 2) / (n - 1)
    if plain > 0:
        return variance / plain
    return None
