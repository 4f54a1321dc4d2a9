"""Mechanisms that hide an answer behind a harmless second question, the decoy.

The device runs a fixed function of two true answers and then, where an epsilon is given, a coin. Without the coin the
privacy is only as good as other people's ignorance of this person's decoy answer: the epsilon of `analysis`, the
channel for people who know only the decoy's share, is conditional and always named so.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from fractions import Fraction
from math import inf
from typing import Any, ClassVar

from hushpoll_client.channel import SCALE, Channel
from hushpoll_client.errors import ChannelError, MechanismError
from hushpoll_client.exact import Number, is_whole, read_decimal, read_share, spell
from hushpoll_client.messages import msg

from .base import Mechanism, krr_channel
from .by_hand import Instruction
from .parameters import DECOY_COUNTS, DECOY_SHARE, Parameter, flip_epsilon

__all__ = [
    "CONDITION",
    "KNOWN_DECOY",
    "UNBOUNDED_IF_KNOWN",
    "UNCONDITIONAL",
    "DecoyMechanism",
    "coin",
    "decoy_share_of",
]

CONDITION = msg(
    "holds only if nobody knows more about this person's answer to the decoy question than its share"
)
UNBOUNDED_IF_KNOWN = msg("unbounded against somebody who knows the decoy's answer")
KNOWN_DECOY = msg(
    "{unbounded}; epsilon_conditional {condition}", unbounded=UNBOUNDED_IF_KNOWN, condition=CONDITION
)
UNCONDITIONAL = msg("unconditional; epsilon_conditional {condition}", condition=CONDITION)


class DecoyMechanism(Mechanism):
    """A mechanism whose device combines the answer with that to a decoy question, Yes or No."""

    declared_parameters: ClassVar[tuple[Parameter, ...]] = (DECOY_SHARE, DECOY_COUNTS, flip_epsilon())
    one_of = (("decoy_share", "decoy_counts"),)
    two_answers = True
    has_decoy = True
    takes_combined = False

    @classmethod
    def compile(cls, options: int, parameters: Mapping[str, Any]) -> Mechanism:
        """Return the mechanism from a document's parameters."""
        return cls.make(**parameters)

    @classmethod
    @abstractmethod
    def make(cls, **parameters: Any) -> Mechanism:
        """Return the mechanism from its own parameters."""

    @staticmethod
    @abstractmethod
    def combined(answer: int, decoy: int) -> int:
        """Return what the device's channel randomizes."""

    @property
    def epsilon_conditional(self) -> float | None:
        """The epsilon against people who know only the decoy's share."""
        conditional = self.analysis.epsilon
        if conditional == inf:
            return None
        return conditional

    @property
    def known_decoy_tells(self) -> bool:
        """Whether the decoy's answer, once known, unlocks more: not behind a coin of the device's own."""
        return self.device.ratio is None

    def device_answer(self, answer: Any, decoy: int | None = None) -> Any:
        """Combine a true answer with the decoy's."""
        if answer not in (0, 1) or decoy not in (0, 1):
            raise ChannelError(
                msg(
                    "{name} needs two answers, to the question and to the decoy, each No (0) or Yes (1)",
                    name=self.name,
                )
            )
        return self.combined(answer, decoy)

    def given_decoy(self, decoy: int) -> tuple[tuple[int, ...], ...]:
        """Return the table of this mechanism for people whose decoy answer is known: one row for each true answer."""
        return tuple(self.device.row(self.combined(answer, decoy)) for answer in (0, 1))

    def by_hand(self) -> Instruction | None:
        """Ask nothing of coins: the two answers are combined in the respondent's head."""
        if "epsilon" in self.parameters:
            return None
        return Instruction()

    def _revealed_decoy(self, report: int) -> int | None:
        possible = {decoy for decoy in (0, 1) if any(row[report] for row in self.given_decoy(decoy))}
        if len(possible) == 1:
            return possible.pop()
        return None


def coin(epsilon: Number | None) -> tuple[Channel, dict[str, Any]]:
    """Return the device's channel on the combined bit and its parameter: the bit as it is, or flipped by a coin."""
    if epsilon is None:
        return Channel.identity(2), {}
    return krr_channel(2, epsilon), {"epsilon": spell(read_decimal(epsilon, "epsilon"))}


def decoy_share_of(
    share: Number | None, counts: Sequence[int] | None
) -> tuple[Fraction, tuple[int, int] | None, dict[str, Any]]:
    """Read the decoy's share: known, or estimated from counts."""
    if (share is None) == (counts is None):
        raise MechanismError(
            "give either decoy_share or decoy_counts [yes, of], one of the two", field="decoy_share"
        )
    if counts is not None:
        return _from_counts(counts)
    assert share is not None
    exact = read_share(share, "decoy_share")
    if exact in (0, 1):
        raise MechanismError.about(
            "decoy_share", "must lie between 0 and 1: otherwise nothing is hidden or nothing learnt"
        )
    return exact, None, {"decoy_share": spell(exact)}


def _from_counts(counts: Sequence[int]) -> tuple[Fraction, tuple[int, int], dict[str, Any]]:
    if len(counts) != 2 or not all(is_whole(count) for count in counts):
        raise MechanismError.about("decoy_counts", "must be two whole numbers, [yes, of]")
    yes, of = map(int, counts)
    if not 0 < yes < of or of >= SCALE:
        raise MechanismError.about(
            "decoy_counts", msg("need 0 < yes < of, got [{yes}, {of}]", yes=yes, of=of)
        )
    return Fraction(yes, of), (yes, of), {"decoy_counts": [yes, of]}
