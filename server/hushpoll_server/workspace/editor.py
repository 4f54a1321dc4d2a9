"""The editor of one question, and moving, copying, deleting questions of a draft."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from flask import abort, flash, g, redirect, render_template, request, url_for
from hushpoll_client import HushpollError, Mechanism, SurveyError
from hushpoll_client.kind import DEFAULT
from hushpoll_client.mechanism import MECHANISMS
from hushpoll_client.report import FEWEST_REPORTS
from werkzeug.wrappers import Response

from hushpoll_server.collect.seal import read_sealed
from hushpoll_server.fields import choices, sentence
from hushpoll_server.people import sharing
from hushpoll_server.people.access import current_user
from hushpoll_server.store.surveys import get_store

from . import drafts, mechanisms
from .drafts import Document, Draft, StaleDraft
from .forms import QuestionForm, mechanism_choices, place_error
from .kinds import EDITORS, EditorKind
from .pages import Page, bp, designer, open_draft


@bp.route("/drafts/<draft_id>/questions/new", methods=["GET", "POST"])
@designer
def new_question(draft_id: str) -> Page:
    """Write a question and add it at the end."""
    draft = open_draft(draft_id)
    if request.method == "POST":
        return _save(draft, QuestionForm(), None)
    kind = request.args.get("kind", DEFAULT)
    fields = {
        "kind": kind if kind in EDITORS else DEFAULT,
        "id": drafts.free_id(draft.document),
        "linked": True,
    }
    return _show(draft, QuestionForm(formdata=None, revision=draft.revision, **fields), None)


@bp.route("/drafts/<draft_id>/questions/<question_id>", methods=["GET", "POST"])
@designer
def question(draft_id: str, question_id: str) -> Page:
    """Change a question."""
    draft = open_draft(draft_id)
    found = _find(draft, question_id)
    if request.method == "POST":
        return _save(draft, QuestionForm(), question_id)
    fields = mechanisms.read_question(found) | {"linked": question_id in draft.linked}
    return _show(draft, QuestionForm(formdata=None, revision=draft.revision, **fields), question_id)


def _find(draft: Draft, question_id: str) -> Document:
    found = draft.question(question_id)
    if found is None:
        abort(404, "this question is no longer in the draft; see its list of questions")
    return found


def _show(
    draft: Draft, form: QuestionForm, question_id: str | None, status: int = 200, stale: bool = False
) -> Page:
    sources = decoy_sources()
    form.mechanism.choices = mechanism_choices(_offered(form.mechanism.data))
    form.decoy_survey.choices = choices((key, label) for key, label, _ in sources)
    if stale:
        form.revision.data = draft.revision
    g.csp = {"frame-src": "'self'"}
    page = render_template(
        "workspace/question.html",
        draft=draft,
        form=form,
        question_id=question_id,
        offered=_offered(form.mechanism.data),
        recommended=mechanisms.RECOMMENDED,
        fields_of=mechanisms.fields_of,
        parameters=mechanisms.PARAMETERS,
        excluded_by_slider=mechanisms.excluded_by_slider,
        kinds=EDITORS,
        fitting={name: _fitting(editor) for name, editor in EDITORS.items()},
        sources=sources,
        advice=advice(draft, form),
        stale=stale,
        step="questions",
    )
    return page, status


def _offered(chosen: str) -> dict[str, type[Mechanism]]:
    """Give the mechanisms on offer, and the one that an imported question has already."""
    return {name: one for name, one in MECHANISMS.items() if name in mechanisms.OFFERED or name == chosen}


def _fitting(editor: EditorKind) -> dict[str, Any]:
    """Tell the page's script which mechanisms fit how many answers."""
    two, more = ([one.name for one in editor.fitting(answers)] for answers in (2, 3))
    return {"answers": editor.answers, "two": two, "more": more}


def _save(draft: Draft, form: QuestionForm, question_id: str | None) -> Page:
    if not form.validate_on_submit():
        return _show(draft, form, question_id, 422)
    if not _decoy_given(form):
        return _show(draft, form, question_id, 422)
    try:
        changed, written = with_form(draft, form, question_id)
        drafts.save(get_store(), changed, form.read_revision())
    except SurveyError as error:
        place_error(form, error)
        return _show(draft, form, question_id, 422)
    except StaleDraft:
        return _show(draft, form, question_id, 409, stale=True)
    except HushpollError as error:
        form.decoy_from.errors = [sentence(error)]
        return _show(draft, form, question_id, 422)
    flash("Saved." if question_id else "Added.", "done")
    return redirect(url_for("workspace.draft", draft_id=draft.id) + f"#question-{written['id']}")


def with_form(draft: Draft, form: QuestionForm, question_id: str | None) -> tuple[Draft, Document]:
    """Give the draft with the question as the form has it, and that question; SurveyError where it is not sound."""
    fields = form.data
    if fields["decoy_from"] == "survey" and "decoy_from" in mechanisms.fields_of(fields["mechanism"]):
        fields |= counts_from_survey(fields["decoy_survey"] or "")
    before = draft.question(question_id) if question_id else None
    written = mechanisms.write_question(fields | {"id": (fields["id"] or "").strip()}, draft.epsilon, before)
    document = drafts.with_question(draft.document, written, question_id)
    linked = tuple(name for name in draft.linked if name not in (question_id, written["id"]))
    follows = fields["linked"] and "linked" in mechanisms.fields_of(fields["mechanism"])
    linked += (written["id"],) if follows else ()
    return replace(draft, document=document, linked=linked), written


