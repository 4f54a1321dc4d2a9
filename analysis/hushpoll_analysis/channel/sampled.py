"""Openly sampled answers: reports are taken apart into what they say of each member, and of each pair."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property
from itertools import combinations, product
from math import comb, prod
from typing import Any

import numpy as np
import numpy.typing as npt
from hushpoll_client import Channel
from hushpoll_client.channel import SCALE
from hushpoll_client.channel.sampled import PAIRED, SampledChannel

from .base import Answers, Codes, Sampler, Source, draws_below, first_true, small_draws_below
from .parts import Marginal

# Up to so many ranks have their members listed.
LISTED = 1 << 16
Whole = npt.NDArray[np.int64]


class SampledSampler(Sampler):
    """Answers are rows, one column for each member."""

    def __init__(self, channel: SampledChannel) -> None:
        self.options, self.outcomes = channel.options, channel.outcomes
        self.channel = channel

    @property
    def cells(self) -> int:  # type: ignore[override]
        return int((self.pairs or self.parts)[-1].cells.stop)

    @cached_property
    def parts(self) -> tuple[Marginal, ...]:
        return self._marginals_of([(member,) for member in range(self.options)], 0)

    @cached_property
    def pairs(self) -> tuple[Marginal, ...]:
        if self.channel.ask < 2 or self.options > PAIRED:
            return ()
        return self._marginals_of(list(combinations(range(self.options), 2)), self.parts[-1].cells.stop)

    def _marginals_of(self, groups: Sequence[tuple[int, ...]], start: int) -> tuple[Marginal, ...]:
        marginals = []
        channels: dict[tuple[int, ...], Channel] = {}
        for members in groups:
            sizes = tuple(self.channel.sizes[member] for member in members)
            # Members of the same sizes have the same channel, unless the others of their samples differ.
            key = members
            if len(set(self.channel.sizes)) == 1:
                key = sizes
            if key not in channels:
                channels[key] = self.channel.marginal(members)
            channel = channels[key]
            stop = start + channel.outcomes
            asked_fraction = (
                comb(self.options - len(members), self.channel.ask - len(members)) / self.channel.ranks
            )
            marginals.append(Marginal(members, channel, asked_fraction, slice(start, stop)))
            start = stop
        return tuple(marginals)

    def tally(self, codes: Codes) -> Whole:
        """Count what the reports say of every member, and of every pair of members that was asked together."""
        reports, times = np.unique(codes, return_counts=True)
        return self.tally_counted(reports.astype(np.int64), times)

    def tally_counted(self, reports: Whole, times: Whole) -> Whole:
        members, digits, sizes = self._decode(reports)
        cells = np.zeros(self.cells, dtype=np.int64)
        for position in range(self.channel.ask):
            self._add(cells, self.parts, members[:, position], digits[:, position], sizes, times)
        if self.pairs:
            for first, second in combinations(range(self.channel.ask), 2):
                member, other = members[:, first], members[:, second]
                joint = digits[:, first] * self._sizes[other] + digits[:, second]
                self._add(cells, self.pairs, self._pair_number(member, other), joint, sizes, times)
        return cells

    def _add(
        self,
        cells: Whole,
        parts: tuple[Marginal, ...],
        which: Whole,
        digits: Whole,
        sizes: Whole,
        times: Whole,
    ) -> None:
        starts = np.array([marginal.cells.start for marginal in parts], dtype=np.int64)
        np.add.at(cells, starts[which] + self._block(parts, which, sizes) + digits, times)

    def _block(self, parts: tuple[Marginal, ...], which: Whole, sizes: Whole) -> Whole:
        """Return where the block of a joint size begins in the reports of a part."""
        if len(self.channel.weights) == 1:
            return np.zeros(len(which), dtype=np.int64)
        begins = np.zeros((len(parts), len(self.channel.weights)), dtype=np.int64)
        order = {size: column for column, (size, _) in enumerate(self.channel.weights)}
        for row, marginal in enumerate(parts):
            marginal_size = prod(self.channel.sizes[member] for member in marginal.members)
            if marginal.channel.outcomes == marginal_size:
                continue  # the joint sizes are not told apart
            for number, size in enumerate(self.channel.classes(marginal.members)):
                begins[row, order[size]] = number * marginal_size
        columns = np.searchsorted([size for size, _ in self.channel.weights], sizes)
        return begins[which, columns]

    def _pair_number(self, first: Whole, second: Whole) -> Whole:
        d = self.options
        return first * (2 * d - first - 1) // 2 + (second - first - 1)

    def _unlisted(self, codes: Codes) -> int | None:
        """Refuse joint answers that the members asked cannot have together."""
        if len(self.channel.weights) == 1:
            return None
        rank, joint = np.divmod(codes.astype(np.int64), self.channel.largest)
        return first_true(joint >= np.prod(self._sizes[self._members(rank)], axis=1))

    @property
    def lengths(self) -> tuple[int, ...]:
        return self.cells, self.outcomes

    def from_counts(self, counts: Whole) -> Whole:
        """Take how often each report came."""
        if len(counts) == self.outcomes and self.outcomes != self.cells:
            return self.tally_counted(np.arange(self.outcomes), counts)
        return super().from_counts(counts)

    def fits(self, rows: Answers) -> npt.NDArray[np.bool_]:
        """Take one answer of each member."""
        if not len(rows) or (rows.min() >= 0 and np.all(rows.max(axis=0) < self._sizes)):
            return np.ones(len(rows), dtype=bool)
        return np.asarray(((rows >= 0) & (rows < self._sizes)).all(axis=1))

    @property
    def audited(self) -> tuple[Any, ...]:
        """Two answers that differ in every member."""
        return (0,) * self.options, tuple(size - 1 for size in self.channel.sizes)

    @property
    def answers(self) -> int:
        return prod(self.channel.sizes)

    def every_answer(self) -> Iterable[Any]:
        """Return every combination of the members' answers."""
        return product(*(range(size) for size in self.channel.sizes))

    @property
    def categories(self) -> int:
        return 3 * len(self.channel.weights)

    def category(self, report: Any) -> int:
        """Return whether all members asked have their first answer in the report, all their last, or neither."""
        rank, joint = divmod(int(report), self.channel.largest)
        size, _ = self.channel.joint(self.channel.members(rank))
        size_class = [joint_size for joint_size, _ in self.channel.weights].index(size)
        return 3 * size_class + (0 if joint == 0 else 1 if joint == size - 1 else 2)

    def part_codes(self, marginal: Marginal, codes: Codes) -> Whole:
        """Return what each report says of the members; -1 where it did not ask them."""
        members, digits, sizes = self._decode(codes.astype(np.int64))
        part_values = np.full(len(codes), -1, dtype=np.int64)
        value, is_asked = np.zeros(len(codes), dtype=np.int64), np.ones(len(codes), dtype=bool)
        for member in marginal.members:
            at = members == member
            is_asked &= at.any(axis=1)
            value = value * self.channel.sizes[member] + np.where(at, digits, 0).sum(axis=1)
        which = np.zeros(int(is_asked.sum()), dtype=np.int64)
        part_values[is_asked] = value[is_asked] + self._block((marginal,), which, sizes[is_asked])
        return part_values

    @cached_property
    def _sizes(self) -> Whole:
        return np.array(self.channel.sizes, dtype=np.int64)

    def _decode(self, codes: Whole) -> tuple[Whole, Whole, Whole]:
        """Return the members of each report in increasing order, their answers in it, and the joint size."""
        rank, joint = np.divmod(codes.astype(np.int64), self.channel.largest)
        members = self._members(rank)
        sizes = self._sizes[members]
        digits = np.empty_like(members)
        for position in range(self.channel.ask - 1, -1, -1):
            joint, digits[:, position] = np.divmod(joint, sizes[:, position])
        return members, digits, np.prod(sizes, axis=1)

    def _members(self, rank: Whole) -> Whole:
        """Take ranks apart as the client does: the largest c with C(c, i) at most what is left, i going down."""
        left = rank.copy()
        members = np.empty((len(rank), self.channel.ask), dtype=np.int64)
        for position in range(self.channel.ask, 0, -1):
            ways = np.array([comb(number, position) for number in range(self.options)], dtype=np.int64)
            members[:, position - 1] = np.searchsorted(ways, left, side="right") - 1
            left -= ways[members[:, position - 1]]
        return members

    def draw(self, answers: Answers, source: Source) -> Codes:
        """Draw which members are asked, then the offset of their joint answer, as the client does."""
        ranks = self.channel.ranks
        rank_draws = (small_draws_below if ranks <= LISTED else draws_below)(ranks, len(answers), source)
        rank: Whole = rank_draws.astype(np.int64)
        if ranks <= LISTED:
            members = self._listed.take(rank, axis=0)
        else:
            members = self._members(rank)
        size, joint = np.ones(len(answers), dtype=np.int64), np.zeros(len(answers), dtype=np.int64)
        flat, row = np.ascontiguousarray(answers).reshape(-1), np.arange(len(answers)) * self.options
        for position in range(self.channel.ask):
            member = members[:, position]
            members_size = self._sizes.take(member)
            joint = joint * members_size + flat.take(row + member)
            size *= members_size
        joint_sizes, weights = (
            np.array(column, dtype=np.int64) for column in zip(*self.channel.weights, strict=True)
        )
        if len(joint_sizes) > 1:
            weight = weights.take(np.searchsorted(joint_sizes, size))
        else:
            weight = weights[0]
        beyond = draws_below(None, len(answers), source).astype(np.int64) - (SCALE - (size - 1) * weight)
        # Most reports are true or nearly so: the division is made for the others only.
        lies = np.flatnonzero(beyond >= 0)
        joint[lies] += 1 + beyond[lies] // (weight[lies] if len(joint_sizes) > 1 else weight)
        joint -= np.where(joint >= size, size, 0)
        reports: Codes = (rank * self.channel.largest + joint).astype(self.dtype)
        return reports

    @cached_property
    def _listed(self) -> Whole:
        """The members of every rank."""
        return self._members(np.arange(self.channel.ranks))
