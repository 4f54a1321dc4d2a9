"""“Prefer not to say” in all questions of a draft at once: an ordinary answer inside the randomized set of each."""

from __future__ import annotations

from flask import Blueprint, flash, redirect, request, url_for
from hushpoll_client import SurveyError
from werkzeug.wrappers import Response

from hushpoll_server.current_store import get_store
from hushpoll_server.fields import together
from hushpoll_server.i18n.translation import gettext as _
from hushpoll_server.i18n.translation import ngettext
from hushpoll_server.workspace.access import designer, open_draft
from hushpoll_server.workspace.drafts import storage
from hushpoll_server.workspace.drafts.draft import Draft, StaleDraft
from hushpoll_server.workspace.drafts.references import QuestionDocument
from hushpoll_server.workspace.forms import posted_revision
from hushpoll_server.workspace.kinds import EDITORS, editor_of

bp = Blueprint("declining", __name__)


def declinable(draft: Draft) -> dict[str, bool]:
    """Return the questions that can be declined, and whether they already are.

    Not those with a harmless question, whose two answers are asked for together; nor those of a block, which share one
    protection; nor the anchor, whose share is known.
    """
    can_decline = {}
    for question in draft.questions:
        kind, fields = editor_of(question)
        in_block = draft.blocks.index_of(question["id"]) is not None
        is_anchor = draft.anchor.question == question["id"]
        has_decoy = "decoy" in question.get("mechanism", {})
        if EDITORS[kind].declinable and not (in_block or is_anchor or has_decoy):
            can_decline[question["id"]] = bool(fields["prefer_not"])
    return can_decline


def _with_answer(question: QuestionDocument, offered: bool) -> QuestionDocument:
    """Return a question with or without this answer; everything else about it stays."""
    kind, fields = editor_of(question)
    written = EDITORS[kind].write({**fields, "prefer_not": offered})
    unchanged: QuestionDocument = {
        key: question[key] for key in ("id", "text", "mechanism") if key in question
    }
    return {**unchanged, **written}


def with_declining(draft: Draft, offered: bool) -> tuple[Draft, list[str]]:
    """Return the draft with every question declinable that can be, or with none; and the questions that must stay.

    A question is unchanged if its own mechanism is for two answers, if its channel came with it, or if a rule names the
    answer that would go.
    """
    unchanged = []
    for question_id, already in declinable(draft).items():
        question = draft.question(question_id)
        if question is None or already == offered:
            continue
        if "channel" in question:
            unchanged.append(question_id)
            continue
        try:
            rule = draft.rules.of(question_id)
            draft = draft.with_edited(question_id, _with_answer(question, offered), rule)
        except SurveyError:
            unchanged.append(question_id)
    return draft, unchanged


@bp.post("/drafts/<draft_id>/declining")
@designer
def decline_all(draft_id: str) -> Response:
    """Offer “Prefer not to say” in all questions, or in none."""
    draft = open_draft(draft_id)
    offered = request.form.get("offered") == "yes"
    changed, unchanged = with_declining(draft, offered)
    try:
        storage.save(get_store(), changed, posted_revision())
        _flash_result(draft, offered, unchanged)
    except StaleDraft:
        flash(_("Nothing was changed: this draft was edited in another tab."), "problem")
    return redirect(url_for("workspace.draft.draft", draft_id=draft.id) + "#questions")


def _flash_result(draft: Draft, offered: bool, unchanged: list[str]) -> None:
    message = _("“Prefer not to say” is removed.")
    if offered:
        message = _("Every question that can have “Prefer not to say” now offers it.")
    flash(message, "done")
    if unchanged:
        numbers = [str(n) for n, question in enumerate(draft.questions, 1) if question["id"] in unchanged]
        message = ngettext(
            "Question %(list)s is unchanged: its mechanism or a rule needs its present answers.",
            "Questions %(list)s are unchanged: their mechanism or a rule needs their present answers.",
            len(numbers),
            list=together(numbers),
        )
        flash(message, "problem")
