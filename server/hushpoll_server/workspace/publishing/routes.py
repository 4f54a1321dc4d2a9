"""From a draft to a published survey: checklist, confirmation, one transaction."""

from __future__ import annotations

from flask import Blueprint, abort, flash, g, redirect, render_template, request, url_for
from werkzeug.wrappers import Response

from hushpoll_server.current_store import get_store
from hushpoll_server.i18n.translation import gettext as _
from hushpoll_server.people.access import can_read_survey, current_user
from hushpoll_server.weakness import weakness
from hushpoll_server.workspace.access import designer, own_draft, owns
from hushpoll_server.workspace.drafts import storage
from hushpoll_server.workspace.drafts.draft import Draft, DraftIsPublished
from hushpoll_server.workspace.privacy.summaries import cap
from hushpoll_server.workspace.publishing.checklist import checklist, one_sided
from hushpoll_server.workspace.publishing.forms import PublishForm
from hushpoll_server.workspace.responses import Page

bp = Blueprint("publishing", __name__, template_folder="templates")


@bp.route("/drafts/<draft_id>/publish", methods=["GET", "POST"])
@designer
def publish(draft_id: str) -> Page:
    """Show the checklist; publish after confirmation."""
    draft = own_draft(draft_id)
    if draft.published_hash is not None:
        raise DraftIsPublished(draft.published_hash)
    if request.method == "POST" and not owns(draft):
        abort(403, "only the owner publishes a draft; ask the owner, or have it handed over to you")
    form = PublishForm(revision=draft.revision)
    items = checklist(draft)
    ready = all(state != "stop" for state, _ in items)
    if ready:
        one_sided_questions = one_sided(draft)
    else:
        one_sided_questions = []
    weak = ""
    if ready:
        weak = weakness(draft.survey(cap()))
    g.csp = {"frame-src": "'self'"}
    status, stale = 200, False
    confirmed = form.is_submitted() and form.confirms(weak=bool(weak), one_sided=bool(one_sided_questions))
    if confirmed and ready:
        if form.read_revision() != draft.revision:
            form.revision.data, status, stale = draft.revision, 409, True
        else:
            done = _publish(draft)
            if done is not None:
                return done
            status = 422
    elif form.errors or (request.method == "POST" and not ready):
        status = 422
    page = render_template(
        "publishing/publish.html",
        draft=draft,
        form=form,
        items=items,
        ready=ready,
        one_sided_questions=one_sided_questions,
        weak=weak,
        owned=owns(draft),
        stale=stale,
        step="publish",
    )
    return page, status


def _publish(draft: Draft) -> Response | None:
    store = get_store()
    survey = draft.survey(cap())
    if storage.publish(store, draft, survey, current_user.name):
        if survey.settings.invitation:
            message = _("Published. Below you can make invitations.")
        else:
            message = _("Published. Below is the link to hand out.")
        flash(message, "done")
        return redirect(url_for("workspace.survey.survey", survey_hash=survey.hash))
    if storage.find(store, draft.id) is not None and can_read_survey(current_user, survey.hash):
        # The second of two clicks, or the same text published before: there is one such survey, and here it is.
        storage.mark_published(store, draft, survey.hash)
        flash(_("A survey with exactly this definition is already published: this one."), "done")
        return redirect(url_for("workspace.survey.survey", survey_hash=survey.hash))
    flash(_("Someone else has published exactly this definition. Change the title, then publish."), "problem")
    return None
