"""Who may open which draft and survey."""

from __future__ import annotations

from flask import abort
from hushpoll_client import Survey

from hushpoll_server.current_store import get_store
from hushpoll_server.people.access import can_edit, can_read_survey, current_user, role_required
from hushpoll_server.store.surveys import SurveyState
from hushpoll_server.workspace.drafts import storage
from hushpoll_server.workspace.drafts.draft import Draft, DraftIsPublished

designer = role_required("designer", "admin")
reader = role_required("designer", "analyst", "admin")


def own_draft(draft_id: str) -> Draft:
    """Return a draft of this account, for admins any draft; answer 404 for others, whether or not they exist."""
    draft = storage.find(get_store(), draft_id)
    if draft is None or (draft.owner != current_user.name and current_user.role != "admin"):
        abort(404, "there is no draft of yours at this address; see the list of surveys")
    return draft


def open_draft(draft_id: str) -> Draft:
    """Return the account's own draft, which may still be changed."""
    draft = own_draft(draft_id)
    if draft.published_hash is not None:
        raise DraftIsPublished(draft.published_hash)
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
