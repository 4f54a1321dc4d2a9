"""Privacy and accuracy: expected answers and needed margin in, epsilon out. The screen that decides."""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import Any

from flask import current_app, flash, jsonify, redirect, render_template, request, url_for
from hushpoll_client import Survey, SurveyError
from werkzeug.wrappers import Response

from hushpoll_server.fields import choices
from hushpoll_server.store.surveys import get_store

from . import drafts, planner
from .drafts import Draft, StaleDraft
from .forms import PlanForm
from .kinds import EDITORS, editor_of
from .mechanisms import what_it_reveals
from .pages import Page, bp, designer, open_draft
from .planner import QuestionPlan

MOST_SHOWN = 24  # options of one question in a list of questions


def cap() -> str:
    """Give the largest total epsilon that this server publishes."""
    return str(current_app.config["HUSHPOLL"].epsilon_cap)


def summaries(draft: Draft) -> list[dict[str, Any]]:
    """Give one line per question for lists: what is asked, how it is randomized and why."""
    if not draft.questions:
        return []
    from hushpoll_analysis.designing.recommending import recommend_for

    rows, texts = [], {one["id"]: one["text"] for one in draft.questions}
    for source, question in zip(draft.questions, draft.compiled().questions, strict=True):
        automatic = "name" not in source["mechanism"]
        shown = EDITORS[question.kind.name].described(question)
        epsilon, many = float(draft.epsilon), len(question.labels)
        advice = recommend_for(question.kind, question.answers, many, epsilon, n=draft.expected_n)
        rows.append(
            {
                "question": question,
                "shown": shown[:MOST_SHOWN],
                "more": max(0, len(shown) - MOST_SHOWN),
                "at_most": question.answers.about().get("at_most"),
                "decider": texts[question.after.question] if question.after else "",
                "automatic": automatic,
                "linked": draft.follows_slider(source),
                "kind": EDITORS[editor_of(source)[0]].label,
                "reported": EDITORS[question.kind.name].reported(question),
                "mechanism": question.mechanism.label,
                "reason": advice.reason if automatic else "",
                "proof": advice.proof if automatic else "",
                "note": what_it_reveals(question),
            }
        )
    return rows


# Privacy and accuracy -------------------------------------------------------------------------------------------


def readout(draft: Draft, asked: str | None) -> dict[str, Any]:
    """Everything that the screen shows for a draft with its slider, n and margin as they stand."""
    survey = draft.compiled()
    plans = planner.question_plans(draft, survey, draft.expected_n)
    focus = planner.focus_of(plans, asked)
    total, warning = planner.total_text(survey)
    stop, advice = planner.needed_epsilon(plans, draft.expected_n, draft.margin)
    return {
        "survey": survey,
        "plans": plans,
        "focus": focus,
        "total": total,
        "warning": warning,
        "over_cap": _over_cap(survey),
        "stop": stop,
        "advice": advice,
        "verdict": _verdict(focus, draft.margin),
        "curve": planner.curve(focus, draft.expected_n, draft.margin),
        "scale": planner.total_scale(survey.epsilon_total),
    }


def _over_cap(survey: Survey) -> str:
    try:
        survey.check_cap(cap())
    except SurveyError:
        return (
            f"This server publishes nothing above a total of {cap()} per person. Ask fewer questions, or move the"
            " slider toward privacy."
        )
    return ""


def _verdict(focus: QuestionPlan, margin: float) -> str:
    if focus.plan.margin <= margin * 1.0005:
        return "This is as precise as you need."
    return "This is less precise than you need."


