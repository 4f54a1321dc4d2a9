"""The kinds of question: one file each, listed here in the order in which they are offered."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hushpoll_client.channel import Channel
from hushpoll_client.mechanism import Mechanism, resolve
from hushpoll_client.messages import msg

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
    """Return the mechanism of a question with `rows` answers; an epsilon alone means the recommended one."""
    kind_keys = (*kind.in_mechanism, *kind.draft_keys)
    remaining = {key: value for key, value in parameters.items() if key not in kind_keys}
    if "name" not in remaining and "epsilon" in remaining:
        remaining = {**remaining, **kind.recommend(answers, rows, remaining["epsilon"])}
    return resolve(
        kind.mechanisms, msg("a {kind} question", kind=kind.name), rows, remaining, channel, answers.about()
    )
