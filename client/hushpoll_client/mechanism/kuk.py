"""Kuk's decks of cards."""

from __future__ import annotations

from collections.abc import Mapping
from math import comb
from typing import Any, ClassVar

from hushpoll_client.channel import Channel
from hushpoll_client.errors import MechanismError
from hushpoll_client.exact import Number, is_whole, read_share, spell
from hushpoll_client.limits import MAX_TABLE
from hushpoll_client.messages import msg

from .base import Mechanism
from .parameters import DRAWS, RED, Parameter

__all__ = ["Kuk", "kuk"]


class Kuk(Mechanism):
    """Report how many of some cards are red, from a deck that depends on the true answer."""

    name = "kuk"
    label = msg("Kuk's decks of cards")
    help = msg("The device reports how many cards drawn from one of two decks are red.")
    design = msg("Kuk's design (the device reports how many cards drawn from one of two decks are red)")
    formula = msg("p̂ = (r̄ / draws − ρ₀) / (ρ₁ − ρ₀)")
    symbols = msg("r̄: mean number of red cards; ρ₁, ρ₀: share of red cards in the decks for Yes and No")
    citation = "Kuk, A. Y. C. (1990). Asking sensitive questions indirectly. Biometrika 77, 436–438."
    declared_parameters: ClassVar[tuple[Parameter, ...]] = (RED, DRAWS)
    two_answers = True
    in_surveys = False
    count_linear = True

    @classmethod
    def compile(cls, options: int, parameters: Mapping[str, Any]) -> Mechanism:
        """Return the mechanism from the two shares of red cards and the number of draws."""
        red = parameters["red"]
        if len(red) != 2:
            raise MechanismError.about(
                "red",
                msg(
                    "takes two probabilities, if Yes and if No, such as 4/5,1/5, got {count}", count=len(red)
                ),
            )
        return kuk(red[0], red[1], parameters.get("draws", 1))


def kuk(red_if_yes: Number, red_if_no: Number, draws: int = 1) -> Mechanism:
    """Kuk (1990): report how many of `draws` cards are red, from a deck that depends on the true answer."""
    yes, no = read_share(red_if_yes, "red_if_yes"), read_share(red_if_no, "red_if_no")
    if yes == no:
        raise MechanismError(
            "the two decks have the same share of red cards, so nothing is learnt", "change one", "red_if_yes"
        )
    if not is_whole(draws) or not 1 <= draws <= MAX_TABLE - 1:
        raise MechanismError.about(
            "draws",
            msg("must be a whole number from 1 to {most}, got {draws!r}", most=MAX_TABLE - 1, draws=draws),
        )
    draws = int(draws)
    channel = Channel.from_probabilities(
        [
            [comb(draws, red) * p**red * (1 - p) ** (draws - red) for red in range(draws + 1)]
            for p in (no, yes)
        ]
    )
    bare = msg("unbounded: one deck has cards of one colour only, so some counts reveal the answer")
    parameters = {"red_if_yes": spell(yes), "red_if_no": spell(no), "draws": draws}
    return Kuk(parameters, channel, channel, "" if channel.ratio else bare)
