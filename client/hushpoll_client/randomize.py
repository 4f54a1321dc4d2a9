"""Drawing a report: uniform numbers from the operating system, as many as the channel asks for whatever the answer."""

from __future__ import annotations

import os
from collections.abc import Callable

from .channel import Channel, Code

__all__ = ["Source", "draw", "randomize"]

Source = Callable[[int], bytes]


def draw(source: Source = os.urandom) -> int:
    """Draw a uniform integer from 0 to 2^53 - 1: seven bytes less three bits, no rejection."""
    return int.from_bytes(source(7), "big") >> 3


def randomize(channel: Channel, answer: int, source: Source = os.urandom) -> Code:
    """Draw the report for a true answer. Run by the respondent's device, once for each answer."""
    return channel.pick(answer, lambda: draw(source))
