"""Discrete Gaussian noise on a grid: private up to a delta."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from fractions import Fraction
from typing import Any, ClassVar

from hushpoll_client.channel import SCALE, Channel
from hushpoll_client.errors import MechanismError
from hushpoll_client.exact import Number, read_decimal, spell
from hushpoll_client.limits import MAX_TABLE
from hushpoll_client.messages import msg

from .base import Mechanism, whole_options
from .ordered import PRECISE, rational
from .parameters import SIGMA, Parameter

__all__ = ["DiscreteGaussian", "discrete_gaussian"]

_LARGEST = 1000


class DiscreteGaussian(Mechanism):
    """Add discrete Gaussian noise to the answer's place and clamp it; `device.profile` gives its epsilon and delta."""

    name = "discrete_gaussian"
    label = msg("Discrete Gaussian noise")
    help = msg("The device moves the answer along the scale by normally distributed steps.")
    design = msg(
        "discrete Gaussian noise (the device adds noise with weights e^(−k² / 2σ²) to the answer's place on the scale "
        "and clamps it to the ends)"
    )
    formula = msg("ĥ = B f with C B′ = I,   C(x, z) ∝ e^(−(x − z)² / 2σ²)")
    symbols = msg("f: reported frequencies; σ: in steps of the scale; at the ends the tails are added")
    citation = (
        "Canonne, C. L., Kamath, G., Steinke, T. (2022). The discrete Gaussian for differential privacy. Journal of "
        "Privacy and Confidentiality 12(1)."
    )
    declared_parameters: ClassVar[tuple[Parameter, ...]] = (SIGMA,)
    fits = "ordered"
    in_surveys = False

    @classmethod
    def compile(cls, options: int, parameters: Mapping[str, Any]) -> Mechanism:
        """Return the mechanism from the width of the noise."""
        return discrete_gaussian(options, parameters["sigma"])


def discrete_gaussian(options: int, sigma: Number) -> Mechanism:
    """Make discrete Gaussian noise of width `sigma` in steps (Canonne, Kamath, Steinke 2022), clamped to the ends."""
    options = whole_options(options)
    if not 2 <= options <= MAX_TABLE:
        raise MechanismError(
            msg(
                "discrete_gaussian takes 2 to {most} options, got {options!r}",
                most=MAX_TABLE,
                options=options,
            ),
            "use fewer",
            "options",
        )
    width = read_decimal(sigma, "sigma")
    if not Fraction(1, 10) <= width <= _LARGEST:
        raise MechanismError(
            msg("sigma must lie between 0.1 and {most}, got {width}", most=_LARGEST, width=spell(width)),
            "it counts steps",
            "sigma",
        )
    last = int(options) - 1
    weights = _weights(width, last)
    total = weights[0] + 2 * sum(weights[1:], Fraction(0))
    tails = [sum(weights[k:], Fraction(0)) for k in range(last + 1)]
    rows = [
        [_truncated((tails if z in (0, last) else weights)[abs(x - z)] / total) for z in range(last + 1)]
        for x in range(last + 1)
    ]
    channel = Channel.from_weights(rows)
    note = "epsilon alone says little of Gaussian noise: device.profile gives the delta that belongs to an epsilon"
    return DiscreteGaussian({"sigma": spell(width)}, channel, channel, note)


def _weights(width: Fraction, last: int) -> list[Fraction]:
    """Return e^(-k^2 / 2 sigma^2) from k = 0 until nothing is left that could be written."""
    twice = 2 * width * width
    weights: list[Fraction] = []
    while len(weights) <= last or weights[-1] > 0:
        square = Fraction(len(weights) ** 2) / twice
        exponent = PRECISE.divide(Decimal(-square.numerator), Decimal(square.denominator))
        weights.append(rational(PRECISE.exp(exponent)))
    return weights


def _truncated(chance: Fraction) -> Fraction:
    """Leave out what is too small for an integer out of 2^53, and more digits than that needs."""
    if chance * SCALE >= 1:
        return Fraction(int(chance * 2**90), 2**90)
    return Fraction(0)
