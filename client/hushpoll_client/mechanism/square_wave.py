"""The square wave."""

from __future__ import annotations

from fractions import Fraction
from math import exp, expm1

from hushpoll_client.exact import Number, exp_below
from hushpoll_client.limits import MAX_TABLE
from hushpoll_client.messages import msg

from .base import Mechanism
from .ordered import Ordered

__all__ = ["SquareWave", "reach", "square_wave"]


class SquareWave(Ordered):
    """Report a place within some bins of the answer e^epsilon times as likely as one farther off."""

    name = "square_wave"
    label = msg("Square wave")
    help = msg(
        "The device reports a place on a longer scale; places within some bins of the answer are likelier."
    )
    design = msg(
        "the square wave mechanism (the device reports a place on a scale that is longer by b bins at each end; places "
        "within b bins of the answer are e^ε times as likely as others)"
    )
    formula = msg("ĥ = B f with C B′ = I,   C(x, z) ∝ e^ε if |x − z| ≤ b, else 1")
    symbols = msg("f: reported frequencies; b: half the width of the wave, in bins")
    citation = (
        "Li, Z., Wang, T., Lopuhaä-Zwakenberg, M., Li, N., Škoric, B. (2020). Estimating numerical distributions under "
        "local differential privacy. ACM SIGMOD, 621–635."
    )
    reports_answers = False

    @classmethod
    def weights(cls, options: int, epsilon: Fraction) -> list[list[Fraction]]:
        """Return L within b bins and 1 elsewhere, on b more places at each end."""
        limit, half = exp_below(epsilon), reach(options, float(epsilon))
        return [
            [limit if abs(z - half - x) <= half else Fraction(1) for z in range(options + 2 * half)]
            for x in range(options)
        ]


def reach(options: int, epsilon: float) -> int:
    """Return b: the width that tells most about the answer, as long as the table can be published."""
    if epsilon < 1e-3:
        share = 0.5
    else:
        grown = exp(epsilon)
        share = (epsilon * grown - expm1(epsilon)) / (2.0 * grown * (expm1(epsilon) - epsilon))
    return min(int(share * options), (MAX_TABLE - options) // 2)


def square_wave(options: int, epsilon: Number) -> Mechanism:
    """Return the square wave on bins (Li and others 2020)."""
    return SquareWave.of(options, epsilon)
