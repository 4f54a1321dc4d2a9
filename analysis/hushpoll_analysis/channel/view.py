"""The numpy view of a channel: what report frequencies to expect, and how to get back to the shares.

A channel C has K rows (true answers) and M columns (reports); E[f] = C'h. A linear quantity a.h is estimated without
bias by b.f for any b with C b = a. This module finds b. The K-ary form is worked in O(K): no K x K table is made.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
from hushpoll_client import Channel
from hushpoll_client.channel import SCALE

from hushpoll_analysis.errors import AnalysisError, NotIdentifiedError

if TYPE_CHECKING:
    from hushpoll_client.mechanism import Mechanism

__all__ = ["ChannelView", "Floats", "KaryView", "TableView", "analysis_channel", "channel_view"]

Floats = npt.NDArray[np.float64]

# C b = a counts as solved when the residual is below this share of |a|: integer weights out of 2^53 leave about 1e-15.
RESIDUAL = 1e-9
# Directions of the channel weaker than this (relative to the strongest) are treated as absent.
RANK = 1e-12


class ChannelView(ABC):
    """A channel as a linear map; `solution` gives the weights b with C b = a."""

    options: int
    outcomes: int
    choice: str
    """How b was chosen where several solve C b = a: "unique", "count-linear" or "least variance"."""

    @abstractmethod
    def forward(self, shares: Floats) -> Floats:
        """Report probabilities C'h of true shares h (last axis)."""

    @abstractmethod
    def backward(self, values: Floats) -> Floats:
        """Expected value (C g)[x] of a number g[z] per report, given the truth x (last axis)."""

    @abstractmethod
    def solution(self, target: npt.ArrayLike) -> Floats:
        """Weights b per report with C b = a, so that b.f is unbiased for a.h."""

    @abstractmethod
    def shares(self, frequencies: Floats) -> Floats:
        """Unbiased shares of all options from report frequencies (last axis)."""

    @property
    @abstractmethod
    def possible(self) -> npt.NDArray[np.bool_]:
        """Which reports can occur at all."""

    def unit(self, option: int) -> Floats:
        """The target vector a whose a.h is the share of one option."""
        target = np.zeros(self.options)
        target[option] = 1.0
        return target

    def noise(self, weights: Floats) -> Floats:
        """Var(b_z | x) for each truth x: what the randomization alone adds to one report."""
        spread: Floats = self.backward(weights**2) - self.backward(weights) ** 2
        return np.maximum(spread, 0.0)


class KaryView(ChannelView):
    """K-ary response: truth t on the diagonal, w elsewhere. C b = a gives b = (a - w sum(a)) / (t - w)."""

    def __init__(self, channel: Channel) -> None:
        assert channel.weight is not None
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
        wanted = _target(target, self.options)
        return self.shares(wanted)

    def shares(self, frequencies: Floats) -> Floats:
        if self.gain == 0.0:
            raise NotIdentifiedError(
                f"the channel reports every one of its {self.options} options with the same probability whatever the "
                "truth, so no share can be estimated; use a larger epsilon"
            )
        total = np.sum(frequencies, axis=-1, keepdims=True)
        result: Floats = (frequencies - self.other * total) / self.gain
        return result


