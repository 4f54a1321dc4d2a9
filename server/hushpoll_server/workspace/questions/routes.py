"""The editor of one question, and moving, copying, deleting questions of a draft."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from flask import Blueprint, abort, flash, g, redirect, render_template, request, url_for
from hushpoll_client import HushpollError, Mechanism, Question, SurveyError
from hushpoll_client.delivery.report import FEWEST_REPORTS
from hushpoll_client.kind import DEFAULT, KINDS
from hushpoll_client.limits import MAX_QUESTIONS
from hushpoll_client.mechanism import MECHANISMS
from hushpoll_client.messages import msg
from werkzeug.wrappers import Response
from wtforms import SelectChoice

from hushpoll_server.current_store import get_store
from hushpoll_server.fields import choices, sentence, together
from hushpoll_server.i18n.translation import gettext as _
from hushpoll_server.i18n.translation import localize_number, ngettext, translate
from hushpoll_server.people import sharing
from hushpoll_server.people.access import current_user
from hushpoll_server.workspace import mechanisms
from hushpoll_server.workspace.access import designer, open_draft
from hushpoll_server.workspace.drafts import storage
from hushpoll_server.workspace.drafts.draft import Draft, StaleDraft
from hushpoll_server.workspace.drafts.references import QuestionDocument, QuestionIds
from hushpoll_server.workspace.drafts.skip_rules import deciders, form_fields, rule_from_form
from hushpoll_server.workspace.forms import posted_revision
from hushpoll_server.workspace.kinds import EDITORS, INPUT_ROWS, OPTIONAL_INPUTS, EditorKind
from hushpoll_server.workspace.questions.forms import QuestionForm, mechanism_choices, place_error
from hushpoll_server.workspace.responses import Page

if TYPE_CHECKING:
    from hushpoll_analysis.planning.recommendation import Recommendation

bp = Blueprint("questions", __name__)


@bp.route("/drafts/<draft_id>/questions/new", methods=["GET", "POST"])
@designer
def new_question(draft_id: str) -> Page:
    """Write a question with all its settings and add it at the end."""
    draft = open_draft(draft_id)
    if request.method == "POST":
        return _save(draft, QuestionForm(), None)
    kind = request.args.get("kind", DEFAULT)
    fields: dict[str, Any] = {"kind": kind if kind in EDITORS else DEFAULT, "linked": True}
    fields["id"] = draft.free_id()
    return _show(draft, QuestionForm(formdata=None, revision=draft.revision, **fields), None)


@bp.route("/drafts/<draft_id>/questions/<question_id>", methods=["GET", "POST"])
@designer
def question(draft_id: str, question_id: str) -> Page:
    """Change a question."""
    draft = open_draft(draft_id)
    current = find_question(draft, question_id)
    if request.method == "POST":
        return _save(draft, QuestionForm(), question_id)
    fields = form_values(draft, current)
    return _show(draft, QuestionForm(formdata=None, revision=draft.revision, **fields), question_id)


def form_values(draft: Draft, question: QuestionDocument) -> dict[str, Any]:
    """Return the values of the editor's fields for a stored question."""
    values = mechanisms.read_question(question) | {"linked": question["id"] in draft.linked}
    return values | form_fields(draft.rules.of(question["id"]), earlier_questions(draft, question["id"]))


def _emptied_section(draft: Draft, question_id: str) -> str:
    """Return the title of the section that would go with its only question, "" if none would."""
    index = draft.sections.emptied_by_removing(question_id, draft.order)
    if index is None:
        return ""
    return draft.sections[index].title


def find_question(draft: Draft, question_id: str) -> QuestionDocument:
    """Return a question of the draft; 404 where there is none of that id."""
    question = draft.question(question_id)
    if question is None:
        abort(404, "this question is no longer in the draft; see its list of questions")
    return question


def earlier_questions(draft: Draft, question_id: str | None) -> list[Question]:
    """Return the questions that can decide whether this one (None: a new one) is asked."""
    return deciders(draft.compiled() if draft.questions else None, question_id)


