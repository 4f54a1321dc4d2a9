"""The list of surveys: found by a word, put away and taken back, copied."""

from __future__ import annotations

from flask import flash, redirect, request, url_for
from sqlalchemy import delete, insert, select
from werkzeug.wrappers import Response

from hushpoll_server.current_store import get_store
from hushpoll_server.people.access import current_user
from hushpoll_server.spoken import gettext as _
from hushpoll_server.store.surveys import Store
from hushpoll_server.store.workspace_schema import archived

from . import drafts
from .pages import bp, designer, editable_survey, open_draft

__all__ = ["matches", "put_away"]


def put_away(store: Store) -> set[str]:
    """Return the drafts and surveys that lists leave out."""
    with store.read() as tx:
        return set(tx.execute(select(archived.c.subject)).scalars())


def matches(words: str, *texts: str) -> bool:
    """Return whether every word stands in one of the texts, whatever its case."""
    text = " ".join(texts).casefold()
    return all(word in text for word in words.casefold().split())


def _archive(subject: str, title: str) -> Response:
    away = request.form.get("archived") == "yes"
    with get_store().write() as tx:
        tx.execute(delete(archived).where(archived.c.subject == subject))
        if away:
            tx.execute(insert(archived).values(subject=subject))
    message = _("“%(title)s” is in the archive.", title=title)
    flash(message if away else _("“%(title)s” is in the list again.", title=title), "done")
    return redirect(url_for("workspace.home", archived=None if away else "yes"))


@bp.post("/drafts/<draft_id>/archive")
@designer
def archive_draft(draft_id: str) -> Response:
    """Put a draft away, or take it back."""
    draft = open_draft(draft_id)
    return _archive(draft.id, draft.title)


@bp.post("/surveys/<survey_hash>/archive")
@designer
def archive_survey(survey_hash: str) -> Response:
    """Archive a survey, or take it out of the archive; nothing else about it changes."""
    return _archive(survey_hash, editable_survey(survey_hash).title)


@bp.post("/drafts/<draft_id>/duplicate")
@designer
def duplicate_draft(draft_id: str) -> Response:
    """Copy a draft with its plan."""
    draft = open_draft(draft_id)
    document = {**draft.document, "title": _("%(title)s (copy)", title=draft.title[:190])}
    copy = drafts.create(get_store(), current_user.name, document, **draft.plan)
    flash(_("This is a copy. The other draft stays as it is."), "done")
    return redirect(url_for("workspace.draft", draft_id=copy.id))
