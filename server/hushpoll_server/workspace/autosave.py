"""Forms that save while they are typed into: the page gets the new revision, or what is wrong."""

from __future__ import annotations

from typing import Any

from flask_babel import lazy_gettext as later
from flask_wtf import FlaskForm

from hushpoll_server.current_store import get_store
from hushpoll_server.workspace.drafts import storage
from hushpoll_server.workspace.drafts.draft import Draft, StaleDraft
from hushpoll_server.workspace.forms import RevisionForm

_STALE = later("Not saved: changed in another tab. Load the page again.")


def kept(changed: Draft, form: RevisionForm) -> dict[str, Any]:
    """Save what a page sent by itself, and give what the page has to know."""
    try:
        saved = storage.save(get_store(), changed, form.read_revision(), form.read_opened())
    except StaleDraft:
        return {"errors": {}, "stale": str(_STALE)}
    return {"errors": {}, "revision": saved.revision}


def errors_of(form: FlaskForm) -> dict[str, str]:
    """Return what is wrong, by the ids of the fields."""
    return {
        form[name].id: " ".join(map(str, messages)) for name, messages in form.errors.items() if name in form
    }
