"""Values made coarse, so that no single arrival shows in them."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Sequence

from hushpoll_client.delivery.report import FEWEST_REPORTS

STEP = FEWEST_REPORTS
"""Published counts of reports are multiples of this."""


class CoarseCount:
    """A count of reports as it is published: a multiple of 50 that changes only after 50 to 99 more arrivals.

    Rounding alone is not enough: a person who sends 49 reports would see the fiftieth. So both the number of arrivals
    until the next change and the point at which the count is rounded down are drawn anew for each change. Of two
    counts that differ by one arrival, what is published next differs with a chance of at most 2/50.
    """

    def __init__(self, draw: Callable[[int], int] = secrets.randbelow) -> None:
        self.published = 0
        self._draw = draw
        self._last = 0
        self._threshold = STEP + draw(STEP)

    def update(self, count: int) -> int:
        """Return what to publish for a count; called once a minute."""
        if abs(count - self._last) >= self._threshold:
            self._last = count
            self._threshold = STEP + self._draw(STEP)
            shifted = max(count - self._draw(STEP), 0)
            self.published = shifted - shifted % STEP
        return self.published


def bucket(value: float, bounds: Sequence[int]) -> int:
    """Return the largest of the bounds that a value reaches; the first where it reaches none."""
    return max((bound for bound in bounds if bound <= value), default=bounds[0])


def rounded(value: int, step: int) -> int:
    """Return the value rounded down to a multiple of the step."""
    return value - value % step