def _show(
    draft: Draft, form: QuestionForm, question_id: str | None, status: int = 200, stale: bool = False
) -> Page:
    sources = decoy_sources()
    form.mechanism.choices = mechanism_choices(_offered(form.mechanism.data))
    form.decoy_survey.choices = choices((key, label) for key, label, n in sources)
    before = earlier_questions(draft, question_id)
    form.after_question.choices = _rule_choices(draft, before)
    if stale:
        form.revision.data = draft.revision
    g.csp = {"frame-src": "'self'"}
    page = render_template(
        "questions/question.html",
        draft=draft,
        form=form,
        question_id=question_id,
        offered=_offered(form.mechanism.data),
        recommended=mechanisms.RECOMMENDED,
        fields_of=mechanisms.fields_of,
        parameters=mechanisms.PARAMETERS,
        excluded_by_slider=mechanisms.excluded_by_slider,
        kinds=EDITORS,
        input_rows=INPUT_ROWS,
        optional_inputs=OPTIONAL_INPUTS,
        shown=EDITORS.get(form.kind.data, EDITORS[DEFAULT]),
        fitting={name: _fitting(editor) for name, editor in EDITORS.items()},
        sources=sources,
        deciders=before,
        advice=advice_texts(advice(draft, form, question_id)),
        stale=stale,
        step="questions",
    )
    return page, status


def _rule_choices(draft: Draft, before: list[Question]) -> list[SelectChoice]:
    numbers = {question["id"]: number for number, question in enumerate(draft.questions, 1)}
    choices_by_id = {
        question.id: _(
            "only after an answer to %(n)s. %(question)s", n=numbers[question.id], question=question.text
        )
        for question in before
    }
    return choices([("", _("always")), *((name, text[:100]) for name, text in choices_by_id.items())])


def _offered(chosen: str) -> dict[str, type[Mechanism]]:
    """Return the mechanisms on offer, and the one that an imported question has already."""
    return {
        name: mechanism
        for name, mechanism in MECHANISMS.items()
        if name in mechanisms.OFFERED or name == chosen
    }


def _fitting(editor: EditorKind) -> dict[str, Any]:
    """Return the page's script which mechanisms fit how many answers."""
    two, more = ([mechanism.name for mechanism in editor.fitting(answers)] for answers in (2, 3))
    return {"answers": editor.answers, "counted": editor.counted, "two": two, "more": more}


def _save(draft: Draft, form: QuestionForm, question_id: str | None) -> Page:
    if "switch" in request.form:
        # Without a script: the fields of another kind are shown, and what was typed stays.
        return _show(draft, form, question_id)
    result = validated(draft, form, question_id)
    if result is None:
        return _show(draft, form, question_id, 422)
    changed, written = result
    try:
        storage.save(get_store(), changed, form.read_revision(), form.read_opened())
    except StaleDraft:
        return _show(draft, form, question_id, 409, stale=True)
    flash(_("Saved.") if question_id else _("Added."), "done")
    if written["id"] in (again := changed.repeated_questions()):
        warning = _(
            "It has the same text as question %(n)s: change or delete one of them.",
            n=again[written["id"]] + 1,
        )
        flash(warning, "problem")
    return redirect(url_for("workspace.draft.draft", draft_id=draft.id) + f"#question-{written['id']}")


def validated(
    draft: Draft, form: QuestionForm, question_id: str | None
) -> tuple[Draft, QuestionDocument] | None:
    """Return the draft with the question of the form, and that question; None after setting errors on the form."""
    sound = form.validate_on_submit()
    if form.kind.data not in EDITORS:
        return None
    # Every check is made, so that all mistakes are shown at once.
    checks = [_check_required(form), _check_decoy(form), _check_pairs(form)]
    if not sound or not all(checks):
        return None
    try:
        return with_question_from(draft, form, question_id)
    except SurveyError as error:
        ids = [question["id"] for question in draft.questions]
        place_error(form, error, ids.index(question_id) if question_id in ids else len(ids))
    except HushpollError as error:
        form.decoy_from.errors = [sentence(error)]
    return None


