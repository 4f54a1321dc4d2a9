"""Privacy and accuracy: expected answers and needed margin in, epsilon out. The screen that decides."""

from __future__ import annotations

import math
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

from flask import Blueprint, flash, jsonify, redirect, render_template, request, url_for
from hushpoll_client import Survey, SurveyError
from werkzeug.wrappers import Response

from hushpoll_server.current_store import get_store
from hushpoll_server.fields import choices
from hushpoll_server.i18n.translation import gettext as _
from hushpoll_server.i18n.translation import localize_number, translate
from hushpoll_server.workspace.access import designer, open_draft
from hushpoll_server.workspace.autosave import autosave, field_errors
from hushpoll_server.workspace.drafts import storage
from hushpoll_server.workspace.drafts.draft import Draft, StaleDraft
from hushpoll_server.workspace.drafts.references import ByQuestion
from hushpoll_server.workspace.privacy.charts import HEIGHT, WARN_FROM, WIDTH, margin_curve, total_scale
from hushpoll_server.workspace.privacy.epsilon_search import (
    advice,
    fitted,
    search_epsilons,
    slider_stops,
    total_text,
)
from hushpoll_server.workspace.privacy.forms import PlanForm, plan_form
from hushpoll_server.workspace.privacy.protection import plan_sentence, protection_of
from hushpoll_server.workspace.privacy.question_plan import QuestionPlan, focus_of, question_plans
from hushpoll_server.workspace.privacy.remedies import FIT, remedies
from hushpoll_server.workspace.privacy.summaries import cap
from hushpoll_server.workspace.responses import Page

if TYPE_CHECKING:
    from hushpoll_analysis.planning.budgets import Budget

bp = Blueprint("privacy", __name__, template_folder="templates")


def screen_figures(draft: Draft, focus_id: str | None) -> dict[str, Any]:
    """Return everything that the screen shows for a draft."""
    survey = draft.compiled()
    plans = question_plans(draft, survey, draft.expected_n)
    focus = focus_of(plans, focus_id)
    total, warning = total_text(survey)
    over_cap, budget, protection = _over_cap(survey), search_epsilons(draft, survey), protection_of(survey)
    # Nothing is green while one person's total is in the red.
    green = not (warning or over_cap)
    return {
        "survey": survey,
        "plans": plans,
        "focus": focus,
        "total": total,
        "warning": warning,
        "over_cap": over_cap,
        "green": green,
        "advice": advice(budget),
        "protection": protection,
        "sentence": plan_sentence(draft, plans, protection),
        "remedies": remedies(draft),
        "advice_list": _advice_list(budget),
        "verdict": _verdict(focus, green),
        "curve": margin_curve(focus, draft.expected_n, focus.margin_needed),
        "scale": total_scale(survey.epsilon_total),
    }


def _over_cap(survey: Survey) -> str:
    try:
        survey.check_cap(cap())
    except SurveyError:
        return _(
            "This server publishes nothing above a total of %(cap)s per person. Ask fewer questions, or move the slider"
            " toward privacy.",
            cap=localize_number(cap()),
        )
    return ""


def _verdict(focus: QuestionPlan, green: bool) -> str:
    if not focus.met:
        less = _("This is less precise than you need.")
        if focus.lock:
            return f"{less} " + _("It is locked.")
        return less
    if green:
        return _("This is as precise as you need.")
    return _("Precise enough, but one person's total is too high.")


@bp.route("/drafts/<draft_id>/privacy", methods=["GET", "POST"])
@designer
def privacy(draft_id: str) -> Page:
    """Show and save the plan; search for epsilons if asked to."""
    draft = open_draft(draft_id)
    if not draft.questions:
        return render_template("workspace/no_questions.html", draft=draft, step="privacy")
    if request.method == "GET":
        return _show(draft, _plan_form(draft, None), request.args.get("focus"))
    form = _plan_form(draft, request.form)
    if "autosave" in request.form:
        return _autosave_plan(draft, form)
    if not form.validate():
        return _show(draft, form, form.focus.data, 422)
    planned, message = _decided(_with_plan(draft, form), form)
    # What a button changed is undone by itself, not with what was typed before.
    opened = None
    if "apply" not in request.form:
        opened = form.read_opened()
    try:
        storage.save(get_store(), planned, form.read_revision(), opened)
    except StaleDraft:
        return _show(draft, form, form.focus.data, 409, stale=True)
    if request.form.get("next") == "preview":
        return redirect(url_for("workspace.preview.phone", draft_id=draft.id))
    flash(*message)
    return redirect(url_for("workspace.privacy.privacy", draft_id=draft.id, focus=form.focus.data or None))


