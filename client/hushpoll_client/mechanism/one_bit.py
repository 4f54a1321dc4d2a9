"""One bit for a mean."""

from __future__ import annotations

from fractions import Fraction

from hushpoll_client.exact import Number, exp_below
from hushpoll_client.limits import MAX_OPTIONS
from hushpoll_client.messages import msg

from .base import Mechanism
from .ordered import Ordered

__all__ = ["OneBit", "one_bit"]


class OneBit(Ordered):
    """Round the answer to an end of the scale at random, then flip that bit: the mean alone can be estimated."""

    name = "one_bit"
    label = msg("One bit for the mean")
    help = msg(
        "The device rounds the answer to one end of the scale at random and flips that. Only the mean is learnt."
    )
    design = msg(
        "one-bit mean estimation (the device rounds the answer to one end of the scale at random so that the mean is "
        "right, then randomizes that bit)"
    )
    formula = msg("mean = (e^ε + 1) / (e^ε − 1) · (2 f₁ − 1)")
    symbols = msg("f₁: frequency of the upper end; the mean of points spread over [−1, 1]")
    citation = (
        "Duchi, J. C., Jordan, M. I., Wainwright, M. J. (2018). Minimax optimal procedures for locally private "
        "estimation. Journal of the American Statistical Association 113, 182–201."
    )
    reports_answers = False
    tells_only = "mean"
    most = MAX_OPTIONS

    @classmethod
    def weights(cls, options: int, epsilon: Fraction) -> list[list[Fraction]]:
        """Return rows that lead evenly from 1 : L at one end to L : 1 at the other."""
        limit, last = exp_below(epsilon), options - 1
        return [[(last - x) * limit + x, last - x + x * limit] for x in range(options)]


def one_bit(options: int, epsilon: Number) -> Mechanism:
    """Return the one bit for the mean of a scale (Duchi, Jordan, Wainwright 2018)."""
    return OneBit.of(options, epsilon)
