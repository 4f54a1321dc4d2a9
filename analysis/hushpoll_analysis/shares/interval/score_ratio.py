"""The score interval of a ratio of two linear quantities of the same reports, a.f / c.f."""

from __future__ import annotations

from functools import partial

import numpy as np
import numpy.typing as npt
from scipy.special import ndtri

from hushpoll_analysis.channel.view import Floats

__all__ = ["ratio_score_limits"]

NEAREST, DOUBLINGS = 1.0 / 64.0, 9  # the first step away from the estimate; the last one is 8
HALVINGS = 40


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
    best = np.einsum("ij,ij->i", top, frequencies) / np.einsum("ij,ij->i", bottom, frequencies)
    held = partial(_held, top, bottom, frequencies, ndtri((1.0 - levels) / 2.0) ** 2 / sizes)
    low, high = (best + side * _reach(held, best, side) for side in (-1.0, 1.0))
    return low, high


def _reach(held: partial[npt.NDArray[np.bool_]], best: Floats, side: float) -> Floats:
    """Walk away from the estimate until the test rejects, then halve."""
    inner, outer = np.zeros(len(best)), np.full(len(best), NEAREST)
    for _ in range(DOUBLINGS):
        within = held(best + side * outer)
        if not np.any(within):
            break
        inner, outer = np.where(within, outer, inner), np.where(within, 2.0 * outer, outer)
    far = NEAREST * 2.0**DOUBLINGS
    inner, outer = np.minimum(inner, far), np.minimum(outer, far)
    for _ in range(HALVINGS):
        middle = (inner + outer) / 2.0
        within = held(best + side * middle)
        inner, outer = np.where(within, middle, inner), np.where(within, outer, middle)
    return np.asarray(outer, dtype=np.float64)


def _held(
    top: Floats, bottom: Floats, frequencies: Floats, reach: Floats, ratio: Floats
) -> npt.NDArray[np.bool_]:
    """Say whether (b.f)^2 <= reach b^2.p at the most likely p with b.p = 0, where b = a - R c and reach is z^2/n.

    These are p = f / (1 + t b), of which b^2.p = b.f / t. So the test holds R where t is at most reach / (b.f): there
    b.p has passed 0, or a report that nobody sent has begun to take its share from the others.
    """
    weights = top - ratio[:, None] * bottom
    gap = np.einsum("ij,ij->i", weights, frequencies)
    tilt = reach / np.where(gap == 0.0, 1.0, gap)
    moved = tilt[:, None] * weights
    least = np.min(moved, axis=1)
    past = np.einsum("ij,ij->i", frequencies, moved / np.maximum(1.0 + moved, 1e-300))
    return np.asarray((gap == 0.0) | (least <= -1.0) | (past <= 0.0))
