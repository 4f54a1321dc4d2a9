"""The table: every weight written out, row by row. Published as the form "matrix"."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate
from typing import Any, ClassVar

from hushpoll_client.errors import ChannelError
from hushpoll_client.exact import Number, read_number
from hushpoll_client.limits import MAX_TABLE
from hushpoll_client.messages import msg

from .base import SCALE, Channel, Draws, read_integer
from .wire import Code

__all__ = ["TableChannel", "largest_ratio"]

_CLOSE = Fraction(1, 10**9)


@dataclass(frozen=True)
class TableChannel(Channel):
    """Any channel, weight by weight; every row sums to 2^53."""

    form: ClassVar[str] = "matrix"
    keys: ClassVar[frozenset[str]] = frozenset({"rows"})

    table: tuple[tuple[int, ...], ...]

    @classmethod
    def of(cls, rows: Sequence[Sequence[int]]) -> TableChannel:
        """Return one of rows of weights."""
        if len(rows) < 2:
            raise ChannelError(
                msg("a channel has at least two rows, one for each true answer, got {count}", count=len(rows))
            )
        width = len(rows[0])
        if width < 2:
            raise ChannelError(
                msg("a channel has at least two columns, one for each report, got {width}", width=width)
            )
        table = []
        for number, row in enumerate(rows, 1):
            if len(row) != width:
                raise ChannelError(
                    msg(
                        "row {number} has {count} weights, row 1 has {width}",
                        number=number,
                        count=len(row),
                        width=width,
                    )
                )
            what = msg("weight in row {number}", number=number)
            weights = tuple(read_integer(weight, what, 0) for weight in row)
            if sum(weights) != SCALE:
                raise ChannelError(
                    msg(
                        "row {number} sums to {total}, not to 2^53 = {scale}",
                        number=number,
                        total=sum(weights),
                        scale=SCALE,
                    )
                )
            table.append(weights)
        return cls(tuple(table))

    @classmethod
    def read(cls, value: Mapping[str, Any]) -> TableChannel:
        """Read the published form."""
        rows = value["rows"]
        if not isinstance(rows, list) or not all(isinstance(row, list) for row in rows):
            raise ChannelError("rows must be a list of lists of integers")
        if len(rows) > MAX_TABLE or any(len(row) > MAX_TABLE for row in rows):
            raise ChannelError(msg("a table has at most {most} rows and columns", most=MAX_TABLE))
        return cls.of(rows)

    @classmethod
    def from_probabilities(cls, rows: Sequence[Sequence[Number]]) -> TableChannel:
        """Round probabilities toward privacy; rows that sum to something else are refused, never stretched."""
        exact = [_numbers(row, number) for number, row in enumerate(rows, 1)]
        for number, row in enumerate(exact, 1):
            total = sum(row, Fraction(0))
            if abs(total - 1) > _CLOSE and total != SCALE:
                raise ChannelError(
                    msg(
                        "row {number} sums to {total:.10g}, not to 1 (or to 2^53)",
                        number=number,
                        total=float(total),
                    ),
                    "correct it, or give weights, which are normalised",
                )
        return cls._rounded(exact)

    @classmethod
    def from_weights(cls, rows: Sequence[Sequence[Number]]) -> TableChannel:
        """Normalise each row of weights, then round toward privacy."""
        return cls._rounded([_numbers(row, number) for number, row in enumerate(rows, 1)])

    @classmethod
    def _rounded(cls, rows: Sequence[Sequence[Fraction]]) -> TableChannel:
        """Round so that the result's ratio never exceeds that of the table given; zeros stay zeros."""
        exact = [_normalised(row) for row in rows]
        if len({len(row) for row in exact}) > 1:
            raise ChannelError("every row needs the same number of columns")
        if len(exact) < 2 or len(exact[0]) < 2:
            raise ChannelError("a channel has at least two rows and two columns")
        bound = largest_ratio(exact)
        mean = [sum(column, Fraction(0)) / len(exact) for column in zip(*exact, strict=True)]
        # Mixing every row with the same average row only lowers ratios. Half an integer of rounding needs a share
        # of about 2^-53 over the smallest probability, so the first shares tried nearly always suffice.
        for share in [Fraction(0), *(Fraction(1, 2**power) for power in range(53, 9, -1))]:
            mixed = [[(1 - share) * p + share * m for p, m in zip(row, mean, strict=True)] for row in exact]
            table = [_integers(row) for row in (exact if bound is None else mixed)]
            if _same_zeros(table, exact) and _at_most(largest_ratio(table), bound):
                return cls.of(table)
        raise ChannelError(
            "a probability is too small to be written as an integer out of 2^53", "raise it or set it to 0"
        )

    @property
    def options(self) -> int:  # type: ignore[override]
        """The number of true answers."""
        return len(self.table)

    @property
    def outcomes(self) -> int:
        """The number of possible reports."""
        return len(self.table[0])

    @property
    def rows(self) -> tuple[tuple[int, ...], ...]:
        """The whole table."""
        return self.table

    @property
    def ratio(self) -> Fraction | None:
        """The largest ratio in a column."""
        return largest_ratio(self.table)

    def row(self, answer: int) -> tuple[int, ...]:
        """Return the weights of all reports when `answer` is true."""
        self.check_answer(answer)
        return self.table[answer]

    def pick(self, answer: Any, draws: Draws) -> Code:
        """Draw once; the draws are dealt out along the row in order."""
        self.check_answer(answer)
        draw = draws()
        return next(z for z, edge in enumerate(accumulate(self.table[answer])) if draw < edge)

    def to_json(self) -> dict[str, Any]:
        """Return the published form."""
        return {"form": self.form, "rows": [list(row) for row in self.table]}


def largest_ratio(rows: Sequence[Sequence[int]] | Sequence[Sequence[Fraction]]) -> Fraction | None:
    """Return the largest ratio within a column; None where a zero meets a non-zero."""
    worst = Fraction(1)
    for column in zip(*rows, strict=True):
        low, high = min(column), max(column)
        if high == 0:
            continue
        if low == 0:
            return None
        worst = max(worst, Fraction(high) / Fraction(low))
    return worst


def _at_most(ratio: Fraction | None, bound: Fraction | None) -> bool:
    return bound is None or (ratio is not None and ratio <= bound)


def _same_zeros(table: Sequence[Sequence[int]], exact: Sequence[Sequence[Fraction]]) -> bool:
    return all(
        (w == 0) == (p == 0)
        for row, ps in zip(table, exact, strict=True)
        for w, p in zip(row, ps, strict=True)
    )


def _numbers(row: Sequence[Number], number: int) -> list[Fraction]:
    what = msg("probability in row {number}", number=number)
    numbers = [read_number(p, what) for p in row]
    if any(p < 0 for p in numbers) or sum(numbers) <= 0:
        raise ChannelError(
            msg("row {number} needs probabilities that are not negative and not all zero", number=number)
        )
    return numbers


def _normalised(row: Sequence[Fraction]) -> list[Fraction]:
    total = sum(row, Fraction(0))
    return [p / total for p in row]


def _integers(row: Sequence[Fraction]) -> list[int]:
    """Integers that sum to 2^53: each rounded down, what is left goes to the largest remainders."""
    exact = [p * SCALE for p in row]
    down = [int(p) for p in exact]
    order = sorted(range(len(row)), key=lambda z: exact[z] - down[z], reverse=True)
    for z in order[: SCALE - sum(down)]:
        down[z] += 1
    return down
