"""Warner's coin flip."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Any, ClassVar

from hushpoll_client.channel import SCALE, Channel
from hushpoll_client.errors import MechanismError
from hushpoll_client.exact import Number, read_decimal, read_share, spell
from hushpoll_client.messages import msg

from .base import Mechanism, krr_channel
from .by_hand import Instruction, coins_or_dice
from .parameters import EPSILON, Parameter, truth_of

__all__ = ["Warner", "warner"]

_HALF = Fraction(1, 2)


class Warner(Mechanism):
    """Report the truth with probability phi, else the opposite."""

    name = "warner"
    in_base_bundle = True
    label = msg("Warner's randomized response")
    help = msg("The device reports the true answer with a known probability, else the opposite.")
    design = msg("Warner's design (with probability φ the device reports the answer, otherwise the opposite)")
    formula = "p̂ = (f − (1 − φ)) / (2φ − 1)"
    symbols = msg("f: reported frequency of Yes; φ: probability that the answer is reported as it is")
    citation = (
        "Warner, S. L. (1965). Randomized response: a survey technique for eliminating evasive answer bias. "
        "Journal of the American Statistical Association 60, 63–69."
    )
    declared_parameters: ClassVar[tuple[Parameter, ...]] = (
        replace(EPSILON, missing=""),
        truth_of(msg("Warner's phi, the probability that the truth is reported (3/4 works)."), alone=True),
    )
    one_of = (("epsilon", "truth"),)
    two_answers = True

    @classmethod
    def compile(cls, options: int, parameters: Mapping[str, Any]) -> Mechanism:
        """Return the mechanism from a document's parameters."""
        return warner(**parameters)

    def by_hand(self) -> Instruction | None:
        """Toss coins or roll a die for the rarer branch."""
        if "truth" not in self.parameters:
            return None  # e^epsilon is irrational: no number of coins or dice makes it
        truth = Fraction(self.parameters["truth"])
        rare, often = ("opposite", "truth") if truth > _HALF else ("truth", "opposite")
        return coins_or_dice(min(truth, 1 - truth), rare, often)

    @classmethod
    def points_by_hand(cls, options: int) -> tuple[dict[str, Any], ...]:
        """Return probabilities of the truth that two or three coins, or one roll of a die, make."""
        if options == 2:
            return tuple({"truth": truth} for truth in ("5/8", "2/3", "3/4", "5/6", "7/8"))
        return ()

    def at(self, epsilon: Number) -> Mechanism:
        """Return the same mechanism with another epsilon, which takes the place of a given truth."""
        return warner(epsilon)


def warner(epsilon: Number | None = None, truth: Number | None = None) -> Mechanism:
    """Warner's coin flip: report the truth with probability phi, else the opposite (Warner 1965)."""
    if (epsilon is None) == (truth is None):
        raise MechanismError("warner takes either epsilon or truth, one of the two", field="epsilon")
    if epsilon is not None:
        channel, parameters = krr_channel(2, epsilon), {"epsilon": spell(read_decimal(epsilon, "epsilon"))}
    else:
        assert truth is not None
        phi = read_share(truth, "truth")
        channel, parameters = _by_truth(phi), {"truth": spell(phi)}
    return Warner(parameters, channel, channel)


def _by_truth(phi: Fraction) -> Channel:
    if phi == _HALF:
        raise MechanismError(
            "truth = 1/2 carries no information", "choose another probability, such as 3/4", "truth"
        )
    if phi in (0, 1):
        raise MechanismError(
            "truth = 0 or 1 reveals every answer", "choose a probability between, such as 3/4", "truth"
        )
    # Toward 1/2 is toward privacy, on either side of it.
    weight = int(phi * SCALE) if phi > _HALF else -int(-phi * SCALE // 1)
    if weight in (0, SCALE) or 2 * weight == SCALE:
        raise MechanismError.about("truth", "is too close to 0, 1/2 or 1 to be an integer out of 2^53")
    channel: Channel = Channel.krr(2, SCALE - weight)
    return channel