@bp.route("/drafts/<draft_id>/privacy", methods=["GET", "POST"])
@designer
def privacy(draft_id: str) -> Page:
    """Take expected answers and needed margin, and find the epsilon."""
    draft = open_draft(draft_id)
    if not draft.questions:
        return render_template("workspace/no_questions.html", draft=draft, step="privacy")
    if request.method == "GET":
        return _show(draft, _plan_form(draft, None), request.args.get("focus"))
    form = _plan_form(draft, request.form)
    if not form.validate():
        return _show(draft, form, form.focus.data, 422)
    wanted = _with_plan(draft, form.expected_n.data, form.margin.data / 100, form.epsilon.data)
    solved = "solve" in request.form
    if solved:
        plans = planner.question_plans(wanted, wanted.compiled(), wanted.expected_n)
        stop, advice = planner.needed_epsilon(plans, wanted.expected_n, wanted.margin)
        flash(advice, "done" if stop else "problem")
        wanted = _with_plan(wanted, wanted.expected_n, wanted.margin, stop or wanted.epsilon)
    try:
        drafts.save(get_store(), wanted, form.read_revision())
    except StaleDraft:
        return _show(draft, form, form.focus.data, 409, stale=True)
    if request.form.get("next") == "preview":
        return redirect(url_for("workspace.phone", draft_id=draft.id))
    if not solved:
        flash("Saved.", "done")
    return redirect(url_for("workspace.privacy", draft_id=draft.id, focus=form.focus.data or None))


def _with_plan(draft: Draft, n: int, margin: float, epsilon: str) -> Draft:
    return replace(draft.at(epsilon), expected_n=n, margin=margin)


def _plan_form(draft: Draft, data: Any, csrf: bool = True) -> PlanForm:
    stops = planner.stops()
    values = {
        "expected_n": draft.expected_n,
        "margin": round(draft.margin * 100, 4),
        "epsilon": draft.epsilon,
    }
    meta = {} if csrf else {"csrf": False}
    form = PlanForm(formdata=data, meta=meta, revision=draft.revision, **values)
    # A draft from elsewhere may have another epsilon than a stop: it stays on offer.
    offered = sorted({*stops, draft.epsilon}, key=float)
    ends = {offered[0]: " (best privacy)", offered[-1]: " (best accuracy)"}
    form.epsilon.choices = choices((stop, f"epsilon {stop}{ends.get(stop, '')}") for stop in offered)
    form.focus.choices = choices(
        (one["id"], f"Question {place}") for place, one in enumerate(draft.questions, 1)
    )
    return form


def _show(draft: Draft, form: PlanForm, asked: str | None, status: int = 200, stale: bool = False) -> Page:
    seen = readout(draft, asked)
    if not form.focus.data:
        form.focus.data = seen["focus"].question.id
    if stale:
        form.revision.data = draft.revision
    page = render_template(
        "workspace/privacy.html",
        draft=draft,
        form=form,
        stale=stale,
        step="privacy",
        cap=cap(),
        warn_from=planner.WARN_FROM,
        size=(planner.WIDTH, planner.HEIGHT),
        **seen,
    )
    return page, status


@bp.get("/drafts/<draft_id>/plan.json")
@designer
def plan_json(draft_id: str) -> Response | tuple[Response, int]:
    """Give the same figures for a slider that moves; nothing is saved."""
    draft = open_draft(draft_id)
    form = _plan_form(draft, request.args, csrf=False)
    if not draft.questions or not form.validate():
        return jsonify(errors={name: errors[0] for name, errors in form.errors.items()}), 422
    wanted = _with_plan(draft, form.expected_n.data, form.margin.data / 100, form.epsilon.data)
    seen = readout(wanted, request.args.get("focus"))
    focus, drawn, scale = seen["focus"], seen["curve"], seen["scale"]
    texts = {**focus.texts(), "number": str(focus.number), "total": seen["total"]}
    texts |= {key: seen[key] for key in ("warning", "over_cap", "advice", "verdict")}
    rows = {one.question.id: one.texts() for one in seen["plans"]}
    return jsonify(
        texts=texts,
        rows=rows,
        stop=seen["stop"],
        curve=None if drawn is None else asdict(drawn),
        total_x=scale.x,
        met=focus.plan.margin <= wanted.margin * 1.0005,
    )
