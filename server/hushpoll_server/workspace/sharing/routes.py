"""Who can read a survey's results: accounts, the public, other sites."""

from __future__ import annotations

from typing import Any

from flask import Blueprint, flash, redirect, request, url_for
from hushpoll_client import Survey
from markupsafe import escape
from werkzeug.wrappers import Response

from hushpoll_server.collect import retention
from hushpoll_server.config import LOOPBACK
from hushpoll_server.current_store import get_store
from hushpoll_server.fields import sentence
from hushpoll_server.i18n.translation import gettext as _
from hushpoll_server.people import sharing
from hushpoll_server.people.access import audit, current_user
from hushpoll_server.people.audit_log import Detail
from hushpoll_server.people.errors import AccountError
from hushpoll_server.store.surveys import SurveyState
from hushpoll_server.workspace.access import designer, editable_survey
from hushpoll_server.workspace.responses import Page, address, public_url
from hushpoll_server.workspace.sharing.forms import ShareForm
from hushpoll_server.workspace.sharing.groups import links_to_hand_out, respondent_link, sizes_form
from hushpoll_server.workspace.survey_page.routes import show_survey

bp = Blueprint("sharing", __name__, template_folder="templates")


def page_part(survey: Survey, state: SurveyState) -> dict[str, Any]:
    """Return what the survey's page hands out, and who can read its results."""
    store = get_store()
    link = respondent_link(survey.hash)
    embeddable = retention.keeping_of(store, survey.hash).embeddable
    return {
        "share_form": ShareForm(formdata=None),
        "sizes": sizes_form(survey, state) if survey.groups else None,
        "handouts": links_to_hand_out(survey, address()),
        "only_here": any(f"//{name}" in link for name in LOOPBACK),
        "readers": sharing.shared_with(store, survey.hash),
        "embed": embed_code(survey) if embeddable else "",
    }


@bp.post("/surveys/<survey_hash>/share")
@designer
def share(survey_hash: str) -> Page:
    """Share the report with another account."""
    editable_survey(survey_hash)
    form = ShareForm()
    if form.validate_on_submit():
        try:
            sharing.share(get_store(), survey_hash, form.name.data.strip(), actor=current_user.name)
            flash(_("%(name)s can read the report now.", name=form.name.data.strip()), "done")
            return redirect(url_for("workspace.survey.survey", survey_hash=survey_hash) + "#share")
        except AccountError as error:
            form.name.errors = [sentence(error)]
    return show_survey(survey_hash, 422, share_form=form)


@bp.post("/surveys/<survey_hash>/unshare")
@designer
def unshare(survey_hash: str) -> Response:
    """Stop sharing the report with an account."""
    editable_survey(survey_hash)
    name = request.form.get("name", "")
    sharing.unshare(get_store(), survey_hash, name, actor=current_user.name)
    flash(_("%(name)s can no longer read the report.", name=name), "done")
    return redirect(url_for("workspace.survey.survey", survey_hash=survey_hash) + "#share")


@bp.post("/surveys/<survey_hash>/results")
@designer
def publish_results(survey_hash: str) -> Response:
    """Make the results public, at once or when the survey is closed, or private."""
    editable_survey(survey_hash)
    choice = request.form.get("public")
    public, live = choice in ("yes", "live"), choice == "live"
    get_store().set_results_public(survey_hash, public, live)
    audit(
        "results public" if public else "results private",
        survey_hash,
        Detail("also while open") if live else "",
    )
    state = get_store().state(survey_hash)
    assert state is not None
    if state.is_public:
        done = _("Anyone with the address can read the results.")
    elif public:
        done = _("Anyone can read them once the survey is closed.")
    else:
        done = _("Only accounts with access can read them.")
    flash(done, "done")
    return redirect(url_for("workspace.survey.survey", survey_hash=survey_hash) + "#share")


def embed_code(survey: Survey) -> str:
    """Return the lines that show the public results on another site."""
    source = public_url(url_for("results.embedded", survey_hash=survey.hash))
    return f'<iframe src="{source}" title="{escape(survey.title)}" width="100%" height="700" loading="lazy"></iframe>'


@bp.post("/surveys/<survey_hash>/embedding")
@designer
def embedding(survey_hash: str) -> Response:
    """Allow or forbid other sites to show the public results in a frame."""
    editable_survey(survey_hash)
    allowed = request.form.get("embed") == "yes"
    retention.set_embeddable(get_store(), survey_hash, allowed, current_user.name)
    if allowed:
        message = _("Other sites may show the public results.")
    else:
        message = _("No other site may show them.")
    flash(message, "done")
    return redirect(url_for("workspace.survey.survey", survey_hash=survey_hash) + "#share")
