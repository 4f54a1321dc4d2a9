"""“Prefer not to say” in all questions of a draft at once: an ordinary answer inside the randomized set of each."""

from __future__ import annotations

from dataclasses import replace

from flask import Blueprint, flash, redirect, request, url_for
from hushpoll_client import SurveyError
from werkzeug.wrappers import Response

from hushpoll_server.current_store import get_store
from hushpoll_server.fields import together
from hushpoll_server.i18n.translation import gettext as _
from hushpoll_server.i18n.translation import ngettext
from hushpoll_server.workspace.access import designer, open_draft
from hushpoll_server.workspace.drafts import blocks, documents, storage
from hushpoll_server.workspace.drafts.documents import Document
from hushpoll_server.workspace.drafts.draft import Draft, StaleDraft
from hushpoll_server.workspace.forms import posted_revision
from hushpoll_server.workspace.kinds import EDITORS, editor_of

bp = Blueprint("declining", __name__)


def declinable(document: Document) -> dict[str, bool]:
    """Return the questions that can be declined, and whether they already are.

    Not those with a harmless question, whose two answers are asked for together; nor those of a block, which share one
    protection; nor the one that shows careless answers, whose share is known.
    """
    can_decline = {}
    for question in document["questions"]:
        kind, fields = editor_of(question)
        alone = blocks.block_at(document, question["id"]) is None
        anchor = document.get("anchor", {}).get("question") == question["id"]
        decoy = "decoy" in question.get("mechanism", {})
        if EDITORS[kind].declinable and alone and not anchor and not decoy:
            can_decline[question["id"]] = bool(fields["prefer_not"])
    return can_decline


def _changed(question: Document, offered: bool) -> Document:
    """Return a question with or without this answer; everything else about it stays."""
    kind, fields = editor_of(question)
    written = EDITORS[kind].write({**fields, "prefer_not": offered})
    unchanged: Document = {
        key: question[key] for key in ("id", "text", "after", "mechanism") if key in question
    }
    return {**unchanged, **written}


def with_declining(document: Document, offered: bool) -> tuple[Document, list[str]]:
    """Return the document in which every question that can be is declinable, or none is; and those that must stay.

    A question stays as it is where its own mechanism is for two answers, its table came with it, or a rule names the
    answer that would go.
    """
    stayed = []
    for name, already in declinable(document).items():
        question = next(question for question in document["questions"] if question["id"] == name)
        if already == offered:
            continue
        try:
            if "channel" in question:
                raise SurveyError(("questions", name, "channel"), "came with the document", "leave it")
            document = documents.with_question(document, _changed(question, offered), name)
        except SurveyError:
            stayed.append(name)
    return document, stayed


@bp.post("/drafts/<draft_id>/declining")
@designer
def decline_all(draft_id: str) -> Response:
    """Offer “Prefer not to say” in all questions, or in none."""
    draft = open_draft(draft_id)
    offered = request.form.get("offered") == "yes"
    document, stayed = with_declining(draft.document, offered)
    try:
        storage.save(get_store(), replace(draft, document=document), posted_revision())
        _tell(draft, offered, stayed)
    except StaleDraft:
        flash(_("Nothing was changed: this draft was edited in another tab."), "problem")
    return redirect(url_for("workspace.draft.draft", draft_id=draft.id) + "#questions")


def _tell(draft: Draft, offered: bool, stayed: list[str]) -> None:
    done = _("“Prefer not to say” is an answer of every question that can have it.")
    flash(done if offered else _("“Prefer not to say” is taken away."), "done")
    if stayed:
        numbers = [str(n) for n, question in enumerate(draft.questions, 1) if question["id"] in stayed]
        message = ngettext(
            "Question %(list)s stays as it was: its own mechanism or a rule needs the answers as they are.",
            "Questions %(list)s stay as they were: their own mechanism or a rule needs the answers as they are.",
            len(numbers),
            list=together(numbers),
        )
        flash(message, "problem")