def _decoy_given(form: QuestionForm) -> bool:
    """Ask for the harmless question and its share in the words of the form, both at once."""
    if "decoy_from" not in mechanisms.fields_of(form.mechanism.data):
        return True
    if not (form.decoy.data or "").strip():
        form.decoy.errors = ["The harmless question is missing: write it here."]
    wanted = {"share": [form.decoy_share], "counts": [form.decoy_yes, form.decoy_of]}.get(
        form.decoy_from.data, []
    )
    for field in wanted:
        if not (field.data or "").strip():
            field.errors = ["Type how often people answer Yes to the harmless question."]
    return not any(field.errors for field in [form.decoy, *wanted])


def advice(draft: Draft, form: QuestionForm) -> str:
    """Say why the recommended mechanism is recommended for what the form holds now, in one sentence."""
    from hushpoll_analysis.designing.planning import recommend

    shape: dict[str, Any] = EDITORS.get(form.kind.data, EDITORS[DEFAULT]).write(form.data)
    options = max(2, len(shape.get("options", ())) or 2)
    return recommend(shape["kind"], min(options, 1000), float(draft.epsilon), n=draft.expected_n).reason


def _change(draft_id: str, change: Callable[[Document], Document], said: str) -> Response:
    """Change the order or number of questions, unless the page was out of date."""
    draft = open_draft(draft_id)
    text = request.form.get("revision", "")
    revision = int(text) if text.isascii() and text.isdigit() and len(text) < 10 else -1
    try:
        drafts.save(get_store(), replace(draft, document=change(draft.document)), revision)
        flash(said, "done")
    except StaleDraft:
        flash(
            "Nothing was changed: this draft was edited in another tab. This is how it stands now.", "problem"
        )
    except SurveyError as error:
        flash(f"Nothing was changed: {error}.", "problem")
    return redirect(url_for("workspace.draft", draft_id=draft.id))


@bp.post("/drafts/<draft_id>/questions/<question_id>/move")
@designer
def move_question(draft_id: str, question_id: str) -> Response:
    """Move a question up or down."""
    by = -1 if request.form.get("direction") == "up" else 1
    return _change(draft_id, lambda document: drafts.moved(document, question_id, by), "Moved.")


@bp.post("/drafts/<draft_id>/questions/<question_id>/duplicate")
@designer
def duplicate_question(draft_id: str, question_id: str) -> Response:
    """Copy a question."""
    return _change(draft_id, lambda document: drafts.duplicated(document, question_id), "Copied.")


@bp.route("/drafts/<draft_id>/questions/<question_id>/delete", methods=["GET", "POST"])
@designer
def delete_question(draft_id: str, question_id: str) -> Page:
    """Ask, then delete a question."""
    if request.method == "GET":
        draft = open_draft(draft_id)
        return render_template(
            "workspace/delete_question.html", draft=draft, question=_find(draft, question_id)
        )
    return _change(draft_id, lambda document: drafts.without(document, question_id), "Question deleted.")


# A decoy's share from another survey ----------------------------------------------------------------------------


def decoy_sources() -> list[tuple[str, str, int]]:
    """List yes/no questions of surveys that this account may read and that have sealed reports."""
    store = get_store()
    found = []
    for state in sharing.readable(store, current_user, store.list_surveys()):
        if state.sealed_n < FEWEST_REPORTS:
            continue
        survey = store.get_survey(state.hash)
        assert survey is not None
        for one in survey.questions:
            if one.kind.yes_or_no:
                found.append((f"{state.hash}:{one.id}", f"{state.title}: {one.text}"[:120], state.sealed_n))
    return found


def counts_from_survey(key: str) -> dict[str, str]:
    """Make counts that say what another survey's estimate says: its share and, through their number, its uncertainty.

    An estimate p with standard error s is as sure as p of m plain answers with m = p (1 - p) / s^2.
    """
    if key not in {one for one, _, _ in decoy_sources()}:
        raise HushpollError("choose one of the surveys listed, or type the share")
    from hushpoll_analysis import estimate
    from hushpoll_analysis.data.files import tally

    survey_hash, _, question_id = key.partition(":")
    survey = get_store().get_survey(survey_hash)
    assert survey is not None
    asked = next(one for one in survey.questions if one.id == question_id)
    counts = tally(survey, read_sealed(get_store(), survey_hash)).counts[question_id]
    found = estimate(counts, asked.mechanism)["Yes"]
    share, error = found.estimate, found.se
    if not 0 < share < 1 or not math.isfinite(error) or error <= 0:
        raise HushpollError(
            f"that survey's estimate is {share:.3f}, which no decoy can use", "type a share between 0 and 1"
        )
    answers = max(2, round(share * (1 - share) / error**2))
    return {
        "decoy_from": "counts",
        "decoy_yes": str(max(1, round(share * answers))),
        "decoy_of": str(answers),
    }
