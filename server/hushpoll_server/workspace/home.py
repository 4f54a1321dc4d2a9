"""The designer's workspace: the list of surveys, new drafts, title and questions, the definition in and out.

The view modules imported here add their routes to the same blueprint: editor, privacy (the screen that
decides), preview, rehearsal, publish (checklist, share, monitor, close).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from flask import abort, flash, g, jsonify, redirect, render_template, request, url_for
from hushpoll_analysis.documents import parse_survey, split_plan
from hushpoll_client import HushpollError, Survey, SurveyError
from hushpoll_client.survey.group import FIELD
from werkzeug.wrappers import Response as BaseResponse

from hushpoll_server.current_store import get_store
from hushpoll_server.fields import decimal
from hushpoll_server.people import sharing
from hushpoll_server.people.access import can_edit, current_user
from hushpoll_server.spoken import gettext as _
from hushpoll_server.spoken import in_words
from hushpoll_server.store.surveys import Store
from hushpoll_server.weakness import is_weak

from . import (
    anchors,
    around,
    blocks,
    declining,
    drafts,
    editor,
    inviting,
    languages,
    live,
    on_paper,
    preview,
    privacy,
    publish,
    rehearsal,
    sheets,
    shelf,
    sizes,
    survey,
)
from .autosave import errors_of, kept
from .drafts import Draft, StaleDraft
from .forms import DetailsForm, ImportForm, place_error, pretty
from .groups import read_lines
from .kinds import EDITORS
from .library import TEMPLATES, document_of
from .pages import Page, bp, designer, download, open_draft, own_draft, reader
from .plans import read_plan, with_plan, with_unfinished
from .privacy import summaries

__all__ = [
    "around",
    "blocks",
    "bp",
    "declining",
    "editor",
    "inviting",
    "languages",
    "live",
    "on_paper",
    "preview",
    "privacy",
    "publish",
    "rehearsal",
    "sheets",
    "shelf",
    "sizes",
    "survey",
]
LARGEST_IMPORT = 1 << 20


@bp.get("/")
@bp.get("/design/")
def front() -> BaseResponse:
    """Lead from the address without a path to the workspace."""
    return redirect(url_for("workspace.home"))


@bp.get("/surveys")
@reader
def home() -> str:
    """List drafts, own surveys and those that are shared; for admins all."""
    store, user = get_store(), current_user
    words, away = request.args.get("q", "").strip(), "archived" in request.args
    shelved = shelf.put_away(store)
    readable = sharing.readable(store, user, store.list_surveys())
    written = [] if user.role == "analyst" else drafts.unpublished(store, user.name)
    listed = [
        entry
        for entry in readable
        if (entry.hash in shelved) == away
        and shelf.matches(words, entry.title, entry.hash, *(_asked(store, entry.hash) if words else ()))
    ]
    own_drafts = [
        entry
        for entry in written
        if (entry.id in shelved) == away
        and shelf.matches(words, entry.title, *(question["text"] for question in entry.questions))
    ]
    return render_template(
        "workspace/home.html",
        drafts=own_drafts,
        mine=[entry for entry in listed if entry.owner == user.name],
        others=[entry for entry in listed if entry.owner != user.name],
        counts={entry.hash: store.count(entry.hash) for entry in listed},
        weak={entry.hash for entry in listed if _is_weak(store, entry.hash)},
        words=words,
        away=away,
        anything=bool(readable or written),
        in_archive=len(shelved & ({entry.hash for entry in readable} | {entry.id for entry in written})),
        may_edit={entry.hash for entry in listed if can_edit(user, entry.hash)},
    )


def _asked(store: Store, survey_hash: str) -> Iterator[str]:
    """Return the texts of the questions of a published survey, to be searched."""
    survey = store.get_survey(survey_hash)
    return (question.text for question in survey.questions) if survey else iter(())


def _is_weak(store: Store, survey_hash: str) -> bool:
    survey = store.get_survey(survey_hash)
    return survey is not None and is_weak(survey)


@bp.get("/surveys/new")
@designer
def new() -> str:
    """Offer beginnings: blank, from a template, from a file."""
    return render_template("workspace/new.html", templates=TEMPLATES, form=ImportForm())


@bp.post("/drafts")
@designer
def create() -> BaseResponse:
    """Make a draft, blank or from a template."""
    key = request.form.get("template", "")
    if key and key not in TEMPLATES:
        abort(404, "there is no template of that name; see the list")
    if key:
        template = TEMPLATES[key]
        plan = (template.expected_n, template.margin, template.epsilon, template.linked)
        draft = drafts.create(get_store(), current_user.name, document_of(key), *plan)
    else:
        draft = drafts.create(get_store(), current_user.name, drafts.blank())
    return redirect(url_for("workspace.draft", draft_id=draft.id))


@bp.post("/drafts/import")
@designer
def import_definition() -> Page:
    """Make a draft from a file, read as strictly as a client reads a survey; nothing is kept of a refused file."""
    form = ImportForm()
    if form.validate_on_submit():
        try:
            with form.file.data.stream as file:
                data, plan_entry = split_plan(file.read(LARGEST_IMPORT + 1))
            document, epsilon = drafts.imported(parse_survey(data))
            plan = {"epsilon": epsilon} | read_plan(
                plan_entry, {question["id"] for question in document["questions"]}
            )
            document = with_unfinished(document, plan_entry)
            draft = drafts.create(get_store(), current_user.name, document, **plan)
            message = _("Imported “%(title)s”. Look it over before you publish it.", title=document["title"])
            flash(message, "done")
            return redirect(url_for("workspace.draft", draft_id=draft.id))
        except HushpollError as error:
            message = _("This file was refused and nothing was kept: %(problem)s.", problem=in_words(error))
            form.file.errors = [message]
    return render_template("workspace/new.html", templates=TEMPLATES, form=form), 422


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
        "workspace/draft.html",
        draft=draft,
        form=form,
        rows=summaries(draft),
        alike=drafts.alike(document),
        sections={section["before"]: section["title"] for section in document.get("sections", [])},
        around=around.told_around(document),
        languages=languages.told_languages(draft),
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
        drafts.save(get_store(), changed, form.read_revision(), form.read_opened())
    except SurveyError as error:
        place_error(form, error)
        return show_draft(draft, form, 422)
    except StaleDraft:
        return show_draft(draft, form, 409, stale=True)
    flash(_("Saved."), "done")
    return redirect(url_for("workspace.draft", draft_id=draft.id))


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
        **around.with_asked_by(draft.document, name=form.asked_by.data),
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
        drafts.compiled(document)
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
        return render_template("workspace/delete.html", draft=draft)
    drafts.remove(get_store(), draft, actor=current_user.name)
    flash(_("“%(title)s” is deleted.", title=draft.title), "done")
    return redirect(url_for("workspace.home"))


@bp.get("/drafts/<draft_id>/definition.json")
@designer
def draft_definition(draft_id: str) -> BaseResponse:
    """Send the draft as a file."""
    draft = own_draft(draft_id)
    return download(pretty(with_plan(draft)), "application/json", f"{draft.id}.json")
