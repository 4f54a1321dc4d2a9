"""The OR-poll: the extra insignificant question."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hushpoll_client.channel import Channel
from hushpoll_client.exact import Number
from hushpoll_client.formatting import at_most
from hushpoll_client.messages import msg

from .base import Mechanism
from .decoy import CONDITION, UNCONDITIONAL, DecoyMechanism, coin, decoy_share_of

__all__ = ["OrPoll", "or_poll"]


class OrPoll(DecoyMechanism):
    """Report Yes if either answer is; with an epsilon, then flip that bit."""

    name = "or_poll"
    in_base_bundle = True
    label = msg("OR-poll: an extra, harmless question")
    help = msg(
        "The device reports Yes if either answer is Yes. A No reveals two true Noes, so its epsilon is unbounded"
        " unless you also give an epsilon: then a coin on the device flips the result and the privacy is finite."
    )
    design = msg(
        "an OR-poll (the device reports Yes if the sensitive or the decoy question was answered Yes)"
    )
    formula = "p̂ = (f − q) / (1 − q)"
    symbols = msg("f: reported frequency of Yes; q: share of Yes to the decoy question")
    citation = (
        "Yu, J.-W., Tian, G.-L., Tang, M.-L. (2008). Two new models for survey sampling with sensitive "
        "characteristic: design and analysis. Metrika 67, 251–263."
    )
    combine = "or"
    takes_combined = True

    @classmethod
    def make(cls, **parameters: Any) -> Mechanism:
        """Return the mechanism from its own parameters."""
        return or_poll(**parameters)

    @staticmethod
    def combined(answer: int, decoy: int) -> int:
        """Yes if either is."""
        return answer | decoy


def or_poll(
    decoy_share: Number | None = None,
    decoy_counts: Sequence[int] | None = None,
    epsilon: Number | None = None,
) -> Mechanism:
    """Ask an extra insignificant question: report Yes if either answer is; with epsilon, flip that bit (warner)."""
    share, counts, parameters = decoy_share_of(decoy_share, decoy_counts)
    device, flip = coin(epsilon)
    mixed = Channel.from_probabilities([[1 - share, share], [0, 1]]).then(device)
    note = UNCONDITIONAL
    if epsilon is None:
        note = msg(
            "unbounded: a No reveals that both answers are No; a Yes multiplies the odds by at most "
            "{factor}, which {condition}; add an epsilon to bound it",
            factor=at_most(float(1 / share), 4),
            condition=CONDITION,
        )
    return OrPoll(parameters | flip, device, mixed, note, share, counts)
