"""Two-valued columns: a report weighs `high` for the answers of its set and `low` for the others.

The least-variance channel for a target has this shape. The last report has what remains of each row.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import accumulate
from typing import Any, ClassVar

from hushpoll_client.errors import ChannelError
from hushpoll_client.limits import MAX_TABLE
from hushpoll_client.messages import msg

from .base import SCALE, Channel, Draws, read_integer
from .table import largest_ratio
from .wire import Code

__all__ = ["ColumnsChannel"]


@dataclass(frozen=True)
class ColumnsChannel(Channel):
    """K answers; report j weighs `high[j]` for the answers in the bits of `sets[j]`, else `low[j]`."""

    form: ClassVar[str] = "columns"
    keys: ClassVar[frozenset[str]] = frozenset({"options", "sets", "low", "high"})

    options: int
    sets: tuple[int, ...]
    low: tuple[int, ...]
    high: tuple[int, ...]

    @classmethod
    def of(cls, options: int, sets: Sequence[int], low: Sequence[int], high: Sequence[int]) -> ColumnsChannel:
        """Make one; every weight is at least 1, also those of the last report, which has what remains."""
        options = read_integer(options, "options", 2, MAX_TABLE + 1)
        if not 1 <= len(sets) < MAX_TABLE or not len(sets) == len(low) == len(high):
            raise ChannelError(
                msg("sets, low and high need equally many entries, 1 to {most}", most=MAX_TABLE - 1)
            )
        channel = cls(
            options,
            tuple(read_integer(weight, "set", 0, 1 << options) for weight in sets),
            tuple(read_integer(weight, "low", 1, SCALE) for weight in low),
            tuple(read_integer(weight, "high", 1, SCALE) for weight in high),
        )
        for number, row in enumerate(channel.rows, 1):
            if row[-1] < 1:
                raise ChannelError(msg("row {number} leaves nothing for the last report", number=number))
        return channel

    @classmethod
    def read(cls, value: Mapping[str, Any]) -> ColumnsChannel:
        """Read the published form, whose sets are lower-case hexadecimal digits."""
        for key in ("sets", "low", "high"):
            if not isinstance(value[key], list):
                raise ChannelError(msg("{key} must be a list", key=key))
        options = read_integer(value["options"], "options", 2, MAX_TABLE + 1)
        mask = re.compile(f"[0-9a-f]{{{_digits(options)}}}")
        for text in value["sets"]:
            if not isinstance(text, str) or not mask.fullmatch(text):
                raise ChannelError(
                    msg("a set must be {digits} lower-case hexadecimal digits", digits=_digits(options))
                )
        return cls.of(options, [int(text, 16) for text in value["sets"]], value["low"], value["high"])

    @property
    def outcomes(self) -> int:
        """The number of possible reports: the columns given and the last one."""
        return len(self.sets) + 1

    @cached_property
    def _table(self) -> tuple[tuple[int, ...], ...]:
        columns = list(zip(self.sets, self.low, self.high, strict=True))
        table = []
        for answer in range(self.options):
            weights = [high if mask >> answer & 1 else low for mask, low, high in columns]
            table.append((*weights, SCALE - sum(weights)))
        return tuple(table)

    @property
    def rows(self) -> tuple[tuple[int, ...], ...]:
        """The whole table."""
        return self._table

    @property
    def ratio(self) -> Fraction | None:
        """The largest ratio in a column, the last one's too."""
        return largest_ratio(self._table)

    def row(self, answer: int) -> tuple[int, ...]:
        """Return the weights of all reports when `answer` is true."""
        self.check_answer(answer)
        return self._table[answer]

    def pick(self, answer: Any, draws: Draws) -> Code:
        """Draw once; the draws are dealt out along the row in order."""
        row, draw = self.row(answer), draws()
        return next(z for z, edge in enumerate(accumulate(row)) if draw < edge)

    def to_json(self) -> dict[str, Any]:
        """Return the published form."""
        sets = [f"{mask:0{_digits(self.options)}x}" for mask in self.sets]
        return {
            "form": self.form,
            "options": self.options,
            "sets": sets,
            "low": list(self.low),
            "high": list(self.high),
        }


def _digits(options: int) -> int:
    return -(-options // 4)
