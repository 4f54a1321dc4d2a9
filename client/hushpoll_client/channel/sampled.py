"""Sample openly, randomize jointly: some of several answers, drawn by an open coin, go through K-ary response together.

A report tells which answers were asked for and one joint answer. Epsilon is the joint channel's: which ones were drawn
does not depend on any answer.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import combinations
from math import ceil, comb, prod
from typing import Any, ClassVar

from hushpoll_client.errors import ChannelError
from hushpoll_client.limits import MAX_TABLE
from hushpoll_client.messages import msg

from .base import SCALE, Channel, Draws, below, read_integer
from .wire import Code, Ranked, Whole, Wire

__all__ = ["MAX_JOINT", "PAIRED", "SampledChannel", "joint_sizes"]

MAX_JOINT = 100_000  # joint answers of the members asked
PAIRED = 64
"""Up to so many members what reports say of two at once is counted too."""
_MAX_MEMBERS = 1000


@dataclass(frozen=True)
class SampledChannel(Channel):
    """Members with `sizes` answers each, `ask` of them asked; `weights` gives W for each joint size N."""

    form: ClassVar[str] = "sampled"
    keys: ClassVar[frozenset[str]] = frozenset({"sizes", "ask", "weights"})
    several: ClassVar[bool] = True
    listed: ClassVar[bool] = False

    sizes: tuple[int, ...]
    ask: int
    weights: tuple[tuple[int, int], ...]

    @classmethod
    def of(cls, sizes: Sequence[int], ask: int, weights: Sequence[Sequence[int]]) -> SampledChannel:
        """Make one; there is one weight for each joint size that a draw can give, in increasing order."""
        _check_members(sizes)
        members = tuple(read_integer(size, "size", 2, MAX_JOINT + 1) for size in sizes)
        ask = read_integer(ask, "ask", 1, len(members) + 1)
        joint = joint_sizes(members, ask)
        pairs = []
        for pair in weights:
            if len(pair) != 2:
                raise ChannelError("weights must be pairs of a joint size and a weight")
            pairs.append((read_integer(pair[0], "joint size", 2), read_integer(pair[1], "weight", 1, SCALE)))
        if [size for size, _ in pairs] != joint:
            raise ChannelError(
                msg(
                    "weights must name every joint size once, in increasing order: {sizes}",
                    sizes=", ".join(map(str, joint)),
                )
            )
        if any(SCALE - (size - 1) * weight <= weight for size, weight in pairs):
            raise ChannelError("a weight leaves too little for the true joint answer")
        if comb(len(members), ask) * joint[-1] > SCALE:
            raise ChannelError("there are more possible reports than 2^53", "ask fewer")
        return cls(members, ask, tuple(pairs))

    @classmethod
    def read(cls, value: Mapping[str, Any]) -> SampledChannel:
        """Read the published form."""
        weights = value["weights"]
        if not isinstance(weights, list) or not all(isinstance(pair, list) for pair in weights):
            raise ChannelError("weights must be a list of pairs")
        if not isinstance(value["sizes"], list):
            raise ChannelError("sizes must be a list")
        return cls.of(value["sizes"], value["ask"], weights)

    @property
    def options(self) -> int:  # type: ignore[override]
        """The number of members."""
        return len(self.sizes)

    @property
    def ranks(self) -> int:
        """The number of ways to draw the members that are asked."""
        return comb(len(self.sizes), self.ask)

    @cached_property
    def largest(self) -> int:
        """The largest joint size, which separates a report's two parts."""
        return self.weights[-1][0]

    @property
    def outcomes(self) -> int:
        """One more than the largest report; with members of several sizes some numbers below are not reports."""
        return self.ranks * self.largest

    @property
    def wire(self) -> Wire:
        """A whole number: the rank of the members drawn, times the largest joint size, plus the joint answer."""
        if len(self.weights) == 1:
            return Whole(self.outcomes)
        return Ranked(self.outcomes, self._holds)

    @property
    def ratio(self) -> Fraction:
        """T/W of the joint size where it is largest."""
        return max(Fraction(SCALE - (size - 1) * weight, weight) for size, weight in self.weights)

    def excess(self, factor: Fraction) -> Fraction:
        """Return the delta at a factor, for people who differ in every answer: the mean over what may be asked."""
        chance = self.classes(())
        parts = (
            chance[size] * max(Fraction(0), SCALE - (size - 1) * weight - factor * weight)
            for size, weight in self.weights
        )
        return sum(parts, Fraction(0)) / SCALE

    def row(self, answer: int) -> tuple[int, ...]:
        """Refuse: the chance of one report is not an integer out of 2^53, see `chances`."""
        raise ChannelError(
            "a report of this channel speaks of several questions at once, so it has no table of single answers",
            "estimate question by question, or list the chances of all reports with `chances`",
        )

    def members(self, rank: int) -> tuple[int, ...]:
        """Return the members asked at a rank, which is the sum of C(c_i, i) over them in increasing order."""
        remainder, members = rank, []
        for position in range(self.ask, 0, -1):
            member = _largest_below(position, remainder, len(self.sizes))
            members.append(member)
            remainder -= comb(member, position)
        return tuple(reversed(members))

    def joint(self, members: Sequence[int]) -> tuple[int, int]:
        """Return joint size and weight of the members asked."""
        size = prod(self.sizes[member] for member in members)
        return size, dict(self.weights)[size]

    def check_answer(self, answer: Any) -> None:
        """Refuse what is not one answer of each member; the message never repeats it."""
        if not isinstance(answer, tuple | list) or len(answer) != len(self.sizes):
            raise ChannelError(
                msg("{members} answers are needed, one for each member", members=len(self.sizes))
            )
        for code, size in zip(answer, self.sizes, strict=True):
            if type(code) is not int or not 0 <= code < size:
                raise ChannelError("an answer must be an integer below its member's size")

    def pick(self, answer: Any, draws: Draws) -> Code:
        """Draw which members are asked, then their joint answer."""
        return self.pick_at(below(self.ranks, draws), answer, draws)

    def pick_at(self, rank: int, answer: Any, draws: Draws) -> Code:
        """Draw the joint answer of the members at a rank that was drawn before."""
        self.check_answer(answer)
        members = self.members(rank)
        size, weight = self.joint(members)
        truth, draw = SCALE - (size - 1) * weight, draws()
        offset = 0
        if draw >= truth:
            offset = 1 + (draw - truth) // weight
        joint = 0
        for member in members:
            joint = joint * self.sizes[member] + answer[member]
        return rank * self.largest + (joint + offset) % size

    def chances(self, answer: Any) -> dict[int, Fraction]:
        """Return the exact chance of every report when `answer` is true: for few members, to enumerate."""
        self.check_answer(answer)
        chances = {}
        for rank in range(self.ranks):
            members = self.members(rank)
            size, weight = self.joint(members)
            true = 0
            for member in members:
                true = true * self.sizes[member] + answer[member]
            for joint in range(size):
                probability = weight
                if joint == true:
                    probability = SCALE - (size - 1) * weight
                chances[rank * self.largest + joint] = Fraction(probability, SCALE * self.ranks)
        return chances

    def classes(self, members: Sequence[int]) -> dict[int, Fraction]:
        """Return the chance of each joint size among the draws that ask all of `members`."""
        rest = [size for member, size in enumerate(self.sizes) if member not in members]
        start = prod(self.sizes[member] for member in members)
        counts = _products(rest, self.ask - len(members))
        total = sum(counts.values())
        return {start * size: Fraction(count, total) for size, count in sorted(counts.items())}

    def separating_sizes(self, members: Sequence[int]) -> tuple[int, ...]:
        """Return the joint sizes that separate reports about these members; none where nothing does."""
        if len(members) > 1 or len(self.weights) == 1:
            return ()
        sizes, own_size = tuple(self.classes(members)), self.sizes[members[0]]
        if len(sizes) > 1 and own_size * len(sizes) <= MAX_TABLE:
            return sizes
        return ()

    @cached_property
    def layout(self) -> dict[tuple[int, ...], tuple[int, tuple[int, ...]]]:
        """Where the counts of each member, and of each pair asked together, begin, and what tells them apart."""
        groups = [(member,) for member in range(self.options)]
        pairs = combinations(range(self.options), 2) if self.ask > 1 and self.options <= PAIRED else ()
        layout, start = dict[tuple[int, ...], tuple[int, tuple[int, ...]]](), 0
        for members in (*groups, *pairs):
            apart = self.separating_sizes(members)
            layout[members] = start, apart
            start += prod(self.sizes[member] for member in members) * max(1, len(apart))
        return layout

    @property
    def cells(self) -> int:
        """Each answer of every member, and each joint answer of every pair that is asked together."""
        members, (start, apart) = next(reversed(self.layout.items()))
        return start + prod(self.sizes[member] for member in members) * max(1, len(apart))

    def tally(self, fields: bytes) -> Counter[int]:
        """Count what the reports say of every member, and of every pair of members that was asked together."""
        counts: Counter[int] = Counter()
        paired = self.ask > 1 and self.options <= PAIRED
        for report, times in super().tally(fields).items():
            answers, size = self._taken_apart(report)
            for member, answer in answers:
                counts[self._cell((member,), answer, size)] += times
            for (first, answer), (other, second) in combinations(answers, 2) if paired else ():
                counts[self._cell((first, other), answer * self.sizes[other] + second, size)] += times
        return counts

    def member_report(self, member: int, report: int) -> int | None:
        """Return what a report says of a member, as a report of the member's channel; None where it was not asked."""
        answers, size = self._taken_apart(report)
        answer = dict(answers).get(member)
        if answer is None:
            return None
        return self._cell((member,), answer, size) - self.layout[member,][0]

    def _taken_apart(self, report: int) -> tuple[list[tuple[int, int]], int]:
        """Return the members asked, in increasing order, with their answers, and the joint size."""
        rank, joint = divmod(report, self.largest)
        members, answers, size = self.members(rank), [], 1
        for member in reversed(members):
            joint, answer = divmod(joint, self.sizes[member])
            answers.append((member, answer))
            size *= self.sizes[member]
        return answers[::-1], size

    def _cell(self, members: tuple[int, ...], answer: int, size: int) -> int:
        start, apart = self.layout[members]
        return start + answer + (apart.index(size) * self.sizes[members[0]] if apart else 0)

    def marginal(self, members: Sequence[int]) -> Channel:
        """Return the channel from these members' joint answer to what the reports that asked them say of it.

        Draws of several joint sizes keep the truth with several chances. For one member, reports are separated by
        the joint size, one block of columns for each; for more members, or where a table would be too large, not.
        """
        joint_size = prod(self.sizes[member] for member in members)
        weights = dict(self.weights)
        parts = [
            (chance, weights[size] * (size // joint_size)) for size, chance in self.classes(members).items()
        ]
        if self.separating_sizes(members):
            return Channel.from_weights(
                [
                    [
                        chance * (SCALE - (joint_size - 1) * other if z == x else other)
                        for chance, other in parts
                        for z in range(joint_size)
                    ]
                    for x in range(joint_size)
                ]
            )
        channel: Channel = Channel.krr(joint_size, ceil(sum(chance * other for chance, other in parts)))
        return channel

    def _holds(self, report: int) -> bool:
        rank, joint = divmod(report, self.largest)
        return rank < self.ranks and joint < self.joint(self.members(rank))[0]

    def to_json(self) -> dict[str, Any]:
        """Return the published form."""
        return {
            "form": self.form,
            "sizes": list(self.sizes),
            "ask": self.ask,
            "weights": [list(pair) for pair in self.weights],
        }


def joint_sizes(sizes: Sequence[int], ask: int) -> list[int]:
    """Return the distinct products of the sizes of `ask` members, in increasing order."""
    largest = prod(sorted(sizes)[-ask:])
    if largest > MAX_JOINT:
        raise ChannelError(
            msg(
                "the members asked together have {largest:,} joint answers, more than {most:,}",
                largest=largest,
                most=MAX_JOINT,
            ),
            "ask fewer",
        )
    return sorted(_products(sizes, ask))


def _products(sizes: Sequence[int], ask: int) -> Counter[int]:
    """Count the ways to choose `ask` of the sizes, by their product."""
    ways: list[Counter[int]] = [Counter({1: 1}), *(Counter() for _ in range(ask))]
    for size in sizes:
        for chosen in range(ask, 0, -1):
            for product, count in list(ways[chosen - 1].items()):
                ways[chosen][product * size] += count
    return ways[ask]


def _largest_below(position: int, rank: int, members: int) -> int:
    """Return the largest member c with C(c, place) at most the rank."""
    low, high = position - 1, members - 1
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if comb(middle, position) <= rank else (low, middle - 1)
    return low


def _check_members(sizes: Sequence[int]) -> None:
    if not 2 <= len(sizes) <= _MAX_MEMBERS:
        raise ChannelError(
            msg("2 to {most} members are needed, got {members}", most=_MAX_MEMBERS, members=len(sizes))
        )
