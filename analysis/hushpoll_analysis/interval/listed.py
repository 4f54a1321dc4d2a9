"""Intervals of the options that a list shows because their estimates are the largest."""

from __future__ import annotations

from .base import Interval, Resampling
from .clopper_pearson import ClopperPearson
from .quantity import Quantity
from .registry import interval

TOO_LARGE = 0.8
"""The part of a list's error that is spent on estimates that are listed because they are too large."""


def listed_interval(quantity: Quantity, options: int, listed: int, level: float) -> Interval:
    """Return the interval of one of the `listed` largest of all options; all of them hold together.

    An option is listed because its estimate is large, so the danger lies on one side: estimates that are too large by
    chance. Of the error 1 - level, four fifths go to the lower limits, divided among all options, and one fifth to the
    upper limits, divided among those listed. Exact (Clopper and Pearson) where one frequency carries the estimate;
    elsewhere Bonferroni over all options.
    """
    line = quantity.line
    if line is None:
        return interval(quantity, level=1.0 - (1.0 - level) / options, resampling=Resampling())
    below, above = TOO_LARGE * (1.0 - level) / options, (1.0 - TOO_LARGE) * (1.0 - level) / listed
    if line.slope < 0.0:
        below, above = above, below
    exact = ClopperPearson()
    left = exact.of(line.successes, line.trials, 1.0 - 2.0 * below)[0]
    right = exact.of(line.successes, line.trials, 1.0 - 2.0 * above)[1]
    ends = (line.at(left), line.at(right))
    return Interval(min(ends), max(ends), exact)
