"""The channel: the one idea that carries the system.

A question has true answers x = 0..K-1 and reports z = 0..M-1. A channel is the table C[x, z] = P(report z | truth x),
kept as integers out of SCALE = 2^53, so that what is published, what is drawn and what is proven are the same numbers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate
from typing import Any

from .errors import ChannelError
from .exact import Number, log_below, read_number

__all__ = ["MAX_TABLE", "SCALE", "Channel"]

SCALE = 2**53
MAX_TABLE = 64  # rows and columns of a published table: larger ones have a structured form or are refused


@dataclass(frozen=True, slots=True)
class Channel:
    """A table of integer weights out of 2^53, one row for each true answer.

    Make one with `krr`, `matrix`, `identity` or `from_probabilities`. The K-ary form stores one weight only:
    every wrong report has `weight`, the true one what remains.
    """

    options: int
    outcomes: int
    weight: int | None = None
    table: tuple[tuple[int, ...], ...] | None = None

    @classmethod
    def krr(cls, options: int, weight: int) -> Channel:
        """K-ary response: `weight` on every report but the true one."""
        _whole(options, "options", 2)
        _whole(weight, "weight", 1)
        if (options - 1) * weight >= SCALE:
            raise ChannelError(
                f"weight {weight} is too large: {options} options leave nothing for the true one"
            )
        return cls(options, options, weight=weight)

    @classmethod
    def matrix(cls, rows: Sequence[Sequence[int]]) -> Channel:
        """A table given weight by weight; every row sums to 2^53."""
        if len(rows) < 2:
            raise ChannelError(f"a channel has at least two rows, one for each true answer, got {len(rows)}")
        width = len(rows[0])
        if width < 2:
            raise ChannelError(f"a channel has at least two columns, one for each report, got {width}")
        for number, row in enumerate(rows, 1):
            if len(row) != width:
                raise ChannelError(f"row {number} has {len(row)} weights, row 1 has {width}")
            for weight in row:
                _whole(weight, f"weight in row {number}", 0)
            if sum(row) != SCALE:
                raise ChannelError(f"row {number} sums to {sum(row)}, not to 2^53 = {SCALE}")
        return cls(len(rows), width, table=tuple(tuple(row) for row in rows))

    @classmethod
    def identity(cls, options: int) -> Channel:
        """The channel that reports the truth: unbounded epsilon."""
        return cls.matrix([[SCALE if x == z else 0 for z in range(options)] for x in range(options)])

    @classmethod
    def from_probabilities(cls, rows: Sequence[Sequence[Number]]) -> Channel:
        """Round a table of probabilities, or of weights to be normalised, toward privacy.

        The epsilon of the result never exceeds the epsilon of the table given; zeros stay zeros.
        """
        exact = [_normalised(row, number) for number, row in enumerate(rows, 1)]
        if len({len(row) for row in exact}) > 1:
            raise ChannelError("every row needs the same number of columns")
        if len(exact) < 2 or len(exact[0]) < 2:
            raise ChannelError("a channel has at least two rows and two columns")
        bound = _ratio(exact)
        mean = [sum(column, Fraction(0)) / len(exact) for column in zip(*exact, strict=True)]
        # Mixing every row with the same average row only lowers ratios. Half an integer of rounding needs a share
        # of about 2^-53 over the smallest probability, so the first shares tried nearly always suffice.
        for share in [Fraction(0), *(Fraction(1, 2**power) for power in range(53, 20, -1))]:
            mixed = [[(1 - share) * p + share * m for p, m in zip(row, mean, strict=True)] for row in exact]
            if bound is None:
                mixed = exact
            table = [_rounded(row) for row in mixed]
            kept = all(
                (w == 0) == (p == 0)
                for row, ps in zip(table, exact, strict=True)
                for w, p in zip(row, ps, strict=True)
            )
            ratio = _ratio(table)
            if kept and (bound is None or (ratio is not None and ratio <= bound)):
                return cls.matrix(table)
        raise ChannelError(
            "a probability is too small to be written as an integer out of 2^53; raise it or set it to 0"
        )

    @property
    def form(self) -> str:
        """The name of the published form: "krr" or "matrix"."""
        return "matrix" if self.weight is None else "krr"

    @property
    def truth_weight(self) -> int:
        """The weight on the true report of a K-ary channel."""
        if self.weight is None:
            raise ChannelError("only a K-ary channel has one truth weight; read `rows`")
        return SCALE - (self.options - 1) * self.weight

    def row(self, answer: int) -> tuple[int, ...]:
        """The weights of all reports when `answer` is true."""
        _whole(answer, "answer", 0, self.options)
        if self.table is not None:
            return self.table[answer]
        assert self.weight is not None
        return tuple(self.truth_weight if z == answer else self.weight for z in range(self.outcomes))

    @property
    def rows(self) -> tuple[tuple[int, ...], ...]:
        """The whole table; for a K-ary channel it is made on the spot, K by K."""
        return self.table if self.table is not None else tuple(self.row(x) for x in range(self.options))

    @property
    def ratio(self) -> Fraction | None:
        """The exact e^epsilon: the largest ratio in a column; None when a zero meets a non-zero."""
        if self.weight is not None:
            truth = self.truth_weight
            return Fraction(max(truth, self.weight), min(truth, self.weight))
        assert self.table is not None
        return _ratio(self.table)

    @property
    def epsilon(self) -> float:
        """ln(ratio) as a double rounded down; infinity when unbounded."""
        ratio = self.ratio
        return float("inf") if ratio is None else log_below(ratio)

    def report(self, answer: int, draw: int) -> int:
        """Pick the report for a true answer and a uniform draw from 0..2^53-1.

        K-ary: the draws 0..T-1 give the truth, then each of the others in turn has `weight` draws.
        Table: the draws are dealt out along the row in order.
        """
        if type(answer) is not int or not 0 <= answer < self.options:
            raise ChannelError(
                f"answer must be an integer from 0 to {self.options - 1}"
            )  # never repeat the answer
        if type(draw) is not int or not 0 <= draw < SCALE:
            raise ChannelError("draw must be an integer from 0 to 2^53 - 1")
        if self.weight is not None:
            truth = SCALE - (self.options - 1) * self.weight
            offset = 0 if draw < truth else 1 + (draw - truth) // self.weight
            return (answer + offset) % self.options
        assert self.table is not None
        return next(z for z, edge in enumerate(accumulate(self.table[answer])) if draw < edge)

    def then(self, after: Channel) -> Channel:
        """Send this channel's reports through another one (post-processing: epsilon cannot grow)."""
        if self.outcomes != after.options:
            raise ChannelError(f"{self.outcomes} reports do not fit a channel of {after.options} answers")
        return Channel.from_probabilities(
            [
                [
                    sum(a * b for a, b in zip(row, column, strict=True))
                    for column in zip(*after.rows, strict=True)
                ]
                for row in self.rows
            ]
        )

    def product(self, other: Channel) -> Channel:
        """The channel of two questions answered together (Kronecker product; epsilons add up)."""
        return Channel.from_probabilities(
            [[a * b for a in left for b in right] for left in self.rows for right in other.rows]
        )

    def to_json(self) -> dict[str, Any]:
        """The published form."""
        if self.weight is not None:
            return {"form": "krr", "options": self.options, "weight": self.weight}
        assert self.table is not None
        return {"form": "matrix", "rows": [list(row) for row in self.table]}

    @classmethod
    def from_json(cls, value: object) -> Channel:
        """Read a published form; anything unexpected is refused."""
        if not isinstance(value, Mapping):
            raise ChannelError("a channel is an object with a form")
        form, keys = value.get("form"), set(value)
        if form == "krr" and keys == {"form", "options", "weight"}:
            return cls.krr(value["options"], value["weight"])
        if form == "matrix" and keys == {"form", "rows"}:
            rows = value["rows"]
            if not isinstance(rows, list) or not all(isinstance(row, list) for row in rows):
                raise ChannelError("rows must be a list of lists of integers")
            if len(rows) > MAX_TABLE or any(len(row) > MAX_TABLE for row in rows):
                raise ChannelError(f"a table has at most {MAX_TABLE} rows and columns")
            return cls.matrix(rows)
        raise ChannelError(
            f'unknown channel form {form!r} with keys {sorted(map(str, keys))}; known: "krr", "matrix"'
        )


