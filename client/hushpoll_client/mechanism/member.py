"""One question of a block: what the block's reports say of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

from hushpoll_client.channel import Channel
from hushpoll_client.errors import MechanismError
from hushpoll_client.exact import Number
from hushpoll_client.said import said

from .base import Mechanism
from .parameters import Parameter
from .sampled import sampled

__all__ = ["Member"]


@dataclass(frozen=True)
class Member(Mechanism):
    """A question of a block: its channels lead from its own answer to what a report that asked it says of it."""

    name: ClassVar[str] = "block"
    label: ClassVar[str] = "Asked in a block"
    help: ClassVar[str] = (
        "The device draws some of the block's questions by an open coin, asks these, and sends their answers together:"
        " right with a known probability, else one of the other combinations."
    )
    design: ClassVar[str] = (
        "open sampling of questions with joint randomization (the device draws s of a block's questions at random, "
        "says which, and reports their joint answer by K-ary randomized response, K the number of joint answers)"
    )
    formula: ClassVar[str] = "p̂ᵢ = (fᵢ − w) / (1 − k·w),   w = (N/k) / (e^ε + N − 1)"
    symbols: ClassVar[str] = (
        "fᵢ: frequency of answer i among the reports that asked the question; k: its number of answers; N: number of "
        "joint answers of the questions asked together"
    )
    citation: ClassVar[str] = (
        "Kairouz, P., Bonawitz, K., Ramage, D. (2016). Discrete distribution estimation under local privacy. "
        "Proceedings of the 33rd International Conference on Machine Learning, 2436–2444."
    )
    takes: ClassVar[tuple[Parameter, ...]] = ()
    in_surveys: ClassVar[bool] = False
    reports_answers: ClassVar[bool] = False

    whole: Channel | None = None
    """The block's channel, from which the device draws."""
    place: int = 0
    """Which of the block's questions it is."""

    @classmethod
    def compile(cls, options: int, given: Mapping[str, Any]) -> Mechanism:
        """Refuse: a block makes it."""
        raise MechanismError("a question has this mechanism only as part of a block", "put it in one")

    @classmethod
    def of(cls, block: Mechanism, place: int) -> Member:
        """Make the mechanism of one member of a block."""
        own: Channel = block.device.marginal((place,))  # type: ignore[attr-defined]
        note = said("of the block: all answers that a person gives in it together")
        return cls(dict(block.parameters), own, own, note, whole=block.device, place=place)

    def at(self, epsilon: Number) -> Mechanism:
        """Make the same question of the block with another epsilon of the whole block, which asks as many."""
        assert self.whole is not None
        sizes: tuple[int, ...] = self.whole.sizes  # type: ignore[attr-defined]
        return Member.of(sampled(sizes, epsilon, int(self.parameters["ask"])), self.place)

    @property
    def asked(self) -> Fraction:
        """The share of people who are asked this question of the block."""
        assert self.whole is not None
        return Fraction(int(self.parameters["ask"]), self.whole.options)

    @property
    def epsilon(self) -> float:
        """The block's: whoever knows a person's other answers learns this much about this one."""
        assert self.whole is not None
        return self.whole.epsilon
