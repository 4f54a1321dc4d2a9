"""What the pages about people share: the blueprint with its guards, and how they write times."""

from __future__ import annotations

import datetime
from typing import cast

from flask import Blueprint, Flask, abort, redirect, request, url_for
from werkzeug.wrappers import Response

from hushpoll_server.i18n.languages import WORKSPACE_LANGUAGES
from hushpoll_server.i18n.translation import LANGUAGE_COOKIE, day

from .access import cookies_are_secure, guard_forms, init_app, keep_private, local_path
from .audit_text import detail_text

_REMEMBERED_SECONDS = 365 * 86_400

bp = Blueprint("accounts", __name__, template_folder="templates")
bp.record_once(lambda state: init_app(cast(Flask, state.app)))
bp.before_request(guard_forms)
bp.after_request(keep_private)


@bp.get("/language/<chosen>")
def choose_language(chosen: str) -> Response:
    """Set the language of the workspace on this device, and return to the page it was chosen on."""
    if chosen not in WORKSPACE_LANGUAGES:
        abort(404, "the workspace does not speak this language; choose one at the foot of a page")
    response = redirect(local_path(request.args.get("next")) or url_for("workspace.survey_list.home"))
    if request.headers.get("Sec-Fetch-Site") == "cross-site":
        return response  # another site's link or picture chooses nothing
    response.set_cookie(
        LANGUAGE_COOKIE,
        chosen,
        max_age=_REMEMBERED_SECONDS,
        secure=cookies_are_secure(),
        httponly=True,
        samesite="Lax",
    )
    return response


bp.add_app_template_filter(detail_text, "logged")
bp.add_app_template_filter(day, "day")


@bp.app_template_filter("when")
def when(seconds: int | None) -> str:
    """Write a time of the store for people, in UTC."""
    if seconds is None:
        return ""
    moment = datetime.datetime.fromtimestamp(seconds, datetime.UTC)
    return f"{day(moment.date())}, {moment:%H:%M} UTC"
