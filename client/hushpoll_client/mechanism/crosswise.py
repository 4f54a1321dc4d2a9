"""The crosswise model: same or different."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from hushpoll_client.channel import Channel
from hushpoll_client.errors import MechanismError
from hushpoll_client.exact import Number
from hushpoll_client.messages import msg

from .base import Mechanism
from .decoy import KNOWN_DECOY, UNCONDITIONAL, DecoyMechanism, coin, decoy_share_of

__all__ = ["Crosswise", "crosswise"]


class Crosswise(DecoyMechanism):
    """Report only whether the two answers are the same (1) or different (0)."""

    name = "crosswise"
    label = msg("Crosswise: same or different")
    help = msg(
        "The device reports only whether the two answers are the same. Private only from people who do not know the"
        " harmless answer, unless you also give an epsilon."
    )
    design = msg(
        "the crosswise design (the device reports only whether the sensitive and the decoy answer agree)"
    )
    formula = "p̂ = (f − (1 − q)) / (2q − 1)"
    symbols = msg("f: reported frequency of “same”; q: share of Yes to the decoy question")
    citation = (
        "Yu, J.-W., Tian, G.-L., Tang, M.-L. (2008). Two new models for survey sampling with sensitive "
        "characteristic: design and analysis. Metrika 67, 251–263."
    )
    combine = "same"
    reports_answers = False
    report_words = (msg("different"), msg("same"))

    @classmethod
    def make(cls, **parameters: Any) -> Mechanism:
        """Return the mechanism from its own parameters."""
        return crosswise(**parameters)

    @staticmethod
    def combined(answer: int, decoy: int) -> int:
        """1 when both are equal."""
        return int(answer == decoy)


def crosswise(
    decoy_share: Number | None = None,
    decoy_counts: Sequence[int] | None = None,
    epsilon: Number | None = None,
) -> Mechanism:
    """Return the crosswise model: are the two answers the same (1) or different (0)? (Yu, Tian, Tang 2008)."""
    share, counts, parameters = decoy_share_of(decoy_share, decoy_counts)
    if share == Fraction(1, 2):
        raise MechanismError(
            "a decoy share of 1/2 carries no information", "choose another decoy question", "decoy_share"
        )
    device, flip = coin(epsilon)
    mixed = Channel.from_probabilities([[share, 1 - share], [1 - share, share]]).then(device)
    note = UNCONDITIONAL
    if epsilon is None:
        note = KNOWN_DECOY
    return Crosswise(parameters | flip, device, mixed, note, share, counts)
