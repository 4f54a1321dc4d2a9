"""Intervals of a weighted proportion as R's survey package makes them (`svyciprop`)."""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass

from hushpoll_client.messages import msg
from scipy import optimize, stats

from hushpoll_analysis.errors import AnalysisError

from .base import Interval, Limits
from .effective import effective_interval
from .quantity import Quantity
from .student import critical
from .under_design import DesignMethod, SampledShare
from .wald import Wald


@dataclass(frozen=True)
class ReportedShare:
    """The weighted share of reports of the second kind, with what its intervals need."""

    mean: float
    variance: float
    n: int
    tail: float
    t: float

    @classmethod
    def of(cls, share: SampledShare, level: float) -> ReportedShare:
        """Return the reported share behind a true one."""
        tail = (1.0 - level) / 2.0
        mean, variance = share.reported_share()
        return cls(mean, variance, share.n, tail, critical(level, share.degrees_of_freedom))

    @property
    def of_one(self) -> float:
        """The variance of one report."""
        return self.mean * (1.0 - self.mean)


class OnScale(DesignMethod):
    """An interval of the reported share, mapped through the randomization."""

    allows_for_heavy_weights = False

    @property
    def label(self) -> str:  # type: ignore[override]
        """The name serves as label: only callers who know it choose this method."""
        return self.name

    def check(self, question: str, outcomes: int, *, counted_decoy: bool, all_alike: bool) -> None:
        """Raise AnalysisError unless there are two possible reports, both came in, and no decoy was counted."""
        if outcomes != 2:
            raise AnalysisError(f"{self.name} needs two possible reports, {question} has {outcomes}", "use t")
        if counted_decoy:
            raise AnalysisError(
                f"{question}: its decoy share is an estimate, which {self.name} cannot take in", "use t"
            )
        if all_alike:
            raise AnalysisError(
                f"{question}: every report is the same, so the {self.name} interval does not exist",
                "use auto",
            )

    def interval(self, share: SampledShare, level: float) -> tuple[Interval, Quantity]:
        """Return the interval of the reported share, mapped to the true one."""
        base, end = share.quantity.weights[:2].tolist()
        low, high = sorted(
            base + (end - base) * limit for limit in self.of_reported(ReportedShare.of(share, level))
        )
        scaled = effective_interval(share.quantity, Wald.name, level, share.degrees_of_freedom)[1]
        return Interval(low, high, self), scaled

    @abstractmethod
    def of_reported(self, share: ReportedShare) -> Limits:
        """Return the limits of the reported share."""


class Logit(OnScale):
    """The t interval of the logit of the reported share."""

    name = "logit"
    description = msg("t intervals of the logit of the reported share, mapped through the randomization")

    def of_reported(self, share: ReportedShare) -> Limits:
        """Return the limits by the delta method on the logit."""
        centre = math.log(share.mean / (1.0 - share.mean))
        half = share.t * math.sqrt(share.variance) / share.of_one
        return 1.0 / (1.0 + math.exp(half - centre)), 1.0 / (1.0 + math.exp(-half - centre))


class ArcSine(OnScale):
    """The t interval of the arcsine root of the reported share, which has the same variance at every share."""

    name = "asin"
    description = msg(
        "t intervals of the arcsine root of the reported share, mapped through the randomization"
    )

    def of_reported(self, share: ReportedShare) -> Limits:
        """Return the limits by the delta method on the arcsine root."""
        centre = math.asin(math.sqrt(share.mean))
        half = share.t * math.sqrt(share.variance) / (2.0 * math.sqrt(share.of_one))
        return math.sin(max(centre - half, 0.0)) ** 2, math.sin(min(centre + half, math.pi / 2.0)) ** 2


class KornGraubard(OnScale):
    """Clopper and Pearson's interval at the effective size; Korn and Graubard (1998)."""

    name = "beta"
    description = msg("Korn–Graubard intervals, mapped through the randomization")

    def of_reported(self, share: ReportedShare) -> Limits:
        """Return quantiles of beta distributions."""
        normal = float(stats.t.isf(share.tail, share.n - 1))
        size = share.of_one / share.variance * (normal / share.t) ** 2
        yes, no = size * share.mean, size * (1.0 - share.mean)
        low, high = stats.beta.ppf(share.tail, yes, no + 1.0), stats.beta.isf(share.tail, yes + 1.0, no)
        return float(low), float(high)


class RaoScott(OnScale):
    """All shares whose binomial log-likelihood, at the effective size, is within t^2/2 of the largest (1984)."""

    name = "likelihood"
    description = msg(
        "likelihood-ratio intervals with the Rao–Scott correction, mapped through the randomization"
    )

    def of_reported(self, share: ReportedShare) -> Limits:
        """Return the shares where the deviance reaches t^2."""
        mean, limit = share.mean, share.t**2
        size = share.of_one / share.variance

        def excess(tried: float) -> float:
            deviance = mean * math.log(mean / tried) + (1.0 - mean) * math.log((1.0 - mean) / (1.0 - tried))
            return 2.0 * size * deviance - limit

        tiny = 1e-12
        low = 0.0
        if excess(tiny) > 0.0:
            low = float(optimize.brentq(excess, tiny, mean))
        high = 1.0
        if excess(1.0 - tiny) > 0.0:
            high = float(optimize.brentq(excess, mean, 1.0 - tiny))
        return low, high
