"""The list of surveys: search, archive, new drafts, copies."""

from __future__ import annotations

from collections.abc import Iterator

from flask import Blueprint, abort, flash, redirect, render_template, request, url_for
from hushpoll_analysis.documents import parse_survey, split_plan
from hushpoll_client import HushpollError
from sqlalchemy import delete, insert, select
from werkzeug.wrappers import Response
from werkzeug.wrappers import Response as BaseResponse

from hushpoll_server.current_store import get_store
from hushpoll_server.i18n.translation import gettext as _
from hushpoll_server.i18n.translation import translate
from hushpoll_server.people import sharing
from hushpoll_server.people.access import can_edit, current_user
from hushpoll_server.store.surveys import Store
from hushpoll_server.store.workspace_schema import archived
from hushpoll_server.weakness import is_weak
from hushpoll_server.workspace.access import designer, editable_survey, open_draft, reader
from hushpoll_server.workspace.drafts import documents, storage
from hushpoll_server.workspace.drafts.plan_file import read_plan, with_unfinished
from hushpoll_server.workspace.responses import Page
from hushpoll_server.workspace.survey_list.forms import ImportForm
from hushpoll_server.workspace.survey_list.survey_templates import TEMPLATES, document_of

bp = Blueprint("survey_list", __name__, template_folder="templates")


LARGEST_IMPORT = 1 << 20


@bp.get("/")
@bp.get("/design/")
def front() -> BaseResponse:
    """Redirect the root path to the workspace."""
    return redirect(url_for("workspace.survey_list.home"))


@bp.get("/surveys")
@reader
def home() -> str:
    """List drafts, own surveys and those that are shared; for admins all."""
    store, user = get_store(), current_user
    search, archived_only = request.args.get("q", "").strip(), "archived" in request.args
    archived_ids = archived_subjects(store)
    readable = sharing.readable(store, user, store.list_surveys())
    if user.role == "analyst":
        all_drafts = []
    else:
        all_drafts = storage.unpublished(store, user.name)
    listed = [
        entry
        for entry in readable
        if (entry.hash in archived_ids) == archived_only
        and matches(search, entry.title, entry.hash, *(_question_texts(store, entry.hash) if search else ()))
    ]
    own_drafts = [
        entry
        for entry in all_drafts
        if (entry.id in archived_ids) == archived_only
        and matches(search, entry.title, *(question["text"] for question in entry.questions))
    ]
    shared_drafts = [
        (draft, may_edit)
        for draft, may_edit in storage.shared_with(store, user.name)
        if not archived_only and matches(search, draft.title)
    ]
    return render_template(
        "survey_list/survey_list.html",
        drafts=own_drafts,
        mine=[entry for entry in listed if entry.owner == user.name],
        others=[entry for entry in listed if entry.owner != user.name],
        counts={entry.hash: store.count(entry.hash) for entry in listed},
        weak={entry.hash for entry in listed if _is_weak(store, entry.hash)},
        search=search,
        archived=archived_only,
        shared_drafts=shared_drafts,
        has_surveys=bool(readable or all_drafts or shared_drafts),
        in_archive=len(
            archived_ids & ({entry.hash for entry in readable} | {entry.id for entry in all_drafts})
        ),
        may_edit={entry.hash for entry in listed if can_edit(user, entry.hash)},
    )


def _question_texts(store: Store, survey_hash: str) -> Iterator[str]:
    """Return the texts of the questions of a published survey, to be searched."""
    survey = store.get_survey(survey_hash)
    if survey:
        return (question.text for question in survey.questions)
    return iter(())


def _is_weak(store: Store, survey_hash: str) -> bool:
    survey = store.get_survey(survey_hash)
    return survey is not None and is_weak(survey)


@bp.get("/surveys/new")
@designer
def new() -> str:
    """Offer beginnings: blank, from a template, from a file."""
    return render_template("survey_list/new_survey.html", templates=TEMPLATES, form=ImportForm())


@bp.post("/drafts")
@designer
def create() -> BaseResponse:
    """Make a draft, blank or from a template."""
    key = request.form.get("template", "")
    if key and key not in TEMPLATES:
        abort(404, "there is no template of that name; see the list")
    document, plan = documents.blank(), {}
    if key:
        document, plan = document_of(key), TEMPLATES[key].plan
    document = documents.in_steps(document)
    draft = storage.create(get_store(), current_user.name, document, **plan)
    return redirect(url_for("workspace.draft.draft", draft_id=draft.id))


@bp.post("/drafts/import")
@designer
def import_definition() -> Page:
    """Make a draft from a file, checked as strictly as a client checks a survey."""
    form = ImportForm()
    if form.validate_on_submit():
        try:
            with form.file.data.stream as file:
                data, plan_entry = split_plan(file.read(LARGEST_IMPORT + 1))
            document, epsilon = documents.imported(parse_survey(data))
            plan = {"epsilon": epsilon} | read_plan(
                plan_entry, {question["id"] for question in document["questions"]}
            )
            document = with_unfinished(document, plan_entry)
            draft = storage.create(get_store(), current_user.name, document, **plan)
            message = _("Imported “%(title)s”. Check it before you publish it.", title=document["title"])
            flash(message, "done")
            return redirect(url_for("workspace.draft.draft", draft_id=draft.id))
        except HushpollError as error:
            message = _("This file was refused and nothing was saved: %(problem)s.", problem=translate(error))
            form.file.errors = [message]
    return render_template("survey_list/new_survey.html", templates=TEMPLATES, form=form), 422


def archived_subjects(store: Store) -> set[str]:
    """Return the archived drafts and surveys."""
    with store.read() as tx:
        return set(tx.execute(select(archived.c.subject)).scalars())


def matches(search: str, *texts: str) -> bool:
    """Return whether every word is in one of the texts, ignoring case."""
    text = " ".join(texts).casefold()
    return all(word in text for word in search.casefold().split())


def _archive(subject: str, title: str) -> Response:
    to_archive = request.form.get("archived") == "yes"
    with get_store().write() as tx:
        tx.execute(delete(archived).where(archived.c.subject == subject))
        if to_archive:
            tx.execute(insert(archived).values(subject=subject))
    message = _("“%(title)s” is in the archive.", title=title)
    if not to_archive:
        message = _("“%(title)s” is back in the list.", title=title)
    flash(message, "done")
    return redirect(url_for("workspace.survey_list.home", archived=None if to_archive else "yes"))


@bp.post("/drafts/<draft_id>/archive")
@designer
def archive_draft(draft_id: str) -> Response:
    """Archive or restore a draft."""
    draft = open_draft(draft_id)
    return _archive(draft.id, draft.title)


@bp.post("/surveys/<survey_hash>/archive")
@designer
def archive_survey(survey_hash: str) -> Response:
    """Archive or restore a survey."""
    return _archive(survey_hash, editable_survey(survey_hash).title)


@bp.post("/drafts/<draft_id>/duplicate")
@designer
def duplicate_draft(draft_id: str) -> Response:
    """Copy a draft with its plan."""
    draft = open_draft(draft_id)
    title = _("%(title)s (copy)", title=draft.title[:190])
    copy = storage.create(get_store(), current_user.name, {**draft.document, "title": title}, **draft.plan)
    flash(_("This is a copy. The original draft is unchanged."), "done")
    return redirect(url_for("workspace.draft.draft", draft_id=copy.id))
