"""Reports with the design that their respondents were drawn by: weights, strata, clusters, finite populations."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
from hushpoll_client import Channel
from hushpoll_client.mechanism import Mechanism

from hushpoll_analysis.channel.base import Floats
from hushpoll_analysis.channel.decoy import estimated_decoy
from hushpoll_analysis.channel.maximum_likelihood import constrained_shares, nearest_on_simplex
from hushpoll_analysis.channel.sets import SetView
from hushpoll_analysis.channel.view import analysis_channel, channel_view, sampler, set_view
from hushpoll_analysis.errors import AnalysisError, NotIdentifiedError
from hushpoll_analysis.interval import at_freedom, effective_quantity, quantity_method
from hushpoll_analysis.interval.quantity import Quantity
from hushpoll_analysis.sample.columns import Codes, read_column, report_codes
from hushpoll_analysis.sample.design import SampleDesign
from hushpoll_analysis.sample.design_keywords import SampleKeys
from hushpoll_analysis.sample.option_columns import part_codes
from hushpoll_analysis.sample.sample import Sample, set_quantity

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False)
class FullSample:
    """All respondents, where only a random part of them was asked."""

    design: SampleDesign
    asked: npt.NDArray[np.bool_]

    @property
    def n(self) -> int:
        """Number of respondents who were asked."""
        single = self.design.single
        if single is None:
            return int(self.asked.sum())
        return round(float(single.times[self.asked].sum()))


@dataclass(frozen=True, eq=False, kw_only=True)
class DesignSample(Sample):
    """The report of each respondent with the design that they were drawn by.

    Every quantity has the linearised standard error, and as its counts the answers with equal weights that it is worth.
    With a `level` these are made fewer by (z/t)^2, so that intervals of a simple random sample use t (Korn and Graubard
    1998).
    """

    codes: Codes
    design: SampleDesign
    rounding: float = 0.0
    """How far apart the points are that numbers were rounded to at random."""
    whole: FullSample | None = None
    """All respondents; None where all of them were asked."""
    level: float | None = None

    @property
    def n(self) -> int:
        """The number of respondents who were asked."""
        if self.whole is None:
            return self.design.n
        return self.whole.n

    @property
    def frequencies(self) -> Floats:
        """The weighted share of each report."""
        # Not a mean of dummies: a column for each report would take n x outcomes numbers.
        sums = np.bincount(self.codes, self.design.weights, self.view.outcomes)
        return np.asarray(sums / self.design.total, dtype=np.float64)

    @cached_property
    def likeliest(self) -> Floats:
        """The shares, none below 0, that make the weighted reports likeliest."""
        return constrained_shares(self.frequencies * self.n, self.view).shares

    @property
    def freedom(self) -> int:
        """Degrees of freedom of its intervals."""
        return self.design.degrees_of_freedom

    @property
    def heaviest(self) -> float:
        """How many times as much as the average respondent one respondent can weigh."""
        # People who were not asked weigh nothing, and send no report about it.
        return self.design.heaviest * self.design.positive / self.design.total

    def values(self, target: Floats) -> Floats:
        """Return b(z) of each respondent, with C b = a."""
        return self.view.solution(target)[self.codes]

    def noise(self, target: Floats) -> Floats:
        """Unbiased estimates of Var(b | truth), one a respondent; the largest where the channel determines none."""
        weights, rounded = self.view.solution(target), (self.rounding / 2.0) ** 2
        try:
            return self.view.noise_by_report(weights)[self.codes] + rounded
        except NotIdentifiedError:
            return np.full(len(self.codes), float(self.view.noise(weights).max()) + rounded)

    def variance(self, target: Floats, design: SampleDesign | None = None) -> float:
        """Linearised variance of b.f, without an estimated decoy's own part."""
        if design is None:
            design = self.design
        values = self.values(target)
        mean = float(design.mean(values[:, None])[0])
        centred = (values - mean)[:, None]

        def noise() -> Floats:
            return self.noise(target)[:, None, None]

        if self.whole is not None and design.adjusted is not None and len(values) == len(self.whole.asked):
            # All people were raked to the margins, not those who were asked.
            chosen = self.whole.asked[:, None] * (self.whole.design.total / design.total)
            design_of_all = replace(self.whole.design, fractions=design.fractions)
            variance = design_of_all.covariance(centred * chosen, lambda: noise() * chosen[:, None] ** 2)
            return max(float(variance[0, 0]), 0.0)
        return max(float(design.covariance(centred, noise)[0, 0]), 0.0)

    def privacy(self, target: Floats) -> float:
        """Variance that remains when exactly these respondents are of interest: the randomization's alone."""
        design = self.design
        return max(float(design.squared @ self.noise(target)) / design.total**2, 0.0)

    def quantity(self, target: npt.ArrayLike) -> Quantity:
        """Estimate a.h, with the linearised standard error and the counts that it is worth."""
        quantity = self._worth(np.asarray(target, dtype=np.float64))
        if self.level is None:
            return quantity
        return at_freedom(quantity, self.level, self.design.degrees_of_freedom)

    def _worth(self, target: Floats) -> Quantity:
        variance, design = self.variance(target), self.design
        kish, plain = design.effective_n, None
        if design.fractions is not None:
            plain = self.variance(target, design.without_population)
            # A finite population makes each answer worth more, whatever the weights are.
            kish *= max(plain / variance, 1.0) if variance > 0.0 else 1.0
        quantity = effective_quantity(
            self.view,
            self.frequencies,
            target,
            self.decoy,
            variance,
            kish,
            plain=plain,
            sampling_fraction=design.sampling_fraction,
        )
        drift = max(quantity.se**2 - variance, 0.0)
        return replace(quantity, se_privacy=math.sqrt(self.privacy(target) + drift))

    def method_name(self, requested: str) -> str:
        """Return the name of the method that the interval of a quantity has at the effective size."""
        return quantity_method(requested)

    def reported_share(self) -> tuple[float, float]:
        """Return the weighted share of the reports of the second kind, and its variance."""
        second = (self.codes == 1).astype(np.float64)
        mean = float(self.design.mean(second[:, None])[0])
        return mean, float(self.design.covariance((second - mean)[:, None])[0, 0])

    def total(self, quantity: Quantity) -> tuple[float, float]:
        """Return the number of people in the population, with its standard error.

        Who was not asked stands for people too: the total is N p, with N the weights of all and p from those asked. Its
        linearised value of a respondent is p, and of who was asked N / N_asked (b - p) more.
        """
        design, values, noise = self.design, self.values(quantity.target), self.noise(quantity.target)
        if self.whole is not None:
            is_asked, people = self.whole.asked, self.whole.design
            expansion = people.total / float(people.weights[is_asked].sum())
            # Rows of who was not asked are still here, or were left out.
            inside = is_asked
            if len(values) != len(is_asked):
                inside = np.ones(len(values), dtype=bool)
            centred = expansion * (values[inside] - quantity.estimate)
            values, noise_of_all = np.full(len(is_asked), quantity.estimate), np.zeros(len(is_asked))
            values[is_asked] += centred
            noise_of_all[is_asked] = expansion**2 * noise[inside]
            design, noise = people, noise_of_all
        drift = quantity.se**2 - self.variance(quantity.target)
        variance = design.total_covariance(values[:, None], lambda: noise[:, None, None])[0, 0]
        variance += drift * design.total**2
        return quantity.estimate * design.total, math.sqrt(max(float(variance), 0.0))

    def covariance(self, targets: Floats) -> Floats:
        """Linearised covariance of the estimates of several a.h (rows), in a population without end."""
        design = self.design.without_population
        values = np.stack([self.values(target) for target in targets], axis=1)
        return design.covariance(values - design.mean(values))

    def joint_covariance(self, targets: Floats) -> Floats:
        """Linearised covariance of the estimates of several a.h (rows)."""
        if self.decoy is not None or self.design.fractions is not None:
            raise AnalysisError(
                "the covariance is not estimated for a finite population or a decoy whose share was estimated",
                "use the standard errors of to_frame()",
            )
        return self.covariance(targets)

    def share_covariance(self) -> Floats:
        """Linearised covariance of the shares of all answers."""
        return self.joint_covariance(np.eye(self.view.options))

    def rounding_error(self, rounding: float) -> float:
        """Return 0: the reports know of their rounding."""
        return 0.0


