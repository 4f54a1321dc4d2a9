"""K-ary randomized response."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from hushpoll_client.exact import Number, read_decimal, spell
from hushpoll_client.messages import msg

from .base import Mechanism, krr_channel
from .parameters import EPSILON, Parameter

__all__ = ["Krr", "krr"]


class Krr(Mechanism):
    """Report the chosen option, or with one small chance each of the others."""

    name = "krr"
    in_base_bundle = True
    label = msg("K-ary randomized response")
    help = msg(
        "The device reports the chosen option with a known probability, else one of the others, all alike."
    )
    design = msg(
        "K-ary randomized response (the chosen option is e^ε times as likely to be reported as any other)"
    )
    formula = "ĥₖ = (fₖ − p₀) / (p₀ (e^ε − 1)),   p₀ = 1 / (K − 1 + e^ε)"
    symbols = msg("fₖ: reported frequency of option k; K: number of options")
    citation = (
        "Kairouz, P., Bonawitz, K., Ramage, D. (2016). Discrete distribution estimation under local privacy. "
        "Proceedings of the 33rd International Conference on Machine Learning, 2436–2444."
    )
    declared_parameters: ClassVar[tuple[Parameter, ...]] = (EPSILON,)

    @classmethod
    def compile(cls, options: int, parameters: Mapping[str, Any]) -> Mechanism:
        """Return the mechanism from a document's parameters."""
        return krr(options, **parameters)


def krr(options: int, epsilon: Number) -> Mechanism:
    """K-ary randomized response: the truth is e^epsilon times as likely as each other option (Kairouz et al. 2014)."""
    channel = krr_channel(options, epsilon)
    return Krr({"epsilon": spell(read_decimal(epsilon, "epsilon"))}, channel, channel)
