"""Mangat's design."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any, ClassVar

from hushpoll_client.channel import Channel
from hushpoll_client.errors import MechanismError
from hushpoll_client.exact import Number, read_share, spell
from hushpoll_client.messages import msg

from .base import Mechanism
from .by_hand import Instruction, dice
from .parameters import Parameter, truth_of

__all__ = ["Mangat", "mangat"]


class Mangat(Mechanism):
    """A Yes is reported as it is; a No is reported as No with a known probability, else as Yes."""

    name = "mangat"
    label = msg("Mangat's design")
    help = msg(
        "A Yes is reported as Yes; a No is reported as No with a known probability, else as Yes. A No reveals a true"
        " No, so its epsilon is unbounded."
    )
    design = msg(
        "Mangat's design (a Yes is reported as Yes; a No is reported as No with a fixed probability)"
    )
    formula = "p̂ = (f − (1 − t)) / t"
    symbols = msg("f: reported frequency of Yes; t: probability that a No is reported as No")
    citation = (
        "Mangat, N. S. (1994). An improved randomized response strategy. Journal of the Royal Statistical "
        "Society B 56, 93–95."
    )
    declared_parameters: ClassVar[tuple[Parameter, ...]] = (
        truth_of(
            msg("Mangat's t, the probability that a No is reported as No."),
            msg("add the probability that a No is reported as No, such as 0.6"),
            alone=True,
        ),
    )
    two_answers = True

    @classmethod
    def compile(cls, options: int, parameters: Mapping[str, Any]) -> Mechanism:
        """Return the mechanism from a document's parameters."""
        return mangat(**parameters)

    def by_hand(self) -> Instruction | None:
        """Roll a die: some numbers force a Yes, which is what a true Yes says anyway."""
        return dice([(1 - Fraction(self.parameters["truth"]), "forced", 1)], "truth")


def mangat(truth: Number) -> Mechanism:
    """Mangat (1994): who has the trait says Yes; who has not says No with probability `truth`, else Yes."""
    phi = read_share(truth, "truth")
    if phi in (0, 1):
        raise MechanismError.about(
            "truth", "must lie between 0 and 1: at 0 nothing is learnt, at 1 nothing is hidden"
        )
    channel = Channel.from_probabilities([[phi, 1 - phi], [0, 1]])
    return Mangat({"truth": spell(phi)}, channel, channel, msg("unbounded: a No reveals the No"))
