"""One choice out of several, in the editor."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hushpoll_client.kind import KINDS

from .base import PREFER_NOT, EditorKind, Fields

__all__ = ["ChoiceEditor"]


class ChoiceEditor(EditorKind):
    """The designer lists the options, one a line."""

    kind = KINDS["choice"]
    fields = ("options",)

    def write(self, fields: Fields) -> dict[str, Any]:
        """Give the options, "Prefer not to say" last where it is offered."""
        options = [line.strip() for line in (fields.get("options") or "").splitlines() if line.strip()]
        if fields.get("prefer_not") and PREFER_NOT not in options:
            options.append(PREFER_NOT)
        return {"kind": self.kind.name, "options": options}

    def read(self, question: Mapping[str, Any]) -> Fields | None:
        """Write the options one a line again."""
        if question["kind"] != self.kind.name:
            return None
        options = list(question["options"])
        last = options[-1] == PREFER_NOT
        return {"options": "\n".join(options[:-1] if last else options), "prefer_not": last}
