"""One choice out of several, in the editor."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar

from hushpoll_client.kind import KINDS

from hushpoll_server.i18n.translation import gettext as _

from .base import PREFER_NOT, EditorKind, Fields, enough_options, split_lines
from .inputs import OPTIONS


class ChoiceEditor(EditorKind):
    """The designer lists the options, one a line."""

    kind = KINDS["choice"]
    shapes: ClassVar[Mapping[str, Callable[[str], Any]]] = {"options": split_lines}
    input_rows = ((OPTIONS,),)
    declinable = True
    counted = "options"

    def stand_in(self, field: str, typed: str) -> str | None:
        """Return a list with at least two options."""
        if field == "options":
            return enough_options(typed)
        return super().stand_in(field, typed)

    @property
    def help(self) -> str:
        """How long the list may be."""
        return _("2 to 1,000 options, one of them chosen.")

    def write(self, fields: Fields) -> dict[str, Any]:
        """Return the options, with "Prefer not to say" last if it is offered."""
        written = super().write(fields)
        if fields.get("prefer_not") and PREFER_NOT not in written["options"]:
            written["options"].append(PREFER_NOT)
        return written

    def read(self, question: Mapping[str, Any]) -> Fields | None:
        """Return the options one per line."""
        if question["kind"] != self.kind.name:
            return None
        options = list(question["options"])
        prefer_not = options[-1] == PREFER_NOT
        if prefer_not:
            options.pop()
        return {"options": "\n".join(options), "prefer_not": prefer_not}
