"""The question editor while a designer types: the question is checked and saved, and its margin shown."""

from __future__ import annotations

from typing import Any

from flask import Blueprint, jsonify, request
from werkzeug.wrappers import Response

from hushpoll_server.i18n.translation import gettext as _
from hushpoll_server.workspace.access import designer, open_draft
from hushpoll_server.workspace.autosave import autosave, field_errors
from hushpoll_server.workspace.drafts.documents import Document
from hushpoll_server.workspace.drafts.draft import Draft
from hushpoll_server.workspace.kinds import margin_text
from hushpoll_server.workspace.privacy.number_text import count_text
from hushpoll_server.workspace.privacy.question_plan import margin_at
from hushpoll_server.workspace.questions.forms import QuestionForm
from hushpoll_server.workspace.questions.routes import advice, advice_texts, validated

bp = Blueprint("autosave", __name__)


@bp.post("/drafts/<draft_id>/live.json")
@designer
def live_question(draft_id: str) -> Response:
    """Save a question that is being edited if it is valid; return its errors, its margin and the recommendation."""
    draft, form = open_draft(draft_id), QuestionForm()
    question_id = request.form.get("instead_of") or None
    result = validated(draft, form, question_id)
    answer: dict[str, Any] = {"id": question_id or "", **advice_texts(advice(draft, form, question_id))}
    if result is None:
        answer["margin"] = ""
    else:
        answer["margin"] = margin_line(*result)
    if result is None:
        return jsonify({**answer, "errors": field_errors(form)})
    changed, written = result
    if changed.document == draft.document and changed.linked == draft.linked:
        return jsonify({**answer, "errors": {}, "revision": draft.revision, "id": written["id"]})
    return jsonify({**answer, **autosave(changed, form), "id": written["id"]})


def margin_line(draft: Draft, written: Document) -> str:
    """Return how precise a question will be, and how precise it needs to be."""
    question = draft.compiled().question(written["id"])
    margin, margin_needed = (
        margin_at(question, draft.expected_n),
        draft.margins.get(question.id, draft.margin),
    )
    values = {"n": count_text(draft.expected_n), "margin": margin_text(question, margin)}
    if margin <= margin_needed * 1.0005:
        return _("With %(n)s answers: %(margin)s, as precise as you need.", **values)
    return _(
        "With %(n)s answers: %(margin)s. You need %(wanted)s: plan more answers or less privacy in step 2.",
        **values,
        wanted=margin_text(question, margin_needed),
    )