def _decided(planned: Draft, form: PlanForm) -> tuple[Draft, tuple[str, str]]:
    """Return the draft as the pressed button wants it, and a message with its colour."""
    if "apply" in request.form:
        # What the page showed was worked out from the margins, quickly.
        if form.fit.data:
            planned, _budget = fitted(planned)
        return _with_remedy(planned, request.form["apply"])
    if "solve" in request.form:
        planned, budget = fitted(planned, designs=1)
        return planned, _found(budget)
    if form.fit.data:
        planned, _budget = fitted(planned, designs=1)
    return planned, (_("Saved."), "done" if _is_total_fine(planned) else "plain")


def _autosave_plan(draft: Draft, form: PlanForm) -> Response:
    """Save the plan if it is valid."""
    if not form.validate():
        return jsonify({"errors": field_errors(form)})
    return jsonify(autosave(_as_planned(draft, form), form))


def _with_remedy(planned: Draft, name: str) -> tuple[Draft, tuple[str, str]]:
    """Return the draft with one of the remedies applied, and a message."""
    for remedy in remedies(planned):
        if remedy.name == name and remedy.draft is not None:
            plan, budget = fitted(remedy.draft, designs=1)
            if name == FIT:
                return plan, _found(budget)
            return plan, (_("%(change)s. You can undo this.", change=remedy.label), "done")
    return planned, (_("That would no longer change anything. See the figures below."), "plain")


def _as_planned(draft: Draft, form: PlanForm) -> Draft:
    """Return the draft as the page shows it: where the privacy follows the margins, with the epsilons they need."""
    planned = _with_plan(draft, form)
    if form.fit.data:
        planned, _budget = fitted(planned)
    return planned


OWN = "own"  # where the slider stands when questions have epsilons of their own


def _with_plan(draft: Draft, form: PlanForm) -> Draft:
    """Return the draft as the form has it: a lock holds at once, and the slider moves everything else."""
    from hushpoll_analysis.planning.epsilon_search import read_lock

    margins, locks, in_blocks = {}, {}, draft.blocks.epsilons
    for index, question in enumerate(draft.questions):
        margin, lock = form.of_question(index)
        if margin.data is not None:
            margins[question["id"]] = margin.data / 100
        may_lock = draft.follows_slider(question) or question["id"] in in_blocks
        if lock.data and lock.data.strip() and may_lock:
            locks[question["id"]] = lock.data
    plan = {"expected_n": form.expected_n.data, "margin": form.margin.data / 100}
    planned = replace(draft, **plan, margins=ByQuestion(margins), locks=ByQuestion(locks))
    if form.epsilon.data != OWN:
        planned = planned.with_slider_at(form.epsilon.data)
    return planned.with_locks_held({name: read_lock(lock) for name, lock in locks.items()})


def _found(budget: Budget) -> tuple[str, str]:
    """Return the message about a search, and the colour that it is shown in."""
    good = budget.met and not budget.problems and not budget.too_high
    return advice(budget), "done" if good else "problem"


def _is_total_fine(draft: Draft) -> bool:
    """Return whether one person's total needs no warning and is within the server's cap."""
    survey = draft.compiled()
    return not (total_text(survey)[1] or _over_cap(survey))


def _advice_list(budget: Budget) -> list[str]:
    """Return advice that is not already in the sentence above it."""
    above = advice(budget)
    return [remedy for remedy in map(translate, budget.advice) if remedy not in above]


def _percentage_points(share: float) -> float | int:
    """Return a margin in points as people write it: 8, not 8.0."""
    points = round(share * 100, 4)
    if points == int(points):
        return int(points)
    return points


