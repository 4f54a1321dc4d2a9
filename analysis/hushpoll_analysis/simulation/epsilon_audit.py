"""A statistical audit: what epsilon do the draws of the real randomizer show, at the least?

For every report z and every pair of true answers x, x', the log of a lower confidence limit of P(z | x) over an
upper one of P(z | x') bounds epsilon from below. All limits hold at once with probability 1 - alpha (Clopper-Pearson,
Bonferroni), so a bound above the claim is evidence of a broken randomizer, not of bad luck.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from hushpoll_client import Channel, Survey, randomize
from hushpoll_client.randomize import Source

from hushpoll_analysis.channel.view import sampler

_STEP = 20_000


@dataclass(frozen=True)
class ChannelAudit:
    """The outcome for one question: `bound` is the least epsilon that the draws allow."""

    question: str
    claimed: float
    bound: float
    answers: tuple[Any, ...]
    draws: int

    @property
    def passed(self) -> bool:
        """Whether the draws are compatible with the claim."""
        return self.bound <= self.claimed


def buffered(source: Source = os.urandom, size: int = 7 * 8192) -> Source:
    """Read the operating system's generator in blocks: the same bytes, fewer calls."""
    block, position = b"", 0

    def read(count: int) -> bytes:
        nonlocal block, position
        if position + count > len(block):
            block, position = source(max(size, count)), 0
        position += count
        return block[position - count : position]

    return read


def lower_bound(counts: Sequence[Sequence[int]], alpha: float = 0.01) -> float:
    """Bound epsilon from below from counts of reports, one row for each true answer drawn from."""
    from scipy.stats import beta

    tail = alpha / (2 * len(counts) * len(counts[0]))
    best = 0.0
    for column in zip(*counts, strict=True):
        totals = [sum(row) for row in counts]
        lows = [
            float(beta.ppf(tail, k, n - k + 1)) if k else 0.0 for k, n in zip(column, totals, strict=True)
        ]
        highs = [
            float(beta.isf(tail, k + 1, n - k)) if k < n else 1.0 for k, n in zip(column, totals, strict=True)
        ]
        if max(lows) > 0:
            best = max(best, math.log(max(lows) / min(highs)))
    return best


def audit_channel(
    channel: Channel,
    draws: int,
    source: Source | None = None,
    alpha: float = 0.01,
    answers: Sequence[Any] | None = None,
    progress: Callable[[int], object] = lambda done: None,
) -> float:
    """Draw `draws` times for each true answer through the real randomizer and bound epsilon from below."""
    read_bytes, channel_sampler = source or buffered(), sampler(channel)
    counts = []
    for answer in answers if answers is not None else audited_answers(channel):
        row = [0] * channel_sampler.categories
        for start in range(0, draws, _STEP):
            size = min(_STEP, draws - start)
            for _ in range(size):
                row[channel_sampler.category(randomize(channel, answer, read_bytes))] += 1
            progress(size)
        counts.append(row)
    return lower_bound(counts, alpha)


def audited_answers(channel: Channel) -> tuple[Any, ...]:
    """Return the true answers that are drawn for."""
    return sampler(channel).audited


def audit_survey(
    survey: Survey,
    draws: int,
    source: Source | None = None,
    alpha: float = 0.01,
    progress: Callable[[int], object] = lambda done: None,
) -> Iterator[ChannelAudit]:
    """Audit entry by entry: each question, and each block as a whole."""
    for entry in survey.entries:
        answers = audited_answers(entry.channel)
        bound = audit_channel(entry.channel, draws, source, alpha, answers, progress)
        yield ChannelAudit(entry.id, entry.epsilon, bound, answers, draws)
