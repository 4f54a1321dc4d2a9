"""Several answers at once: sample openly, randomize jointly."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import ceil, comb, exp
from typing import Any, ClassVar

from hushpoll_client.channel import SCALE, Channel
from hushpoll_client.channel.sampled import MAX_JOINT, SampledChannel, joint_sizes
from hushpoll_client.errors import ChannelError, MechanismError
from hushpoll_client.exact import Number, exp_below, is_whole, spell
from hushpoll_client.messages import msg

from .base import Mechanism, positive_epsilon
from .parameters import ASK, EPSILON, Parameter

__all__ = ["PLANNING_SHARE", "Sampled", "best_ask", "sampled", "sampled_channel", "unit_variance"]

PLANNING_SHARE = 0.2  # of an item, where the number of items asked is chosen


class Sampled(Mechanism):
    """Draw some of the items by an open coin; report whether they are ticked, jointly through K-ary response."""

    name = "sampled"
    label = msg("Some items, drawn openly, reported together")
    help = msg(
        "The device draws some of the options by an open coin and reports which of them are ticked, all together:"
        " right with a known probability, else one of the other combinations."
    )
    design = msg(
        "open sampling with joint randomization (the device draws s of the m items at random, says which, and reports "
        "their joint answer by K-ary randomized response with K = 2^s)"
    )
    formula = "p̂ᵢ = (fᵢ − w) / (1 − 2w),   w = 2^(s−1) / (e^ε + 2^s − 1)"
    symbols = msg(
        "fᵢ: frequency of item i as ticked among the reports that asked it; s: items asked of a person"
    )
    citation = (
        "Kairouz, P., Bonawitz, K., Ramage, D. (2016). Discrete distribution estimation under local privacy. "
        "Proceedings of the 33rd International Conference on Machine Learning, 2436–2444."
    )
    declared_parameters: ClassVar[tuple[Parameter, ...]] = (EPSILON, ASK)
    fits = "set"
    reports_answers = False

    @classmethod
    def compile(cls, options: int, parameters: Mapping[str, Any]) -> Mechanism:
        """Return the mechanism from a document's parameters."""
        return sampled([2] * options, **parameters)

    def device_answer(self, answer: Any, decoy: int | None = None) -> Any:
        """Return of every item whether it is among the ticked ones."""
        super().device_answer(answer, decoy)
        return tuple(int(item in answer) for item in range(self.options))

    def at(self, epsilon: Number) -> Mechanism:
        """Return the mechanism with another epsilon and as many items asked as are best there."""
        return sampled([2] * self.options, epsilon)


def sampled(sizes: Sequence[int], epsilon: Number, ask: int | None = None) -> Mechanism:
    """Open sampling with joint K-ary response: `ask` of the members, whose numbers of answers are `sizes`."""
    exponent = positive_epsilon(epsilon)
    for size in sizes:
        if not is_whole(size):
            raise MechanismError(
                msg(
                    "the number of answers of every question must be a whole number, got {size!r}", size=size
                ),
                field="sizes",
            )
        if size < 2:
            raise MechanismError(
                msg("every question needs at least two answers, got one with {size!r}", size=size),
                "add answers to it, or leave it out",
                "sizes",
            )
    if ask is None:
        ask = best_ask(len(sizes), float(exponent))
    if not is_whole(ask) or not 1 <= ask <= len(sizes):
        raise MechanismError(
            msg("ask must be a whole number from 1 to {members}, got {ask!r}", members=len(sizes), ask=ask),
            "leave it out for the best number",
            "ask",
        )
    channel = sampled_channel(sizes, exp_below(exponent), int(ask))
    return Sampled({"ask": int(ask), "epsilon": spell(exponent)}, channel, channel)


def sampled_channel(sizes: Sequence[int], bound: Any, ask: int) -> Channel:
    """W = ceil(2^53 / (L + N - 1)) for each joint size N, with L the bound just below e^epsilon."""
    try:
        joint = joint_sizes(sizes, ask)
        return SampledChannel.of(sizes, ask, [(size, ceil(SCALE / (bound + size - 1))) for size in joint])
    except ChannelError as error:
        raise MechanismError(error.problem, error.remedy or "ask fewer or raise the epsilon", "ask") from None


def best_ask(members: int, epsilon: float, least: int = 1) -> int:
    """Return the number of yes/no items to ask, at least `least`, with the least variance of one share."""
    fit = [ask for ask in range(least, min(members, 16) + 1) if _feasible(members, ask)]
    return min(fit, key=lambda ask: unit_variance(members, ask, epsilon))


def unit_variance(members: int, ask: int, epsilon: float, share: float = PLANNING_SHARE) -> float:
    """Return n times the variance of one yes/no item's share where `ask` of the items are asked."""
    wrong = 2.0 ** (ask - 1) / (exp(epsilon) + 2.0**ask - 1)
    seen = wrong + (1 - 2 * wrong) * share
    return members / ask * seen * (1 - seen) / (1 - 2 * wrong) ** 2


def _feasible(members: int, ask: int) -> bool:
    return 2**ask <= MAX_JOINT and comb(members, ask) << ask <= SCALE
