"""The score interval of a ratio of two linear quantities of the same reports, a.f / c.f."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
import numpy.typing as npt
from scipy.special import ndtri

from hushpoll_analysis.channel.base import Floats

from .roots import roots

NEAREST, FARTHEST = 1e-6, 8.0
CLOSE, TILT_CLOSE = 1e-12, 1e-10
FIRST = (0.7, 1.4)  # where the limit is mostly found, in distances of the normal one


@dataclass(frozen=True, eq=False)
class RatioDrawn:
    """The fraction drawn of a finite population, and what the randomization adds to a report; one row a ratio.

    `noise` are Var(a), Cov(a, c) and Var(c) given the truth, estimated by report, and `truths` the same of each true
    answer (three rows of each).
    """

    fraction: Floats
    noise: Floats
    truths: Floats

    def twice(self) -> RatioDrawn:
        """Return every row twice."""
        return RatioDrawn(
            *(np.concatenate([values, values]) for values in (self.fraction, self.noise, self.truths))
        )

    def variance(self, ratio: Floats, shares: Floats, spread: Floats) -> Floats:
        """Return the variance of a report's a - R c, which without end is `spread`; the noise is one that can be."""
        signs = np.stack([np.ones_like(ratio), -2.0 * ratio, ratio**2], axis=1)
        noise = np.einsum("ik,ikj,ij->i", signs, self.noise, shares)
        least = np.maximum(np.einsum("ik,ikj->ij", signs, self.truths).min(axis=1), 0.0)
        noise = np.maximum(np.minimum(noise, spread), least)
        return np.asarray((1.0 - self.fraction) * spread + self.fraction * noise)


def ratio_score_limits(
    top: Floats,
    bottom: Floats,
    frequencies: Floats,
    n: npt.ArrayLike,
    level: npt.ArrayLike,
    population: RatioDrawn | None = None,
) -> tuple[Floats, Floats]:
    """Return the ratios R for which a score test does not reject (a - R c).p = 0, one ratio a row.

    This is Fieller's idea with the variance at the frequencies most likely under the ratio, as in
    `linear_score_limits`. A limit further than 8 from the estimate is not looked for: the reports say nothing.

    References
    ----------
    Fieller (1954), JRSS B 16, 175-185; Miettinen, Nurminen (1985), Statist. Med. 4, 213-226.
    """
    levels, sizes = (np.broadcast_to(np.asarray(value, dtype=np.float64), len(top)) for value in (level, n))
    denominator = np.einsum("ij,ij->i", bottom, frequencies)
    best = np.einsum("ij,ij->i", top, frequencies) / denominator
    reach = ndtri((1.0 - levels) / 2.0) ** 2 / sizes
    weights = top - best[:, None] * bottom
    normal = np.sqrt(reach * np.einsum("ij,ij,ij->i", weights, weights, frequencies)) / np.abs(denominator)
    # Both limits in one search: twice the rows cost less than twice the calls.
    twice = [np.concatenate([values, values]) for values in (top, bottom, frequencies, reach, best, normal)]
    side = np.repeat([-1.0, 1.0], len(best))
    test = _excess
    if population is not None:
        test = partial(_excess_of_population, population.twice())
    ends = twice[4] + side * _limit(partial(test, *twice[:4]), twice[4], side, twice[5])
    low, high = ends.reshape(2, -1)
    return low, high


def _limit(excess: Callable[[Floats], Floats], best: Floats, side: Floats, normal: Floats) -> Floats:
    """Walk away from the estimate until the test rejects, then search between the last two places."""
    inner, outer = (np.clip(step * normal, NEAREST, FARTHEST) for step in FIRST)
    inner = np.where(excess(best + side * inner) > 0.0, 0.0, inner)
    while True:
        within = excess(best + side * outer) <= 0.0
        if not np.any(within & (outer < FARTHEST)):
            break
        inner = np.where(within, outer, inner)
        outer = np.where(within, np.minimum(2.0 * outer, FARTHEST), outer)

    def test(at: Floats) -> Floats:
        # The estimate itself is never rejected, and what is not rejected at the farthest place is not searched.
        return np.where(at > 0.0, np.where(within, at - FARTHEST, excess(best + side * at)), -1.0)

    return np.asarray(roots(test, inner, outer, CLOSE))


def _excess(top: Floats, bottom: Floats, frequencies: Floats, reach: Floats, ratio: Floats) -> Floats:
    """Return a number above 0 where the test rejects: (b.f)^2 > reach b^2.p at the most likely p with b.p = 0.

    Here b = a - R c, and reach is z^2/n. These are p = f / (1 + t b), of which b^2.p = b.f / t. So the test holds R
    where t is at most reach / (b.f): there b.p has passed 0, or a report that did not come has begun to take its share
    from the others.
    """
    weights = top - ratio[:, None] * bottom
    gap = np.einsum("ij,ij->i", weights, frequencies)
    tilt = reach / np.where(gap == 0.0, 1.0, gap)
    moved = tilt[:, None] * weights
    past = np.einsum("ij,ij->i", frequencies, moved / np.maximum(1.0 + moved, 1e-12))
    return np.asarray(np.where((gap == 0.0) | (np.min(moved, axis=1) <= -1.0), -1.0, np.maximum(past, -1.0)))


def _excess_of_population(
    population: RatioDrawn, top: Floats, bottom: Floats, frequencies: Floats, reach: Floats, ratio: Floats
) -> Floats:
    """Return the same in a finite population: (b.f)^2 - reach V, with V at the most likely p."""
    weights = top - ratio[:, None] * bottom
    gap = np.einsum("ij,ij->i", weights, frequencies)
    weights = np.where(gap >= 0.0, 1.0, -1.0)[:, None] * weights
    lowest = -np.min(weights, axis=1)
    # Where no report pulls the other way, no shares have this ratio.
    possible = lowest > 0.0
    most = 1.0 / np.where(possible, lowest, 1.0)

    def pull(fraction: Floats) -> Floats:
        tilted = 1.0 + (fraction * most)[:, None] * weights
        return np.asarray(np.einsum("ij,ij->i", frequencies, weights / np.maximum(tilted, 1e-12)))

    ends = np.zeros(len(gap)), np.full(len(gap), 1.0 - 1e-9)
    inside = pull(ends[1]) < 0.0
    fraction = roots(lambda at: np.where(inside, pull(at), 0.5 - at), *ends, TILT_CLOSE)
    fraction = np.where(inside, fraction, 1.0)
    shares = frequencies / np.maximum(1.0 + (fraction * most)[:, None] * weights, 1e-12)
    # A report that nobody sent takes its share from the others.
    rest = np.where(inside, 0.0, np.maximum(1.0 - shares.sum(axis=1), 0.0))
    shares[np.arange(len(shares)), np.argmin(weights, axis=1)] += rest
    spread = np.einsum("ij,ij,ij->i", weights, weights, shares)
    excess = gap**2 - reach * population.variance(ratio, shares, spread)
    return np.asarray(np.where(possible, excess, 1.0))
