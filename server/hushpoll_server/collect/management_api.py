"""What a program may do for an account: publish a survey, make invitations."""

from __future__ import annotations

import json
from typing import Any

from flask import Blueprint, Response, request
from hushpoll_analysis.documents import parse_survey
from hushpoll_client import HushpollError, strict_json
from hushpoll_client.delivery.link import fingerprint, survey_link
from hushpoll_client.survey.group import named_group

from hushpoll_server.current_store import get_store
from hushpoll_server.people.access import audit, can_edit, needed_account
from hushpoll_server.people.audit_log import Detail
from hushpoll_server.problems import Problem
from hushpoll_server.weakness import PROTECTS_LITTLE, weakness

from . import invitations
from .intake import read_body, unknown

bp = Blueprint("manage", __name__)

LARGEST_DOCUMENT = 1024 * 1024
_DROP_DOCUMENT = 4 * 1024 * 1024


@bp.post("/api/surveys")
def publish() -> Response:
    """Publish a survey document for the token's account; publishing it again changes nothing."""
    user, store = needed_account("publish"), get_store()
    if user.role == "analyst":
        raise Problem(403, f"{user.name} is an analyst and publishes nothing; ask an admin for another role")
    try:
        survey = parse_survey(
            read_body(request.environ, "application/json", LARGEST_DOCUMENT, _DROP_DOCUMENT)
        )
        with store.write() as tx:
            new = store.publish_within(tx, survey, user.name)
            if new:
                audit("published", survey.hash, survey.title, tx)
    except HushpollError as error:
        raise Problem(422, str(error)) from None
    address = store.config.address
    value: dict[str, Any] = {"hash": survey.hash, "url": survey_link(address, survey.hash), "new": new}
    if survey.groups:
        numbered = enumerate(survey.groups)
        value["links"] = {name: survey_link(address, survey.hash, group=index) for index, name in numbered}
    if weak := weakness(survey):
        value["warning"] = f"{PROTECTS_LITTLE} {weak}"
    return _answer(201 if new else 200, value)


@bp.post("/api/surveys/<survey_hash>/invitations")
def invite(survey_hash: str) -> Response:
    """Make invitations; their codes are kept as hashes only."""
    user, store = needed_account("invite"), get_store()
    published = store.published(survey_hash)
    if published is None:
        raise unknown()
    if not can_edit(user, survey_hash):
        raise Problem(403, f"this survey is not {user.name}'s; ask its owner")
    try:
        number, name = _invitation_request()
        group = named_group(published.survey.groups, name)
        codes = invitations.invite(store, survey_hash, number, group)
    except HushpollError as error:
        raise Problem(422, str(error)) from None
    audit("invitations made", survey_hash, Detail("invitations", count=len(codes)))
    links = [survey_link(store.config.address, survey_hash, code, group) for code in codes]
    invitation_list = [{"code": code, "url": url} for code, url in zip(codes, links, strict=True)]
    return _answer(
        201, {"hash": survey_hash, "fingerprint": fingerprint(survey_hash), "invitations": invitation_list}
    )


def _invitation_request() -> tuple[int, str | None]:
    """Read `{"number": 500}`, and perhaps the group that the codes are for."""
    body = read_body(request.environ, "application/json", 1024, 65536)
    try:
        document = strict_json.loads(body)
    except HushpollError:
        document = None
    rest = {}
    if isinstance(document, dict):
        rest = dict(document)
    group = rest.pop("group", None)
    number = None
    if len(rest) == 1:
        number = rest.get("number")
    if type(number) is not int:
        raise Problem(422, 'the body must be like {"number": 500}; correct it', item="number")
    if not isinstance(group, str | None):
        raise Problem(422, 'the body must be like {"number": 500, "group": "Science"}', item="group")
    return number, group


def _answer(status: int, value: dict[str, Any]) -> Response:
    response = Response(json.dumps(value), status, content_type="application/json")
    response.headers["Cache-Control"] = "no-store"
    return response
