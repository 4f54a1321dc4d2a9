"""Halving an interval by noisy answers."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import pandas as pd

from hushpoll_analysis.errors import AnalysisError
from hushpoll_analysis.result import PlottedResult

Step = Callable[[float], tuple[float, int]]


@dataclass(frozen=True)
class Bisection(PlottedResult):
    """Where a search by halving ended: the last point, and the bounds that the answers leave.

    `found` tells that the last answer was as near to what was looked for as the tolerance can tell; otherwise the
    rounds were used up.
    """

    words = "point asked about in each round"
    plotted_column = "asked"

    estimate: float
    low: float
    high: float
    found: bool
    steps: tuple[tuple[float, float], ...]

    def to_frame(self) -> pd.DataFrame:
        """Return one row for each round: the point asked about and the share answered."""
        index = pd.RangeIndex(1, len(self.steps) + 1, name="round")
        return pd.DataFrame(list(self.steps), columns=["asked", "share"], index=index)

    def _caption(self) -> str:
        return f"{self.estimate:.4g}, between {self.low:.4g} and {self.high:.4g}" + (
            "" if self.found else " (the rounds were used up)"
        )


def bisect(step: Step, low: float, high: float, rounds: int) -> Bisection:
    """Halve between two numbers; a step gives an answer, and where to go on: up (1), down (-1) or nowhere (0)."""
    if not (math.isfinite(low) and math.isfinite(high) and low < high):
        raise AnalysisError(
            f"the search goes from {low!r} to {high!r}", "give two numbers, the smaller first"
        )
    if rounds < 1:
        raise AnalysisError("no round is left for a search", "plan for more of them with rounds=")
    steps: list[tuple[float, float]] = []
    for _ in range(rounds):
        middle = (low + high) / 2.0
        share, way = step(middle)
        steps.append((middle, share))
        if way == 0:
            return Bisection(middle, low, high, True, tuple(steps))
        if way > 0:
            low = middle
        else:
            high = middle
    return Bisection((low + high) / 2.0, low, high, False, tuple(steps))
