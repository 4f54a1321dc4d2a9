"""K-ary response, worked in O(K): no K x K table is made."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from hushpoll_client.channel import SCALE
from hushpoll_client.channel.krr import KaryChannel
from hushpoll_client.messages import msg

from hushpoll_analysis.errors import NotIdentifiedError

from .base import Answers, ChannelView, Codes, Draws, Floats, OneDraw, Rule, read_target


class KaryView(ChannelView):
    """K-ary response: truth t on the diagonal, w elsewhere. C b = a gives b = (a - w sum(a)) / (t - w)."""

    def __init__(self, channel: KaryChannel) -> None:
        self.options = self.outcomes = channel.options
        self.choice = "unique"
        self.other = channel.weight / SCALE
        self.truth = channel.truth_weight / SCALE
        self.gain = (channel.truth_weight - channel.weight) / SCALE

    @property
    def possible(self) -> npt.NDArray[np.bool_]:
        return np.ones(self.outcomes, dtype=bool)

    def forward(self, shares: Floats) -> Floats:
        total = np.sum(shares, axis=-1, keepdims=True)
        result: Floats = self.other * total + self.gain * shares
        return result

    def backward(self, values: Floats) -> Floats:
        # The table is symmetric: the same map in both directions.
        return self.forward(values)

    def solution(self, target: npt.ArrayLike) -> Floats:
        coefficients = read_target(target, self.options)
        return self.shares(coefficients)

    def shares(self, frequencies: Floats) -> Floats:
        if self.gain == 0.0:
            raise NotIdentifiedError(
                msg(
                    "the channel reports every one of its {options} options with the same probability "
                    "whatever the truth, so no share can be estimated",
                    options=self.options,
                ),
                "use a larger epsilon",
            )
        total = np.sum(frequencies, axis=-1, keepdims=True)
        result: Floats = (frequencies - self.other * total) / self.gain
        return result

    def likeliest(self, counts: Floats) -> Floats | None:
        """Fill up the largest counts first: c_k = m (w + (t - w) h_k) on the options above zero.

        If the s largest counts are above zero, m = (their sum) / (s w + t - w); s is the largest number whose smallest
        count still gets a positive share, c_(s) > m w.
        """
        if self.gain <= 0:
            return None
        order = np.argsort(-counts, kind="stable")
        ranked = counts[order]
        size = np.arange(1, self.options + 1)
        multiplier = np.cumsum(ranked) / (size * self.other + self.gain)
        above = int(np.flatnonzero(ranked > multiplier * self.other)[-1])
        shares = np.maximum(counts / multiplier[above] - self.other, 0.0) / self.gain
        result: Floats = shares / shares.sum()
        return result


class KarySampler(OneDraw):
    """What is drawn is an offset from the truth, the same for every answer."""

    rows = 1

    def __init__(self, channel: KaryChannel) -> None:
        self.options = self.outcomes = self.cells = channel.options
        self.channel = channel
        self._weight = channel.weight

    def rule(self) -> Rule:
        if self.options == 2:
            return _flip_rule(self._weight)
        return _offset_rule(self.options, self._weight)

    def finish(self, answers: Answers, offsets: Codes) -> Codes:
        # In the table's small type, which holds 2K - 1.
        reports: Codes = answers.astype(offsets.dtype) + offsets
        reports -= (reports >= self.options).astype(offsets.dtype) * offsets.dtype.type(self.options)
        return reports


def _flip_rule(weight: int) -> Rule:
    """Two options: the offset is one bit, r >= T, and adding it modulo 2 is an exclusive or."""
    truth_weight = np.uint64(SCALE - weight)
    return lambda answers, draws: np.bitwise_xor(answers, (draws >= truth_weight).astype(answers.dtype))


def _offset_rule(options: int, weight: int) -> Rule:
    """Offset 0 if r < T else 1 + (r - T) div W, written as max(r - T + W, 0) div W to avoid a branch."""
    shift = np.int64(weight - (SCALE - (options - 1) * weight))

    def rule(answers: Answers, draws: Draws) -> Codes:
        offset = draws.view(np.int64) + shift
        np.maximum(offset, 0, out=offset)
        unsigned = offset.view(np.uint64)
        np.floor_divide(unsigned, np.uint64(weight), out=unsigned)
        offset += answers.astype(np.int64, copy=False)
        return np.where(offset >= options, offset - options, offset)

    return rule
