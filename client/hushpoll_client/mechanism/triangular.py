"""The triangular model: the OR-poll under another name."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from hushpoll_client.exact import Number
from hushpoll_client.messages import msg

from .base import Mechanism
from .or_poll import OrPoll, or_poll
from .parameters import DECOY_COUNTS, DECOY_SHARE, Parameter

__all__ = ["Triangular", "triangular"]


class Triangular(OrPoll):
    """Report Yes if either answer is, always without a coin."""

    name = "triangular"
    label = msg("Triangular model")
    design = msg("the triangular design (the device reports Yes if the sensitive or the decoy answer is Yes)")
    declared_parameters: ClassVar[tuple[Parameter, ...]] = (DECOY_SHARE, DECOY_COUNTS)
    in_surveys = False

    @classmethod
    def make(cls, **parameters: Any) -> Mechanism:
        """Return the mechanism from its own parameters."""
        return triangular(**parameters)


def triangular(decoy_share: Number | None = None, decoy_counts: Sequence[int] | None = None) -> Mechanism:
    """Return the triangular model of Yu, Tian and Tang (2008): the OR-poll under another name."""
    poll = or_poll(decoy_share, decoy_counts)
    return Triangular(
        poll.parameters, poll.device, poll.analysis, poll.epsilon_note, poll.decoy_share, poll.decoy_counts
    )
