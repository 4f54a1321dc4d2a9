"""Searches for the least number that is enough, by doubling and halving."""

from __future__ import annotations

import math
from collections.abc import Callable


def least_count(enough: Callable[[int], bool], first: int, most: int) -> int | None:
    """Return the smallest whole number from `first` on that is enough; None where `most` is not."""
    high = first
    while not enough(high):
        high *= 2
        if high > most:
            return None
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        if enough(middle):
            high = middle
        else:
            low = middle
    return high


def least_positive(enough: Callable[[float], bool], low: float, high: float, steps: int) -> float:
    """Return the smallest number between two that is enough, to 2^-steps of the logarithm; `high` is enough."""
    lower, upper = math.log(low), math.log(high)
    for _ in range(steps):
        middle = (lower + upper) / 2.0
        if enough(math.exp(middle)):
            upper = middle
        else:
            lower = middle
    return math.exp(upper)
