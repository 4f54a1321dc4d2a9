"""Reports with the channel that made them: what every linear quantity of one question is estimated from."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from hushpoll_analysis.channel.base import ChannelView, Floats
from hushpoll_analysis.channel.decoy import EstimatedDecoy, estimated_decoy
from hushpoll_analysis.channel.maximum_likelihood import constrained_shares, nearest_on_simplex
from hushpoll_analysis.channel.sets import SetView
from hushpoll_analysis.channel.table import TableView
from hushpoll_analysis.channel.view import analysis_channel, channel_view, sampler, set_view
from hushpoll_analysis.counts import Counts, check_population, read_counts, whole_numbers, words_of
from hushpoll_analysis.errors import AnalysisError
from hushpoll_analysis.interval.quantity import (
    OneFrequency,
    Quantity,
    finite_population,
    joint_covariance,
    known_shares,
    quantity,
)

if TYPE_CHECKING:
    from hushpoll_client import Channel
    from hushpoll_client.mechanism import Mechanism


@dataclass(frozen=True, eq=False)
class Sample(ABC):
    """Reports of one question with their channel and the design that their respondents were drawn by.

    Counts tell all that a simple random sample needs (`CountedSample`); a `DesignSample` has a row for each respondent.
    """

    view: ChannelView
    decoy: EstimatedDecoy | None = field(default=None, kw_only=True)
    """The decoy whose share was itself estimated."""

    @property
    @abstractmethod
    def n(self) -> int:
        """The number of reports."""

    @property
    @abstractmethod
    def frequencies(self) -> Floats:
        """The share of each report."""

    @cached_property
    def shares(self) -> Floats | None:
        """The unbiased shares; None where the channel leaves some open."""
        return known_shares(self.view, self.frequencies)

    @cached_property
    @abstractmethod
    def likeliest(self) -> Floats:
        """The shares, none below 0, that make these reports likeliest."""

    @abstractmethod
    def quantity(self, target: npt.ArrayLike) -> Quantity:
        """Estimate a.h."""

    @abstractmethod
    def covariance(self, targets: Floats) -> Floats:
        """Covariance of the estimates of several a.h (rows), for values that hold for all of them together."""

    @abstractmethod
    def joint_covariance(self, targets: Floats) -> Floats:
        """Covariance of the estimates of several a.h (rows); its diagonal holds the squares of standard errors."""

    @abstractmethod
    def share_covariance(self) -> Floats:
        """Covariance of the unbiased shares of all answers."""

    @abstractmethod
    def rounding_error(self, rounding: float) -> float:
        """Return the largest standard error that rounding at random to points so far apart adds to a mean."""

    def method_name(self, requested: str) -> str:
        """Return the name of the method that the interval of a quantity has."""
        return requested

    @property
    def freedom(self) -> int | None:
        """Degrees of freedom of its intervals; None means normal ones."""
        return None

    @property
    def heaviest(self) -> float:
        """How many times as much as the average respondent one respondent can weigh."""
        return 1.0


@dataclass(frozen=True, eq=False)
class CountedSample(Sample):
    """Counts of the reports of a simple random sample."""

    counts: Counts
    fraction: float = field(default=0.0, kw_only=True)
    """The fraction of a finite population that was asked; 0 for one without end."""

    @property
    def n(self) -> int:
        """The number of reports."""
        return int(self.counts.sum())

    @property
    def frequencies(self) -> Floats:
        """The share of each report."""
        return np.asarray(self.counts / self.n, dtype=np.float64)

    @cached_property
    def likeliest(self) -> Floats:
        """The shares, none below 0, that make these counts likeliest."""
        return constrained_shares(self.counts, self.view).shares

    def quantity(self, target: npt.ArrayLike) -> Quantity:
        """Estimate a.h."""
        numbers = np.asarray(target, dtype=np.float64)
        return finite_population(
            quantity(self.view, self.counts, numbers, self.shares, self.decoy), self.fraction
        )

    def covariance(self, targets: Floats) -> Floats:
        """Covariance of the estimates of several a.h (rows), at the likeliest shares.

        There every possible report has a positive probability, so that one which happened not to come still counts.
        """
        probabilities = self.view.forward(self.likeliest)
        weights = np.stack([self.view.solution(target) for target in targets])
        centred = weights - (weights @ probabilities)[:, None]
        result: Floats = (centred * probabilities) @ centred.T / self.n
        return result

    def joint_covariance(self, targets: Floats) -> Floats:
        """Covariance of the estimates of several a.h (rows), n - 1 in the denominator."""
        return joint_covariance([self.quantity(target) for target in targets], self.shares, self.fraction)

    def share_covariance(self) -> Floats:
        """Covariance of the unbiased shares of all answers, n - 1 in the denominator, in a population without end."""
        if self.decoy is not None:
            raise AnalysisError(
                "covariance: the decoy's share was estimated", "the standard error has both parts"
            )
        units = [
            quantity(self.view, self.counts, unit, self.shares, None) for unit in np.eye(self.view.options)
        ]
        return joint_covariance(units, self.shares, 0.0)

    def rounding_error(self, rounding: float) -> float:
        """Return the largest standard error of a mean of points: half a step for each report."""
        return rounding / 2.0 / math.sqrt(self.n)


@dataclass(frozen=True, eq=False)
class SetSample(CountedSample):
    """Counts of the sets without and with each option; the unbiased shares are always determined."""

    sets: SetView = field(kw_only=True)

    @property
    def n(self) -> int:
        """The number of sets."""
        return int(self.counts[:2].sum())

    def quantity(self, target: npt.ArrayLike) -> Quantity:
        """Estimate a.h, with the variance that the shares determine."""
        assert self.shares is not None
        target_values = np.asarray(target, dtype=np.float64)
        moments = self.sets.moments(target_values)
        variance = float(moments @ self.shares) - float(target_values @ self.shares) ** 2
        # No answers scatter less than the least noise. Shares below 0 can say so: by little, unless reports are few.
        least = float(np.maximum(moments - target_values**2, 0.0).min()) / 2.0
        quantity = set_quantity(
            self.sets, target_values, self.shares, max(variance, least) / (self.n - 1), self.n
        )
        return finite_population(quantity, self.fraction)

    @cached_property
    def likeliest(self) -> Floats:
        """The nearest possible shares: how often each set came, which the likeliest ones need, is not kept."""
        assert self.shares is not None
        return nearest_on_simplex(self.shares)

    def covariance(self, targets: Floats) -> Floats:
        """Covariance of the estimates of several a.h (rows), at the nearest possible shares."""
        result: Floats = self.sets.covariance(targets, self.likeliest) / self.n
        return result


def read_sample(
    counts: npt.ArrayLike | Mapping[Any, int],
    mechanism: Channel | Mechanism,
    labels: Sequence[Any] = (),
    population: float | None = None,
) -> Sample:
    """Check report counts against a mechanism."""
    sets = set_view(mechanism)
    if sets is None:
        view = channel_view(mechanism)
        report_counts = read_counts(counts, view, least=2, labels=labels, words=words_of(mechanism))
        fraction = sampled_fraction(population, int(report_counts.sum()))
        return CountedSample(view, report_counts, decoy=estimated_decoy(mechanism), fraction=fraction)
    # How many sets hold each option, or the counts that are kept.
    design = sampler(analysis_channel(mechanism))
    cells = design.from_counts(whole_numbers(counts, "counts"))
    n = design.total(cells)
    if n < 2:
        raise AnalysisError(f"counts: {n} report{'' if n == 1 else 's'}", "at least 2 are needed")
    return SetSample(sets, cells, fraction=sampled_fraction(population, n), sets=sets)


def sampled_fraction(population: float | None, n: int) -> float:
    """Return the fraction of a finite population that was asked; 0 for one without end."""
    if population is None:
        return 0.0
    return check_population(population, n)


def set_quantity(sets: SetView, target: Floats, shares: Floats, variance: float, n: float) -> Quantity:
    """Return a.h of unbiased shares with this variance.

    Every set has a b between two ends. An interval is made as if each b had been rounded to one of the ends at random
    so that its mean is right: a channel with two reports, and as many of them as have this variance. Where b has two
    values only (one option, or all but one) nothing is rounded and there are as many as reports.
    """
    low, high = sets.ends(target)
    estimate = float(target @ shares)
    view = TableView(np.stack([high - target, target - low], axis=1) / (high - low))
    upper = min(max((estimate - low) / (high - low), 0.0), 1.0)
    spread = upper * (1.0 - upper) * (high - low) ** 2
    size = n
    if variance > 0.0 and spread > 0.0:
        size = spread / variance + 1.0
    noise = np.maximum(sets.moments(target) - target**2, 0.0)
    plain = float(target**2 @ shares) - estimate**2
    return Quantity(
        view,
        np.array([1.0 - upper, upper]) * size,
        target=target,
        weights=np.array([low, high]),
        estimate=estimate,
        se=math.sqrt(variance),
        se_privacy=math.sqrt(max(float(noise @ shares), float(noise.min()) / 2.0) / n),
        bounds=(float(target.min()), float(target.max())),
        line=OneFrequency(upper * size, size, low, high - low),
        decoy=None,
        design_effect=variance * (n - 1.0) / plain if plain > 0.0 else None,
        answers=n,
    )
