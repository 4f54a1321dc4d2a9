"""Shares of one question from a weighted, stratified or clustered sample."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from scipy import optimize, stats

from hushpoll_analysis.channel.view import Floats
from hushpoll_analysis.data.columns import Mechanisms, Variable, read_variable
from hushpoll_analysis.errors import AnalysisError

from .weights import Column, Margins, SurveyDesign, read_design

__all__ = ["WEIGHTED_INTERVALS", "WeightedEstimate", "WeightedShare", "weighted_estimate"]

WEIGHTED_INTERVALS = ("t", "logit", "asin", "beta", "likelihood")


@dataclass(frozen=True)
class WeightedShare:
    """Share and population total of one answer; `low` and `high` are unclipped."""

    option: Any
    estimate: float
    se: float
    low: float
    high: float
    total: float
    total_se: float
    design_effect: float


@dataclass(frozen=True)
class WeightedEstimate:
    """Shares of all answers of one question under a sample design.

    `effective_n` is Kish's; `design_effect` of a share compares its variance with that of as many respondents drawn
    with replacement and equal weights.
    """

    name: str
    n: int
    effective_n: float
    degrees_of_freedom: int
    level: float
    interval: str
    shares: tuple[WeightedShare, ...]

    def to_frame(self) -> pd.DataFrame:
        """Give one row for each answer."""
        return pd.DataFrame([vars(share) for share in self.shares]).set_index("option")

    def _repr_html_(self) -> str:
        return self.to_frame().to_html(float_format=lambda value: f"{value:.4f}")


def weighted_estimate(
    reports: pd.DataFrame,
    mechanisms: Mechanisms,
    name: str,
    *,
    weights: Column = None,
    strata: Column = None,
    clusters: Column = None,
    margins: Margins | None = None,
    level: float = 0.95,
    interval: str = "t",
) -> WeightedEstimate:
    """Estimate the shares of one question from a sample with weights, strata or clusters.

    Parameters
    ----------
    reports, mechanisms, weights, strata, clusters, margins
        As in `crosstab`.
    name
        The question.
    interval
        "t" (default) on the share itself; or, where there are two reports, an interval of the reported share mapped
        through the line: "logit", "asin", "beta" (Korn and Graubard 1998) or "likelihood" (Rao and Scott 1984).

    References
    ----------
    Binder, "On the variances of asymptotically normal estimators from complex surveys", Int. Stat. Rev. 51 (1983).
    """
    if interval not in WEIGHTED_INTERVALS:
        raise AnalysisError(f"interval {interval!r} is not one of {', '.join(WEIGHTED_INTERVALS)}")
    if not 0.0 < level < 1.0:
        raise AnalysisError(f"level is {level:g}; give a proportion between 0 and 1, such as 0.95")
    if len(reports) < 2:
        raise AnalysisError(f"a standard error needs at least 2 respondents, got {len(reports)}")
    variable, codes = read_variable(reports, name, mechanisms)
    design = read_design(reports, weights, strata, clusters, margins)
    if design is None:
        design = SurveyDesign(np.ones(len(reports)), np.zeros_like(codes), np.arange(len(reports)))
    if interval != "t" and variable.view.outcomes != 2:
        raise AnalysisError(
            f"{interval} needs two possible reports, {name} has {variable.view.outcomes}; use t"
        )
    if interval != "t" and variable.decoy is not None:
        raise AnalysisError(f"{name}: its decoy share is an estimate, which {interval} cannot take in; use t")
    reported = np.eye(variable.view.outcomes)[codes]
    shares = []
    for k, (option, row) in enumerate(zip(variable.labels, variable.weights, strict=True)):
        drift = 0.0
        if variable.decoy is not None:
            # An estimated decoy share moves the estimate by its slope (delta method).
            slope = float(design.mean(variable.decoy.slope[k][codes][:, None])[0])
            drift = slope**2 * variable.decoy.variance
        shares.append(_share(option, row[codes], design, level, drift))
    if interval != "t":
        shares = _through_the_line(shares, variable, reported[:, 1], design, level, interval)
    return WeightedEstimate(
        name, len(reports), design.effective_n, design.degrees_of_freedom, level, interval, tuple(shares)
    )


def _share(option: object, values: Floats, design: SurveyDesign, level: float, drift: float) -> WeightedShare:
    mean = float(design.mean(values[:, None])[0])
    se = math.sqrt(design.covariance((values - mean)[:, None])[0, 0] + drift)
    half = float(stats.t.isf((1.0 - level) / 2.0, design.degrees_of_freedom)) * se
    spread = float(design.mean(((values - mean) ** 2)[:, None])[0]) * design.n / (design.n - 1)
    return WeightedShare(
        option=option,
        estimate=mean,
        se=se,
        low=mean - half,
        high=mean + half,
        total=mean * design.total,
        total_se=math.sqrt(design.total_covariance(values[:, None])[0, 0] + drift * design.total**2),
        design_effect=se**2 * design.n / spread if spread > 0.0 else math.nan,
    )


def _through_the_line(
    shares: list[WeightedShare],
    variable: Variable,
    reported: Floats,
    design: SurveyDesign,
    level: float,
    interval: str,
) -> list[WeightedShare]:
    """Replace the intervals by one of the reported share of code 1, mapped through each answer's line."""
    mean = float(design.mean(reported[:, None])[0])
    variance = float(design.covariance((reported - mean)[:, None])[0, 0])
    if not 0.0 < mean < 1.0:
        raise AnalysisError(
            f"{variable.name}: every report is the same, so the {interval} interval does not exist; use t or estimate"
        )
    ends = np.array(reported_interval(mean, variance, design, level, interval))
    result = []
    for share, row in zip(shares, variable.weights, strict=True):
        low, high = sorted(float(end) for end in row[0] + (row[1] - row[0]) * ends)
        result.append(WeightedShare(**{**vars(share), "low": low, "high": high}))
    return result


