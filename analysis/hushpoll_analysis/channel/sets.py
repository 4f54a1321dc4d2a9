"""What sets of options tell of one answer: any linear quantity, from the chances that a set holds one option, and two.

A set holds option k with chance q + (p - q) h_k. So b = (sum of a over the set - q sum of a) / (p - q) has the mean
a.h, whatever a is; its variance needs how often two options stand in one set together, which the shares determine too.
"""

from __future__ import annotations

from itertools import combinations
from math import comb

import numpy as np
import numpy.typing as npt
from hushpoll_client.channel.subset import SubsetChannel

from .base import ChannelView, Floats, read_target


class SetView(ChannelView):
    """Sets of `size` options that may hold the answer.

    What is counted of a report is, for each option, whether it is out or in: two cells an option, of which every report
    has one. Frequencies are counts divided by the number of reports, so those of an option add up to one.
    """

    choice = "unique"

    def __init__(self, channel: SubsetChannel) -> None:
        self.options = channel.options
        self.outcomes = 2 * channel.options
        self.size = channel.size
        self.low, self.high = (float(chance) for chance in channel.member(0))
        remaining = self.options - 1
        self._with_truth = self.high * (self.size - 1) / remaining
        inside = self.high * (self.size - 1) * (self.size - 2) + (1 - self.high) * self.size * (self.size - 1)
        self._without = inside / (remaining * (remaining - 1))

    @property
    def sets(self) -> int:
        """The number of all sets."""
        return comb(self.options, self.size)

    @property
    def gap(self) -> float:
        """How much likelier a set holds the answer than another option."""
        return self.high - self.low

    @property
    def possible(self) -> npt.NDArray[np.bool_]:
        return np.ones(self.outcomes, dtype=bool)

    def forward(self, shares: Floats) -> Floats:
        held = self.low + self.gap * np.asarray(shares)
        return np.stack([1.0 - held, held], axis=-1).reshape(*held.shape[:-1], self.outcomes)

    def backward(self, values: Floats) -> Floats:
        out, held = (np.asarray(values)[..., end::2] for end in (0, 1))
        gain = held - out
        result: Floats = (out + self.low * gain).sum(axis=-1, keepdims=True) + self.gap * gain
        return result

    def shares(self, frequencies: Floats) -> Floats:
        result: Floats = (np.asarray(frequencies, dtype=np.float64)[..., 1::2] - self.low) / self.gap
        return result

    def solution(self, target: npt.ArrayLike) -> Floats:
        coefficients = read_target(target, self.options) / self.gap
        return np.stack([-self.low * coefficients, (1.0 - self.low) * coefficients], axis=1).reshape(-1)

    def noise(self, weights: Floats) -> Floats:
        """Return Var(b | x) for each truth x: options of one set depend on each other."""
        target = (weights[1::2] - weights[::2]) * self.gap
        return np.maximum(self.moments(target) - target**2, 0.0)

    def moments(self, target: npt.ArrayLike) -> Floats:
        """Return E[b^2 | x] of every answer x."""
        coefficients = read_target(target, self.options)
        total, squares = coefficients.sum(), (coefficients**2).sum()
        rest = total - coefficients
        first = self.high * coefficients + self.low * rest
        second = self.high * coefficients**2 + self.low * (squares - coefficients**2)
        second += 2 * self._with_truth * coefficients * rest + self._without * (
            rest**2 - (squares - coefficients**2)
        )
        shift = self.low * total
        result: Floats = (second - 2 * shift * first + shift**2) / self.gap**2
        return result

    def ends(self, target: npt.ArrayLike) -> tuple[float, float]:
        """Return the smallest and the largest b of any set."""
        ranked = np.sort(read_target(target, self.options))
        shift = self.low * ranked.sum()
        return (
            float(ranked[: self.size].sum() - shift) / self.gap,
            float(ranked[-self.size :].sum() - shift) / self.gap,
        )

    def values(self, held: npt.NDArray[np.bool_], target: npt.ArrayLike) -> Floats:
        """Return b of every set, from the options that it holds (last axis)."""
        coefficients = read_target(target, self.options)
        result: Floats = (held @ coefficients - self.low * coefficients.sum()) / self.gap
        return result

    def relative(self, held: npt.NDArray[np.bool_]) -> Floats:
        """Return P(set | answer) times the number of all sets, for every set and answer: neither has to be listed."""
        inside, outside = self.high * self.options / self.size, (1 - self.high) * self.options
        return np.where(held, inside, outside / (self.options - self.size))

    def every_set(self) -> npt.NDArray[np.bool_]:
        """List all sets, for channels that are small enough: a row each, whether it holds an option."""
        chosen = list(combinations(range(self.options), self.size))
        held = np.zeros((len(chosen), self.options), dtype=bool)
        np.put_along_axis(held, np.array(chosen), True, axis=1)
        return held

    def covariance(self, targets: Floats, shares: Floats) -> Floats:
        """Return the covariance of one report's b of several targets (rows), where these are the true shares."""
        held = self.low + self.gap * shares
        both = self._without + (self._with_truth - self._without) * (shares[:, None] + shares[None, :])
        np.fill_diagonal(both, held)
        result: Floats = targets @ (both - np.outer(held, held)) @ targets.T / self.gap**2
        return result
