"""Estimates that vary least at expected shares, where a channel leaves several unbiased ones to choose from."""

from __future__ import annotations

from dataclasses import replace

import numpy.typing as npt
from hushpoll_client import Mechanism

from hushpoll_analysis.channel.view import analysis_channel
from hushpoll_analysis.errors import AnalysisError

from .optimal.problem import planned_truth


def least_variance_at(mechanism: Mechanism, shares: npt.ArrayLike) -> Mechanism:
    """Return the mechanism with the unbiased estimates that vary least where these are the true shares.

    A channel with more reports than answers has several unbiased estimates of the same share. The usual one varies
    least if all answers are equally frequent. Use this function where you expect other shares: those that a channel was
    designed for, or those of an earlier wave. The device, its channel and its epsilon do not change.

    Parameters
    ----------
    mechanism : Mechanism
        What randomized the answers, such as `survey["mood"].mechanism`. A channel with as many reports as answers has
        one estimate only, which stays.
    shares : array_like
        The expected share of each answer, in their order. Wrong shares cost precision, not correctness: estimates are
        unbiased whatever the truth is. Do not take the shares from the reports that you then estimate from: that adds a
        bias of order 1/n.

    Returns
    -------
    Mechanism
        For `estimate`, `functional`, `cumulative`, `mean`, `crosstab`, `weighted_estimate` and `plan`.

    Raises
    ------
    AnalysisError
        If the shares are not one number for each answer with the sum 1, or if reports are sets of options, which have
        one estimate for each option.

    Examples
    --------
    >>> from hushpoll_analysis import design, least_variance_at
    >>> from hushpoll_client.mechanism import designed
    >>> expected = [0.6, 0.2, 0.1, 0.05, 0.05]
    >>> channel = design(options=5, epsilon=1, target="cumulative", shares=expected).channel
    >>> mechanism = least_variance_at(designed(channel, 1), expected)
    """
    if not isinstance(mechanism, Mechanism):
        raise AnalysisError(
            f"expected a mechanism, got {type(mechanism).__name__}",
            "make one with hushpoll_client.mechanisms",
        )
    channel = analysis_channel(mechanism)
    if not channel.listed:
        raise AnalysisError(
            "a report of this mechanism is a set of options, which has one estimate for each option",
            "use the mechanism as it is",
        )
    return replace(mechanism, planning_shares=tuple(planned_truth(shares, channel.options).tolist()))
