"""Report counts with the channel that made them: what every linear quantity of one question is estimated from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from hushpoll_analysis.channel.decoy import EstimatedDecoy, estimated_decoy
from hushpoll_analysis.channel.view import ChannelView, Floats, channel_view
from hushpoll_analysis.data.counts import Counts, read_counts
from hushpoll_analysis.errors import NotIdentifiedError

from .constrained import constrained_shares
from .quantities import Quantity, quantity

if TYPE_CHECKING:
    from hushpoll_client import Channel
    from hushpoll_client.mechanism import Mechanism

__all__ = ["Sample", "read_sample"]


@dataclass(frozen=True, eq=False)
class Sample:
    """Checked counts and their channel; `shares` are the unbiased ones, None where the channel leaves some open."""

    view: ChannelView
    counts: Counts
    shares: Floats | None
    decoy: EstimatedDecoy | None = None

    @property
    def n(self) -> int:
        """The number of reports."""
        return int(self.counts.sum())

    def quantity(self, target: npt.ArrayLike) -> Quantity:
        """Estimate a.h."""
        return quantity(self.view, self.counts, np.asarray(target, dtype=np.float64), self.shares, self.decoy)

    @cached_property
    def likeliest(self) -> Floats:
        """The shares, none below 0, that make these counts likeliest."""
        return constrained_shares(self.counts, self.view).shares

    def covariance(self, targets: Floats) -> Floats:
        """Covariance of the estimates of several a.h (rows), at the likeliest shares.

        There every possible report has a positive probability, so that one which nobody happened to send still counts.
        """
        probabilities = self.view.forward(self.likeliest)
        weights = np.stack([self.view.solution(target) for target in targets])
        centred = weights - (weights @ probabilities)[:, None]
        result: Floats = (centred * probabilities) @ centred.T / self.n
        return result


def read_sample(
    counts: npt.ArrayLike | Mapping[Any, int], mechanism: Channel | Mechanism, labels: Sequence[Any] = ()
) -> Sample:
    """Check report counts against a mechanism."""
    view = channel_view(mechanism)
    whole = read_counts(counts, view, least=2, labels=labels)
    shares: Floats | None
    try:
        shares = view.shares(whole / whole.sum())
    except NotIdentifiedError:
        shares = None
    return Sample(view, whole, shares, estimated_decoy(mechanism))