class TableView(ChannelView):
    """Any table. Where several b solve C b = a, the one with the least variance at the uniform truth.

    With p = C'u at the uniform truth u, minimise sum p_z b_z^2 subject to C b = a: b = P^-1 C' (C P^-1 C')^- a. A
    `basis` (M x K) restricts b to its columns instead; Kuk's design uses 1 and z, as Kuk (1990) and RRreg do.
    """

    def __init__(self, table: npt.ArrayLike, basis: npt.ArrayLike | None = None) -> None:
        self.table: Floats = np.asarray(table, dtype=np.float64)
        self.options, self.outcomes = self.table.shape
        self._possible: npt.NDArray[np.bool_] = np.asarray(self.table.max(axis=0) > 0)
        self._inverse = self._right_inverse(None if basis is None else np.asarray(basis, dtype=np.float64))
        if basis is not None:
            self.choice = "count-linear"
        else:
            rank = np.linalg.matrix_rank(self.table, tol=RANK)
            self.choice = "unique" if rank == self.possible.sum() else "least variance"

    def _right_inverse(self, basis: Floats | None) -> Floats:
        """The M x K matrix G with b = G a."""
        if basis is not None:
            inner = np.linalg.pinv(self.table @ basis, rcond=RANK)
            return np.asarray(basis @ inner, dtype=np.float64)
        scale = np.zeros(self.outcomes)
        scale[self._possible] = self.table.mean(axis=0)[self._possible] ** -0.5
        scaled = np.linalg.pinv(self.table * scale, rcond=RANK)
        return np.asarray(scale[:, None] * scaled, dtype=np.float64)

    @property
    def possible(self) -> npt.NDArray[np.bool_]:
        return self._possible

    def forward(self, shares: Floats) -> Floats:
        return np.asarray(shares @ self.table, dtype=np.float64)

    def backward(self, values: Floats) -> Floats:
        return np.asarray(values @ self.table.T, dtype=np.float64)

    def solution(self, target: npt.ArrayLike) -> Floats:
        wanted = _target(target, self.options)
        weights: Floats = self._inverse @ wanted
        self._check(self.table @ weights - wanted, wanted)
        return weights

    def shares(self, frequencies: Floats) -> Floats:
        identity = np.eye(self.options)
        self._check(self.table @ self._inverse - identity, identity)
        return np.asarray(frequencies @ self._inverse, dtype=np.float64)

    def _check(self, residual: Floats, wanted: Floats) -> None:
        if np.max(np.abs(residual)) <= RESIDUAL * max(1.0, float(np.max(np.abs(wanted)))):
            return
        raise NotIdentifiedError(
            f"the {self.options} x {self.outcomes} channel is singular for this quantity ({self._fault()}), so the "
            "reports do not determine it; change the mechanism (truth = 1/2 tells nothing) or ask for another quantity"
        )

    def _fault(self) -> str:
        for x in range(self.options):
            for y in range(x + 1, self.options):
                if np.allclose(self.table[x], self.table[y], rtol=0, atol=RANK):
                    return f"true answers {x} and {y} give the same reports"
        if self.options > self.outcomes:
            return "there are fewer reports than options"
        return "its rows are not independent"


def analysis_channel(mechanism: Channel | Mechanism) -> Channel:
    """The channel that the analysis inverts: rows are true answers to the sensitive question."""
    if isinstance(mechanism, Channel):
        return mechanism
    channel = getattr(mechanism, "analysis", None)
    if not isinstance(channel, Channel):
        raise AnalysisError(
            f"expected a mechanism or a channel, got {type(mechanism).__name__}; "
            "make one with hushpoll_client.mechanisms"
        )
    return channel


def channel_view(mechanism: Channel | Mechanism) -> ChannelView:
    """The numpy view of the channel that the analysis inverts.

    Parameters
    ----------
    mechanism : Mechanism or Channel
        A mechanism gives its analysis channel; Kuk's with several draws gets the count-linear solution.

    Returns
    -------
    ChannelView
    """
    channel = analysis_channel(mechanism)
    if channel.form == "krr":
        return KaryView(channel)
    table = np.array(channel.rows, dtype=np.float64) / SCALE
    if getattr(mechanism, "name", "") == "kuk" and channel.outcomes > channel.options:
        reds = np.arange(channel.outcomes, dtype=np.float64)
        return TableView(table, basis=np.stack([np.ones_like(reds), reds], axis=1))
    return TableView(table)


def _target(target: npt.ArrayLike, options: int) -> Floats:
    wanted = np.asarray(target, dtype=np.float64)
    if wanted.shape != (options,) or not np.all(np.isfinite(wanted)):
        raise AnalysisError(
            f"a linear quantity needs one finite number per option: {options} expected, got shape {wanted.shape}"
        )
    return wanted
