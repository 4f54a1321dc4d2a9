"""The page for what respondents see around the questions: who asks, consent, thanks, help, sections, look."""

from __future__ import annotations

from flask import Blueprint, flash, g, jsonify, redirect, render_template, request, url_for
from hushpoll_client import HushpollError, SurveyError
from hushpoll_client.limits import LENGTHS
from hushpoll_client.survey.presentation import PAPER, contrast
from werkzeug.datastructures import FileStorage
from werkzeug.wrappers import Response

from hushpoll_server.current_store import get_store
from hushpoll_server.fields import sentence
from hushpoll_server.i18n.translation import gettext as _
from hushpoll_server.i18n.translation import localize_number
from hushpoll_server.respond import logos
from hushpoll_server.workspace.access import designer, open_draft
from hushpoll_server.workspace.autosave import autosave, field_errors
from hushpoll_server.workspace.drafts import storage
from hushpoll_server.workspace.drafts.draft import Draft, StaleDraft
from hushpoll_server.workspace.forms import posted_revision
from hushpoll_server.workspace.presentation.forms import (
    PresentationForm,
    mistakes,
    place_error,
    presentation_form,
    with_presentation,
)
from hushpoll_server.workspace.responses import Page

bp = Blueprint("presentation", __name__, template_folder="templates")


@bp.route("/drafts/<draft_id>/presentation", methods=["GET", "POST"])
@designer
def edit(draft_id: str) -> Page:
    """Show and save the presentation."""
    draft = open_draft(draft_id)
    if request.method == "GET":
        return _show(draft, presentation_form(draft, None))
    form = presentation_form(draft, request.form)
    if "autosave" in request.form:
        return _autosave(draft, form)
    try:
        if not form.validate():
            return _show(draft, form, 422)
        if wrong := mistakes(draft, form):
            for mistake in wrong:
                place_error(form, mistake)
            return _show(draft, form, 422)
        storage.save(get_store(), with_presentation(draft, form), form.read_revision(), form.read_opened())
    except SurveyError as error:
        place_error(form, error)
        return _show(draft, form, 422)
    except StaleDraft:
        form.revision.data = draft.revision
        return _show(draft, form, 409, stale=True)
    flash(_("Saved."), "done")
    anchor = "#sections" if "more" in request.form else ""
    return redirect(url_for("workspace.presentation.edit", draft_id=draft.id) + anchor)


def _autosave(draft: Draft, form: PresentationForm) -> Response:
    """Save the form if it is valid."""
    if form.validate():
        try:
            return jsonify(autosave(with_presentation(draft, form), form))
        except SurveyError as error:
            place_error(form, error)
    return jsonify({"errors": field_errors(form)})


def _show(
    draft: Draft, form: PresentationForm, status: int = 200, stale: bool = False, logo_error: str = ""
) -> Page:
    look = draft.details.get("look", {})
    g.csp = {"frame-src": "'self'"}
    page = render_template(
        "presentation/presentation.html",
        draft=draft,
        form=form,
        stale=stale,
        step="questions",
        limits=LENGTHS,
        logo=logos.address(look["logo"]) if "logo" in look else "",
        logo_error=logo_error,
        largest_logo=logos.LARGEST,
        accent_contrast=localize_number(f"{int(10 * contrast(look['accent'], PAPER)) / 10:g}")
        if "accent" in look
        else "",
    )
    return page, status


@bp.post("/drafts/<draft_id>/logo")
@designer
def logo(draft_id: str) -> Page:
    """Save or remove the logo; the draft names it by its hash."""
    draft = open_draft(draft_id)
    look = {key: value for key, value in draft.details.get("look", {}).items() if key != "logo"}
    if "remove" not in request.form:
        try:
            look["logo"] = logos.keep(get_store(), _uploaded(request.files.get("logo")))
        except HushpollError as error:
            return _show(draft, presentation_form(draft, None), 422, logo_error=sentence(error))
    try:
        storage.save(get_store(), draft.with_details(look=look), posted_revision())
        message = _("The logo is saved.")
        if "remove" in request.form:
            message = _("The logo is removed.")
        flash(message, "done")
    except StaleDraft:
        flash(_("Nothing was changed: this draft was edited in another tab."), "problem")
    return redirect(url_for("workspace.presentation.edit", draft_id=draft.id) + "#look")


def _uploaded(file: FileStorage | None) -> bytes:
    if file is None or not file.filename:
        raise logos.LogoError("no file was chosen", "choose a picture, then press the button again")
    with file.stream as stream:
        return bytes(stream.read(logos.LARGEST + 1))