def with_question_from(
    draft: Draft, form: QuestionForm, question_id: str | None
) -> tuple[Draft, QuestionDocument]:
    """Return the draft with the question of the form, and that question; SurveyError if it is wrong."""
    fields = form.data
    if fields["decoy_from"] == "survey" and "decoy_from" in mechanisms.fields_of(fields["mechanism"]):
        fields |= decoy_counts_from(fields["decoy_survey"] or "")
    before, rule = draft.question(question_id), None
    epsilon = draft.epsilon_of(before)
    written = mechanisms.write_question(fields | {"id": (fields["id"] or "").strip()}, epsilon, before)
    if "after_question" in EDITORS[fields["kind"]].fields:
        ticked = fields["after_answers"] or ()
        rule = rule_from_form(fields["after_question"] or "", ticked, earlier_questions(draft, question_id))
    inside = question_id is not None and draft.blocks.index_of(question_id) is not None
    if inside and not fields["mechanism"]:
        # The block protects it; a mechanism that was chosen is refused beside its field.
        written = {key: value for key, value in written.items() if key not in ("mechanism", "channel")}
    if question_id is None:
        changed = draft.with_question(written, rule)
    else:
        changed = draft.with_edited(question_id, written, rule)
    linked = changed.linked.without(written["id"])
    if fields["linked"] and "linked" in mechanisms.fields_of(fields["mechanism"]):
        linked = QuestionIds((*linked, written["id"]))
    return replace(changed, linked=linked), written


def _check_required(form: QuestionForm) -> bool:
    """Set errors for every missing field that the kind needs."""
    for name in EDITORS[form.kind.data].needed:
        if str(form[name].data or "").strip():
            continue
        missing = _("%(field)s is missing: type it here.", field=form[name].label.text)
        if form[name] is form.options:
            missing = _("Type at least two options, one per line.")
        form[name].errors = [missing]
    return not any(field.errors for field in form)


def _check_pairs(form: QuestionForm) -> bool:
    """Set an error if the chosen mechanism cannot show the pairs of options that are asked for."""
    chosen = form.mechanism.data
    if not chosen or not form.pairs.data or "pairs" not in EDITORS[form.kind.data].fields:
        return True
    if "ask" not in mechanisms.fields_of(chosen):
        form.mechanism.errors = [
            _("This mechanism cannot show pairs of options: choose “Recommended”, or untick pairs.")
        ]
    elif (form.ask.data or "").strip() == "1":
        form.ask.errors = [_("Pairs need at least two options per person: ask 2 or more.")]
    return not form.mechanism.errors and not form.ask.errors


def _check_decoy(form: QuestionForm) -> bool:
    """Set errors for a missing harmless question and a missing share."""
    if "decoy_from" not in mechanisms.fields_of(form.mechanism.data):
        return True
    if not (form.decoy.data or "").strip():
        form.decoy.errors = [_("The harmless question is missing: write it here.")]
    share_fields = {"share": [form.decoy_share], "counts": [form.decoy_yes, form.decoy_of]}.get(
        form.decoy_from.data, []
    )
    for field in share_fields:
        if not (field.data or "").strip():
            field.errors = [_("Type how often people answer Yes to the harmless question.")]
    return not any(field.errors for field in [form.decoy, *share_fields])


def advice(draft: Draft, form: QuestionForm, question_id: str | None) -> Recommendation | None:
    """Return the recommendation for the form as typed so far; None while it is incomplete."""
    from hushpoll_analysis.planning.recommendation import recommend_for

    editor = EDITORS.get(form.kind.data, EDITORS[DEFAULT])
    try:
        shape = editor.write(form.data)
        kind, where = KINDS[shape["kind"]], ("questions", 0)
        mechanism = editor.in_mechanism(form.data) | editor.draft_keys(form.data)
        answers = kind.read({**shape, "mechanism": mechanism}, where, published=False)
        skipped = bool(form.after_question.data) and kind.may_be_skipped
        epsilon = float(draft.epsilon_of(draft.question(question_id)))
        return recommend_for(kind, answers, len(answers.labels) + skipped, epsilon, n=draft.expected_n)
    except HushpollError:
        return None


def advice_texts(recommendation: Recommendation | None) -> dict[str, Any]:
    """Return a recommendation as the page words it: the sentence, what is proved, every way with the answers it
    needs.
    """
    if recommendation is None:
        return {"reason": "", "proof": "", "criterion": "", "rows": []}
    rows = [
        [translate(candidate.label), localize_number(f"{candidate.respondents:.2f}")]
        for candidate in recommendation.candidates
    ]
    texts = {
        "reason": recommendation.reason,
        "proof": recommendation.proof,
        "criterion": recommendation.criterion,
    }
    return {**{name: translate(text) for name, text in texts.items()}, "rows": rows}