@dataclass(frozen=True, eq=False, kw_only=True)
class DesignSets(DesignSample):
    """One set a respondent; `codes` has a column for each option, 1 where the set holds it."""

    sets: SetView

    @property
    def frequencies(self) -> Floats:
        """The weighted shares of sets without and with each option."""
        held = self.design.mean(self.codes.astype(np.float64))
        return np.stack([1.0 - held, held], axis=1).reshape(-1)

    @cached_property
    def likeliest(self) -> Floats:
        """The nearest possible shares."""
        return nearest_on_simplex(self.view.shares(self.frequencies))

    def values(self, target: Floats) -> Floats:
        """Return b of each respondent's set."""
        return self.sets.values(self.codes == 1, target)

    def noise(self, target: Floats) -> Floats:
        """Unbiased estimates of Var(b | truth), one a respondent."""
        noise = np.maximum(self.sets.moments(target) - target**2, 0.0)
        return self.values(noise) + (self.rounding / 2.0) ** 2

    def _worth(self, target: Floats) -> Quantity:
        design, variance = self.design, self.variance(target)
        least = variance
        if design.fractions is None:
            least = self._kish_variance(target)
        shares = self.sets.shares(self.frequencies)
        # The counts are worth no more than Kish's size, as those of other reports.
        quantity = set_quantity(self.sets, target, shares, max(variance, least), float(design.positive))
        return replace(quantity, se=math.sqrt(variance), se_privacy=math.sqrt(self.privacy(target)))

    def _kish_variance(self, target: Floats) -> float:
        """Return the variance that as many respondents with equal weights as Kish's size would have."""
        values = self.values(target)
        mean = float(self.design.mean(values[:, None])[0])
        spread = float(self.design.mean(((values - mean) ** 2)[:, None])[0])
        return spread / max(self.design.effective_n - 1.0, 1.0)


def design_sample(
    frame: pd.DataFrame,
    mechanism: Channel | Mechanism,
    name: str,
    keys: SampleKeys,
    level: float,
    rounding: float = 0.0,
) -> DesignSample:
    """Read one question's reports with their sample design."""
    design = keys.design_or_simple(frame)
    sets = set_view(mechanism)
    if sets is None:
        view = channel_view(mechanism)
        codes: Codes = report_codes(read_column(frame, name, True), view.outcomes)
        return DesignSample(
            view, codes=codes, design=design, decoy=estimated_decoy(mechanism), rounding=rounding, level=level
        )
    sampler_of = sampler(analysis_channel(mechanism))
    held = np.stack([part_codes(frame, name, marginal, sampler_of) for marginal in sampler_of.parts], axis=1)
    return DesignSets(sets, codes=held, design=design, rounding=rounding, level=level, sets=sets)
