"""Yes or no, in the editor."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hushpoll_client import Question
from hushpoll_client.kind import KINDS
from hushpoll_client.mechanism import Mechanism

from hushpoll_server.i18n.translation import gettext as _
from hushpoll_server.i18n.translation import pgettext

from .base import PREFER_NOT, EditorKind, Fields
from .rehearsing import percent

_DECLINED = ["No", "Yes", PREFER_NOT]


class YesNoEditor(EditorKind):
    """Two answers; "Prefer not to say" is an ordinary third one inside the randomized set and makes it a choice."""

    kind = KINDS["yes_no"]
    declinable = True
    begins_complete = True
    answers = 2

    def write(self, fields: Fields) -> dict[str, Any]:
        """Return the kind, or the choice that it becomes."""
        if fields.get("prefer_not"):
            return {"kind": "choice", "options": list(_DECLINED)}
        return {"kind": self.kind.name}

    def read(self, question: Mapping[str, Any]) -> Fields | None:
        """Know both again."""
        if question["kind"] == self.kind.name:
            return {"prefer_not": False}
        if question.get("options") == _DECLINED:
            return {"prefer_not": True}
        return None

    @property
    def always_reported(self) -> str:
        """The share of Yes."""
        return _("The share of Yes.")

    def reported(self, question: Question) -> str:
        """Return what will be reported."""
        if len(question.labels) == self.answers:
            return pgettext("reported", "the share of Yes")
        return super().reported(question)

    def truth_fields(self, question: Question) -> dict[str, Any]:
        """Ask for the share of Yes: No is what remains."""
        return {"1": percent(question.options[1], 20)}

    def read_truth(self, question: Question, typed: Mapping[str, Any]) -> Any:
        """Return both shares."""
        return [1 - typed["1"] / 100, typed["1"] / 100]

    def fitting(self, answers: int) -> tuple[type[Mechanism], ...]:
        """Return a choice's mechanisms where the answer may be declined."""
        return (self.kind if answers == self.answers else KINDS["choice"]).fitting(answers)