def _change(draft_id: str, change: Callable[[Draft], Draft], message: str, question_id: str = "") -> Response:
    """Change the order or number of questions, unless the page was out of date; then show that question again."""
    draft = open_draft(draft_id)
    try:
        storage.save(get_store(), change(draft), posted_revision())
        flash(message, "done")
    except StaleDraft:
        flash(
            _("Nothing was changed: this draft was edited in another tab. This is the current version."),
            "problem",
        )
    except SurveyError as error:
        flash(_("Nothing was changed: %(problem)s.", problem=translate(error)), "problem")
    anchor = f"#question-{question_id}" if question_id else ""
    return redirect(url_for("workspace.draft.draft", draft_id=draft.id) + anchor)


@bp.post("/drafts/<draft_id>/questions/<question_id>/move")
@designer
def move_question(draft_id: str, question_id: str) -> Response:
    """Move a question up or down, by one place or by as many as are asked for."""
    requested = request.form.get("places", "1")
    steps = 1
    if requested.isascii() and requested.isdigit() and len(requested) < 4:
        steps = min(int(requested), MAX_QUESTIONS)
    by = -steps if request.form.get("direction") == "up" else steps
    return _change(draft_id, lambda draft: draft.with_moved(question_id, by), _("Moved."), question_id)


@bp.post("/drafts/<draft_id>/questions/<question_id>/duplicate")
@designer
def duplicate_question(draft_id: str, question_id: str) -> Response:
    """Copy a question."""
    return _change(draft_id, lambda draft: draft.with_copy(question_id), _("Copied."), question_id)


@bp.post("/drafts/<draft_id>/questions/<question_id>/delete")
@designer
def delete_question(draft_id: str, question_id: str) -> Response:
    """Delete a question, unless another one is asked only after it."""
    draft = open_draft(draft_id)
    find_question(draft, question_id)
    needed_by = draft.rules.decided_by(question_id, draft.order)
    if needed_by:
        refusal = ngettext(
            "Question %(list)s is asked only after it. Change or remove that rule first.",
            "Questions %(list)s are asked only after it. Change or remove those rules first.",
            len(needed_by),
            list=together([str(number) for number in needed_by]),
        )
        flash(refusal, "problem")
        return redirect(url_for("workspace.draft.draft", draft_id=draft.id) + f"#question-{question_id}")
    deleted = _("Question deleted. You can undo this.")
    section = _emptied_section(draft, question_id)
    if section:
        deleted = _(
            "Question deleted, and the section “%(section)s” with it. You can undo this.", section=section
        )
    return _change(draft_id, lambda draft: draft.without_question(question_id), deleted)


def decoy_sources() -> list[tuple[str, str, int]]:
    """List yes/no questions of surveys that this account may read and that have sealed reports."""
    store = get_store()
    sources = []
    for state in sharing.readable(store, current_user, store.list_surveys()):
        if state.sealed_n < FEWEST_REPORTS:
            continue
        survey = store.get_survey(state.hash)
        assert survey is not None
        for question in survey.questions:
            if question.kind.yes_or_no:
                sources.append(
                    (f"{state.hash}:{question.id}", f"{state.title}: {question.text}"[:120], state.sealed_n)
                )
    return sources


def decoy_counts_from(key: str) -> dict[str, str]:
    """Return counts of a decoy that express another survey's estimate: the same share with the same uncertainty.

    An estimate p with standard error s is as sure as p of m plain answers with m = p (1 - p) / s^2.
    """
    if key not in {key_offered for key_offered, _, _ in decoy_sources()}:
        raise HushpollError("choose one of the surveys listed, or type the share")
    from hushpoll_analysis import estimate
    from hushpoll_analysis.sample.files import tally

    survey_hash, _, question_id = key.partition(":")
    survey = get_store().get_survey(survey_hash)
    assert survey is not None
    question = survey.question(question_id)
    counts = tally(survey, get_store().record_parts(survey_hash)).counts[question_id]
    yes = estimate(counts, question.mechanism)["Yes"]
    share, error = yes.estimate, yes.se
    if not 0 < share < 1 or not math.isfinite(error) or error <= 0:
        raise HushpollError(
            msg("that survey's estimate is {share:.3f}, which no decoy can use", share=share),
            "type a share between 0 and 1",
        )
    answers = max(2, round(share * (1 - share) / error**2))
    return {
        "decoy_from": "counts",
        "decoy_yes": str(max(1, round(share * answers))),
        "decoy_of": str(answers),
    }
