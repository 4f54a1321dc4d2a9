"""What all pages of the designer share: the blueprint, who may open what, files to download.

The views are in home, editor, privacy, preview, rehearsal and publish; `home` brings them together.
"""

from __future__ import annotations

import io
from typing import cast

from flask import Blueprint, Flask, abort, current_app, flash, redirect, request, send_file, url_for
from hushpoll_client import Survey
from hushpoll_client.formatting import factor_text
from hushpoll_client.messages import msg
from jinja2 import pass_context
from jinja2.runtime import Context
from werkzeug.exceptions import RequestEntityTooLarge
from werkzeug.wrappers import Response as BaseResponse

from hushpoll_server.current_store import get_store
from hushpoll_server.fields import either, option, sentence
from hushpoll_server.people.access import can_edit, current_user, guard_forms, keep_private, role_required
from hushpoll_server.problems import respond
from hushpoll_server.spoken import gettext as _
from hushpoll_server.spoken import in_digits, in_words

from . import drafts, history, opens
from .drafts import Draft, DraftIsPublished
from .kinds import points
from .planner import epsilon_text, whole

bp = Blueprint("workspace", __name__, template_folder="templates")
bp.before_request(guard_forms)
bp.after_request(keep_private)
bp.record_once(lambda state: opens.init_app(cast(Flask, state.app)))

designer = role_required("designer", "admin")
reader = role_required("designer", "analyst", "admin")
Page = str | BaseResponse | tuple[str, int]

bp.add_app_template_filter(lambda draft: history.can_undo(get_store(), draft.id), "can_undo")
bp.add_app_template_filter(points, "points")
bp.add_app_template_filter(whole, "whole")
bp.add_app_template_filter(epsilon_text, "epsilon")
bp.add_app_template_filter(in_words, "said")
bp.add_app_template_filter(either, "either")
bp.add_app_template_filter(option, "option")
bp.add_app_template_filter(sentence, "sentence")
bp.add_app_template_filter(lambda number, digits: in_digits(f"{number:.{digits}f}"), "decimals")
bp.add_app_template_filter(lambda number: in_digits(f"{number:g}"), "brief")


@bp.app_template_filter("factor")
@pass_context  # without it Jinja computes the filter of a constant once, in the language of the first reader
def _factor(_: Context, epsilon: float) -> str:
    return in_digits(factor_text(epsilon))


def own_draft(draft_id: str) -> Draft:
    """Return the draft of that id if it is the account's own (admins: anybody's); 404 otherwise, so as not to tell."""
    draft = drafts.find(get_store(), draft_id)
    if draft is None or (draft.owner != current_user.name and current_user.role != "admin"):
        abort(404, "there is no draft of yours at this address; see the list of surveys")
    return draft


def open_draft(draft_id: str) -> Draft:
    """Return the account's own draft, which may still be changed."""
    draft = own_draft(draft_id)
    if draft.published_hash is not None:
        raise DraftIsPublished(draft.published_hash)
    return draft


@bp.app_errorhandler(DraftIsPublished)
def _already_published(error: DraftIsPublished) -> BaseResponse:
    flash(
        _("This draft is published already. A published survey cannot be changed; you can make a copy."),
        "problem",
    )
    return redirect(url_for("workspace.survey", survey_hash=error.hash))


LARGEST_DROPPED = 64 << 20
"""Bytes of a file that is too large which are read and dropped, so that its sender gets an answer."""


@bp.errorhandler(413)
def _too_large(_: RequestEntityTooLarge) -> BaseResponse:
    """Return how large a file may be; a browser shows the answer only once it has sent what it began to send."""
    left = min(request.content_length or 0, LARGEST_DROPPED) if current_user else 0
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


def posted_revision() -> int:
    """Read the revision that a form without fields carries; give one that never fits where it was tampered with."""
    text = request.form.get("revision", "")
    return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else -1


def address() -> str:
    """Return the address of this server as respondents should use it."""
    config = current_app.config["HUSHPOLL"]
    return str(config.public_url).rstrip("/") or request.host_url.rstrip("/")


def address_of(path: str) -> str:
    """Return the whole address of a path that `url_for` gave: the prefix of PUBLIC_URL is in it already."""
    return address().removesuffix(current_app.config["HUSHPOLL"].prefix) + path


def download(data: bytes, mimetype: str, name: str) -> BaseResponse:
    """Send a file for the designer's disk."""
    return send_file(io.BytesIO(data), mimetype, as_attachment=True, download_name=name)


def editable_survey(survey_hash: str) -> Survey:
    """Return a published survey that this account may share, invite to and close."""
    survey = get_store().get_survey(survey_hash)
    if survey is None or not can_edit(current_user, survey_hash):
        abort(404, "there is no survey of yours at this address; see the list of surveys")
    return survey
