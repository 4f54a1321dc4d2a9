"""The least-variance channel for a target."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from hushpoll_client.channel import Channel
from hushpoll_client.errors import MechanismError
from hushpoll_client.exact import Number, read_decimal, spell
from hushpoll_client.messages import msg

from .base import Mechanism, positive_epsilon
from .matrix import check_bound
from .parameters import EPSILON, Parameter

__all__ = ["Designed", "designed"]


class Designed(Mechanism):
    """A channel that was computed for what shall be reported: its integers are checked against the epsilon stated."""

    name = "designed"
    label = msg("Designed for what you report")
    help = msg("The device draws from the table that gives the least variance for what you want to report.")
    design = msg(
        "a channel computed for the target (among all channels with this ε the one with the least variance at the "
        "planning truth)"
    )
    formula = msg("ĥ = B f with C B′ = I on the target")
    symbols = msg("f: reported frequencies; C: randomization table, row = true answer")
    citation = (
        "Kairouz, P., Oh, S., Viswanath, P. (2016). Extremal mechanisms for local differential privacy. Journal of "
        "Machine Learning Research 17(17), 1–51."
    )
    declared_parameters: ClassVar[tuple[Parameter, ...]] = (EPSILON,)
    fits = "ordered"
    recompiled = False
    needs_channel = True
    searched = True
    reports_answers = False

    @classmethod
    def compile(cls, options: int, parameters: Mapping[str, Any]) -> Mechanism:
        """Refuse: finding the channel needs a solver, which clients do not have."""
        positive_epsilon(parameters["epsilon"])
        raise MechanismError(
            "a designed channel is computed by hushpoll_analysis",
            "run `hushpoll survey check`, or use hushpoll_analysis.resolve, which adds the channel",
            "name",
        )

    @classmethod
    def check(cls, options: int, parameters: Mapping[str, Any], channel: Channel) -> Mechanism:
        """Take the integers as they are, unless they break the epsilon that the document states."""
        epsilon = check_bound(options, parameters, channel)
        return cls({"epsilon": spell(epsilon)}, channel, channel)


def designed(channel: Channel, epsilon: Number) -> Mechanism:
    """Take a channel that was designed for at most `epsilon`."""
    return Designed.check(channel.options, {"epsilon": spell(read_decimal(epsilon, "epsilon"))}, channel)
