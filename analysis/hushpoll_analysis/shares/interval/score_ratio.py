"""The score interval of a ratio of two linear quantities of the same reports, a.f / c.f."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
import numpy.typing as npt
from scipy.special import ndtri

from hushpoll_analysis.channel.view import Floats

from .roots import roots

__all__ = ["ratio_score_limits"]

NEAREST, FARTHEST = 1e-6, 8.0
CLOSE = 1e-12
FIRST = (0.7, 1.4)  # where the limit is mostly found, in distances of the normal one


def ratio_score_limits(
    top: Floats, bottom: Floats, frequencies: Floats, n: npt.ArrayLike, level: npt.ArrayLike
) -> tuple[Floats, Floats]:
    """Give the ratios R for which a score test does not reject (a - R c).p = 0, one ratio a row.

    This is Fieller's idea with the variance at the frequencies most likely under the ratio, as in
    `linear_score_limits`. A limit further than 8 from the estimate is not looked for: the reports say nothing.

    References
    ----------
    Fieller (1954), JRSS B 16, 175-185; Miettinen, Nurminen (1985), Statist. Med. 4, 213-226.
    """
    levels, sizes = (np.broadcast_to(np.asarray(one, dtype=np.float64), len(top)) for one in (level, n))
    whole = np.einsum("ij,ij->i", bottom, frequencies)
    best = np.einsum("ij,ij->i", top, frequencies) / whole
    reach = ndtri((1.0 - levels) / 2.0) ** 2 / sizes
    weights = top - best[:, None] * bottom
    normal = np.sqrt(reach * np.einsum("ij,ij,ij->i", weights, weights, frequencies)) / np.abs(whole)
    # Both limits in one search: twice the rows cost less than twice the calls.
    twice = [np.concatenate([one, one]) for one in (top, bottom, frequencies, reach, best, normal)]
    side = np.repeat([-1.0, 1.0], len(best))
    ends = twice[4] + side * _limit(partial(_excess, *twice[:4]), twice[4], side, twice[5])
    low, high = ends.reshape(2, -1)
    return low, high


def _limit(excess: Callable[[Floats], Floats], best: Floats, side: Floats, normal: Floats) -> Floats:
    """Walk away from the estimate until the test rejects, then search between the last two places."""
    inner, outer = (np.clip(part * normal, NEAREST, FARTHEST) for part in FIRST)
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
    """Give a number above 0 where the test rejects: (b.f)^2 > reach b^2.p at the most likely p with b.p = 0.

    Here b = a - R c, and reach is z^2/n. These are p = f / (1 + t b), of which b^2.p = b.f / t. So the test holds R
    where t is at most reach / (b.f): there b.p has passed 0, or a report that nobody sent has begun to take its share
    from the others.
    """
    weights = top - ratio[:, None] * bottom
    gap = np.einsum("ij,ij->i", weights, frequencies)
    tilt = reach / np.where(gap == 0.0, 1.0, gap)
    moved = tilt[:, None] * weights
    past = np.einsum("ij,ij->i", frequencies, moved / np.maximum(1.0 + moved, 1e-12))
    return np.asarray(np.where((gap == 0.0) | (np.min(moved, axis=1) <= -1.0), -1.0, np.maximum(past, -1.0)))
