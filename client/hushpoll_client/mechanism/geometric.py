"""Two-sided geometric noise on a grid."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

from hushpoll_client.exact import Number
from hushpoll_client.messages import msg

from .base import Mechanism
from .ordered import PRECISE, Ordered, rational

__all__ = ["Geometric", "geometric"]


class Geometric(Ordered):
    """Add two-sided geometric noise to the answer's place and clamp it to the ends."""

    name = "geometric"
    label = msg("Geometric noise")
    help = msg(
        "The device moves the answer along the scale by random steps; few steps are likelier than many."
    )
    design = msg(
        "the geometric mechanism (the device adds two-sided geometric noise to the answer's place on the scale and "
        "clamps it to the ends; the chance falls by e^(−ε/m) with each of the scale's m steps)"
    )
    formula = msg("ĥ = B f with C B′ = I,   C(x, z) ∝ α^|x − z|,   α = e^(−ε/m)")
    symbols = msg(
        "f: reported frequencies; m: steps from one end to the other; at the ends the tails are added"
    )
    citation = (
        "Ghosh, A., Roughgarden, T., Sundararajan, M. (2012). Universally utility-maximizing privacy mechanisms. SIAM "
        "Journal on Computing 41, 1673–1693."
    )

    @classmethod
    def weights(cls, options: int, epsilon: Fraction) -> list[list[Fraction]]:
        """Return alpha^|x - z| with (1 - alpha) inside, where both tails were added at the ends."""
        last = options - 1
        step = PRECISE.divide(Decimal(epsilon.numerator), Decimal(epsilon.denominator * last))
        powers = [rational(PRECISE.exp(-step * k)) for k in range(options)]
        inside = 1 - powers[1]
        return [
            [powers[abs(x - z)] * (1 if z in (0, last) else inside) for z in range(options)]
            for x in range(options)
        ]


def geometric(options: int, epsilon: Number) -> Mechanism:
    """Make geometric noise on a scale (Ghosh, Roughgarden, Sundararajan 2012), clamped to its ends."""
    return Geometric.of(options, epsilon)
