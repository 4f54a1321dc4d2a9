"""Sharing a draft: with accounts, by links for people without one, and handing it over."""

from __future__ import annotations

from collections.abc import Callable

from flask import Blueprint, abort, flash, g, make_response, redirect, render_template, request, url_for
from flask_babel import force_locale
from hushpoll_client import HushpollError, Survey
from hushpoll_client.messages import msg
from werkzeug.wrappers import Response

from hushpoll_server.current_store import get_store
from hushpoll_server.fields import sentence
from hushpoll_server.i18n.translation import gettext as _
from hushpoll_server.i18n.translation import language, translate
from hushpoll_server.people import draft_sharing, sharing
from hushpoll_server.people.access import current_user
from hushpoll_server.people.errors import AccountError
from hushpoll_server.workspace.access import designer, owned_draft, readable_draft, reader
from hushpoll_server.workspace.collaboration.forms import DAYS, AccountForm, LinkForm, OwnerForm
from hushpoll_server.workspace.drafts import storage
from hushpoll_server.workspace.drafts.draft import Draft, StaleDraft
from hushpoll_server.workspace.privacy.protection import plan_sentence, protection_of
from hushpoll_server.workspace.privacy.question_plan import question_plans
from hushpoll_server.workspace.privacy.summaries import cap, summaries
from hushpoll_server.workspace.responses import Page, public_url

bp = Blueprint("collaboration", __name__, template_folder="templates")


@bp.route("/drafts/<draft_id>/sharing", methods=["GET", "POST"])
@designer
def share(draft_id: str) -> Page:
    """Show with whom a draft is shared, and change it."""
    draft = owned_draft(draft_id)
    account, link, owner = (
        AccountForm(formdata=request.form if "share" in request.form else None),
        LinkForm(formdata=request.form if "link" in request.form else None),
        OwnerForm(formdata=request.form if "hand_over" in request.form else None),
    )
    link.offer_days()
    if request.method == "GET":
        return _show(draft, account, link, owner)
    actions: dict[str, tuple[AccountForm | LinkForm | OwnerForm, Callable[[], Response]]] = {
        "share": (account, lambda: _share(draft, account)),
        "link": (link, lambda: _make_link(draft, link)),
        "hand_over": (owner, lambda: _hand_over(draft, owner)),
    }
    for name, (form, act) in actions.items():
        if name not in request.form:
            continue
        if form.validate():
            try:
                return act()
            except (AccountError, StaleDraft) as error:
                first = next(field for field in form if field.name != "csrf_token")
                first.errors = [sentence(error)]
        return _show(draft, account, link, owner, 422)
    return _end(draft)


def _show(draft: Draft, account: AccountForm, link: LinkForm, owner: OwnerForm, status: int = 200) -> Page:
    store = get_store()
    page = render_template(
        "collaboration/sharing.html",
        draft=draft,
        account_form=account,
        link_form=link,
        owner_form=owner,
        accounts=draft_sharing.shared_with(store, draft.id),
        links=draft_sharing.links(store, draft.id),
        step="questions",
    )
    return page, status


def _back(draft: Draft) -> Response:
    return redirect(url_for("workspace.collaboration.share", draft_id=draft.id))


def _share(draft: Draft, form: AccountForm) -> Response:
    name, editing = (form.name.data or "").strip(), form.role.data == "edit"
    draft_sharing.share(get_store(), draft.id, draft.owner, name, editing=editing, actor=current_user.name)
    if editing:
        message = _("%(name)s can edit this draft now.", name=name)
    else:
        message = _("%(name)s can read this draft now.", name=name)
    flash(message, "done")
    return _back(draft)


def _make_link(draft: Draft, form: LinkForm) -> Response:
    token = draft_sharing.make_link(
        get_store(), draft.id, int(form.days.data or DAYS[0]), actor=current_user.name
    )
    address = public_url(url_for("workspace.collaboration.review", token=token))
    flash(_("Copy this link now; it is shown only once: %(address)s", address=address), "done")
    return _back(draft)


