"""A decoy share that was itself estimated, from m answers of another poll.

With a decoy the channel is C(q) = (1 - q) C0 + q C1, linear in the decoy's share q: C0 and C1 are what the device does
when the decoy's answer is No and Yes. Treating an estimated q as known makes intervals too short.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from hushpoll_client import Channel
from hushpoll_client.channel import SCALE
from scipy.optimize import brentq

from .base import Floats
from .maximum_likelihood import kernel

if TYPE_CHECKING:
    from hushpoll_client.mechanism import Mechanism


@dataclass(frozen=True, eq=False)
class EstimatedDecoy:
    """A decoy's share known from `yes` of `of` answers; `without` and `within` are the channels at q = 0 and q = 1."""

    yes: int
    of: int
    without: Floats
    within: Floats

    @property
    def share(self) -> float:
        """The estimated share q."""
        return self.yes / self.of

    @property
    def variance(self) -> float:
        """q (1 - q) / m, as in the delta formula of the OR-poll."""
        return self.share * (1 - self.share) / self.of

    def slope(self, shares: Floats, weights: Floats) -> float:
        """d(b.f)/dq. C b = a for every q gives C db = -(C1 - C0) b dq, hence db.f = -h.((C1 - C0) b) dq."""
        return -float(shares @ ((self.within - self.without) @ weights))

    def table(self, share: float) -> Floats:
        """Return the channel at a given decoy share."""
        result: Floats = (1 - share) * self.without + share * self.within
        return result

    def profile(self, counts: Floats, shares: Floats) -> float:
        """Largest log-likelihood of both polls over q, for given true shares.

        Each term is the logarithm of something linear in q, so the sum is concave and its slope falls in q.
        """
        none, full = shares @ self.without, shares @ self.within
        tallies = np.append(counts, [self.yes, self.of - self.yes]).astype(np.float64)
        at_none, at_full = np.append(none, [0.0, 1.0]), np.append(full, [1.0, 0.0])
        seen = tallies > 0
        if np.any(np.maximum(at_none, at_full)[seen] <= 0):
            return -np.inf

        def slope(q: float) -> float:
            values = at_none + q * (at_full - at_none)
            return float(np.sum(tallies[seen] * (at_full - at_none)[seen] / values[seen]))

        low, high = 1e-12, 1 - 1e-12
        if slope(low) <= 0:
            best = low
        elif slope(high) >= 0:
            best = high
        else:
            best = float(brentq(slope, low, high, xtol=1e-14))
        return kernel(tallies, at_none + best * (at_full - at_none))

    def redraw(self, frequencies: Floats, weights: Floats, rng: np.random.Generator) -> Floats:
        """Estimates of a.h for resampled frequencies (rows), each with a resampled decoy share.

        Decoy designs are two by two: h = (f - C[0])/(C[1] - C[0]) on the Yes column, and a = C b is linear in h.
        """
        target = self.table(self.share) @ weights
        q = rng.binomial(self.of, self.share, size=len(frequencies)) / self.of
        low = self.without[0, 1] + q * (self.within[0, 1] - self.without[0, 1])
        high = self.without[1, 1] + q * (self.within[1, 1] - self.without[1, 1])
        with np.errstate(divide="ignore", invalid="ignore"):
            share = (frequencies[:, 1] - low) / (high - low)
        result: Floats = target[0] + (target[1] - target[0]) * share
        return result


def estimated_decoy(mechanism: Channel | Mechanism) -> EstimatedDecoy | None:
    """Return the estimated decoy of a mechanism; None when it has no decoy or its share is known."""
    if isinstance(mechanism, Channel) or mechanism.decoy_counts is None:
        return None
    without, within = (np.array(mechanism.given_decoy(decoy), dtype=np.float64) / SCALE for decoy in (0, 1))
    return EstimatedDecoy(*mechanism.decoy_counts, without, within)
