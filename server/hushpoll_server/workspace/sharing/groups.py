"""Groups by link in the workspace: typed one a line, handed out one by one, with the number of people in each."""

from __future__ import annotations

from typing import Any

from flask import abort, request
from flask_wtf import FlaskForm
from hushpoll_client import Survey
from hushpoll_client.delivery.link import survey_link
from hushpoll_client.survey.group import LARGEST_GROUP
from hushpoll_client.survey.series import changed_groups
from wtforms.validators import NumberRange, Optional

from hushpoll_server.current_store import get_store
from hushpoll_server.fields import WholeField
from hushpoll_server.i18n.translation import gettext as _
from hushpoll_server.i18n.translation import localize_number, translate
from hushpoll_server.store.surveys import SurveyState
from hushpoll_server.workspace.responses import address


def links_to_hand_out(survey: Survey, server: str) -> list[dict[str, Any]]:
    """Return the links to hand out: one, or one for each group."""
    if not survey.groups:
        return [{"group": None, "name": "", "link": survey_link(server, survey.hash)}]
    return [
        {"group": index, "name": name, "link": survey_link(server, survey.hash, group=index)}
        for index, name in enumerate(survey.groups)
    ]


def chosen_group(survey: Survey) -> int | None:
    """Return the group that a QR code or poster is for."""
    text = request.args.get("group", "")
    if not survey.groups:
        return None
    if text.isascii() and text.isdigit() and len(text) < 4:
        number = int(text)
    else:
        number = len(survey.groups)
    if number >= len(survey.groups):
        abort(404, "this survey has a link for each group; choose one on its page")
    return number


def sizes_form(survey: Survey, state: SurveyState | None = None) -> FlaskForm:
    """Return the form for the number of people in each group, filled from `state` if given."""
    message = _("Type a whole number from 1 to %(most)s.", most=localize_number(f"{LARGEST_GROUP:,}"))
    fields = {
        f"size_{index}": WholeField(name, [Optional(), NumberRange(1, LARGEST_GROUP, message)])
        for index, name in enumerate(survey.groups)
    }
    form_class = type("SizesForm", (FlaskForm,), fields)
    if state is None:
        return form_class()
    sizes = state.group_sizes(survey) or {}
    values = {f"size_{index}": sizes.get(name) for index, name in enumerate(survey.groups)}
    return form_class(formdata=None, **values)


def group_items(survey: Survey) -> list[tuple[str, str]]:
    """Return checklist items about groups: what they reveal, and whether they differ from the previous wave."""
    if not survey.groups and survey.series is None:
        return []
    items = []
    if survey.groups:
        message = _(
            "%(n)s groups, each with its own link: %(list)s. Every report names its group"
            " openly; results of a group with fewer than 50 reports are not shown.",
            n=len(survey.groups),
            list=", ".join(survey.groups),
        )
        items.append(("look", message))
    if survey.series is None:
        before = None
    else:
        before = get_store().get_survey(survey.series.previous)
    if before is None:
        changed = ""
    else:
        changed = changed_groups(before, survey)
    if changed:
        items.append(("look", translate(changed)))
    return items


def respondent_link(survey_hash: str) -> str:
    """Return the link to hand out."""
    return survey_link(address(), survey_hash)
