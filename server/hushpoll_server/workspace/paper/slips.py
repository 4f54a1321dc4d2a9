"""Slips to print and cut out, each with the survey's link."""

from __future__ import annotations

from dataclasses import dataclass

from flask import Blueprint, render_template, request, url_for
from flask_babel import lazy_gettext as later
from flask_wtf import FlaskForm
from hushpoll_client import Survey
from hushpoll_client.delivery.link import survey_link
from hushpoll_client.survey.group import named_group
from wtforms import SelectField
from wtforms.validators import InputRequired, NumberRange

from hushpoll_server.collect import invitations
from hushpoll_server.current_store import get_store
from hushpoll_server.fields import WholeField
from hushpoll_server.i18n.translation import gettext as _
from hushpoll_server.people.access import audit
from hushpoll_server.people.audit_log import Detail
from hushpoll_server.workspace.access import designer, editable_survey
from hushpoll_server.workspace.paper.print_language import print_texts
from hushpoll_server.workspace.responses import Page, address, public_url

bp = Blueprint("slips", __name__)


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
    if survey.groups:
        named = form.group.data
    else:
        named = None
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
    words = print_texts(survey)
    form.lang.choices, form.lang.data = list(words.offered.items()), words.language
    page = render_template(
        "paper/slips.html",
        survey=survey,
        form=form,
        slips=slip_list,
        group=form.group.data if slip_list and survey.groups else "",
        short=public_url(url_for("respond.page", survey_hash=survey.hash[:12])),
        printed=words,
    )
    return page, status
