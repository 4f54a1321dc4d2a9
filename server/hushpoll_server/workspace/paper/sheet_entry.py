"""A page that takes answers on paper, sheet by sheet."""

from __future__ import annotations

import secrets
from typing import Any

from flask import Blueprint, abort, flash, redirect, render_template, request, url_for
from flask_babel import lazy_gettext as later
from flask_wtf import FlaskForm
from hushpoll_client import Survey
from hushpoll_client.survey.group import named_group
from hushpoll_client.survey.texts import read_in
from wtforms import HiddenField, SelectField, StringField
from wtforms.validators import InputRequired, Length, NumberRange, Regexp

from hushpoll_server.collect.accept import Outcome
from hushpoll_server.current_store import get_store
from hushpoll_server.fields import WholeField
from hushpoll_server.i18n.translation import gettext as _
from hushpoll_server.respond import paper
from hushpoll_server.workspace.access import designer, editable_survey
from hushpoll_server.workspace.responses import Page

bp = Blueprint("sheets", __name__)


def _sheet_form(survey: Survey) -> FlaskForm:
    """Return the form of one sheet: for every question the number of the ticked answer, counted from 1."""
    fields: dict[str, Any] = {
        "id": HiddenField(validators=[Regexp(r"^[0-9a-f]{32}\Z", message=later("Load the page again."))]),
        "done": HiddenField(),
    }
    if survey.groups:
        fields["group"] = SelectField(later("Group"), choices=list(survey.groups))
    if survey.settings.invitation:
        missing = _("Copy the code from the sheet.")
        checks = [InputRequired(missing), Length(max=64, message=missing)]
        fields["invitation"] = StringField(later("Code"), checks)
    for index, question in enumerate(survey.questions):
        most = question.channel.outcomes
        message = _("Type a whole number from 1 to %(most)s.", most=most)
        fields[f"q{index}"] = WholeField(
            _("Question %(n)s", n=index + 1), [InputRequired(message), NumberRange(1, most, message)]
        )
    return type("SheetForm", (FlaskForm,), fields)()


@bp.route("/surveys/<survey_hash>/enter", methods=["GET", "POST"])
@designer
def enter(survey_hash: str) -> Page:
    """Take sheets one by one. What is ticked on paper is already randomized."""
    survey = editable_survey(survey_hash)
    if not paper.is_possible(survey):
        abort(
            422,
            "this survey cannot be answered on paper: no coins or dice make the odds of all its questions",
        )
    form = _sheet_form(survey)
    if request.method == "GET":
        form["id"].data = secrets.token_hex(16)
        form["done"].data = str(_entered_count(request.args.get("done", "")))
        if survey.groups and request.args.get("group") in survey.groups:
            form["group"].data = request.args["group"]
        return _sheet_page(survey, form)
    if not form.validate():
        return _sheet_page(survey, form, 422)
    return _store_sheet(survey, form)


def _entered_count(text: str) -> int:
    if text.isascii() and text.isdigit() and len(text) < 7:
        return int(text)
    return 0


def _store_sheet(survey: Survey, form: FlaskForm) -> Page:
    """Store a sheet and show the form for the next one."""
    published = get_store().published(survey.hash)
    assert published is not None
    group = named_group(survey.groups, form["group"].data if survey.groups else None)
    reports = [form[f"q{index}"].data - 1 for index in range(len(survey.questions))]
    code = ""
    if survey.settings.invitation:
        code = form["invitation"].data
    sheet = paper.incoming(published, form["id"].data, reports, code, group)
    outcome = get_store().writer.submit([sheet])[0]
    done = _entered_count(form["done"].data or "")
    if outcome is Outcome.NOT_INVITED:
        form["invitation"].errors = [_("This code is unknown or already used. The sheet was not stored.")]
        return _sheet_page(survey, form, 422)
    if outcome is Outcome.NEW:
        done += 1
    else:
        messages = {
            Outcome.KNOWN: _("This sheet is already stored; it counts once."),
            Outcome.OTHER_CONTENT: _("This page was already sent with other answers. Nothing was changed."),
            Outcome.CLOSED: _("This survey is closed. The sheet was not stored."),
        }
        flash(messages[outcome], "problem")
    if survey.groups:
        named = form["group"].data
    else:
        named = None
    return redirect(url_for("workspace.sheets.enter", survey_hash=survey.hash, done=done, group=named))


def _sheet_page(survey: Survey, form: FlaskForm, status: int = 200) -> Page:
    state = get_store().state(survey.hash)
    assert state is not None
    texts = read_in(survey, ())
    items = [
        {"question": question, "labels": paper.report_labels(question, texts), "field": form[f"q{index}"]}
        for index, question in enumerate(survey.questions)
    ]
    page = render_template(
        "paper/sheet_entry.html",
        survey=survey,
        form=form,
        items=items,
        closed=not state.is_open,
        done=_entered_count(form["done"].data or ""),
        count=get_store().count(survey.hash),
    )
    return page, status
