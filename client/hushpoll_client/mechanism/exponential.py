"""The exponential mechanism on a scale."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

from hushpoll_client.exact import Number
from hushpoll_client.messages import msg

from .base import Mechanism
from .ordered import PRECISE, Ordered, rational

__all__ = ["Exponential", "exponential"]


class Exponential(Ordered):
    """Report a point with a chance that falls exponentially with its distance from the answer."""

    name = "exponential"
    label = msg("Exponential mechanism")
    help = msg(
        "The device reports a point of the scale; points near the answer are likelier than distant ones."
    )
    design = msg(
        "the exponential mechanism (the device reports a point of the scale with a chance that falls exponentially "
        "with its distance from the answer)"
    )
    formula = msg("ĥ = B f with C B′ = I,   C(x, z) = e^(−ε |x − z| / m) / Σ")
    symbols = msg("f: reported frequencies; m: steps from one end to the other; Σ: the sum over the row")
    citation = (
        "McSherry, F., Talwar, K. (2007). Mechanism design via differential privacy. 48th IEEE Symposium on "
        "Foundations of Computer Science, 94–103."
    )

    @classmethod
    def weights(cls, options: int, epsilon: Fraction) -> list[list[Fraction]]:
        """Return exp(-epsilon |x - z| / m); the textbook's factor 2 would spend only half of epsilon here."""
        step = PRECISE.divide(Decimal(epsilon.numerator), Decimal(epsilon.denominator * (options - 1)))
        powers = [rational(PRECISE.exp(-step * k)) for k in range(options)]
        return [[powers[abs(x - z)] for z in range(options)] for x in range(options)]


def exponential(options: int, epsilon: Number) -> Mechanism:
    """Return the exponential mechanism (McSherry and Talwar 2007) with the distance on a scale as its loss."""
    return Exponential.of(options, epsilon)
