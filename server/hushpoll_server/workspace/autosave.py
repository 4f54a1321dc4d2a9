"""Forms that save while a designer types."""

from __future__ import annotations

from typing import Any

from flask_babel import lazy_gettext as later
from flask_wtf import FlaskForm

from hushpoll_server.current_store import get_store
from hushpoll_server.workspace.drafts import storage
from hushpoll_server.workspace.drafts.draft import Draft, StaleDraft
from hushpoll_server.workspace.forms import RevisionForm

_STALE = later("Not saved: changed in another tab. Load the page again.")


def autosave(changed: Draft, form: RevisionForm) -> dict[str, Any]:
    """Save a draft for a page that saves by itself; return the new revision, or that the page is out of date."""
    try:
        saved = storage.save(get_store(), changed, form.read_revision(), form.read_opened())
    except StaleDraft:
        return {"errors": {}, "stale": str(_STALE)}
    return {"errors": {}, "revision": saved.revision}


def field_errors(form: FlaskForm) -> dict[str, str]:
    """Return the error messages of a form by field id."""
    return {
        form[name].id: " ".join(map(str, messages)) for name, messages in form.errors.items() if name in form
    }
