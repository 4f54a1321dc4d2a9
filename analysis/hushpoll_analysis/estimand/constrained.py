"""Maximum likelihood shares of one question, as an alternative to the unbiased ones."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy.typing as npt
from hushpoll_client import Channel
from scipy.stats import multinomial

from hushpoll_analysis.channel.base import Floats
from hushpoll_analysis.channel.maximum_likelihood import constrained_shares, share_frame
from hushpoll_analysis.channel.view import channel_view
from hushpoll_analysis.counts import answer_names, read_counts, words_of
from hushpoll_analysis.result import PlottedResult
from hushpoll_analysis.sample.sample import CountedSample

if TYPE_CHECKING:
    import pandas as pd
    from hushpoll_client.mechanism import Mechanism


@dataclass(frozen=True)
class ConstrainedEstimate(PlottedResult):
    """Maximum likelihood shares of one question, as an alternative to the unbiased ones.

    `log_likelihood` is the probability's logarithm, multinomial coefficient included; `kernel` is without it.
    """

    words = "likeliest share"
    plotted_column = "share"

    counts: tuple[int, ...]
    shares: Floats
    kernel: float
    log_likelihood: float
    gap: float
    converged: bool

    def to_frame(self) -> pd.DataFrame:
        """Return one row for each answer, as a pandas table."""
        return share_frame(self.shares)


def constrained_estimate(counts: npt.ArrayLike, mechanism: Channel | Mechanism) -> ConstrainedEstimate:
    """Maximum likelihood shares of one question: never negative, summing to one.

    Maximises l(h) = sum_z c_z log (C'h)_z over the simplex. Where the unbiased estimate lies inside the simplex and
    the channel is square, it is the maximum. For K-ary response the maximum has a closed form: with the set A of
    options above zero, w + (t - w) h_k is proportional to c_k on A.

    Parameters
    ----------
    counts : array_like of int
        Reports in outcome order.
    mechanism : Mechanism or Channel

    Returns
    -------
    ConstrainedEstimate

    References
    ----------
    van den Hout, van der Heijden (2002), Int. Statist. Rev. 70, 269-288.
    """
    view = channel_view(mechanism)
    observed = read_counts(counts, view, labels=answer_names(view.options), words=words_of(mechanism))
    return constrained_of(CountedSample(view, observed))


def constrained_of(sample: CountedSample) -> ConstrainedEstimate:
    """Return the maximum likelihood shares of counts that have been read."""
    best, counts = constrained_shares(sample.counts, sample.view), sample.counts
    probabilities = sample.view.forward(best.shares)
    value = float(multinomial.logpmf(counts, sample.n, probabilities / probabilities.sum()))
    return ConstrainedEstimate(
        tuple(counts.tolist()), best.shares, best.log_likelihood, value, best.gap, best.converged
    )
