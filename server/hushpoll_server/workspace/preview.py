"""The preview: a draft compiled as publishing would, on the respondents' own page, which sends and keeps nothing."""

from __future__ import annotations

from flask import abort, g, render_template, request, url_for
from hushpoll_client import HushpollError, Survey
from werkzeug.wrappers import Response

from .editor import with_form
from .forms import QuestionForm
from .pages import bp, designer, own_draft
from .privacy import cap


def _compiled(draft_id: str) -> Survey:
    """Compile the draft as publishing would; with a question as the editor has it now, where one is given."""
    draft = own_draft(draft_id)
    try:
        if "text" in request.args:
            form = QuestionForm(formdata=request.args, meta={"csrf": False})
            if not form.validate():
                abort(422, "the question is not complete yet")
            draft, _ = with_form(draft, form, request.args.get("instead_of") or None)
        if not draft.questions:
            abort(404, "this draft has no question yet; add one, then look at the preview")
        return draft.survey(cap())
    except HushpollError as error:
        abort(422, str(error))


@bp.get("/drafts/<draft_id>/preview")
@designer
def preview(draft_id: str) -> Response:
    """Show the respondents' page of a draft, in the editor's frame or in a tab of its own."""
    from hushpoll_server.respond.page import render_page

    query = request.query_string.decode("ascii", "ignore")
    document = url_for("workspace.preview_document", draft_id=draft_id) + (f"?{query}" if query else "")
    return render_page(_compiled(draft_id), preview=True, document=document)


@bp.get("/drafts/<draft_id>/preview.json")
@designer
def preview_document(draft_id: str) -> Response:
    """Serve the canonical bytes that the preview verifies and shows."""
    return Response(_compiled(draft_id).canonical, mimetype="application/json")


@bp.get("/drafts/<draft_id>/phone")
@designer
def phone(draft_id: str) -> str:
    """Show the preview at a phone's width, on a page of its own."""
    g.csp = {"frame-src": "'self'"}
    return render_template("workspace/phone.html", draft=own_draft(draft_id), step="preview")
