"""The mechanisms: one file each, listed here in the order in which they are offered.

Every constructor rounds toward privacy: the epsilon of its integers never exceeds the epsilon asked for.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hushpoll_client.channel import Channel
from hushpoll_client.errors import MechanismError
from hushpoll_client.limits import MAX_EPSILON, MAX_OPTIONS
from hushpoll_client.messages import msg

from .base import BrokenPromise, Fact, Mechanism, krr_channel
from .by_hand import Branch, Instruction
from .crosswise import Crosswise, crosswise
from .designed import Designed, designed
from .discrete_gaussian import DiscreteGaussian, discrete_gaussian
from .exponential import Exponential, exponential
from .forced import Forced, forced
from .geometric import Geometric, geometric
from .krr import Krr, krr
from .kuk import Kuk, kuk
from .mangat import Mangat, mangat
from .matrix import Matrix, matrix
from .member import Member
from .one_bit import OneBit, one_bit
from .or_poll import OrPoll, or_poll
from .padded import Padded, padded
from .parameters import Parameter
from .sampled import Sampled, sampled
from .square_wave import SquareWave, square_wave
from .subset import Subset, subset
from .triangular import Triangular, triangular
from .unrelated import Unrelated, unrelated
from .warner import Warner, warner

__all__ = [
    "MAX_EPSILON",
    "MAX_OPTIONS",
    "MECHANISMS",
    "Branch",
    "BrokenPromise",
    "Fact",
    "Instruction",
    "Mechanism",
    "Member",
    "Parameter",
    "crosswise",
    "designed",
    "discrete_gaussian",
    "exponential",
    "forced",
    "geometric",
    "krr",
    "krr_channel",
    "kuk",
    "mangat",
    "matrix",
    "one_bit",
    "or_poll",
    "padded",
    "resolve",
    "sampled",
    "square_wave",
    "subset",
    "triangular",
    "unrelated",
    "warner",
]

MECHANISMS: dict[str, type[Mechanism]] = {
    mechanism.name: mechanism
    for mechanism in (
        Warner,
        Krr,
        Forced,
        OrPoll,
        Unrelated,
        Crosswise,
        Mangat,
        Triangular,
        Kuk,
        Matrix,
        Subset,
        Sampled,
        Padded,
        Designed,
        Geometric,
        Exponential,
        OneBit,
        SquareWave,
        DiscreteGaussian,
    )
}
"""Every mechanism by its name, the ones that surveys use first."""


def resolve(
    fitting: tuple[type[Mechanism], ...],
    described: str,
    options: int,
    parameters: Mapping[str, Any],
    channel: Channel | None = None,
    about: Mapping[str, Any] | None = None,
) -> Mechanism:
    """Return the mechanism that a document names, if it fits; `channel` is what the document publishes.

    `described` says what has to be fitted, for the message: "a yes_no question"; `about` is what the question says of
    itself that some mechanisms need.
    """
    values = dict(parameters)
    name = values.pop("name", None)
    if name is None:
        raise MechanismError(
            "is missing", "write a mechanism's name, or an epsilon for the recommended one", "name"
        )
    mechanism = next((candidate for candidate in fitting if candidate.name == name), None)
    if mechanism is None:
        names = ", ".join(candidate.name for candidate in fitting)
        raise MechanismError(
            msg("{name!r} is not a mechanism for {described}", name=name, described=described),
            msg("use one of: {known}", known=names),
            "name",
        )
    if mechanism.two_answers and options != 2:
        other = next(candidate.name for candidate in fitting if not candidate.two_answers)
        raise MechanismError(
            msg("{name} takes exactly two options, this question has {options}", name=name, options=options),
            msg("use {other}", other=other),
            "name",
        )
    check_keys(mechanism, values)
    values |= {key: (about or {}).get(key) for key in mechanism.needs}
    if channel is None:
        return mechanism.compile(options, values)
    return mechanism.check(options, values, channel)


def check_keys(mechanism: type[Mechanism], values: Mapping[str, Any]) -> None:
    """Refuse parameters that a mechanism does not take, that have another shape, or that are missing."""
    for key, value in values.items():
        parameter = mechanism.takes_key(key)
        if parameter is None:
            names = ", ".join(sorted(parameter.name for parameter in mechanism.declared_parameters))
            raise MechanismError(
                msg("unknown key {key!r}", key=key),
                msg("{mechanism} takes: {known}", mechanism=mechanism.name, known=names),
                key,
            )
        parameter.check(value)
    for parameter in mechanism.declared_parameters:
        if parameter.missing and parameter.name not in values:
            raise MechanismError.about(parameter.name, "is missing", parameter.missing)
