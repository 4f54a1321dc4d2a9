"""The first page of a draft: title, introduction, settings and the list of questions."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from flask import Blueprint, flash, g, jsonify, redirect, render_template, request, url_for
from hushpoll_client import Survey, SurveyError
from hushpoll_client.survey.group import FIELD
from werkzeug.wrappers import Response

from hushpoll_server.current_store import get_store
from hushpoll_server.fields import decimal
from hushpoll_server.i18n.translation import gettext as _
from hushpoll_server.people.access import current_user
from hushpoll_server.workspace.access import designer, open_draft, own_draft, owned_draft
from hushpoll_server.workspace.autosave import autosave, field_errors
from hushpoll_server.workspace.drafts import storage
from hushpoll_server.workspace.drafts.anchor import Anchor, anchor_from_choice, choice_of_anchor
from hushpoll_server.workspace.drafts.draft import Draft, StaleDraft
from hushpoll_server.workspace.drafts.plan_file import document_with_plan
from hushpoll_server.workspace.forms import posted_revision
from hushpoll_server.workspace.kinds import EDITORS
from hushpoll_server.workspace.kinds.base import split_lines
from hushpoll_server.workspace.languages.summary import language_summary
from hushpoll_server.workspace.presentation.forms import asked_by_from, presentation_summary
from hushpoll_server.workspace.privacy.summaries import summaries
from hushpoll_server.workspace.questions import declining
from hushpoll_server.workspace.questions.forms import DetailsForm, QuestionForm, place_error
from hushpoll_server.workspace.questions.stored_question import (
    index_for_new,
    short_fields,
    short_form,
    short_rows,
)
from hushpoll_server.workspace.responses import Page, download, json_text

bp = Blueprint("draft", __name__, template_folder="templates")


@bp.post("/drafts/<draft_id>/undo")
@designer
def undo(draft_id: str) -> Response:
    """Undo the last change."""
    draft = open_draft(draft_id)
    try:
        if storage.undo(get_store(), draft.id, posted_revision()):
            flash(_("Undone. The draft is as it was before the last change."), "done")
        else:
            flash(_("There is nothing to undo."), "problem")
    except StaleDraft:
        flash(
            _("Nothing was undone: this draft was edited in another tab. This is the current version."),
            "problem",
        )
    return redirect(url_for("workspace.draft.draft", draft_id=draft.id))


@bp.get("/drafts/<draft_id>")
@designer
def draft(draft_id: str) -> Page:
    """Show the questions of a draft, one of them as a form if it is to be edited."""
    draft, editing = open_draft(draft_id), None
    question = draft.question(request.args.get("edit"))
    if question is not None:
        editing = short_form(draft, question, None)
    return show_draft(draft, DetailsForm(formdata=None), editing=editing)


def show_draft(
    draft: Draft,
    form: DetailsForm,
    status: int = 200,
    *,
    stale: bool = False,
    editing: QuestionForm | None = None,
) -> Page:
    """Show the draft's first page, with a refused form as it was typed, and a question that is being edited."""
    if not form.errors and not stale:
        form = DetailsForm(formdata=None, revision=draft.revision, **_values(draft))
    if stale:
        # Saving again now means: over the version that the page has warned of.
        form.revision.data = draft.revision
    form.offer_anchors(draft)
    g.csp = {"frame-src": "'self'"}
    page = render_template(
        "questions/draft.html",
        draft=draft,
        form=form,
        rows=summaries(draft),
        repeated=draft.repeated_questions(),
        sections={section.before: section.title for section in draft.sections},
        presentation=presentation_summary(draft),
        languages=language_summary(draft),
        declinable=declining.declinable(draft),
        kinds=EDITORS,
        editing=editing,
        short_rows=short_rows(editing.kind.data) if editing else (),
        short_names=short_fields,
        adding_at=index_for_new(draft, request.args.get("add")),
        stale=stale,
        step="questions",
    )
    return page, status


@bp.post("/drafts/<draft_id>")
@designer
def save_details(draft_id: str) -> Page:
    """Save title, introduction and settings."""
    draft = open_draft(draft_id)
    form = DetailsForm()
    if "autosave" in request.form:
        return _autosave_details(draft, form)
    if not form.validate_on_submit():
        return show_draft(draft, form, 422)
    try:
        changed = _with_details(draft, form)
        storage.save(get_store(), changed, form.read_revision(), form.read_opened())
    except SurveyError as error:
        place_error(form, error)
        return show_draft(draft, form, 422)
    except StaleDraft:
        return show_draft(draft, form, 409, stale=True)
    flash(_("Saved."), "done")
    return redirect(url_for("workspace.draft.draft", draft_id=draft.id))


def _autosave_details(draft: Draft, form: DetailsForm) -> Response:
    """Save the form if it is valid."""
    if form.validate_on_submit():
        try:
            changed = _with_details(draft, form)
            return jsonify(autosave(changed, form))
        except SurveyError as error:
            place_error(form, error)
    return jsonify({"errors": field_errors(form)})


def _values(draft: Draft) -> dict[str, Any]:
    """Return the form's fields of a draft."""
    details = draft.details
    return {
        "title": details["title"],
        "intro": details["intro"],
        **details["settings"],
        "anchor_question": choice_of_anchor(draft.questions, draft.anchor),
        "anchor_share": draft.anchor.share,
        "groups": "\n".join(details.get("groups", [])),
        "asked_by": details.get("asked_by", {}).get("name", ""),
    }


def _with_details(draft: Draft, form: DetailsForm) -> Draft:
    """Return the draft with what the form says; SurveyError if something is wrong."""
    anchor = Anchor()
    if form.anchor_question.data:
        share = decimal(form.anchor_share.data or "", ("anchor", "share"))
        anchor = anchor_from_choice(draft.questions, form.anchor_question.data, share)
    changed = draft.with_details(
        asked_by=asked_by_from(draft.details.get("asked_by", {}), name=form.asked_by.data),
        title=form.title.data.strip(),
        intro=(form.intro.data or "").replace("\r\n", "\n").strip(),
        settings={"kiosk": form.kiosk.data, "invitation": form.invitation.data},
        groups=split_lines(form.groups.data or ""),
    )
    changed = replace(changed, anchor=anchor)
    _check_details(changed)
    return changed


def _check_details(draft: Draft) -> None:
    """Check title and introduction, also while there is no question."""
    if draft.anchor.question or draft.blocks:
        draft.compiled()
        return
    # A question may not have the name of the groups' column.
    name = FIELD if FIELD in draft.order else "probe"
    probe = {"id": name, "kind": "yes_no", "text": "?", "mechanism": {"epsilon": "1"}}
    Survey.from_draft({**draft.details, "questions": [probe]})


@bp.route("/drafts/<draft_id>/delete", methods=["GET", "POST"])
@designer
def delete(draft_id: str) -> Page:
    """Confirm, then delete a draft."""
    draft = owned_draft(draft_id)
    if request.method == "GET":
        return render_template("questions/delete_draft.html", draft=draft)
    storage.remove(get_store(), draft, actor=current_user.name)
    flash(_("“%(title)s” is deleted.", title=draft.title), "done")
    return redirect(url_for("workspace.survey_list.home"))


@bp.get("/drafts/<draft_id>/definition.json")
@designer
def draft_definition(draft_id: str) -> Response:
    """Send the draft as a file."""
    draft = own_draft(draft_id)
    return download(json_text(document_with_plan(draft)), "application/json", f"{draft.id}.json")
