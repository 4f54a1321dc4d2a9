"""Who may open which draft and survey."""

from __future__ import annotations

from flask import abort
from hushpoll_client import Survey

from hushpoll_server.current_store import get_store
from hushpoll_server.people import draft_sharing
from hushpoll_server.people.access import can_edit, can_read_survey, current_user, role_required
from hushpoll_server.store.surveys import SurveyState
from hushpoll_server.workspace.drafts import storage
from hushpoll_server.workspace.drafts.draft import Draft, DraftIsPublished

designer = role_required("designer", "admin")
reader = role_required("designer", "analyst", "admin")


def own_draft(draft_id: str) -> Draft:
    """Return a draft that this account owns or may edit, for admins any; 404 for others, whether or not it exists."""
    draft = storage.find(get_store(), draft_id)
    if draft is None or not (owns(draft) or draft_sharing.may_edit(get_store(), draft.id, current_user.name)):
        abort(404, "there is no draft of yours at this address; see the list of surveys")
    return draft


def owns(draft: Draft) -> bool:
    """Return whether this account may share and hand over a draft: the owner and admins may."""
    return draft.owner == current_user.name or current_user.role == "admin"


def open_draft(draft_id: str) -> Draft:
    """Return a draft that this account may edit and that may still be changed."""
    draft = own_draft(draft_id)
    if draft.published_hash is not None:
        raise DraftIsPublished(draft.published_hash)
    return draft


def owned_draft(draft_id: str) -> Draft:
    """Return a draft that this account may share and hand over; 404 for those who only edit it."""
    draft = open_draft(draft_id)
    if not owns(draft):
        abort(404, "only the owner shares a draft; see the list of surveys")
    return draft


def readable_draft(draft_id: str) -> Draft:
    """Return a draft that this account owns, may edit or may read; 404 for others."""
    draft = storage.find(get_store(), draft_id)
    shared = draft_sharing.shared_with(get_store(), draft_id)
    if draft is None or not (owns(draft) or current_user.name in shared):
        abort(404, "there is no draft of yours at this address; see the list of surveys")
    return draft


def editable_survey(survey_hash: str) -> Survey:
    """Return a published survey that this account may share, invite to and close."""
    survey = get_store().get_survey(survey_hash)
    if survey is None or not can_edit(current_user, survey_hash):
        abort(404, "there is no survey of yours at this address; see the list of surveys")
    return survey


def readable_state(survey_hash: str) -> SurveyState:
    """Return the state of a survey that this account may read; 404 otherwise."""
    state = get_store().state(survey_hash)
    if state is None or not can_read_survey(current_user, survey_hash):
        abort(404, "there is no survey at this address that you may read; see the list of surveys")
    return state
