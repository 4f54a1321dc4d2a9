"""One item of several: reports are items and dummies, and each item has its marginal."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from itertools import chain, combinations, product
from math import comb
from typing import Any

import numpy as np
import numpy.typing as npt
from hushpoll_client.channel.padded import PaddedChannel

from .base import Answers, Codes, Sampler, Source, draws_under, small_draws_below
from .parts import Marginal, yes_no_part

ROWS = 1 << 16
# Up to so many items what is reported of every row of ticks is listed.
LISTED = 12


class PaddedSampler(Sampler):
    """Answers are rows of ticks, one column for each item."""

    def __init__(self, channel: PaddedChannel) -> None:
        self.options, self.outcomes = channel.options, channel.outcomes
        self.channel = channel
        self.cells = 2 * channel.options

    @cached_property
    def parts(self) -> tuple[Marginal, ...]:
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

    @property
    def lengths(self) -> tuple[int, ...]:
        return self.cells, self.outcomes

    def from_counts(self, counts: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """Take how often each item and each dummy was reported."""
        if len(counts) == self.outcomes and self.outcomes != self.cells:
            return self.tally_counted(np.arange(self.outcomes), counts)
        return super().from_counts(counts)

    def fits(self, rows: Answers) -> npt.NDArray[np.bool_]:
        """Return whether rows are ticks and blanks, with no more ticks than may be given."""
        few = _count_ticks(rows) <= self.channel.at_most
        if not len(rows) or (rows.min() >= 0 and rows.max() <= 1):
            return np.asarray(few)
        return np.asarray(((rows == 0) | (rows == 1)).all(axis=1) & few)

    @property
    def audited(self) -> tuple[Any, ...]:
        """Nothing ticked, the first items, and the last ones."""
        most = self.channel.at_most
        return (), tuple(range(most)), tuple(range(self.options - most, self.options))

    @property
    def answers(self) -> int:
        return sum(comb(self.options, ticked) for ticked in range(self.channel.at_most + 1))

    def every_answer(self) -> Iterable[Any]:
        """Return every set of ticked items that is small enough."""
        sizes = range(self.channel.at_most + 1)
        return chain.from_iterable(combinations(range(self.options), ticked) for ticked in sizes)

    def part_codes(self, marginal: Marginal, codes: Codes) -> npt.NDArray[np.int64]:
        (item,) = marginal.members
        named: npt.NDArray[np.int64] = (codes == item).astype(np.int64)
        return named

    def draw(self, answers: Answers, source: Source) -> Codes:
        """Draw whether an item of the padded set is reported, then which one, as the client does."""
        reports = np.empty(len(answers), dtype=self.dtype)
        for start in range(0, len(answers), ROWS):
            reports[start : start + ROWS] = self._draw(answers[start : start + ROWS], source)
        return reports

    def _draw(self, answers: Answers, source: Source) -> npt.NDArray[np.int64]:
        inside = draws_under(self.channel.weight, len(answers), source)
        which, some = np.empty(len(answers), dtype=np.int64), int(inside.sum())
        which[inside] = small_draws_below(self.channel.at_most, some, source)
        which[~inside] = small_draws_below(self.options, len(answers) - some, source)
        if self.options <= LISTED:
            # The ticks as one number, option 0 its highest bit.
            mask = np.packbits(answers.astype(bool), axis=1).view(">u2" if self.options > 8 else np.uint8)
            row = (mask[:, 0].astype(np.int64) >> (-self.options % 8)) * 2 + inside
            return np.asarray(self._item.take(row * self.outcomes + which), dtype=np.int64)
        return self._find(answers.astype(bool), inside, which)

    def _find(
        self, ticks: npt.NDArray[np.bool_], inside: npt.NDArray[np.bool_], which: npt.NDArray[np.int64]
    ) -> npt.NDArray[np.int64]:
        """Give, of the padded set or of all others, the item with a number."""
        dummies = np.arange(self.channel.at_most) < (self.channel.at_most - _count_ticks(ticks))[:, None]
        candidates = np.concatenate([ticks, dummies], axis=1) == inside[:, None]
        items: npt.NDArray[np.int64] = np.argmax(np.cumsum(candidates, axis=1) > which[:, None], axis=1)
        return items

    @cached_property
    def _item(self) -> npt.NDArray[np.uint8]:
        """What `_find` gives for every row of ticks, outside and inside, and every number."""
        rows = np.arange(1 << self.options)[:, None] >> np.arange(self.options - 1, -1, -1) & 1
        items = np.empty((len(rows), 2, self.outcomes), dtype=np.uint8)
        for inside, which in product((0, 1), range(self.outcomes)):
            same = np.full(len(rows), bool(inside)), np.full(len(rows), which)
            items[:, inside, which] = self._find(rows.astype(bool), *same)
        return items.reshape(-1)


def _count_ticks(rows: npt.NDArray[Any]) -> npt.NDArray[np.int64]:
    """Count ticks column by column: along short rows it takes several times as long."""
    ticks = np.zeros(len(rows), dtype=np.int64)
    for column in range(rows.shape[1]):
        ticks += rows[:, column]
    return ticks
