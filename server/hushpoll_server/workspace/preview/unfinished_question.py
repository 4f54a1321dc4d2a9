"""A question being edited, for the preview: missing or wrong parts are replaced by stand-ins.

Only the preview uses it. What is saved is what the survey's own check accepts.
"""

from __future__ import annotations

from typing import Any

from flask_babel import lazy_gettext as later
from hushpoll_client import HushpollError, Survey, SurveyError
from hushpoll_client.kind import DEFAULT
from hushpoll_client.mechanism import MECHANISMS

from hushpoll_server.workspace import mechanisms
from hushpoll_server.workspace.drafts import documents
from hushpoll_server.workspace.drafts.draft import Draft
from hushpoll_server.workspace.kinds import EDITORS, EditorKind, Fields
from hushpoll_server.workspace.questions.forms import QuestionForm, field_name

_KEPT = ("hushpoll", "title", "language", "look")
_MOST_REPAIRS = 12
_STAND_INS = {
    "text": later("Your question"),
    "decoy": later("The harmless question"),
    "decoy_share": "0.25",
}


def unfinished_survey(draft: Draft, form: QuestionForm, question_id: str | None) -> Survey:
    """Return a survey of this question alone, without a rule or a block that could hide it."""
    editor = EDITORS.get(form.kind.data, EDITORS[DEFAULT])
    fields: Fields = {**form.data, "kind": editor.kind.name, "id": "q", "decoy_from": "share"}
    # What the page does not offer is no mechanism: the recommended one is shown.
    if fields["mechanism"] not in MECHANISMS:
        fields["mechanism"] = ""
    fields["text"] = (fields["text"] or "").strip() or str(_STAND_INS["text"])
    slider = draft.epsilon_of(draft.question(question_id))
    for _ in range(_MOST_REPAIRS):
        try:
            return _survey_of(draft, mechanisms.write_question(fields, slider))
        except HushpollError as error:
            fields = _repaired(fields, editor, error)
    return _survey_of(draft, mechanisms.write_question({**fields, "mechanism": ""}, slider))


def _survey_of(draft: Draft, question: dict[str, Any]) -> Survey:
    settings = {key: value for key, value in draft.details.items() if key in _KEPT}
    survey = documents.compiled({**settings, "intro": "", "questions": [question]})
    survey.check_cap()
    return survey


def _repaired(fields: Fields, editor: EditorKind, error: HushpollError) -> Fields:
    """Replace the wrong field by a stand-in; an incomplete mechanism is replaced by the recommended one."""
    path = error.path if isinstance(error, SurveyError) else ()
    for key in reversed([key for key in path if isinstance(key, str)]):
        name = field_name(editor, key)
        typed = str(fields.get(name) or "")
        stand_in = editor.stand_in(name, typed)
        if name in _STAND_INS:
            stand_in = str(_STAND_INS[name])
        if stand_in is not None and stand_in != typed:
            return {**fields, name: stand_in}
    return {**fields, "mechanism": ""}
