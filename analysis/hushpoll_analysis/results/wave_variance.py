"""How the variance of an estimated share moves with the share itself."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from hushpoll_analysis.channel.base import ChannelView, Floats
from hushpoll_analysis.channel.view import channel_view, sampler
from hushpoll_analysis.estimand.option_shares import PartsEstimate
from hushpoll_analysis.estimand.share_estimates import ShareEstimates

LEAST = 1e-6
"""The variance of one report that is taken at the least: direct answers have none at a share of 0 or 1."""


def share_variance(result: Any, positions: Sequence[int], variance: float) -> Callable[[float], float] | None:
    """Return the variance of the share of some answers together as a function of the true share.

    The mean square of one report's weight is linear in the share while the answers keep their proportions among those
    counted and among the others: V(h) = (h M_counted + (1 - h) M_others - h^2) / m. The number m of equal reports is
    the one at which the estimated share has its estimated variance, so that weights, clusters and finite populations
    are in it. None where the channel is not known.
    """
    view, shares, counted = _channel(result, positions)
    if view is None:
        return None
    target = np.zeros(view.options)
    target[counted] = 1.0
    squares = view.backward(view.solution(target) ** 2)
    inside, outside = (_mean(squares, shares, target == side) for side in (1.0, 0.0))

    def unit(share: float) -> float:
        return share * inside + (1.0 - share) * outside - share**2

    # Of an estimate outside 0 to 1 the same line holds, as long as it stays positive.
    there = unit(float(target @ shares))
    if there > LEAST and variance > 0.0:
        size = there / variance
    else:
        size = float(result.n)
    return lambda share: max(unit(min(max(share, 0.0), 1.0)), LEAST) / size


def _mean(squares: Floats, shares: Floats, chosen: npt.NDArray[np.bool_]) -> float:
    weights = np.clip(shares[chosen], 0.0, None)
    return float(np.average(squares[chosen], weights=weights if weights.sum() > 0.0 else None))


def _channel(result: Any, positions: Sequence[int]) -> tuple[ChannelView | None, Floats, list[int]]:
    """Return the channel's view, the unbiased shares of its answers, and which of them are followed."""
    if isinstance(result, PartsEstimate):
        if len(positions) > 1:
            return None, np.zeros(0), []
        share = result.estimates[positions[0]].estimate
        marginal = sampler(result.channel).parts[positions[0]]
        return channel_view(marginal.channel), np.array([1.0 - share, share]), [1]
    view, shares = getattr(result, "view", None), getattr(result, "shares", None)
    if shares is not None and not isinstance(result, ShareEstimates):
        shares = np.array([share.estimate for share in shares])
    if view is None or shares is None:
        return None, np.zeros(0), []
    return view, np.asarray(shares, dtype=np.float64), list(positions)
