"""The numpy view of a channel: what report frequencies to expect, and how to get back to the shares.

A channel C has K rows (true answers) and M columns (reports); E[f] = C'h. A linear quantity a.h is estimated without
bias by b.f for any b with C b = a. Each form has a file beside this one with two classes: a view, which finds b, and a
sampler, which draws and counts whole arrays of reports.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from hushpoll_analysis.errors import AnalysisError

__all__ = [
    "RANK",
    "Answers",
    "ChannelView",
    "Codes",
    "Draws",
    "Floats",
    "Rule",
    "Sampler",
    "read_target",
]

Floats = npt.NDArray[np.float64]
Draws = npt.NDArray[np.uint64]
Answers = npt.NDArray[np.integer[Any]]
Codes = npt.NDArray[Any]
Rule = Callable[[Answers, Draws], Codes]

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
        """Give the expected value (C g)[x] of a number g[z] per report, given the truth x (last axis)."""

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

    def likeliest(self, counts: Floats) -> Floats | None:
        """Give the shares, none below 0, that make these counts likeliest; None where that has to be searched for."""
        return None

    def unit(self, option: int) -> Floats:
        """Give the target vector a whose a.h is the share of one option."""
        target = np.zeros(self.options)
        target[option] = 1.0
        return target

    def noise(self, weights: Floats) -> Floats:
        """Var(b_z | x) for each truth x: what the randomization alone adds to one report."""
        spread: Floats = self.backward(weights**2) - self.backward(weights) ** 2
        return np.maximum(spread, 0.0)


class Sampler(ABC):
    """Whole arrays of one channel's reports: drawn by the client's own integer rule, and counted."""

    options: int
    outcomes: int
    rows: int
    """Rows of the table that `channel.simulation` makes: one where what is drawn does not depend on the answer."""

    @abstractmethod
    def rule(self) -> Rule:
        """Give the array form of the client's `pick`, for forms that draw once."""

    @abstractmethod
    def finish(self, answers: Answers, drawn: Codes) -> Codes:
        """Turn what a row of the table gives into reports."""

    @property
    def dtype(self) -> type[np.unsignedinteger[Any]]:
        """The smallest type that holds every report."""
        return np.uint8 if self.outcomes <= 1 << 8 else np.uint16 if self.outcomes <= 1 << 16 else np.uint32

    def tally(self, codes: Codes) -> npt.NDArray[np.int64]:
        """Count how often each report came."""
        return np.bincount(codes, minlength=self.outcomes).astype(np.int64, copy=False)


def read_target(target: npt.ArrayLike, options: int) -> Floats:
    """Check the vector a of a linear quantity a.h."""
    wanted = np.asarray(target, dtype=np.float64)
    if wanted.shape != (options,) or not np.all(np.isfinite(wanted)):
        raise AnalysisError(
            f"a linear quantity needs one finite number per option: {options} expected, got shape {wanted.shape}"
        )
    return wanted
