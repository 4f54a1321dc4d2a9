"""One question of a block: what the block's reports say of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, ClassVar

from hushpoll_client.channel import Channel
from hushpoll_client.errors import MechanismError
from hushpoll_client.exact import Number
from hushpoll_client.messages import msg

from .base import Mechanism
from .parameters import Parameter
from .sampled import sampled

__all__ = ["Member"]


@dataclass(frozen=True)
class Member(Mechanism):
    """A question of a block: its channels lead from its own answer to what a report that asked it says of it."""

    name: ClassVar[str] = "block"
    label: ClassVar[str] = msg("Asked in a block")
    help: ClassVar[str] = msg(
        "The device draws some of the block's questions by an open coin, asks these, and sends their answers together:"
        " right with a known probability, else one of the other combinations."
    )
    design: ClassVar[str] = msg(
        "open sampling of questions with joint randomization (the device draws s of a block's questions at random, "
        "says which, and reports their joint answer by K-ary randomized response, K the number of joint answers)"
    )
    formula: ClassVar[str] = "p̂ᵢ = (fᵢ − w) / (1 − k·w),   w = (N/k) / (e^ε + N − 1)"
    symbols: ClassVar[str] = msg(
        "fᵢ: frequency of answer i among the reports that asked the question; k: its number of answers; N: number of "
        "joint answers of the questions asked together"
    )
    citation: ClassVar[str] = (
        "Kairouz, P., Bonawitz, K., Ramage, D. (2016). Discrete distribution estimation under local privacy. "
        "Proceedings of the 33rd International Conference on Machine Learning, 2436–2444."
    )
    declared_parameters: ClassVar[tuple[Parameter, ...]] = ()
    in_surveys: ClassVar[bool] = False
    reports_answers: ClassVar[bool] = False

    block_channel: Channel = field(kw_only=True)
    """The block's channel, from which the device draws."""
    position: int = field(kw_only=True)
    """The question's position in the block, counted from 0."""

    @classmethod
    def compile(cls, options: int, parameters: Mapping[str, Any]) -> Mechanism:
        """Refuse: a block makes it."""
        raise MechanismError("a question has this mechanism only as part of a block", "put it in one")

    @classmethod
    def of(cls, block: Mechanism, position: int) -> Member:
        """Return the mechanism of one question of a block."""
        marginal: Channel = block.device.marginal((position,))  # type: ignore[attr-defined]
        return cls(
            parameters=dict(block.parameters),
            device=marginal,
            analysis=marginal,
            epsilon_note=msg("of the block: all answers that a person gives in it together"),
            block_channel=block.device,
            position=position,
        )

    def at(self, epsilon: Number) -> Mechanism:
        """Return the same question with another epsilon of the whole block, which asks as many."""
        sizes: tuple[int, ...] = self.block_channel.sizes  # type: ignore[attr-defined]
        return Member.of(sampled(sizes, epsilon, int(self.parameters["ask"])), self.position)

    @property
    def asked(self) -> Fraction:
        """The share of people who are asked this question of the block."""
        return Fraction(int(self.parameters["ask"]), self.block_channel.options)

    @property
    def epsilon(self) -> float:
        """The block's epsilon: a person's other answers, once known, let a report tell this much about this one."""
        return self.block_channel.epsilon
