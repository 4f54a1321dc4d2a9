"""One item of several: reports are items and dummies, and each item is a part of its own."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
from hushpoll_client.channel.padded import PaddedChannel

from .base import Answers, Codes, Sampler, Source, draws_below
from .parts import Part, yes_no_part

__all__ = ["PaddedSampler"]

ROWS = 1 << 13


class PaddedSampler(Sampler):
    """Answers are rows of ticks, one column for each item."""

    def __init__(self, channel: PaddedChannel) -> None:
        self.options, self.outcomes = channel.options, channel.outcomes
        self.channel = channel
        self.cells = 2 * channel.options

    @cached_property
    def parts(self) -> tuple[Part, ...]:
        return tuple(yes_no_part(item, *self.channel.member(item)) for item in range(self.options))

    def tally(self, codes: Codes) -> npt.NDArray[np.int64]:
        """Count for each item the reports that name another one or a dummy, and those that name it."""
        return self.tally_counted(np.arange(self.outcomes), np.bincount(codes, minlength=self.outcomes))

    def tally_counted(
        self, codes: npt.NDArray[np.int64], times: npt.NDArray[np.int64]
    ) -> npt.NDArray[np.int64]:
        named = np.zeros(self.outcomes, dtype=np.int64)
        np.add.at(named, codes, times)
        items = named[: self.options]
        return np.stack([named.sum() - items, items], axis=1).reshape(-1)

    def from_counts(self, counts: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """Take how often each item and each dummy was reported."""
        if len(counts) == self.outcomes and self.outcomes != self.cells:
            return self.tally_counted(np.arange(self.outcomes), counts)
        return super().from_counts(counts)

    def fits(self, rows: Answers) -> npt.NDArray[np.bool_]:
        """Take ticks and blanks, at most so many ticks in a row."""
        few = rows.sum(axis=1) <= self.channel.at_most
        return np.asarray(((rows == 0) | (rows == 1)).all(axis=1) & few)

    @property
    def audited(self) -> tuple[Any, ...]:
        """Nothing ticked, the first items, and the last ones."""
        most = self.channel.at_most
        return (), tuple(range(most)), tuple(range(self.options - most, self.options))

    def part_codes(self, part: Part, codes: Codes) -> npt.NDArray[np.int64]:
        (item,) = part.members
        named: npt.NDArray[np.int64] = (codes == item).astype(np.int64)
        return named

    def draw(self, answers: Answers, source: Source) -> Codes:
        """Draw whether an item of the padded set is reported, then which one, as the client does."""
        reports = np.empty(len(answers), dtype=self.dtype)
        for start in range(0, len(answers), ROWS):
            reports[start : start + ROWS] = self._draw(answers[start : start + ROWS], source)
        return reports

    def _draw(self, answers: Answers, source: Source) -> npt.NDArray[np.int64]:
        ticks = answers.astype(bool)
        dummies = np.arange(self.channel.at_most) < (self.channel.at_most - ticks.sum(axis=1))[:, None]
        held = np.concatenate([ticks, dummies], axis=1)
        inside = draws_below(None, len(ticks), source) < np.uint64(self.channel.weight)
        which = np.where(
            inside,
            draws_below(self.channel.at_most, len(ticks), source),
            draws_below(self.options, len(ticks), source),
        )
        wanted = held == inside[:, None]
        found: npt.NDArray[np.int64] = np.argmax(np.cumsum(wanted, axis=1) > which[:, None], axis=1)
        return found
