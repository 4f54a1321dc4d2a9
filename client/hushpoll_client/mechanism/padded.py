"""One item of at most `at_most`."""

from __future__ import annotations

from collections.abc import Mapping
from math import exp
from typing import Any, ClassVar

from hushpoll_client.channel import SCALE, Channel
from hushpoll_client.channel.padded import PaddedChannel
from hushpoll_client.errors import MechanismError
from hushpoll_client.exact import Number, exp_below, is_whole, spell
from hushpoll_client.messages import msg

from .base import Mechanism, positive_epsilon, whole_options
from .parameters import EPSILON, Parameter
from .sampled import PLANNING_SHARE

__all__ = ["Padded", "padded", "unit_variance"]


class Padded(Mechanism):
    """Pad the ticked items with dummies to a fixed number; report one of them, or one of the others."""

    name = "padded"
    label = msg("One of the ticked items, or another")
    help = msg(
        "The device fills up the ticked options with dummies to the largest number allowed, and reports one of these"
        " with a known probability, else one of the others."
    )
    design = msg(
        "padding and sampling (the ticked items are padded with dummies to c; the device reports an item of that set, "
        "each e^ε times as likely as each other item)"
    )
    formula = "p̂ᵢ = (fᵢ − q) / (p − q),   p = e^ε / (m + c e^ε),   q = 1 / (m + c e^ε)"
    symbols = msg("fᵢ: frequency of item i among the reports; m: items; c: most items that may be ticked")
    citation = (
        "Wang, T., Li, N., Jha, S. (2018). Locally differentially private frequent itemset mining. IEEE Symposium on "
        "Security and Privacy, 127–143."
    )
    declared_parameters: ClassVar[tuple[Parameter, ...]] = (EPSILON,)
    needs = ("at_most",)
    fits = "set"
    reports_answers = False

    @classmethod
    def compile(cls, options: int, parameters: Mapping[str, Any]) -> Mechanism:
        """Return the mechanism from a document's parameters."""
        if parameters.get("at_most") is None:
            raise MechanismError(
                "padded needs a question that says how many options may be ticked",
                "add at_most to the question, or use sampled",
                "name",
            )
        return padded(options, **parameters)

    def at(self, epsilon: Number) -> Mechanism:
        """Return the mechanism with another epsilon."""
        assert isinstance(self.device, PaddedChannel)
        return padded(self.options, epsilon, self.device.at_most)


def padded(options: int, epsilon: Number, at_most: int) -> Mechanism:
    """Pad and sample at most c ticked items: T = floor(L 2^53 c / (m + L c)) with L just below e^epsilon."""
    options, exponent = whole_options(options), positive_epsilon(epsilon)
    if not is_whole(at_most) or not 1 <= at_most <= options:
        raise MechanismError(
            msg(
                "at_most must be a whole number from 1 to {options}, got {at_most!r}",
                options=options,
                at_most=at_most,
            ),
            field="at_most",
        )
    odds = exp_below(exponent) * at_most
    channel: Channel = PaddedChannel.of(int(options), int(at_most), int(SCALE * odds / (options + odds)))
    return Padded({"epsilon": spell(exponent)}, channel, channel)


def unit_variance(options: int, at_most: int, epsilon: float, share: float = PLANNING_SHARE) -> float:
    """Return n times the variance of one item's share."""
    other = 1 / (options + at_most * exp(epsilon))
    held = exp(epsilon) * other
    seen = other + (held - other) * share
    return seen * (1 - seen) / (held - other) ** 2