def _plan_form(draft: Draft, data: Any, csrf: bool = True) -> PlanForm:
    stops = slider_stops()
    values: dict[str, Any] = {
        "expected_n": draft.expected_n,
        "margin": _percentage_points(draft.margin),
        "epsilon": draft.epsilon if draft.has_one_epsilon else OWN,
    }
    for index, question in enumerate(draft.questions):
        margin = draft.margins.get(question["id"])
        if margin is not None:
            values[f"margin_{index}"] = _percentage_points(margin)
        values[f"lock_{index}"] = draft.locks.get(question["id"], "")
    meta = {}
    if not csrf:
        meta["csrf"] = False
    form_class = plan_form(len(draft.questions))
    form = form_class(formdata=data, meta=meta, revision=draft.revision, **values)
    # A draft from elsewhere may have another epsilon than a stop: it stays on offer.
    offered = sorted({*stops, draft.epsilon}, key=float)
    listed = {stop: _("epsilon %(epsilon)s", epsilon=localize_number(stop)) for stop in offered}
    listed[offered[0]] = _("%(epsilon)s (best privacy)", epsilon=listed[offered[0]])
    listed[offered[-1]] = _("%(epsilon)s (best accuracy)", epsilon=listed[offered[-1]])
    form.epsilon.choices = choices([*listed.items(), (OWN, _("each question its own epsilon"))])
    form.focus.choices = choices(
        (entry["id"], _("Question %(n)s", n=index)) for index, entry in enumerate(draft.questions, 1)
    )
    return form


def _middle_stop(draft: Draft) -> str:
    """Return the slider's stop nearest to the geometric mean of the questions' own epsilons."""
    logs = [
        math.log(float(draft.epsilon_of(question)))
        for question in draft.questions
        if draft.follows_slider(question)
    ]
    if logs:
        middle = sum(logs) / len(logs)
    else:
        middle = math.log(float(draft.epsilon))
    return min(slider_stops(), key=lambda stop: abs(math.log(float(stop)) - middle))


def _show(draft: Draft, form: PlanForm, focus_id: str | None, status: int = 200, stale: bool = False) -> Page:
    figures = screen_figures(draft, focus_id)
    if not form.focus.data:
        form.focus.data = figures["focus"].question.id
    if stale:
        form.revision.data = draft.revision
    page = render_template(
        "privacy/privacy.html",
        draft=draft,
        form=form,
        stale=stale,
        step="privacy",
        cap=localize_number(cap()),
        warn_from=WARN_FROM,
        size=(WIDTH, HEIGHT),
        middle_stop=_middle_stop(draft),
        experts=bool(request.args.get("focus") or _has_expert_errors(form)),
        **figures,
    )
    return page, status


def _has_expert_errors(form: PlanForm) -> bool:
    """Return whether a field among the details for experts was refused."""
    return any(name.startswith(("margin_", "lock_")) for name in form.errors)


def _field_label(field: str) -> str:
    """Return the label of a field of the plan, for messages that are not next to it."""
    what, _line, index = field.rpartition("_")
    if index.isdecimal():
        n = int(index) + 1
        if what == "lock":
            return _("Question %(n)s, lock", n=n)
        return _("Question %(n)s, margin", n=n)
    return {"expected_n": _("Answers"), "margin": _("Margin")}.get(field, field)


@bp.get("/drafts/<draft_id>/plan.json")
@designer
def plan_json(draft_id: str) -> Response | tuple[Response, int]:
    """Return the same figures for a slider that moves; nothing is saved."""
    draft = open_draft(draft_id)
    form = _plan_form(draft, request.args, csrf=False)
    if not draft.questions or not form.validate():
        messages = {name: f"{_field_label(name)}: {errors[0]}" for name, errors in form.errors.items()}
        return jsonify(errors=messages), 422
    planned = _as_planned(draft, form)
    figures = screen_figures(planned, request.args.get("focus"))
    focus, curve_drawn, scale = figures["focus"], figures["curve"], figures["scale"]
    texts = {**focus.texts(), "number": str(focus.number), "total": figures["total"]}
    texts |= {key: figures[key] for key in ("warning", "over_cap", "advice", "verdict", "sentence")}
    texts["guess"] = figures["protection"].sentence
    rows = {plan.question.id: plan.texts() for plan in figures["plans"]}
    return jsonify(
        texts=texts,
        rows=rows,
        advice_list=figures["advice_list"],
        remedies=[remedy.as_json() for remedy in figures["remedies"]],
        tier=figures["protection"].tier,
        epsilon=planned.epsilon if planned.has_one_epsilon else OWN,
        middle_stop=_middle_stop(planned),
        curve=None if curve_drawn is None else asdict(curve_drawn),
        total_x=scale.x,
        met=focus.met and figures["green"],
        green=figures["green"],
        rows_met={plan.question.id: plan.met for plan in figures["plans"]},
    )
