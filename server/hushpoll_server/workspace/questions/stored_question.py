"""A stored question as the editor's form has it: to change a part of it, or to begin a new one with what is known."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from werkzeug.datastructures import MultiDict

from hushpoll_server.workspace import mechanisms
from hushpoll_server.workspace.drafts.draft import Draft
from hushpoll_server.workspace.drafts.references import QuestionDocument
from hushpoll_server.workspace.kinds import EDITORS
from hushpoll_server.workspace.kinds.inputs import InputRow
from hushpoll_server.workspace.questions.forms import QuestionForm
from hushpoll_server.workspace.questions.routes import form_values


def short_fields(kind: str) -> list[str]:
    """Return the fields that are edited on the draft's page: the text, and what the kind asks for."""
    return ["text", *(field.name for row in short_rows(kind) for field in row)]


def short_rows(kind: str) -> list[InputRow]:
    """Return the rows of fields of a kind that every question of it needs; bins are for distributions only."""
    return [row for row in EDITORS[kind].input_rows if row[0].name != "bins"]


def short_form(draft: Draft, question: QuestionDocument, typed: Mapping[str, str] | None) -> QuestionForm:
    """Return the form of a question with the fields of the draft's page as typed, and all others as they are stored."""
    values = form_values(draft, question)
    if typed is None:
        return QuestionForm(formdata=None, revision=draft.revision, **values)
    names = short_fields(values["kind"])
    values |= {name: typed.get(name, "") for name in names}
    values |= {name: typed.get(name, "") for name in ("csrf_token", "revision")}
    return QuestionForm(formdata=_posted(values))


def _posted(values: Mapping[str, Any]) -> MultiDict[str, str]:
    """Return values as a browser would send them: what is false is absent."""
    posted = MultiDict[str, str]()
    for name, value in values.items():
        if isinstance(value, list):
            posted.setlist(name, [str(item) for item in value])
        elif value is True:
            posted[name] = "y"
        elif value is not False:
            posted[name] = str(value)
    return posted


def begun_question(draft: Draft, kind: str, text: str) -> QuestionDocument:
    """Return a new question with the recommended mechanism, and stand-ins for options or a range."""
    editor = EDITORS[kind]
    fields = {"id": draft.free_id(), "text": text, "kind": kind, "mechanism": "", "linked": True}
    fields |= {
        entry.name: editor.stand_in(entry.name, "") or "" for row in editor.input_rows for entry in row
    }
    return mechanisms.write_question(fields, draft.epsilon)


def index_for_new(draft: Draft, text: str | None) -> int:
    """Return the index that a new question gets: the one in the address or form, else the one after the last."""
    text = text or ""
    if text.isascii() and text.isdigit() and len(text) < 4:
        return min(int(text), len(draft.questions))
    return len(draft.questions)
