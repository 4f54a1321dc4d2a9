"""The kinds of question: one file each, listed here in the order in which they are offered."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hushpoll_client.channel import Channel
from hushpoll_client.mechanism import Mechanism, resolve
from hushpoll_client.said import said

from .base import Answers, Kind
from .choice import Choice
from .multiple import Multiple
from .number import Number
from .scale import Scale
from .yes_no import YesNo

__all__ = ["DEFAULT", "KINDS", "Answers", "Kind", "compile_mechanism"]

KINDS: dict[str, Kind] = {kind.name: kind for kind in (YesNo(), Choice(), Scale(), Number(), Multiple())}
"""Every kind by its name."""
DEFAULT = next(iter(KINDS))


def compile_mechanism(
    kind: Kind,
    answers: Answers,
    rows: int,
    parameters: Mapping[str, Any],
    channel: Channel | None = None,
) -> Mechanism:
    """Make the mechanism of a question whose answers have so many rows; an epsilon alone means the recommended one."""
    own = (*kind.in_mechanism, *kind.wishes)
    given = {key: value for key, value in parameters.items() if key not in own}
    if "name" not in given and "epsilon" in given:
        given = {**given, **kind.recommend(answers, rows, given["epsilon"])}
    return resolve(
        kind.mechanisms, said("a {kind} question", kind=kind.name), rows, given, channel, answers.about()
    )