def reported_interval(
    mean: float, variance: float, design: SurveyDesign, level: float, interval: str
) -> tuple[float, float]:
    """Interval of a weighted proportion: t on the scale named, or from the binomial with an effective size."""
    t = float(stats.t.isf((1.0 - level) / 2.0, design.degrees_of_freedom))
    error, unit = math.sqrt(variance), mean * (1.0 - mean)
    if interval == "logit":
        centre, half = math.log(mean / (1.0 - mean)), t * error / unit
        return 1.0 / (1.0 + math.exp(half - centre)), 1.0 / (1.0 + math.exp(-half - centre))
    if interval == "asin":
        centre, half = math.asin(math.sqrt(mean)), t * error / (2.0 * math.sqrt(unit))
        return math.sin(max(centre - half, 0.0)) ** 2, math.sin(min(centre + half, math.pi / 2.0)) ** 2
    if interval == "beta":
        normal = float(stats.t.isf((1.0 - level) / 2.0, design.n - 1))
        size = unit / variance * (normal / t) ** 2
        yes, no, tail = size * mean, size * (1.0 - mean), (1.0 - level) / 2.0
        return float(stats.beta.ppf(tail, yes, no + 1.0)), float(stats.beta.isf(tail, yes + 1.0, no))
    return _likelihood_interval(mean, unit / variance, t)


def _likelihood_interval(mean: float, size: float, t: float) -> tuple[float, float]:
    """All shares whose binomial log-likelihood, at the effective size, is within t^2/2 of the largest."""

    def excess(share: float) -> float:
        deviance = mean * math.log(mean / share) + (1.0 - mean) * math.log((1.0 - mean) / (1.0 - share))
        return 2.0 * size * deviance - t * t

    tiny = 1e-12
    low = float(optimize.brentq(excess, tiny, mean)) if excess(tiny) > 0.0 else 0.0
    high = float(optimize.brentq(excess, mean, 1.0 - tiny)) if excess(1.0 - tiny) > 0.0 else 1.0
    return low, high
