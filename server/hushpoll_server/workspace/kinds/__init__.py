"""The kinds of question as the editor offers them: one file each, the same names as in the client."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hushpoll_client import Question

from hushpoll_server.i18n.translation import translate

from .base import PREFER_NOT, EditorKind, Fields, points
from .choice import ChoiceEditor
from .inputs import InputRow
from .multiple import MultipleEditor
from .number import NumberEditor
from .scale import ScaleEditor
from .yes_no import YesNoEditor

__all__ = [
    "EDITORS",
    "INPUT_ROWS",
    "OPTIONAL_INPUTS",
    "PREFER_NOT",
    "EditorKind",
    "Fields",
    "editor_of",
    "margin_text",
    "points",
]

EDITORS: dict[str, EditorKind] = {
    kind_editor.kind.name: kind_editor
    for kind_editor in (YesNoEditor(), ChoiceEditor(), ScaleEditor(), NumberEditor(), MultipleEditor())
}
"""Every kind that the editor offers, in its order."""


INPUT_ROWS: tuple[InputRow, ...] = tuple(
    dict.fromkeys(row for editor in EDITORS.values() for row in editor.input_rows)
)
"""The rows of fields that the kinds declare, each once."""
OPTIONAL_INPUTS = frozenset(
    name for editor in EDITORS.values() for name in (*editor.kind.optional_keys, *editor.kind.in_mechanism)
)
"""The names of fields that may stay empty."""


def editor_of(question: Mapping[str, Any]) -> tuple[str, Fields]:
    """Find the kind under which a document's question is edited, and its fields."""
    for name, editor in EDITORS.items():
        fields = editor.read(question)
        if fields is not None:
            return name, fields
    raise LookupError(question["kind"])


def margin_text(question: Question, fraction: float | None) -> str:
    """Return a margin in the question's unit, in the reader's language: points of a share, or a size for a mean."""
    from hushpoll_analysis.planning.margin_text import margin_words

    return translate(margin_words(question, fraction, EDITORS[question.kind.name].unit(question)))
