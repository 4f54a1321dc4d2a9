"""The interval of one frequency that holds at every size: Wilson's, and the exact one where a report is scarce."""

from __future__ import annotations

from hushpoll_client.messages import msg

from .base import Limits
from .blaker import Blaker
from .frequency import MAPPED
from .wilson import Wilson

ENOUGH = 15
"""Wilson needs this many reports of either kind: exact coverage stays above 93.4 % for every frequency and n >= 20.

With 10 it falls to 92.7 % at n = 100; without a limit to 83.7 % at an expected count of 0.2.
"""

WILSON, EXACT = Wilson(), Blaker()
CHOSEN = msg(
    "Wilson score intervals, or exact ones (Blaker's) where a report is rare, {mapped}", mapped=MAPPED
)


def scarce(successes: float, trials: float) -> bool:
    """Return whether one of the two kinds of report came in too rarely for Wilson's interval."""
    return min(successes, trials - successes) < ENOUGH


def frequency_limits(successes: float, trials: float, level: float) -> Limits:
    """Return Wilson's limits, or Blaker's where a report is scarce."""
    method = EXACT if scarce(successes, trials) else WILSON
    return method.of(successes, trials, level)
