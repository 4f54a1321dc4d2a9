"""The page of a published survey."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from flask import Blueprint, Flask, current_app, flash, redirect, render_template, url_for
from hushpoll_client import Survey
from hushpoll_client.delivery.report import FEWEST_REPORTS
from werkzeug.wrappers import Response

from hushpoll_server.current_store import get_store
from hushpoll_server.i18n.translation import gettext as _
from hushpoll_server.people.access import can_edit, can_read_survey, current_user
from hushpoll_server.respond import paper
from hushpoll_server.store.surveys import SurveyState
from hushpoll_server.weakness import is_weak
from hushpoll_server.workspace.access import designer, editable_survey, readable_state, reader
from hushpoll_server.workspace.drafts import documents, storage
from hushpoll_server.workspace.drafts.draft import DEFAULT_N
from hushpoll_server.workspace.kinds import margin_text
from hushpoll_server.workspace.privacy.question_plan import margin_at
from hushpoll_server.workspace.responses import Page, download
from hushpoll_server.workspace.survey_page import page_views

bp = Blueprint("survey", __name__, template_folder="templates")


@bp.get("/surveys/<survey_hash>")
@reader
def survey(survey_hash: str) -> Page:
    """Show the page of a published survey; analysts see only the monitor."""
    return show_survey(survey_hash)


PagePart = Callable[[Survey, SurveyState], dict[str, Any]]
"""What a feature adds to the page of a published survey: its forms, and values for its part of the template."""
_PARTS = "hushpoll_survey_page_parts"


def init_app(app: Flask, parts: Sequence[PagePart]) -> None:
    """Register the features' parts of the page."""
    app.extensions[_PARTS] = parts
    page_views.init_app(app)


def show_survey(survey_hash: str, status: int = 200, **forms: Any) -> Page:
    """Show the page of a published survey; `forms` are refused forms, shown instead of empty ones."""
    state, store = readable_state(survey_hash), get_store()
    published = store.get_survey(survey_hash)
    assert published is not None
    count = store.count(survey_hash)
    values: dict[str, Any] = {}
    for page_part in current_app.extensions[_PARTS]:
        values |= page_part(published, state)
    page = render_template(
        "survey_page/survey.html",
        state=state,
        survey=published,
        count=count,
        waiting=0 if state.was_closed else max(0, count - state.sealed_n),
        editable=can_edit(current_user, survey_hash),
        plans=projected_margins(published, count),
        target_plans=projected_margins(published, state.target_n or 0),
        opened=page_views.by_day(store, current_app.extensions["hushpoll_opens"], survey_hash),
        minimum=FEWEST_REPORTS,
        appear_at=max(2 * state.minimum_batch, state.display_threshold),
        weak=is_weak(published),
        on_paper=paper.is_possible(published),
        waves=[wave for wave in store.waves(survey_hash) if can_read_survey(current_user, wave.hash)],
        **(values | forms),
    )
    return page, status


def projected_margins(survey: Survey, n: int) -> list[str]:
    """Return the margin of every question at n reports; it depends on the number of reports only."""
    if n < 2:
        return []
    return [margin_text(question, margin_at(question, n)) for question in survey.questions]


@bp.get("/surveys/<survey_hash>/<any(invitations, merge, letters, sizes, share, retention, closing):form>")
@designer
def refused_form(survey_hash: str, form: str) -> Response:
    """Redirect to the survey's page: people reload the URL of a refused form."""
    editable_survey(survey_hash)
    return redirect(url_for("workspace.survey.survey", survey_hash=survey_hash))


@bp.get("/surveys/<survey_hash>/definition.json")
@reader
def definition(survey_hash: str) -> Response:
    """Send the published document, byte for byte."""
    readable_state(survey_hash)
    published = get_store().get_survey(survey_hash)
    assert published is not None
    return download(published.canonical, "application/json", f"survey-{survey_hash[:8]}.json")


@bp.post("/surveys/<survey_hash>/copy")
@designer
def copy_survey(survey_hash: str) -> Response:
    """Make a draft of a published survey."""
    state = readable_state(survey_hash)
    published = get_store().get_survey(survey_hash)
    assert published is not None
    document, epsilon = documents.imported(published)
    document["title"] = _("%(title)s (copy)", title=published.title[:190])
    document.pop("series", None)  # a copy is a survey of its own
    draft = storage.create(get_store(), current_user.name, document, **_plan_of(state, epsilon))
    flash(_("This is a copy. The published survey is unchanged."), "done")
    return redirect(url_for("workspace.draft.draft", draft_id=draft.id))


def _plan_of(state: SurveyState, epsilon: str) -> dict[str, Any]:
    """Return the plan of a published survey; a partial one if it was not written in the workspace."""
    written = storage.find_published(get_store(), state.hash)
    if written is None:
        return {"expected_n": state.target_n or DEFAULT_N, "epsilon": epsilon}
    return written.plan


@bp.post("/surveys/<survey_hash>/again")
@designer
def run_again(survey_hash: str) -> Response:
    """Make a draft of the next wave: the same questions, linked to the last wave of the series."""
    readable_state(survey_hash)
    last = get_store().waves(survey_hash)[-1]
    state = readable_state(last.hash)
    published = get_store().get_survey(state.hash)
    assert published is not None
    document, epsilon = documents.imported(published)
    if published.series is None:
        wave = 2
    else:
        wave = published.series.wave + 1
    if published.series is None:
        name = published.title
    else:
        name = published.series.name
    document["series"] = {"name": name, "wave": wave, "previous": published.hash}
    draft = storage.create(get_store(), current_user.name, document, **_plan_of(state, epsilon))
    flash(
        _(
            "This is wave %(n)s. Its questions must stay as they are; privacy, title and introduction may change.",
            n=wave,
        ),
        "done",
    )
    return redirect(url_for("workspace.draft.draft", draft_id=draft.id))
