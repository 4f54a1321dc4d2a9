"""The form for how many people each group of a published survey has."""

from __future__ import annotations

from flask import Blueprint, abort, flash, redirect, url_for

from hushpoll_server.current_store import get_store
from hushpoll_server.i18n.translation import gettext as _
from hushpoll_server.people.access import audit
from hushpoll_server.workspace.access import designer, editable_survey
from hushpoll_server.workspace.responses import Page
from hushpoll_server.workspace.sharing.groups import sizes_form
from hushpoll_server.workspace.survey_page.routes import show_survey

bp = Blueprint("group_sizes", __name__)


@bp.post("/surveys/<survey_hash>/sizes")
@designer
def group_sizes(survey_hash: str) -> Page:
    """Save how many people each group has, or delete that if all fields are empty."""
    survey = editable_survey(survey_hash)
    if not survey.groups:
        abort(422, "this survey has no groups; there is nothing to weight")
    form = sizes_form(survey)
    fields = [form[f"size_{index}"] for index in range(len(survey.groups))]
    valid = form.validate_on_submit()
    typed = [field.data for field in fields]
    if valid and any(typed) and not all(typed):
        for field in fields:
            if field.data:
                field.errors = []
            else:
                field.errors = [_("Fill in this one too, or leave all of them empty.")]
        valid = False
    if not valid:
        return show_survey(survey_hash, 422, sizes=form)
    if all(typed):
        sizes = dict(zip(survey.groups, typed, strict=True))
    else:
        sizes = None
    get_store().set_group_sizes(survey_hash, sizes)
    audit("group sizes", survey_hash, "" if sizes is None else ", ".join(map(str, typed)))
    message = _("Results are not weighted by group.")
    if sizes:
        message = _("Results are weighted by group.")
    flash(message, "done")
    return redirect(url_for("workspace.survey.survey", survey_hash=survey_hash) + "#sizes")
