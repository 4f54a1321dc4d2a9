"""The preview: a draft, or a question being edited, on the respondents' page, which sends and stores nothing."""

from __future__ import annotations

from base64 import b64encode

from flask import Blueprint, abort, g, render_template, request, url_for
from flask_babel import force_locale
from hushpoll_client import HushpollError, Survey
from werkzeug.wrappers import Response

from hushpoll_server.i18n.languages import LANGUAGES
from hushpoll_server.i18n.translation import language, translate
from hushpoll_server.workspace.access import designer, own_draft
from hushpoll_server.workspace.drafts import translated_texts
from hushpoll_server.workspace.languages.summary import language_name
from hushpoll_server.workspace.preview.unfinished_question import unfinished_survey
from hushpoll_server.workspace.privacy.summaries import cap
from hushpoll_server.workspace.questions.forms import QuestionForm

bp = Blueprint("preview", __name__, template_folder="templates")


def _compiled(draft_id: str) -> Survey:
    """Compile the draft as publishing would."""
    draft = own_draft(draft_id)
    if not draft.questions:
        abort(404, "this draft has no question yet; add one, then look at the preview")
    try:
        return draft.survey(cap())
    except HushpollError as error:
        abort(422, translate(error))


def _preview_language() -> str:
    """Return the language of a preview: the one that was chosen for it, else the workspace's."""
    code = request.args.get("lang", "").split("-")[0]
    if code in LANGUAGES:
        return code
    return language()


@bp.get("/drafts/<draft_id>/preview")
@designer
def preview(draft_id: str) -> Response:
    """Show the respondents' page of a draft, in a phone's frame or in a separate tab."""
    from hushpoll_server.respond.page import render_preview

    document = url_for("workspace.preview.preview_document", draft_id=draft_id)
    with force_locale(_preview_language()):
        return render_preview(_compiled(draft_id), document)


@bp.post("/drafts/<draft_id>/preview")
@designer
def preview_question(draft_id: str) -> Response:
    """Show one question as typed so far, complete or not, in the editor's frame.

    The form is posted and comes back inside the page, because a URL cannot hold a long list of options.
    """
    from hushpoll_server.respond.page import render_preview

    survey = unfinished_survey(own_draft(draft_id), QuestionForm(), request.form.get("instead_of") or None)
    inside = f"data:application/json;base64,{b64encode(survey.canonical).decode('ascii')}"
    with force_locale(_preview_language()):
        page = render_preview(survey, inside, at_questions=True)
    g.csp["connect-src"] = "'self' data:"
    return page


@bp.get("/drafts/<draft_id>/preview.json")
@designer
def preview_document(draft_id: str) -> Response:
    """Serve the canonical bytes that the preview verifies and shows."""
    return Response(_compiled(draft_id).canonical, mimetype="application/json")


@bp.get("/drafts/<draft_id>/phone")
@designer
def phone(draft_id: str) -> str:
    """Show the preview at a phone's width, on a separate page."""
    g.csp = {"frame-src": "'self'"}
    draft = own_draft(draft_id)
    done = translated_texts.without_unfinished_languages(draft.document)
    if "translations" in done:
        tags = [done["language"], *done["translations"]]
    else:
        tags = []
    offered = [(tag, language_name(tag)) for tag in tags]
    here = request.args.get("lang", "")
    if here in tags:
        chosen = here
    else:
        chosen = (tags or [""])[0]
    return render_template(
        "preview/preview.html", draft=draft, languages=offered, chosen=chosen, step="preview"
    )
