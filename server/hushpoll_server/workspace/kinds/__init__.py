"""The kinds of question as the editor offers them: one file each, the same names as in the client."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .base import PREFER_NOT, EditorKind, Fields
from .choice import ChoiceEditor
from .yes_no import YesNoEditor

__all__ = ["EDITORS", "PREFER_NOT", "EditorKind", "Fields", "editor_of"]

EDITORS: dict[str, EditorKind] = {one.kind.name: one for one in (YesNoEditor(), ChoiceEditor())}
"""Every kind that the editor offers, in its order."""


def editor_of(question: Mapping[str, Any]) -> tuple[str, Fields]:
    """Find the kind under which a document's question is edited, and its fields."""
    for name, editor in EDITORS.items():
        found = editor.read(question)
        if found is not None:
            return name, found
    raise LookupError(question["kind"])
