"""When a survey closes and when its reports are deleted."""

from __future__ import annotations

from typing import Any

from flask import Blueprint, flash, redirect, render_template, request, url_for
from hushpoll_client import HushpollError, Survey
from hushpoll_client.delivery.report import FEWEST_REPORTS

from hushpoll_server.collect import closing, retention
from hushpoll_server.current_store import get_store
from hushpoll_server.fields import sentence
from hushpoll_server.i18n.translation import day
from hushpoll_server.i18n.translation import gettext as _
from hushpoll_server.people.access import audit, current_user
from hushpoll_server.people.audit_log import Detail
from hushpoll_server.store.surveys import SurveyState
from hushpoll_server.workspace.access import designer, editable_survey
from hushpoll_server.workspace.closing.forms import CloseForm, DeleteForm
from hushpoll_server.workspace.privacy.number_text import count_text
from hushpoll_server.workspace.responses import Page
from hushpoll_server.workspace.survey_page.routes import show_survey

bp = Blueprint("closing", __name__, template_folder="templates")


def page_part(_survey: Survey, state: SurveyState) -> dict[str, Any]:
    """Return the forms for closing and for deleting reports, on the survey's page."""
    keeping = retention.keeping_of(get_store(), state.hash)
    return {
        "close_form": close_form(state),
        "delete_form": DeleteForm(formdata=None, delete_on=keeping.delete_on),
        "retention": keeping,
    }


def close_form(state: SurveyState) -> CloseForm:
    """Return the closing form with the present plan of the survey."""
    if state.closes_at:
        when = "n"
    else:
        when = "date" if state.closes_on else "never"
    return CloseForm(formdata=None, when=when, on=state.closes_on, at=state.closes_at)


@bp.post("/surveys/<survey_hash>/retention")
@designer
def plan_deletion(survey_hash: str) -> Page:
    """Set or clear the day on which all reports are deleted."""
    editable_survey(survey_hash)
    form = DeleteForm()
    if form.validate_on_submit():
        try:
            retention.set_day(get_store(), survey_hash, form.delete_on.data, current_user.name)

            if form.delete_on.data:
                flash(_("All reports will be deleted on %(day)s.", day=day(form.delete_on.data)), "done")
            else:
                flash(_("No day is set."), "done")
            return redirect(url_for("workspace.survey.survey", survey_hash=survey_hash) + "#close")
        except HushpollError as error:
            form.delete_on.errors = [sentence(error)]
    return show_survey(survey_hash, 422, delete_form=form)


@bp.post("/surveys/<survey_hash>/closing")
@designer
def schedule_closing(survey_hash: str) -> Page:
    """Set when the survey closes: after a day, at a number of reports, or by hand."""
    editable_survey(survey_hash)
    form = CloseForm()
    valid = form.validate_on_submit()
    when = form.when.data
    if valid and when == "date" and form.on.data is None:
        form.on.errors = [_("Choose a day.")]
    elif valid and when == "n" and form.at.data is None:
        form.at.errors = [_("Type a number of reports.")]
    elif valid:
        try:
            _schedule(survey_hash, form)
            audit("closing planned", survey_hash, _closing_detail(form))
            flash(_scheduled(form), "done")
            return redirect(url_for("workspace.survey.survey", survey_hash=survey_hash) + "#close")
        except HushpollError as error:
            field = form.at
            if when == "date":
                field = form.on
            field.errors = [sentence(error)]
    return show_survey(survey_hash, 422, close_form=form)


def _schedule(survey_hash: str, form: CloseForm) -> None:
    # Only one of the two at a time: a page that says one thing must not do another.
    if form.when.data == "date":
        on = form.on.data
    else:
        on = None
    if form.when.data == "n":
        at = form.at.data
    else:
        at = None
    closing.plan(get_store(), survey_hash, on, at)


def _closing_detail(form: CloseForm) -> Detail:
    if form.when.data == "date":
        return Detail("closes after", day=form.on.data.isoformat())
    if form.when.data == "n":
        return Detail("closes at", count=form.at.data)
    return Detail("stays open")


def _scheduled(form: CloseForm) -> str:
    """Return when the survey closes."""
    if form.when.data == "date":
        return _("Closes after %(day)s.", day=day(form.on.data))
    if form.when.data == "n":
        return _("Closes at %(n)s reports.", n=count_text(form.at.data))
    return _("Stays open until you close it.")


@bp.post("/surveys/<survey_hash>/reopen")
@designer
def reopen_survey(survey_hash: str) -> Page:
    """Open a closed survey again."""
    editable_survey(survey_hash)
    if closing.reopen(get_store(), survey_hash):
        audit("reopened", survey_hash)
        flash(_("The survey is open again, until you close it."), "done")
    else:
        flash(_("This survey is open already."), "problem")
    return redirect(url_for("workspace.survey.survey", survey_hash=survey_hash) + "#close")


@bp.route("/surveys/<survey_hash>/close", methods=["GET", "POST"])
@designer
def close_survey(survey_hash: str) -> Page:
    """Confirm, then close a survey."""
    published = editable_survey(survey_hash)
    if request.method == "GET":
        count = get_store().count(survey_hash)
        return render_template("closing/close.html", survey=published, count=count, minimum=FEWEST_REPORTS)
    store = get_store()
    if closing.close(store, survey_hash, actor=current_user.name, wait=False):
        waits = store.count(survey_hash) > store.sealed_count(survey_hash)
        if waits:
            message = _("Closed. Nothing was deleted; the last reports will be counted in a moment.")
        else:
            message = _("Closed. Nothing was deleted; the report is complete now.")
        flash(message, "done")
    else:
        flash(_("This survey is already closed."), "problem")
    return redirect(url_for("workspace.survey.survey", survey_hash=survey_hash))
