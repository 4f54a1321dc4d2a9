"""What happens while a designer types: a question is checked and kept, its margin shown, and any change undone."""

from __future__ import annotations

from typing import Any

from flask import flash, jsonify, redirect, request, url_for
from werkzeug.wrappers import Response

from hushpoll_server.current_store import get_store
from hushpoll_server.spoken import gettext as _

from . import drafts, planner
from .autosave import errors_of, kept
from .drafts import Document, Draft, StaleDraft
from .editor import advice, checked, compared
from .forms import QuestionForm
from .kinds import margin_text
from .pages import bp, designer, open_draft, posted_revision


@bp.post("/drafts/<draft_id>/live.json")
@designer
def live_question(draft_id: str) -> Response:
    """Keep the question as it is typed if it is sound; tell what is wrong with it, its margin, and what is advised."""
    draft, form = open_draft(draft_id), QuestionForm()
    question_id = request.form.get("instead_of") or None
    result = checked(draft, form, question_id)
    answer: dict[str, Any] = {"id": question_id or "", **compared(advice(draft, form, question_id))}
    answer["margin"] = "" if result is None else margin_line(*result)
    if result is None:
        return jsonify({**answer, "errors": errors_of(form)})
    changed, written = result
    if changed.document == draft.document and changed.linked == draft.linked:
        return jsonify({**answer, "errors": {}, "revision": draft.revision, "id": written["id"]})
    return jsonify({**answer, **kept(changed, form), "id": written["id"]})


def margin_line(draft: Draft, written: Document) -> str:
    """Return how precise a question will be, and how precise it needs to be."""
    question = draft.compiled().question(written["id"])
    margin, margin_needed = (
        planner.margin_at(question, draft.expected_n),
        draft.margins.get(question.id, draft.margin),
    )
    values = {"n": planner.whole(draft.expected_n), "margin": margin_text(question, margin)}
    if margin <= margin_needed * 1.0005:
        return _("With %(n)s answers: %(margin)s, as precise as you need.", **values)
    return _(
        "With %(n)s answers: %(margin)s. You need %(wanted)s: more answers or less privacy, in step 2.",
        **values,
        wanted=margin_text(question, margin_needed),
    )


@bp.post("/drafts/<draft_id>/undo")
@designer
def undo(draft_id: str) -> Response:
    """Put the draft back to what it was before the last change."""
    draft = open_draft(draft_id)
    try:
        if drafts.undo(get_store(), draft.id, posted_revision()):
            flash(_("Undone. The draft is as it was before the last change."), "done")
        else:
            flash(_("There is nothing to undo."), "problem")
    except StaleDraft:
        flash(
            _("Nothing was undone: this draft was edited in another tab. This is how it stands now."),
            "problem",
        )
    return redirect(url_for("workspace.draft", draft_id=draft.id))
