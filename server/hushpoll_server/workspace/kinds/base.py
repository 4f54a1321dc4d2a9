"""What a kind of question needs in the editor: which fields of the form, and from them to the document and back."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar

from hushpoll_client.kind import Kind
from hushpoll_client.mechanism import Mechanism

__all__ = ["PREFER_NOT", "EditorKind", "Fields"]

PREFER_NOT = "Prefer not to say"

Fields = dict[str, Any]


class EditorKind(ABC):
    """One kind of question in the editor."""

    kind: ClassVar[Kind]
    fields: ClassVar[tuple[str, ...]] = ()
    """Fields of the form that only some kinds use."""
    answers: ClassVar[int | None] = None
    """How many answers there are before "Prefer not to say"; None where the designer lists them."""

    @property
    def label(self) -> str:
        """What the editor calls it."""
        return self.kind.label

    @property
    def help(self) -> str:
        """One sentence beside the name."""
        return self.kind.help

    @abstractmethod
    def write(self, fields: Fields) -> dict[str, Any]:
        """Give the document's keys that the form's fields describe, its kind among them."""

    @abstractmethod
    def read(self, question: Mapping[str, Any]) -> Fields | None:
        """Give the form's fields of a document's question; None where it is another kind's."""

    def fitting(self, answers: int) -> tuple[type[Mechanism], ...]:
        """Give the mechanisms for a question with so many answers, "Prefer not to say" among them."""
        return self.kind.fitting(answers)
