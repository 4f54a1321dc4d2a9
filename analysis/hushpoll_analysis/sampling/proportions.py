"""Intervals of a weighted proportion as R's survey package makes them (`svyciprop`)."""

from __future__ import annotations

import math

from scipy import optimize, stats

from .design import SampleDesign

__all__ = ["SCALES", "reported_interval"]

SCALES = ("logit", "asin", "beta", "likelihood")


def reported_interval(
    mean: float, variance: float, design: SampleDesign, level: float, interval: str
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
    """Give all shares whose binomial log-likelihood, at the effective size, is within t^2/2 of the largest."""

    def excess(share: float) -> float:
        deviance = mean * math.log(mean / share) + (1.0 - mean) * math.log((1.0 - mean) / (1.0 - share))
        return 2.0 * size * deviance - t * t

    tiny = 1e-12
    low = float(optimize.brentq(excess, tiny, mean)) if excess(tiny) > 0.0 else 0.0
    high = float(optimize.brentq(excess, mean, 1.0 - tiny)) if excess(1.0 - tiny) > 0.0 else 1.0
    return low, high
