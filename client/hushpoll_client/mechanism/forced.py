"""Forced response."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any, ClassVar

from hushpoll_client.channel import SCALE, Channel
from hushpoll_client.errors import MechanismError
from hushpoll_client.exact import Number, read_share, spell
from hushpoll_client.limits import MAX_TABLE
from hushpoll_client.messages import msg

from .base import Mechanism, krr_channel
from .by_hand import Instruction, dice
from .parameters import FORCED, Parameter

__all__ = ["Forced", "forced"]


class Forced(Mechanism):
    """Report a fixed option with its own small chance whatever is true, else the truth."""

    name = "forced"
    in_base_bundle = True
    label = msg("Forced response")
    help = msg(
        "With known shares the device reports a fixed option whatever the truth. A share of 0 for an option makes a"
        " report of it a proof: its privacy is then unbounded."
    )
    design = msg(
        "forced response (with fixed probabilities the device reports a given option whatever was chosen)"
    )
    formula = "ĥₖ = (fₖ − uₖ) / (1 − Σ u)"
    symbols = msg("fₖ: reported frequency of option k; uₖ: forced share of option k")
    citation = (
        "Boruch, R. F. (1971). Assuring confidentiality of responses in social research: a note on strategies. "
        "The American Sociologist 6, 308–311."
    )
    declared_parameters: ClassVar[tuple[Parameter, ...]] = (FORCED,)

    @classmethod
    def compile(cls, options: int, parameters: Mapping[str, Any]) -> Mechanism:
        """Return the mechanism from a document's parameters; an epsilon instead of shares makes all shares equal."""
        if "epsilon" in parameters and "forced" not in parameters:
            weight = krr_channel(options, parameters["epsilon"]).row(0)[1]
            return forced([Fraction(weight, SCALE)] * options)
        shares = parameters.get("forced") or ()
        if len(shares) != options:
            raise MechanismError.about(
                "forced",
                msg(
                    "needs one share for each of {options} options, has {count}",
                    options=options,
                    count=len(shares),
                ),
                "add or remove some",
            )
        return forced(shares)

    def by_hand(self) -> Instruction | None:
        """Roll a die: some numbers force an option, the others ask for the truth."""
        shares = [
            (Fraction(share), "forced", option) for option, share in enumerate(self.parameters["forced"])
        ]
        return dice([branch for branch in shares if branch[0]], "truth")

    @classmethod
    def points_by_hand(cls, options: int) -> tuple[dict[str, Any], ...]:
        """Force every option by as many numbers of one or two rolls of a die, and leave the rest to the truth."""
        shares = (Fraction(1, 6), Fraction(1, 9), Fraction(1, 12), Fraction(1, 18))
        # Below a third of truth there is little left to estimate; above ten-fold odds there is little protection.
        useful = [
            share
            for share in shares
            if 1 - options * share >= Fraction(1, 3) and 1 / share - options + 1 <= 10
        ]
        if options > 2:
            return tuple({"forced": [spell(share)] * options} for share in useful)
        return ()


def forced(shares: Sequence[Number] | None = None, *, forced: Sequence[Number] | None = None) -> Mechanism:
    """Make forced response: with probability u_k say option k whatever is true, else the truth (Boruch 1971).

    The shares may also be named `forced`, as documents and the command line do.
    """
    if shares is not None and forced is not None:
        raise MechanismError.about("forced", "is given twice", "give shares or forced, not both")
    listed = shares
    if shares is None:
        listed = forced
    exact = [read_share(share, "forced") for share in (() if listed is None else listed)]
    if len(exact) < 2:
        raise MechanismError.about("forced", "needs one share for each option, at least two")
    if sum(exact) == 0:
        raise MechanismError(
            "forced shares are all zero: every answer would be revealed", "raise one", "forced"
        )
    if sum(exact) >= 1:
        raise MechanismError(
            msg("forced shares sum to {total}", total=spell(sum(exact, Fraction(0)))),
            "they must leave room for the truth",
            "forced",
        )
    weights = [-int(-share * SCALE // 1) for share in exact]
    channel = _channel(weights)
    note = ""
    if not channel.ratio:
        note = _note(weights)
    return Forced({"forced": [spell(share) for share in exact]}, channel, channel, note)


def _channel(weights: Sequence[int]) -> Channel:
    truth = SCALE - sum(weights)
    if truth < 1:
        raise MechanismError("forced shares leave no room for the truth out of 2^53", "lower one", "forced")
    if len(set(weights)) == 1:
        channel: Channel = Channel.krr(len(weights), weights[0])
        return channel
    if len(weights) > MAX_TABLE:
        raise MechanismError(
            msg("more than {most} options need equal forced shares", most=MAX_TABLE),
            "make them equal or choose K-ary response",
            "forced",
        )
    return Channel.matrix(
        [[w + truth * (x == z) for z, w in enumerate(weights)] for x in range(len(weights))]
    )


def _note(weights: Sequence[int]) -> str:
    if len(weights) == 2:
        if weights[0]:
            return msg("unbounded: nobody is forced to say Yes, so a Yes reveals the Yes")
        return msg("unbounded: nobody is forced to say No, so a No reveals the No")
    bare = ", ".join(str(number) for number, weight in enumerate(weights, 1) if weight == 0)
    return msg(
        "unbounded: nobody is forced to say option {bare}, so that report reveals the answer", bare=bare
    )
