"""Subset selection."""

from __future__ import annotations

from collections.abc import Mapping
from math import exp
from typing import Any, ClassVar

from hushpoll_client.channel import SCALE, Channel
from hushpoll_client.channel.subset import SubsetChannel
from hushpoll_client.errors import MechanismError
from hushpoll_client.exact import Number, exp_below, is_whole, spell
from hushpoll_client.messages import msg

from .base import Mechanism, positive_epsilon, whole_options
from .parameters import EPSILON, SIZE, Parameter

__all__ = ["Subset", "best_size", "recommended_subset", "subset"]


class Subset(Mechanism):
    """Report a random set of options that holds the chosen one with a known probability."""

    name = "subset"
    label = msg("Subset selection")
    help = msg(
        "The device reports a random set of options, which holds the chosen one with a known probability. The best for"
        " single shares where there are many options."
    )
    design = msg(
        "subset selection (the device reports a random set of d options; a set that holds the chosen one is e^ε times "
        "as likely as one that does not)"
    )
    formula = (
        "ĥₖ = (fₖ − q) / (p − q),   p = d e^ε / (d e^ε + K − d),   q = (p (d − 1) + (1 − p) d) / (K − 1)"
    )
    symbols = msg("fₖ: frequency of sets that hold option k; d: options in a set; K: number of options")
    citation = (
        "Ye, M., Barg, A. (2018). Optimal schemes for discrete distribution estimation under locally differential "
        "privacy. IEEE Transactions on Information Theory 64, 5662–5676."
    )
    declared_parameters: ClassVar[tuple[Parameter, ...]] = (EPSILON, SIZE)
    reports_answers = False

    @classmethod
    def compile(cls, options: int, parameters: Mapping[str, Any]) -> Mechanism:
        """Return the mechanism from a document's parameters."""
        return subset(options, **parameters)

    @classmethod
    def fits_options(cls, options: int) -> bool:
        """Refuse two options: sets of two leave something out only of three options or more."""
        return options > 2

    def at(self, epsilon: Number) -> Mechanism:
        """Return the mechanism with another epsilon and the size that is best there; K-ary response where that is 1."""
        return recommended_subset(self.options, epsilon)


def subset(options: int, epsilon: Number, size: int | None = None) -> Mechanism:
    """Subset selection (Ye and Barg 2018) with sets of `size` options; the best size if none is given.

    Out of 2^53 draws T = floor(L 2^53 d / (K - d + L d)) give a set that holds the truth, with L just below e^epsilon.
    """
    options = whole_options(options)
    if options < 3:
        raise MechanismError(
            msg("subset needs at least three options, got {options!r}", options=options),
            "use krr",
            "options",
        )
    exponent = positive_epsilon(epsilon)
    if size is None:
        size = max(2, best_size(options, float(exponent)))
    if not is_whole(size) or not 2 <= size < options:
        remedy = msg("leave it out for the best size")
        if size == 1:
            remedy = msg("use krr for sets of one option")
        problem = msg(
            "size must be a whole number from 2 to {most}, got {size!r}", most=options - 1, size=size
        )
        raise MechanismError(problem, remedy, "size")
    odds = exp_below(exponent) * size
    weight = int(SCALE * odds / (options - size + odds))
    channel: Channel = SubsetChannel.of(int(options), int(size), weight)
    return Subset({"epsilon": spell(exponent), "size": int(size)}, channel, channel)


def recommended_subset(options: int, epsilon: Number) -> Mechanism:
    """Return subset selection of the best size, or K-ary response where the best size is 1."""
    from .krr import krr

    if best_size(options, float(positive_epsilon(epsilon))) == 1:
        return krr(options, epsilon)
    return subset(options, epsilon)


def best_size(options: int, epsilon: float) -> int:
    """Return the size with the least variance, summed over the shares at the uniform truth."""
    factor = exp(epsilon)

    def spread(size: int) -> float:
        held = size * factor / (size * factor + options - size)
        other = (held * (size - 1) + (1 - held) * size) / (options - 1)
        return size * (options - size) / (held - other) ** 2

    return min(range(1, options), key=spread)
