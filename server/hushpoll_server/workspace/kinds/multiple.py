"""Tick all that apply, in the editor."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar

from hushpoll_client import Question
from hushpoll_client.kind import KINDS

from .base import EditorKind, lines, whole_or_text

__all__ = ["MultipleEditor"]


class MultipleEditor(EditorKind):
    """The designer lists the options, one a line, and may say how many can be ticked."""

    kind = KINDS["multiple"]
    shapes: ClassVar[Mapping[str, Callable[[str], Any]]] = {"options": lines, "at_most": whole_or_text}
    counted = "options"

    def reported(self, question: Question) -> str:
        """Say what will be reported."""
        return "the share of people who tick each option"
