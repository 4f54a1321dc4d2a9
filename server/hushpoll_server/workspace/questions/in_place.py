"""Questions written and changed where they stand: on the draft's page, without the whole editor."""

from __future__ import annotations

from flask import Blueprint, flash, redirect, request, url_for
from hushpoll_client import SurveyError

from hushpoll_server.current_store import get_store
from hushpoll_server.i18n.translation import gettext as _
from hushpoll_server.i18n.translation import translate
from hushpoll_server.workspace.access import designer, open_draft
from hushpoll_server.workspace.drafts import storage
from hushpoll_server.workspace.drafts.draft import Draft, StaleDraft
from hushpoll_server.workspace.forms import posted_revision
from hushpoll_server.workspace.kinds import EDITORS
from hushpoll_server.workspace.questions.draft_page import show_draft
from hushpoll_server.workspace.questions.forms import DetailsForm
from hushpoll_server.workspace.questions.routes import find_question, validated
from hushpoll_server.workspace.questions.stored_question import begun_question, index_for_new, short_form
from hushpoll_server.workspace.responses import Page

bp = Blueprint("in_place", __name__)


@bp.post("/drafts/<draft_id>/questions/add")
@designer
def add(draft_id: str) -> Page:
    """Add a question of a kind at a place; without a text, open the whole editor."""
    draft = open_draft(draft_id)
    kind, text = request.form.get("kind", ""), request.form.get("text", "").strip()
    if kind not in EDITORS or not text:
        return redirect(url_for("workspace.questions.new_question", draft_id=draft.id, kind=kind))
    question = begun_question(draft, kind, text)
    try:
        changed = draft.with_question(question)
        changed = changed.with_moved(
            question["id"], index_for_new(draft, request.form.get("at")) - len(draft.questions)
        )
        storage.save(get_store(), changed, posted_revision())
    except (SurveyError, StaleDraft) as error:
        flash(_("Nothing was changed: %(problem)s.", problem=translate(error)), "problem")
        return redirect(url_for("workspace.draft.draft", draft_id=draft.id))
    editing = None if EDITORS[kind].begins_complete else question["id"]
    return _shown(draft, question["id"], editing)


@bp.post("/drafts/<draft_id>/questions/<question_id>/text")
@designer
def edit(draft_id: str, question_id: str) -> Page:
    """Save the text of a question and what its kind asks for; everything else of it stays."""
    draft = open_draft(draft_id)
    form = short_form(draft, find_question(draft, question_id), request.form)
    result = validated(draft, form, question_id)
    if result is None:
        return show_draft(draft, DetailsForm(formdata=None), 422, editing=form)
    try:
        storage.save(get_store(), result[0], form.read_revision())
    except StaleDraft:
        return show_draft(draft, DetailsForm(formdata=None), 409, stale=True, editing=form)
    flash(_("Saved."), "done")
    return _shown(draft, question_id)


def _shown(draft: Draft, question_id: str, editing: str | None = None) -> Page:
    address = url_for("workspace.draft.draft", draft_id=draft.id, edit=editing)
    return redirect(f"{address}#question-{question_id}")
