"""Paper for a published survey: slips to cut out and hand out, and a page that takes a stack of sheets back."""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from typing import Any

from flask import abort, flash, redirect, render_template, request, url_for
from flask_babel import lazy_gettext as later
from flask_wtf import FlaskForm
from hushpoll_client import Survey
from hushpoll_client.delivery.link import survey_link
from hushpoll_client.survey.group import named_group
from hushpoll_client.survey.texts import read_in
from wtforms import HiddenField, SelectField, StringField
from wtforms.validators import InputRequired, Length, NumberRange, Regexp

from hushpoll_server.collect import invitations
from hushpoll_server.collect.accept import Outcome
from hushpoll_server.current_store import get_store
from hushpoll_server.fields import WholeField
from hushpoll_server.people.access import audit
from hushpoll_server.people.audit_log import Detail
from hushpoll_server.respond import paper
from hushpoll_server.spoken import gettext as _

from .pages import Page, address, address_of, bp, designer, editable_survey
from .printed import printed

__all__ = ["MOST_SLIPS", "SlipsForm"]

MOST_SLIPS = 500
_WHOLE = later("Type a whole number from 1 to %(most)s.", most=MOST_SLIPS)


class SlipsForm(FlaskForm):  # type: ignore[misc]
    """How many slips to print, and for which group."""

    n = WholeField(later("Number of slips"), [InputRequired(_WHOLE), NumberRange(1, MOST_SLIPS, _WHOLE)])
    group = SelectField(later("Group"), choices=[], validate_choice=False)
    lang = SelectField(later("Language"), choices=[], validate_choice=False)


@dataclass(frozen=True)
class Slip:
    """One slip: the code in its link, and the link as a picture."""

    code: str
    picture: str


@bp.route("/surveys/<survey_hash>/slips", methods=["GET", "POST"])
@designer
def slips(survey_hash: str) -> Page:
    """Show slips to print and cut out; those of an invitation survey have a fresh code each and are shown once."""
    survey = editable_survey(survey_hash)
    form = SlipsForm(formdata=request.form if request.method == "POST" else request.args or None)
    form.group.choices = list(survey.groups)
    is_requested = request.method == "POST" or ("n" in request.args and not survey.settings.invitation)
    if not is_requested:
        return _slips_page(survey, form, [])
    named = form.group.data if survey.groups else None
    if not form.n.validate(form) or (survey.groups and named not in survey.groups):
        if not form.n.errors:
            form.group.errors = [_("Choose the group that the slips are for.")]
        return _slips_page(survey, form, [], 422)
    group = named_group(survey.groups, named)
    codes = [""] * form.n.data
    if survey.settings.invitation:
        codes = invitations.invite(get_store(), survey_hash, form.n.data, group)
        audit("invitations made", survey_hash, Detail("invitations", count=len(codes), group=named or ""))
    slip_list = [_slip(survey_link(address(), survey_hash, code or None, group), code) for code in codes]
    return _slips_page(survey, form, slip_list)


def _slip(link: str, code: str) -> Slip:
    import segno

    code_drawn = segno.make(link, error="m", micro=False)
    # Inside the page, so that five hundred codes are one answer and no code is part of an address that is asked for.
    return Slip(code, code_drawn.svg_data_uri(scale=3, border=2, dark="#12211f", light="#ffffff"))


def _slips_page(survey: Survey, form: SlipsForm, slip_list: list[Slip], status: int = 200) -> Page:
    words = printed(survey)
    form.lang.choices, form.lang.data = list(words.offered.items()), words.language
    page = render_template(
        "workspace/slips.html",
        survey=survey,
        form=form,
        slips=slip_list,
        group=form.group.data if slip_list and survey.groups else "",
        short=address_of(url_for("respond.page", survey_hash=survey.hash[:12])),
        printed=words,
    )
    return page, status


# A stack of sheets ----------------------------------------------------------------------------------------------


def _sheet_form(survey: Survey) -> FlaskForm:
    """Make the form of one sheet: for every question the number of what is ticked on it, counted from 1."""
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
    """Take one sheet after the other, as they were ticked: what is on paper is mixed already."""
    survey = editable_survey(survey_hash)
    if not paper.is_possible(survey):
        abort(
            422,
            "this survey cannot be answered on paper: no coins or dice make the odds of all its questions",
        )
    form = _sheet_form(survey)
    if request.method == "GET":
        form["id"].data = secrets.token_hex(16)
        form["done"].data = str(_counted(request.args.get("done", "")))
        if survey.groups and request.args.get("group") in survey.groups:
            form["group"].data = request.args["group"]
        return _sheet_page(survey, form)
    if not form.validate():
        return _sheet_page(survey, form, 422)
    return _stored(survey, form)


def _counted(text: str) -> int:
    return int(text) if text.isascii() and text.isdigit() and len(text) < 7 else 0


def _stored(survey: Survey, form: FlaskForm) -> Page:
    """Hand a sheet to the writer, and go on to the next."""
    published = get_store().published(survey.hash)
    assert published is not None
    group = named_group(survey.groups, form["group"].data if survey.groups else None)
    reports = [form[f"q{index}"].data - 1 for index in range(len(survey.questions))]
    code = form["invitation"].data if survey.settings.invitation else ""
    sheet = paper.incoming(published, form["id"].data, reports, code, group)
    outcome = get_store().writer.submit([sheet])[0]
    done = _counted(form["done"].data or "")
    if outcome is Outcome.NOT_INVITED:
        form["invitation"].errors = [
            _("This code is not known or was used already. The sheet was not stored.")
        ]
        return _sheet_page(survey, form, 422)
    if outcome is Outcome.NEW:
        done += 1
    else:
        messages = {
            Outcome.KNOWN: _("This sheet was stored before; it is counted once."),
            Outcome.OTHER_CONTENT: _("This page was sent before with other answers. Nothing was changed."),
            Outcome.CLOSED: _("This survey is closed. The sheet was not stored."),
        }
        flash(messages[outcome], "problem")
    named = form["group"].data if survey.groups else None
    return redirect(url_for("workspace.enter", survey_hash=survey.hash, done=done, group=named))


def _sheet_page(survey: Survey, form: FlaskForm, status: int = 200) -> Page:
    state = get_store().state(survey.hash)
    assert state is not None
    texts = read_in(survey, ())
    items = [
        {"question": question, "labels": paper.report_labels(question, texts), "field": form[f"q{index}"]}
        for index, question in enumerate(survey.questions)
    ]
    page = render_template(
        "workspace/enter.html",
        survey=survey,
        form=form,
        items=items,
        closed=not state.is_open,
        done=_counted(form["done"].data or ""),
        count=get_store().count(survey.hash),
    )
    return page, status
