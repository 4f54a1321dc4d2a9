"""The workspace: its blueprint, with the routes of every feature, its template filters and its error pages."""

from __future__ import annotations

from typing import cast

from flask import Blueprint, Flask, current_app, flash, redirect, request, url_for
from hushpoll_client.formatting import factor_text
from hushpoll_client.messages import msg
from jinja2 import pass_context
from jinja2.runtime import Context
from werkzeug.exceptions import RequestEntityTooLarge
from werkzeug.wrappers import Response as BaseResponse

from hushpoll_server.current_store import get_store
from hushpoll_server.fields import either, option, sentence
from hushpoll_server.i18n.translation import gettext as _
from hushpoll_server.i18n.translation import localize_number, translate
from hushpoll_server.people.access import current_user, guard_forms, keep_private
from hushpoll_server.problems import respond
from hushpoll_server.workspace.closing import routes as closing
from hushpoll_server.workspace.collaboration import routes as collaboration
from hushpoll_server.workspace.drafts import history
from hushpoll_server.workspace.drafts.draft import DraftIsPublished
from hushpoll_server.workspace.invitations import routes as invitations
from hushpoll_server.workspace.kinds import points
from hushpoll_server.workspace.languages import routes as languages
from hushpoll_server.workspace.paper import conversion, sheet_entry, slips
from hushpoll_server.workspace.presentation import routes as presentation
from hushpoll_server.workspace.preview import routes as preview
from hushpoll_server.workspace.privacy import routes as privacy
from hushpoll_server.workspace.privacy.number_text import count_text, epsilon_text
from hushpoll_server.workspace.publishing import routes as publishing
from hushpoll_server.workspace.questions import autosave, block_routes, declining, draft_page, in_place
from hushpoll_server.workspace.questions import routes as questions
from hushpoll_server.workspace.rehearsal import routes as rehearsal
from hushpoll_server.workspace.sharing import group_sizes, links
from hushpoll_server.workspace.sharing import routes as sharing
from hushpoll_server.workspace.survey_list import routes as survey_list
from hushpoll_server.workspace.survey_page import routes as survey_page

FEATURES = (
    survey_list,
    draft_page,
    questions,
    in_place,
    autosave,
    block_routes,
    declining,
    presentation,
    languages,
    conversion,
    privacy,
    preview,
    rehearsal,
    publishing,
    survey_page,
    sharing,
    collaboration,
    links,
    group_sizes,
    invitations,
    slips,
    sheet_entry,
    closing,
)
"""Every module with pages; each has a blueprint `bp`."""
PAGE_PARTS = (sharing.page_part, invitations.page_part, closing.page_part)
"""What features add to the page of a published survey."""

bp = Blueprint("workspace", __name__, template_folder="templates")
for feature in FEATURES:
    bp.register_blueprint(feature.bp)
bp.before_request(guard_forms)
bp.after_request(keep_private)
bp.record_once(lambda state: survey_page.init_app(cast(Flask, state.app), PAGE_PARTS))
bp.add_app_template_filter(lambda draft: history.can_undo(get_store(), draft.id), "can_undo")
bp.add_app_template_filter(points, "points")
bp.add_app_template_filter(count_text, "whole")
bp.add_app_template_filter(epsilon_text, "epsilon")
bp.add_app_template_filter(translate, "translate")
bp.add_app_template_filter(either, "either")
bp.add_app_template_filter(option, "option")
bp.add_app_template_filter(sentence, "sentence")
bp.add_app_template_filter(lambda number, digits: localize_number(f"{number:.{digits}f}"), "decimals")
bp.add_app_template_filter(lambda number: localize_number(f"{number:g}"), "brief")


@bp.app_template_filter("factor")
@pass_context  # without it Jinja computes the filter of a constant once, in the language of the first reader
def _factor(_: Context, epsilon: float) -> str:
    return localize_number(factor_text(epsilon))


@bp.app_errorhandler(DraftIsPublished)
def _already_published(error: DraftIsPublished) -> BaseResponse:
    flash(
        _("This draft is published already. A published survey cannot be changed; you can make a copy."),
        "problem",
    )
    return redirect(url_for("workspace.survey.survey", survey_hash=error.hash))


LARGEST_DROPPED = 64 << 20
"""Bytes of a file that is too large which are read and dropped, so that its sender gets an answer."""


@bp.errorhandler(413)
def _too_large(_: RequestEntityTooLarge) -> BaseResponse:
    """Answer 413 after reading the rest of the request: a browser shows no answer before it has sent everything."""
    left = 0
    if current_user:
        left = min(request.content_length or 0, LARGEST_DROPPED)
    stream = request.environ["wsgi.input"]
    while left > 0 and (dropped := len(stream.read(min(left, 1 << 16)))):
        left -= dropped
    most = current_app.config["MAX_CONTENT_LENGTH"] >> 20
    return respond(
        413,
        msg(
            "this file is larger than {most} MB and nothing was kept of it; a survey document is far smaller, and a"
            " logo has at most 10 KB: go back and choose a smaller file",
            most=most,
        ),
    )
