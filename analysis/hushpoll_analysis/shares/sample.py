"""Report counts with the channel that made them: what every linear quantity of one question is estimated from."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from hushpoll_analysis.channel.decoy import EstimatedDecoy, estimated_decoy
from hushpoll_analysis.channel.view import ChannelView, Floats, channel_view
from hushpoll_analysis.data.counts import Counts, check_population, read_counts
from hushpoll_analysis.errors import NotIdentifiedError

from .constrained import constrained_shares
from .finite import finite_population
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
    fraction: float = 0.0
    """The fraction of a finite population that was asked; 0 for one without end."""

    @property
    def n(self) -> int:
        """The number of reports."""
        return int(self.counts.sum())

    def quantity(self, target: npt.ArrayLike) -> Quantity:
        """Estimate a.h."""
        numbers = np.asarray(target, dtype=np.float64)
        return finite_population(
            quantity(self.view, self.counts, numbers, self.shares, self.decoy), self.fraction
        )

    def rounding_error(self, rounding: float) -> float:
        """Give the largest standard error that rounding at random to points so far apart adds to a mean."""
        return rounding / 2.0 / math.sqrt(self.n)

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
    counts: npt.ArrayLike | Mapping[Any, int],
    mechanism: Channel | Mechanism,
    labels: Sequence[Any] = (),
    population: float | None = None,
) -> Sample:
    """Check report counts against a mechanism."""
    view = channel_view(mechanism)
    whole = read_counts(counts, view, least=2, labels=labels)
    shares: Floats | None
    try:
        shares = view.shares(whole / whole.sum())
    except NotIdentifiedError:
        shares = None
    fraction = 0.0 if population is None else check_population(population, int(whole.sum()))
    return Sample(view, whole, shares, estimated_decoy(mechanism), fraction)