def _whole(value: object, what: str, low: int, below: int | None = None) -> None:
    # bool is an int in Python; True is no weight.
    if type(value) is not int:
        raise ChannelError(f"{what} must be an integer, got {value!r}")
    if value < low or (below is not None and value >= below):
        raise ChannelError(
            f"{what} must be {f'from {low} to {below - 1}' if below else f'at least {low}'}, got {value}"
        )


def _ratio(rows: Sequence[Sequence[int]] | Sequence[Sequence[Fraction]]) -> Fraction | None:
    worst = Fraction(1)
    for column in zip(*rows, strict=True):
        low, high = min(column), max(column)
        if high == 0:
            continue
        if low == 0:
            return None
        worst = max(worst, Fraction(high) / Fraction(low))
    return worst


def _normalised(row: Sequence[Number], number: int) -> list[Fraction]:
    numbers = [read_number(p, f"probability in row {number}") for p in row]
    total = sum(numbers, Fraction(0))
    if any(p < 0 for p in numbers) or total <= 0:
        raise ChannelError(f"row {number} needs probabilities that are not negative and not all zero")
    return [p / total for p in numbers]


def _rounded(row: Sequence[Fraction]) -> list[int]:
    """Integers that sum to 2^53: each rounded down, what is left goes to the largest remainders."""
    exact = [p * SCALE for p in row]
    whole = [int(p) for p in exact]
    order = sorted(range(len(row)), key=lambda z: exact[z] - whole[z], reverse=True)
    for z in order[: SCALE - sum(whole)]:
        whole[z] += 1
    return whole
