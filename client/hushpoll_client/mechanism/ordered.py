"""What mechanisms for ordered answers have in common: a table made here, published weight by weight, and checked."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from decimal import Context, Decimal
from fractions import Fraction
from typing import Any, ClassVar

from hushpoll_client.channel import SCALE, Channel
from hushpoll_client.errors import MechanismError
from hushpoll_client.exact import Number, exp_below, spell
from hushpoll_client.limits import MAX_TABLE
from hushpoll_client.messages import msg

from .base import Mechanism, positive_epsilon, whole_options
from .matrix import check_bound
from .parameters import EPSILON, Parameter

__all__ = ["PRECISE", "Ordered", "rational", "within"]

PRECISE = Context(prec=60)
_BITS = 120


class Ordered(Mechanism):
    """A mechanism that knows which answers lie close together; clients check its integers against the epsilon."""

    declared_parameters: ClassVar[tuple[Parameter, ...]] = (EPSILON,)
    fits = "ordered"
    recompiled = False
    most: ClassVar[int] = MAX_TABLE
    """Answers for which it can be made; surveys publish tables of at most 64."""

    @classmethod
    @abstractmethod
    def weights(cls, options: int, epsilon: Fraction) -> list[list[Fraction]]:
        """Return the table before it is rounded, one row for each answer."""

    @classmethod
    def compile(cls, options: int, parameters: Mapping[str, Any]) -> Mechanism:
        """Return the table for `options` answers."""
        return cls.of(options, parameters["epsilon"])

    @classmethod
    def check(cls, options: int, parameters: Mapping[str, Any], channel: Channel) -> Mechanism:
        """Take the integers as they are, unless they break the epsilon that the document states."""
        epsilon = check_bound(options, parameters, channel)
        return cls({"epsilon": spell(epsilon)}, channel, channel)

    @classmethod
    def of(cls, options: int, epsilon: Number) -> Mechanism:
        """Return the mechanism from Python."""
        options = whole_options(options)
        if not 2 <= options <= cls.most:
            raise MechanismError(
                msg(
                    "{name} takes 2 to {most:,} options, got {options!r}",
                    name=cls.name,
                    most=cls.most,
                    options=options,
                ),
                "use fewer",
                "options",
            )
        exponent = positive_epsilon(epsilon)
        channel = within(cls.weights(int(options), exponent), exponent)
        return cls({"epsilon": spell(exponent)}, channel, channel)

    @classmethod
    def fits_options(cls, options: int) -> bool:
        """Return whether its table exists for `options` answers."""
        return 2 <= options <= cls.most


def rational(value: Decimal) -> Fraction:
    """Return a fraction of few digits close below a number."""
    return Fraction(int(PRECISE.multiply(value, Decimal(2**_BITS))), 2**_BITS)


def within(rows: Sequence[Sequence[Fraction]], epsilon: Fraction) -> Channel:
    """Round a table toward privacy: mixed with as little of its average row as keeps every ratio at most e^epsilon.

    Whole numbers out of 2^120 throughout: fractions of all the rows' sums would have thousands of digits.
    """
    limit, unit = exp_below(epsilon), 1 << _BITS
    fine = [[int(p * unit / total) for p in row] for row in rows for total in [sum(row, Fraction(0))]]
    mean = [sum(column) // len(fine) for column in zip(*fine, strict=True)]
    for power in range(_BITS - 53, 8, -1):
        mixed = [[p + ((m - p) >> power) for p, m in zip(row, mean, strict=True)] for row in fine]
        table = [_out_of_scale(row) for row in mixed]
        if all(
            min(column) > 0 and max(column) * limit.denominator <= min(column) * limit.numerator
            for column in zip(*table, strict=True)
        ):
            return Channel.matrix(table)
    raise MechanismError("a chance is too small for integers out of 2^53", "use fewer options", "options")


def _out_of_scale(row: Sequence[int]) -> list[int]:
    """Return integers that sum to 2^53: each rounded down, what is left goes to the largest remainders."""
    drop = _BITS - 53
    down = [p >> drop for p in row]
    order = sorted(range(len(row)), key=lambda z: row[z] - (down[z] << drop), reverse=True)
    for z in order[: SCALE - sum(down)]:
        down[z] += 1
    return down
