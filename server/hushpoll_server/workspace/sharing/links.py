"""The respondents' link as a QR code and as a poster."""

from __future__ import annotations

import io

from flask import Blueprint, abort, render_template, request
from hushpoll_client.delivery.link import survey_link
from werkzeug.wrappers import Response

from hushpoll_server.workspace.access import designer, editable_survey
from hushpoll_server.workspace.paper.print_language import print_texts
from hushpoll_server.workspace.responses import address, download
from hushpoll_server.workspace.sharing.groups import chosen_group, respondent_link

bp = Blueprint("links", __name__)


@bp.get("/surveys/<survey_hash>/qr.<kind>")
@designer
def qr(survey_hash: str, kind: str) -> Response:
    """Show the respondents' link as a QR code."""
    import segno

    group = chosen_group(editable_survey(survey_hash))
    if kind not in ("svg", "png"):
        abort(404, "QR codes come as qr.svg and qr.png")
    out = io.BytesIO()
    code = segno.make(survey_link(address(), survey_hash, group=group), error="m", micro=False)
    code.save(out, kind=kind, scale=8, border=4, dark="#12211f", light="#ffffff")
    if "download" in request.args:
        mimetype = "image/svg+xml" if kind == "svg" else "image/png"
        return download(
            out.getvalue(),
            mimetype,
            f"survey-{survey_hash[:8]}{'' if group is None else f'-g{group}'}.{kind}",
        )
    return Response(out.getvalue(), mimetype="image/svg+xml" if kind == "svg" else "image/png")


@bp.get("/surveys/<survey_hash>/poster")
@designer
def poster(survey_hash: str) -> str:
    """Show a page to print and hang up."""
    published = editable_survey(survey_hash)
    return render_template(
        "sharing/poster.html",
        survey=published,
        link=respondent_link(survey_hash),
        printed=print_texts(published),
        group=chosen_group(published),
    )
