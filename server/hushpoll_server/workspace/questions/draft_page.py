"""The first page of a draft: title, introduction, settings and the list of questions."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from flask import Blueprint, flash, g, jsonify, redirect, render_template, request, url_for
from hushpoll_client import Survey, SurveyError
from hushpoll_client.survey.group import FIELD
from werkzeug.wrappers import Response
from werkzeug.wrappers import Response as BaseResponse

from hushpoll_server.current_store import get_store
from hushpoll_server.fields import decimal
from hushpoll_server.i18n.translation import gettext as _
from hushpoll_server.people.access import current_user
from hushpoll_server.workspace.access import designer, open_draft, own_draft
from hushpoll_server.workspace.autosave import errors_of, kept
from hushpoll_server.workspace.drafts import anchors, documents, storage
from hushpoll_server.workspace.drafts.draft import Draft, StaleDraft
from hushpoll_server.workspace.drafts.plan_file import with_plan
from hushpoll_server.workspace.forms import posted_revision
from hushpoll_server.workspace.kinds import EDITORS
from hushpoll_server.workspace.languages.routes import told_languages
from hushpoll_server.workspace.presentation.forms import told_around, with_asked_by
from hushpoll_server.workspace.privacy.summaries import summaries
from hushpoll_server.workspace.questions import declining
from hushpoll_server.workspace.questions.forms import DetailsForm, place_error
from hushpoll_server.workspace.responses import Page, download, pretty
from hushpoll_server.workspace.sharing.groups import read_lines

bp = Blueprint("draft", __name__, template_folder="templates")


@bp.post("/drafts/<draft_id>/undo")
@designer
def undo(draft_id: str) -> Response:
    """Put the draft back to what it was before the last change."""
    draft = open_draft(draft_id)
    try:
        if storage.undo(get_store(), draft.id, posted_revision()):
            flash(_("Undone. The draft is as it was before the last change."), "done")
        else:
            flash(_("There is nothing to undo."), "problem")
    except StaleDraft:
        flash(
            _("Nothing was undone: this draft was edited in another tab. This is how it stands now."),
            "problem",
        )
    return redirect(url_for("workspace.draft.draft", draft_id=draft.id))


@bp.get("/drafts/<draft_id>")
@designer
def draft(draft_id: str) -> Page:
    """Show the questions of a draft."""
    return show_draft(open_draft(draft_id), DetailsForm(formdata=None))


def show_draft(draft: Draft, form: DetailsForm, status: int = 200, stale: bool = False) -> Page:
    """Show the draft's first page; the form keeps what was typed where it was refused."""
    document = draft.document
    if not form.errors and not stale:
        values = {"title": document["title"], "intro": document["intro"], **document["settings"]}
        anchor = document.get("anchor", {})
        values |= {"anchor_question": anchors.named(document), "anchor_share": anchor.get("share", "0")}
        values["groups"] = "\n".join(document.get("groups", []))
        values["asked_by"] = document.get("asked_by", {}).get("name", "")
        form = DetailsForm(formdata=None, revision=draft.revision, **values)
    if stale:
        # Saving again now means: over the version that the page has warned of.
        form.revision.data = draft.revision
    form.offer_anchors(document["questions"])
    g.csp = {"frame-src": "'self'"}
    page = render_template(
        "questions/draft.html",
        draft=draft,
        form=form,
        rows=summaries(draft),
        alike=documents.alike(document),
        sections={section["before"]: section["title"] for section in document.get("sections", [])},
        around=told_around(document),
        languages=told_languages(draft),
        declinable=declining.declinable(document),
        kinds=EDITORS,
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


def _autosave_details(draft: Draft, form: DetailsForm) -> BaseResponse:
    """Keep what is typed if it is sound."""
    if form.validate_on_submit():
        try:
            changed = _with_details(draft, form)
            return jsonify(kept(changed, form))
        except SurveyError as error:
            place_error(form, error)
    return jsonify({"errors": errors_of(form)})


def _with_details(draft: Draft, form: DetailsForm) -> Draft:
    """Return the draft with title, introduction and settings of the form; SurveyError where they are not sound."""
    document = {
        **with_asked_by(draft.document, name=form.asked_by.data),
        "title": form.title.data.strip(),
        "intro": (form.intro.data or "").replace("\r\n", "\n").strip(),
        "settings": {"kiosk": form.kiosk.data, "invitation": form.invitation.data},
    }
    document.pop("anchor", None)
    document.pop("groups", None)
    if groups := read_lines(form.groups.data):
        document["groups"] = groups
    if form.anchor_question.data:
        share = decimal(form.anchor_share.data or "", ("anchor", "share"))
        document["anchor"] = anchors.written(document, form.anchor_question.data, share)
    check_details(document)
    return replace(draft, document=document)


def check_details(document: dict[str, Any]) -> None:
    """Check title and introduction also while there is no question yet."""
    if "anchor" in document or "blocks" in document:
        documents.compiled(document)
        return
    # A question may not be called like the groups.
    name = next((question["id"] for question in document["questions"] if question["id"] == FIELD), "probe")
    probe = {"id": name, "kind": "yes_no", "text": "?", "mechanism": {"epsilon": "1"}}
    # What names other questions is checked where it is written.
    rest = {key: value for key, value in document.items() if key not in ("sections", "translations")}
    Survey.from_draft({**rest, "questions": [probe]})


@bp.route("/drafts/<draft_id>/delete", methods=["GET", "POST"])
@designer
def delete(draft_id: str) -> Page:
    """Ask, then delete a draft."""
    draft = open_draft(draft_id)
    if request.method == "GET":
        return render_template("questions/delete_draft.html", draft=draft)
    storage.remove(get_store(), draft, actor=current_user.name)
    flash(_("“%(title)s” is deleted.", title=draft.title), "done")
    return redirect(url_for("workspace.survey_list.home"))


@bp.get("/drafts/<draft_id>/definition.json")
@designer
def draft_definition(draft_id: str) -> BaseResponse:
    """Send the draft as a file."""
    draft = own_draft(draft_id)
    return download(pretty(with_plan(draft)), "application/json", f"{draft.id}.json")
