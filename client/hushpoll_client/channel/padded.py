"""One item of several: what was ticked is padded with dummies to a fixed number, and one item is reported."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

from hushpoll_client.errors import ChannelError
from hushpoll_client.limits import MAX_OPTIONS
from hushpoll_client.messages import msg

from .base import SCALE, Channel, Draws, below, read_integer
from .wire import Code

__all__ = ["PaddedChannel"]


@dataclass(frozen=True)
class PaddedChannel(Channel):
    """Items 0..m-1, at most c ticked; dummies m..m+c-1. Out of 2^53 draws `weight` report an item of the set."""

    form: ClassVar[str] = "padded"
    keys: ClassVar[frozenset[str]] = frozenset({"options", "at_most", "weight"})
    several: ClassVar[bool] = True
    listed: ClassVar[bool] = False

    options: int
    at_most: int
    weight: int

    @classmethod
    def of(cls, options: int, at_most: int, weight: int) -> PaddedChannel:
        """Make one."""
        options = read_integer(options, "options", 2, MAX_OPTIONS + 1)
        at_most = read_integer(at_most, "at_most", 1, options + 1)
        return cls(options, at_most, read_integer(weight, "weight", 1, SCALE))

    @classmethod
    def read(cls, value: Mapping[str, Any]) -> PaddedChannel:
        """Read the published form."""
        return cls.of(value["options"], value["at_most"], value["weight"])

    @property
    def outcomes(self) -> int:
        """The number of possible reports: items and dummies."""
        return self.options + self.at_most

    @property
    def ratio(self) -> Fraction:
        """How much likelier an item is reported by people whose set holds it."""
        out, held = self.member(0)
        return max(out, held) / min(out, held)

    def excess(self, factor: Fraction) -> Fraction:
        """Return the delta at a factor, for sets that share nothing: c items against none, which is c dummies."""
        out, held = self.member(0)
        return self.at_most * max(Fraction(0), max(out, held) - factor * min(out, held))

    def row(self, answer: int) -> tuple[int, ...]:
        """Refuse: the chance of one item is not an integer out of 2^53, see `chances`."""
        raise ChannelError(
            "an answer to this channel is a set of ticked options, so it has no table with a row for each answer",
            "estimate option by option, or list the chances of all reports with `chances`",
        )

    def member(self, option: int) -> tuple[Fraction, Fraction]:
        """Return the chance that an item is reported by people whose set does not hold it, and whose set does."""
        held = Fraction(self.weight, SCALE * self.at_most)
        return Fraction(SCALE - self.weight, SCALE * self.options), held

    def check_answer(self, answer: Any) -> None:
        """Refuse what is not a set of at most c items in increasing order; the message never repeats it."""
        if not isinstance(answer, tuple | list) or len(answer) > self.at_most:
            raise ChannelError(msg("at most {at_most} items can be ticked", at_most=self.at_most))
        if any(type(item) is not int or not 0 <= item < self.options for item in answer):
            raise ChannelError(msg("an item must be an integer from 0 to {last}", last=self.options - 1))
        if list(answer) != sorted(set(answer)):
            raise ChannelError("items must be different and in increasing order")

    def pick(self, answer: Any, draws: Draws) -> Code:
        """Draw whether an item of the padded set is reported, then which one, or which of the m others."""
        chosen = self._padded(answer)
        if draws() < self.weight:
            return chosen[below(self.at_most, draws)]
        remaining = [item for item in range(self.outcomes) if item not in set(chosen)]
        return remaining[below(self.options, draws)]

    def chances(self, answer: Any) -> dict[int, Fraction]:
        """Return the exact chance of every report when `answer` is true."""
        chosen, (out, held) = set(self._padded(answer)), self.member(0)
        return {item: held if item in chosen else out for item in range(self.outcomes)}

    @property
    def cells(self) -> int:
        """For each item the reports that name another one or a dummy, and those that name it."""
        return 2 * self.options

    def tally(self, fields: bytes) -> Counter[int]:
        """Count for each item who names it and who does not."""
        named = super().tally(fields)
        total, counts = named.total(), Counter[int]()
        for item in range(self.options):
            counts[2 * item], counts[2 * item + 1] = total - named[item], named[item]
        return counts

    def _padded(self, answer: Any) -> list[int]:
        self.check_answer(answer)
        return [*answer, *range(self.options, self.options + self.at_most - len(answer))]

    def to_json(self) -> dict[str, Any]:
        """Return the published form."""
        return {
            "form": self.form,
            "options": self.options,
            "at_most": self.at_most,
            "weight": self.weight,
        }
