"""The door to the forms: the view that inverts a channel, and the sampler that draws from it."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
from hushpoll_client import Channel, Mechanism
from hushpoll_client.channel import SCALE

from hushpoll_analysis.errors import AnalysisError

from .base import ChannelView, Floats, Sampler
from .krr import KarySampler, KaryView
from .padded import PaddedSampler
from .sampled import SampledSampler
from .sets import SetView
from .subset import SubsetSampler
from .table import TableSampler, TableView

# Where a form has no view of its own its whole table is inverted.
_VIEWS: dict[str, Any] = {"krr": KaryView}
# Where a report is a set that may hold the one answer.
_SETS: dict[str, Any] = {"subset": SetView}
_SAMPLERS: dict[str, Any] = {
    "krr": KarySampler,
    "matrix": TableSampler,
    "columns": TableSampler,
    "subset": SubsetSampler,
    "sampled": SampledSampler,
    "padded": PaddedSampler,
}


SMALL = 100  # numbers in a table that is kept once inverted


def analysis_channel(mechanism: Channel | Mechanism) -> Channel:
    """Return the channel that the analysis inverts: rows are true answers to the sensitive question."""
    if isinstance(mechanism, Channel):
        return mechanism
    channel = getattr(mechanism, "analysis", None)
    if not isinstance(channel, Channel):
        raise AnalysisError(
            f"expected a mechanism or a channel, got {type(mechanism).__name__}",
            "make one with hushpoll_client.mechanisms",
        )
    return channel


def channel_view(mechanism: Channel | Mechanism) -> ChannelView:
    """Return the numpy view of the channel that the analysis inverts.

    Parameters
    ----------
    mechanism : Mechanism or Channel
        A mechanism gives its analysis channel; Kuk's with several draws gets the count-linear solution, and one from
        `least_variance_at` the solution with the least variance at its shares.

    Returns
    -------
    ChannelView
    """
    channel = analysis_channel(mechanism)
    if not channel.listed:
        raise AnalysisError(
            "one report of this channel speaks of several options at once, so it is not inverted as a whole",
            "take one option at a time: `question[option]` in tables and models, `estimate` for all shares",
        )
    if channel.form in _VIEWS:
        view: ChannelView = _VIEWS[channel.form](channel)
        return view
    planning_shares = getattr(mechanism, "planning_shares", None)
    if planning_shares is not None:
        return TableView(_table(channel), planning_shares=planning_shares)
    if getattr(mechanism, "count_linear", False) and channel.outcomes > channel.options:
        number = np.arange(channel.outcomes, dtype=np.float64)
        return TableView(_table(channel), basis=np.stack([np.ones_like(number), number], axis=1))
    if channel.options * channel.outcomes <= SMALL:
        return _small_view(channel)
    return TableView(_table(channel))


def _table(channel: Channel) -> Floats:
    return np.array(channel.rows, dtype=np.float64) / SCALE


@lru_cache(maxsize=256)
def _small_view(channel: Channel) -> ChannelView:
    """Invert a small table once: all options of a long list have the same."""
    return TableView(_table(channel))


def set_view(mechanism: Channel | Mechanism) -> SetView | None:
    """Return the view of reports that are sets which may hold the one answer; None where reports are something else."""
    channel = analysis_channel(mechanism)
    view: SetView | None
    view = None
    if channel.form in _SETS:
        view = _SETS[channel.form](channel)
    return view


@lru_cache(maxsize=256)
def sampler(channel: Channel) -> Sampler:
    """Return what draws and counts whole arrays of a channel's reports."""
    instance: Sampler = _SAMPLERS[channel.form](channel)
    return instance
