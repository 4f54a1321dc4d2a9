"""The unrelated question."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any, ClassVar

from hushpoll_client.channel import SCALE, Channel
from hushpoll_client.errors import MechanismError
from hushpoll_client.exact import Number, read_share, spell
from hushpoll_client.messages import msg

from .base import Mechanism
from .by_hand import Instruction, dice
from .decoy import KNOWN_DECOY, UNCONDITIONAL, DecoyMechanism, coin, decoy_share_of
from .parameters import Parameter, truth_of

__all__ = ["Unrelated", "unrelated"]


class Unrelated(DecoyMechanism):
    """Answer the sensitive question with probability theta, else the decoy."""

    name = "unrelated"
    label = msg("Unrelated question")
    help = msg("Chance on the device decides whether the sensitive or the harmless question is answered.")
    design = msg(
        "the unrelated-question design (with probability θ the sensitive question counts, else the decoy)"
    )
    formula = "p̂ = (f − (1 − θ) q) / θ"
    symbols = msg(
        "f: reported frequency of Yes; θ: probability of the sensitive question; q: the decoy's share of Yes"
    )
    citation = (
        "Greenberg, B. G., Abul-Ela, A.-L. A., Simmons, W. R., Horvitz, D. G. (1969). The unrelated question "
        "randomized response model: theoretical framework. Journal of the American Statistical Association 64, 520–539."
    )
    declared_parameters: ClassVar[tuple[Parameter, ...]] = (
        truth_of(
            msg("Unrelated's theta, the chance of the sensitive question."),
            msg("add the chance of the sensitive question, such as 0.7"),
        ),
        *DecoyMechanism.declared_parameters,
    )
    combine = "pair"

    @classmethod
    def make(cls, **parameters: Any) -> Mechanism:
        """Return the mechanism from its own parameters."""
        return unrelated(**parameters)

    @staticmethod
    def combined(answer: int, decoy: int) -> int:
        """Both answers: the device's channel has a row for each pair."""
        return 2 * answer + decoy

    def by_hand(self) -> Instruction | None:
        """Roll a die for which of the two questions to answer."""
        if "epsilon" in self.parameters:
            return None
        return dice([(Fraction(self.parameters["truth"]), "first", None)], "second")


def unrelated(
    truth: Number,
    decoy_share: Number | None = None,
    decoy_counts: Sequence[int] | None = None,
    epsilon: Number | None = None,
) -> Mechanism:
    """Ask an unrelated question: with probability theta answer the question, else the decoy (Greenberg et al. 1969)."""
    share, counts, parameters = decoy_share_of(decoy_share, decoy_counts)
    theta = read_share(truth, "truth")
    if theta in (0, 1):
        raise MechanismError.about(
            "truth", "must lie between 0 and 1: it is the chance of the sensitive question"
        )
    device = Channel.from_probabilities([[1, 0], [theta, 1 - theta], [1 - theta, theta], [0, 1]])
    flip, spelled = coin(epsilon)
    if epsilon is not None:
        device = device.then(flip)
    rows = [[Fraction(weight, SCALE) for weight in row] for row in device.rows]
    mixed = Channel.from_probabilities(
        [[(1 - share) * a + share * b for a, b in zip(rows[x], rows[x + 1], strict=True)] for x in (0, 2)]
    )
    note = UNCONDITIONAL
    if epsilon is None:
        note = KNOWN_DECOY
    parameters = {"truth": spell(theta)} | parameters | spelled
    return Unrelated(parameters, device, mixed, note, share, counts)