def _hand_over(draft: Draft, form: OwnerForm) -> Response:
    store, name = get_store(), (form.owner.data or "").strip()
    sharing.check_owner(store, name)
    if name == draft.owner:
        raise AccountError(msg("{name} owns this draft", name=name), "name another account")
    storage.hand_over(store, draft, name, actor=current_user.name)
    flash(_("%(name)s owns this draft now. You can still edit it.", name=name), "done")
    return redirect(url_for("workspace.draft.draft", draft_id=draft.id))


def _end(draft: Draft) -> Response:
    """Stop sharing with an account, or end a link."""
    store = get_store()
    if "unshare" in request.form:
        name = request.form["unshare"]
        draft_sharing.unshare(store, draft.id, name, actor=current_user.name)
        flash(_("%(name)s can no longer open this draft.", name=name), "done")
    elif "revoke" in request.form:
        draft_sharing.revoke_link(store, draft.id, request.form["revoke"], actor=current_user.name)
        flash(_("The link no longer opens this draft."), "done")
    return _back(draft)


@bp.get("/drafts/<draft_id>/review")
@reader
def read(draft_id: str) -> Page:
    """Show a draft to an account that may read it."""
    preview = url_for("workspace.collaboration.read_preview", draft_id=draft_id)
    return _review(readable_draft(draft_id), preview)


@bp.get("/drafts/<draft_id>/review/preview")
@reader
def read_preview(draft_id: str) -> Response:
    """Show the respondents' page of a draft to an account that may read it."""
    document = url_for("workspace.collaboration.read_document", draft_id=draft_id)
    return _preview(readable_draft(draft_id), document)


@bp.get("/drafts/<draft_id>/review/document")
@reader
def read_document(draft_id: str) -> Response:
    """Serve the document of that preview."""
    return _document(readable_draft(draft_id))


@bp.get("/review/<token>")
def review(token: str) -> Page:
    """Show a draft to anybody who has a link."""
    return _review(_linked(token), url_for("workspace.collaboration.preview", token=token))


@bp.get("/review/<token>/preview")
def preview(token: str) -> Response:
    """Show the respondents' page of a draft to anybody who has a link."""
    return _preview(_linked(token), url_for("workspace.collaboration.document", token=token))


@bp.get("/review/<token>/document")
def document(token: str) -> Response:
    """Serve the document of that preview."""
    return _document(_linked(token))


def _linked(token: str) -> Draft:
    draft_id = draft_sharing.linked_draft(get_store(), token)
    draft = storage.find(get_store(), draft_id) if draft_id is not None else None
    if draft is None or draft.published_hash is not None:
        abort(404, "this link no longer opens a draft; ask the person who sent it")
    return draft


def _review(draft: Draft, preview: str) -> Response:
    sentences: list[str] = []
    if draft.questions:
        survey = draft.compiled()
        protection = protection_of(survey)
        plans = question_plans(draft, survey, draft.expected_n)
        sentences = [plan_sentence(draft, plans, protection), protection.sentence]
    g.csp = {"frame-src": "'self'"}
    page = make_response(
        render_template(
            "collaboration/review.html",
            draft=draft,
            rows=summaries(draft),
            sentences=sentences,
            preview=preview,
        )
    )
    page.headers["Cache-Control"] = "no-store"
    page.headers["X-Robots-Tag"] = "noindex"
    return page


def _preview(draft: Draft, address: str) -> Response:
    from hushpoll_server.respond.page import render_preview

    with force_locale(language()):
        return render_preview(_compiled(draft), address)


def _document(draft: Draft) -> Response:
    return Response(_compiled(draft).canonical, mimetype="application/json")


def _compiled(draft: Draft) -> Survey:
    if not draft.questions:
        abort(404, "this draft has no question yet")
    try:
        return draft.survey(cap())
    except HushpollError as error:
        abort(422, translate(error))
