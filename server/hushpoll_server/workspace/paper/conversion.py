"""Preparing a draft for paper: which questions coins or dice can randomize, and odds that work for the others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from flask import Blueprint, flash, redirect, render_template, request, url_for
from flask_babel import lazy_gettext as later
from hushpoll_client import Mechanism, Question, Survey, SurveyError
from hushpoll_client.channel import SCALE
from hushpoll_client.formatting import about_of_100, epsilon_text
from hushpoll_client.kind import KINDS
from hushpoll_client.mechanism import Instruction
from wtforms import SelectField

from hushpoll_server.current_store import get_store
from hushpoll_server.fields import choices, sentence, together
from hushpoll_server.i18n.translation import gettext as _
from hushpoll_server.i18n.translation import localize_number, ngettext, translate
from hushpoll_server.respond.paper import by_hand
from hushpoll_server.workspace.access import designer, open_draft
from hushpoll_server.workspace.drafts import storage
from hushpoll_server.workspace.drafts.documents import Document
from hushpoll_server.workspace.drafts.draft import Draft, StaleDraft
from hushpoll_server.workspace.forms import RevisionForm
from hushpoll_server.workspace.mechanisms import OFFERED
from hushpoll_server.workspace.responses import Page

bp = Blueprint("paper", __name__, template_folder="templates")


_COINS = {2: later("two coins"), 3: later("three coins"), 4: later("four coins")}
_ROLLS = {1: later("one die"), 2: later("a die rolled twice"), 3: later("a die rolled three times")}


@dataclass(frozen=True)
class PaperOdds:
    """Odds that coins or dice make exactly."""

    mechanism: Mechanism
    parameters: Document
    """The mechanism's parameters, as the document has them."""

    @property
    def label(self) -> str:
        """The tools it needs, and its effect."""
        how, channel = self.mechanism.by_hand(), self.mechanism.device
        assert how is not None
        unchanged = about_of_100(channel.kept / SCALE)
        epsilon = epsilon_text(self.mechanism.epsilon, 2)
        return _(
            "works with %(tools)s: %(kept)s of 100 recorded as chosen, epsilon %(epsilon)s",
            tools=tools_of(how),
            kept=unchanged,
            epsilon=localize_number(epsilon),
        )


def tools_of(how: Instruction) -> str:
    """Return the tools that a person needs to answer on paper."""
    return str(_COINS[how.coins] if how.coins else _ROLLS.get(how.rolls, _("nothing but a pencil")))


def paper_odds_of(question: Question) -> list[PaperOdds]:
    """Return the odds to snap to, the most private first; none for a question with a decoy or in a block."""
    if question.mechanism.has_decoy or question.block is not None or question.answers.spacing:
        return []
    many = len(question.labels)
    fitting = [mechanism for mechanism in question.kind.fitting(many) if mechanism.name in OFFERED]
    points = [
        PaperOdds(mechanism.compile(many, parameters), {"name": mechanism.name, **parameters})
        for mechanism in fitting
        for parameters in mechanism.points_by_hand(many)
    ]
    return sorted(points, key=lambda mechanism: mechanism.mechanism.epsilon)


def paper_items(survey: Survey) -> list[tuple[str, str]]:
    """Return before publishing whether a survey can be answered on paper."""
    without = [n for n, question in enumerate(survey.questions, 1) if by_hand(question) is None]
    if not without:
        return [("ok", _("People can also answer on paper, with coins or dice."))]
    if len(without) == len(survey.questions) > 1:
        all_of_them = _(
            "Not for paper: all questions would need odds that coins or dice can make. See “On paper” in step 1."
        )
        return [("ok", all_of_them)]
    message = ngettext(
        "Not for paper: Question %(list)s would need odds that coins or dice can make. See “On paper” in step 1.",
        "Not for paper: Questions %(list)s would need odds that coins or dice can make. See “On paper” in step 1.",
        len(without),
        list=together(_ranges(without)),
    )
    return [("ok", message)]


def _ranges(numbers: Sequence[int]) -> list[str]:
    """Write rising numbers, three or more that follow each other as a range: 1–4, 6."""
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][-1] + 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    return [
        text for run in runs for text in ([f"{run[0]}–{run[-1]}"] if len(run) > 2 else [str(n) for n in run])
    ]


def _form(draft: Draft, survey: Survey, data: Any) -> RevisionForm:
    fields: dict[str, Any] = {}
    for index, question in enumerate(survey.questions):
        offered = [(str(n), point.label) for n, point in enumerate(paper_odds_of(question))]
        if offered:
            text = _(
                "unchanged: %(mechanism)s, epsilon %(epsilon)s",
                mechanism=translate(question.mechanism.label),
                epsilon=localize_number(epsilon_text(question.epsilon, 2)),
            )
            unchanged = ("", text)
            fields[f"point_{index}"] = SelectField(
                _("Question %(n)s", n=index + 1), choices=choices([unchanged, *offered])
            )
    form_class = type("PaperForm", (RevisionForm,), fields)
    form: RevisionForm = form_class(
        formdata=data, **({} if data is not None else {"revision": draft.revision})
    )
    return form


@bp.route("/drafts/<draft_id>/paper", methods=["GET", "POST"])
@designer
def on_paper(draft_id: str) -> Page:
    """Show which questions coins or dice can answer, and write the odds that are chosen."""
    draft = open_draft(draft_id)
    if not draft.questions:
        return render_template("workspace/no_questions.html", draft=draft, step="questions")
    survey = draft.compiled()
    if request.method == "GET":
        return _show(draft, survey, _form(draft, survey, None))
    form = _form(draft, survey, request.form)
    if not form.validate():
        return _show(draft, survey, form, 422)
    try:
        storage.save(get_store(), _with_points(draft, survey, form), form.read_revision())
    except SurveyError as error:
        flash(_("Nothing was changed: %(problem)s.", problem=translate(error)), "problem")
        return _show(draft, survey, form, 422)
    except StaleDraft:
        form.revision.data = draft.revision
        return _show(draft, survey, form, 409, stale=True)
    flash(_("Saved."), "done")
    return redirect(url_for("workspace.paper.on_paper", draft_id=draft.id))


def _with_points(draft: Draft, survey: Survey, form: RevisionForm) -> Draft:
    """Return the draft with the odds that are chosen; these questions follow the slider no more."""
    for index, question in enumerate(survey.questions):
        chosen = ""
        if f"point_{index}" in form:
            chosen = form[f"point_{index}"].data
        if not chosen:
            continue
        before = draft.question(question.id)
        assert before is not None
        own_values = {
            key: before["mechanism"][key]
            for key in KINDS[before["kind"]].in_mechanism
            if key in before["mechanism"]
        }
        written = {key: value for key, value in before.items() if key != "channel"}
        written["mechanism"] = {**paper_odds_of(question)[int(chosen)].parameters, **own_values}
        draft = draft.with_edited(question.id, written, draft.rules.of(question.id))
        draft = replace(draft, linked=draft.linked.without(question.id))
    return draft


def _show(draft: Draft, survey: Survey, form: RevisionForm, status: int = 200, stale: bool = False) -> Page:
    rows = []
    for index, question in enumerate(survey.questions):
        how, name = by_hand(question), f"point_{index}"
        tools = ""
        if how:
            tools = sentence(tools_of(how))
        rows.append({"text": question.text, "tools": tools, "field": getattr(form, name, None)})
    page = render_template(
        "paper/conversion.html",
        draft=draft,
        form=form,
        rows=rows,
        possible=all(row["tools"] for row in rows),
        stale=stale,
        step="questions",
    )
    return page, status
