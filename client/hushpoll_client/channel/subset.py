"""Subset selection: the report is a set of options that holds the true one with a known probability."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from math import comb
from typing import Any, ClassVar

from hushpoll_client.errors import ChannelError
from hushpoll_client.limits import MAX_OPTIONS

from .base import SCALE, Channel, Draws, below, read_integer
from .wire import Bitmap, Code, Wire

__all__ = ["SubsetChannel"]


@dataclass(frozen=True)
class SubsetChannel(Channel):
    """K options, sets of `size` of them; out of 2^53 draws `weight` give a set that holds the true one."""

    form: ClassVar[str] = "subset"
    keys: ClassVar[frozenset[str]] = frozenset({"options", "size", "weight"})
    listed: ClassVar[bool] = False

    options: int
    size: int
    weight: int

    @classmethod
    def of(cls, options: int, size: int, weight: int) -> SubsetChannel:
        """Make one; a set of one option is K-ary response, which has its own form."""
        options = read_integer(options, "options", 3, MAX_OPTIONS + 1)
        return cls(options, read_integer(size, "size", 2, options), read_integer(weight, "weight", 1, SCALE))

    @classmethod
    def read(cls, value: Mapping[str, Any]) -> SubsetChannel:
        """Read the published form."""
        return cls.of(value["options"], value["size"], value["weight"])

    @property
    def outcomes(self) -> int:
        """The number of possible reports: all sets of that size."""
        return comb(self.options, self.size)

    @property
    def wire(self) -> Wire:
        """A bitmap with one bit for each option."""
        return Bitmap(self.options, self.size)

    @property
    def ratio(self) -> Fraction:
        """How much likelier a set is from an answer in it than from one outside; sets of each sort are alike."""
        inside = Fraction(self.weight, comb(self.options - 1, self.size - 1))
        outside = Fraction(SCALE - self.weight, comb(self.options - 1, self.size))
        return max(inside, outside) / min(inside, outside)

    def excess(self, factor: Fraction) -> Fraction:
        """Return the delta at a factor: the sets that hold one of two answers tell them apart."""
        inside = Fraction(self.weight, comb(self.options - 1, self.size - 1))
        outside = Fraction(SCALE - self.weight, comb(self.options - 1, self.size))
        more, less = max(inside, outside), min(inside, outside)
        return comb(self.options - 2, self.size - 1) * max(Fraction(0), more - factor * less) / SCALE

    def row(self, answer: int) -> tuple[int, ...]:
        """Refuse: the chance of one set is not an integer out of 2^53, see `chances`."""
        raise ChannelError(
            "a report of this channel is a set of options, so it has no table with a row for each answer",
            "estimate option by option, or list the chances of all sets with `chances`",
        )

    def chances(self, answer: int) -> dict[str, Fraction]:
        """Return the exact chance of every report when `answer` is true: for few options, to enumerate."""
        self.check_answer(answer)
        inside = Fraction(self.weight, SCALE * comb(self.options - 1, self.size - 1))
        outside = Fraction(SCALE - self.weight, SCALE * comb(self.options - 1, self.size))
        return {
            self._written(chosen): inside if answer in chosen else outside
            for chosen in combinations(range(self.options), self.size)
        }

    def member(self, option: int) -> tuple[Fraction, Fraction]:
        """Return the chance that a report holds `option` when it is not true, and when it is."""
        self.check_answer(option)
        held = Fraction(self.weight, SCALE)
        total = held * (self.size - 1) + (1 - held) * self.size
        return total / (self.options - 1), held

    def pick(self, answer: Any, draws: Draws) -> Code:
        """Draw whether the truth is in, then always `size` of the others; the last one drawn makes room for it."""
        self.check_answer(answer)
        inside = draws() < self.weight
        remaining = [option for option in range(self.options) if option != answer]
        for position in range(self.size):
            other = position + below(len(remaining) - position, draws)
            remaining[position], remaining[other] = remaining[other], remaining[position]
        chosen = [*remaining[: self.size - 1], answer if inside else remaining[self.size - 1]]
        return self._written(chosen)

    @property
    def cells(self) -> int:
        """For each option the sets that do not hold it, and those that do."""
        return 2 * self.options

    def tally(self, fields: bytes) -> Counter[int]:
        """Count eight options at a time: each byte of a bitmap has few values, however many sets there are."""
        width, counts = self.wire.width, Counter[int]()
        total = len(fields) // width
        for byte in range(width):
            held = [0] * 8
            for value, times in Counter(fields[byte::width]).items():
                for bit in range(8):
                    held[bit] += times * (value >> bit & 1)
            for bit, times in enumerate(held[: self.options - 8 * byte]):
                counts[2 * (8 * byte + bit)], counts[2 * (8 * byte + bit) + 1] = total - times, times
        return counts

    def _written(self, chosen: Any) -> str:
        bits = sum(1 << option for option in chosen)
        return f"{bits:0{-(-self.options // 4)}x}"

    def to_json(self) -> dict[str, Any]:
        """Return the published form."""
        return {"form": self.form, "options": self.options, "size": self.size, "weight": self.weight}
