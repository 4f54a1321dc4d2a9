"""The editor of a block: which questions share one epsilon, how many of them each person is asked, and why."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from flask import Blueprint, abort, flash, redirect, render_template, request, url_for
from flask_babel import lazy_gettext as later
from hushpoll_client import HushpollError, SurveyError
from hushpoll_client.kind import KINDS
from werkzeug.wrappers import Response
from wtforms import BooleanField, SelectMultipleField, StringField

from hushpoll_server.current_store import get_store
from hushpoll_server.fields import both, choices, decimal, sentence
from hushpoll_server.i18n.translation import gettext as _
from hushpoll_server.i18n.translation import translate
from hushpoll_server.workspace.access import designer, open_draft
from hushpoll_server.workspace.drafts import storage
from hushpoll_server.workspace.drafts.block import Block
from hushpoll_server.workspace.drafts.draft import Draft, StaleDraft
from hushpoll_server.workspace.drafts.references import ByQuestion, QuestionDocument
from hushpoll_server.workspace.forms import RevisionForm, posted_revision
from hushpoll_server.workspace.responses import Page

if TYPE_CHECKING:
    from hushpoll_analysis.planning.blocks import BlockPlan

bp = Blueprint("blocks", __name__)


class BlockForm(RevisionForm):
    """The questions of a block and what it costs."""

    questions = SelectMultipleField(
        later("Questions of the block"),
        validate_choice=False,
        description=later(
            "Two or more questions in a row: yes/no, one choice or a scale, without a skip rule"
            " or a harmless question."
        ),
    )
    epsilon = StringField(
        later("Epsilon of the block"),
        description=later("For all its answers together, whatever their number."),
    )
    cross_tables = BooleanField(
        later("I want cross-tables inside it"),
        description=later(
            "Then each person is asked two questions or more, so that answers can be seen together."
        ),
    )
    ask = StringField(
        later("How many of them each person is asked"),
        description=later("A whole number. Leave it empty for the recommended one."),
    )


@bp.route("/drafts/<draft_id>/blocks/new", methods=["GET", "POST"])
@designer
def new_block(draft_id: str) -> Page:
    """Make a block of some questions."""
    draft = open_draft(draft_id)
    if request.method == "POST":
        return _save(draft, BlockForm(), None)
    return _show(draft, BlockForm(formdata=None, revision=draft.revision, epsilon=draft.epsilon), None)


@bp.route("/drafts/<draft_id>/blocks/<int:number>", methods=["GET", "POST"])
@designer
def block(draft_id: str, number: int) -> Page:
    """Change a block."""
    draft = open_draft(draft_id)
    current = _find(draft, number)
    if request.method == "POST":
        return _save(draft, BlockForm(), number)
    form = BlockForm(
        formdata=None,
        revision=draft.revision,
        questions=current.questions,
        ask=str(current.ask),
        epsilon=str(current.epsilon),
        cross_tables=bool(draft.cross_tables.get(current.questions[0])),
    )
    return _show(draft, form, number)


@bp.post("/drafts/<draft_id>/blocks/<int:number>/dissolve")
@designer
def dissolve_block(draft_id: str, number: int) -> Response:
    """Dissolve a block."""
    draft = open_draft(draft_id)
    _find(draft, number)
    try:
        storage.save(get_store(), draft.without_block(number), posted_revision())
        flash(_("The block is dissolved. Its questions follow the slider again."), "done")
    except StaleDraft:
        flash(_("Nothing was changed: this draft was edited in another tab."), "problem")
    return redirect(url_for("workspace.draft.draft", draft_id=draft.id))


def _find(draft: Draft, number: int) -> Block:
    if not 0 <= number < len(draft.blocks):
        abort(404, "this block is no longer in the draft; see its list of questions")
    return draft.blocks[number]


def _can_be_member(draft: Draft, question: QuestionDocument) -> bool:
    """Return whether a question may be in a block: its kind fits, and it has no skip rule."""
    return KINDS[question["kind"]].in_blocks and draft.rules.of(question["id"]) is None


def _show(draft: Draft, form: BlockForm, number: int | None, status: int = 200, stale: bool = False) -> Page:
    used = {name for index, block in enumerate(draft.blocks) if index != number for name in block.questions}
    offered = [
        question
        for question in draft.questions
        if _can_be_member(draft, question) and question["id"] not in used
    ]
    numbers = {entry["id"]: index for index, entry in enumerate(draft.questions, 1)}
    form.questions.choices = choices(
        (entry["id"], f"{numbers[entry['id']]}. {entry['text']}") for entry in offered
    )
    if stale:
        form.revision.data = draft.revision
    page = render_template(
        "questions/block.html",
        draft=draft,
        form=form,
        number=number,
        plan=_plan(draft, form),
        expected_n=draft.expected_n,
        stale=stale,
        step="questions",
    )
    return page, status


def _plan(draft: Draft, form: BlockForm) -> BlockPlan | None:
    """Compare the ways to ask the chosen questions; None with fewer than two."""
    from hushpoll_analysis.planning.blocks import plan_block

    sizes = []
    for question in draft.questions:
        if question["id"] in (form.questions.data or ()) and _can_be_member(draft, question):
            shape = {key: value for key, value in question.items() if key != "mechanism"}
            try:
                sizes.append(len(KINDS[question["kind"]].read(shape, ("questions",), False).labels))
            except HushpollError:
                return None
    if len(sizes) < 2:
        return None
    try:
        return plan_block(sizes, decimal(form.epsilon.data or ""), bool(form.cross_tables.data))
    except HushpollError:
        return None


def _save(draft: Draft, form: BlockForm, number: int | None) -> Page:
    plan = _plan(draft, form)
    if "compare" in request.form:
        return _show(draft, form, number)
    if not form.validate_on_submit():
        return _show(draft, form, number, 422)
    ask: Any = (form.ask.data or "").strip()
    if not ask and plan is not None:
        ask = plan.ask
    elif isinstance(ask, str) and ask.isascii() and ask.isdigit() and len(ask) < 5:
        ask = int(ask)
    if form.cross_tables.data and ask == 1:
        form.ask.errors = [_("Cross-tables need at least two questions per person: ask 2 or more.")]
        return _show(draft, form, number, 422)
    chosen = form.questions.data or []
    try:
        epsilon = decimal(form.epsilon.data or "", ("epsilon",))
        members = tuple(name for name in draft.order if name in chosen)
        changed = draft.with_block(Block(members, ask, epsilon), replacing=number)
        changed.compiled()
        tables = {name: value for name, value in draft.cross_tables.items() if name not in members}
        if form.cross_tables.data:
            tables[members[0]] = True
        changed = replace(changed, cross_tables=ByQuestion(tables))
        storage.save(get_store(), changed, form.read_revision())
    except SurveyError as error:
        _place(form, error)
        return _show(draft, form, number, 422)
    except StaleDraft:
        return _show(draft, form, number, 409, stale=True)
    flash(_("Saved. Each person is asked some of these questions, drawn by chance."), "done")
    return redirect(url_for("workspace.draft.draft", draft_id=draft.id))


def _place(form: BlockForm, error: SurveyError) -> None:
    """Show the message of the survey's own check next to the field it is about."""
    fields = {"ask": form.ask, "epsilon": form.epsilon}
    field = next((fields[str(key)] for key in reversed(error.path) if key in fields), form.questions)
    if error.path[:1] == ("questions",):
        message = translate(error)
    else:
        message = both(error)
    field.errors = [*field.errors, sentence(message)]
