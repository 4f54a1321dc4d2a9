"""The kinds of question: one file each, listed here in the order in which they are offered."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hushpoll_client.channel import Channel
from hushpoll_client.mechanism import Mechanism, resolve

from .base import Kind
from .choice import Choice
from .yes_no import YesNo

__all__ = ["DEFAULT", "KINDS", "Kind", "compile_mechanism"]

KINDS: dict[str, Kind] = {kind.name: kind for kind in (YesNo(), Choice())}
"""Every kind by its name."""
DEFAULT = next(iter(KINDS))


def compile_mechanism(
    kind: Kind, options: int, parameters: Mapping[str, Any], channel: Channel | None = None
) -> Mechanism:
    """Make the mechanism of a question with so many answers; an epsilon alone means the recommended one."""
    given = dict(parameters)
    if "name" not in given and "epsilon" in given:
        given["name"] = kind.recommended
    return resolve(kind.mechanisms, f"a {kind.name} question", options, given, channel)
