"""The smallest epsilons that are enough for the margins, and one person's total, in words."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

from hushpoll_client import Survey, formatting

from hushpoll_server.fields import sentence, together
from hushpoll_server.i18n.translation import gettext as _
from hushpoll_server.i18n.translation import localize_number, ngettext, translate
from hushpoll_server.workspace.drafts.draft import Draft
from hushpoll_server.workspace.kinds import margin_text
from hushpoll_server.workspace.privacy.charts import WARN_FROM
from hushpoll_server.workspace.privacy.number_text import count_text, epsilon_text
from hushpoll_server.workspace.privacy.question_plan import LEVEL

if TYPE_CHECKING:
    from hushpoll_analysis.planning.budgets import Budget


def slider_stops() -> tuple[str, ...]:
    """Return the slider's stops, spelled as the survey document spells numbers."""
    from hushpoll_analysis.planning.margins import SLIDER_STOPS

    return tuple(f"{stop:g}" for stop in SLIDER_STOPS)


def search_epsilons(draft: Draft, survey: Survey, designs: int = 0) -> Budget:
    """Find the smallest epsilon of every question and block that the plan may set; locked ones keep their lock.

    Channels that take long to compute are taken at the slider's stops only, so that the page answers at once;
    `designs` of them may be computed in between.
    """
    from hushpoll_analysis.planning.budgets import budget

    free = [question for question in draft.questions if draft.follows_slider(question)]
    moved = {free_question["id"] for free_question in free} | set(draft.blocks.epsilons)
    return budget(
        survey,
        draft.expected_n,
        draft.margins,
        draft.locks,
        margin=draft.margin,
        recommended=[question["id"] for question in draft.questions if draft.is_recommended(question)],
        kept=[question["id"] for question in draft.questions if question["id"] not in moved],
        numbered=True,
        level=LEVEL,
        designs=designs,
    )


def fitted(planned: Draft, designs: int = 0) -> tuple[Draft, Budget]:
    """Return the draft with the smallest epsilons that are enough for its margins, and the search for them."""
    budget = search_epsilons(planned, planned.compiled(), designs)
    epsilons = {
        question.id: question.stated_epsilon
        for question in budget.questions
        if question.stated_epsilon is not None and not question.problem
    }
    moved = planned.with_epsilons(epsilons)
    free = {moved.epsilon_of(question) for question in moved.questions if moved.follows_slider(question)}
    if len(free) == 1:
        moved = replace(moved, epsilon=free.pop())
    return moved, budget


def advice(budget: Budget) -> str:
    """Return the epsilons that the margins need, as a sentence."""
    if budget.problems:
        return " ".join(sentence(problem) for problem in budget.problems)
    missed = dict.fromkeys(sentence(question.missed) for question in budget.questions if question.missed)
    return " ".join([*missed, _needs(budget)])


def _needs(budget: Budget) -> str:
    moved = [
        question
        for question in budget.questions
        if question.stated_epsilon is not None and not question.locked and question.leads
    ]
    if not moved:
        return _("Every question is locked or set by hand: there is nothing to find.")
    n = count_text(budget.n)
    if len(moved) == 1 and moved[0].block is None:
        margin = margin_text(moved[0].search.question, moved[0].target_margin)
        return _(
            "%(margin)s with %(n)s answers needs epsilon %(epsilon)s for %(question)s.",
            margin=margin,
            n=n,
            epsilon=epsilon_text(moved[0].epsilon),
            question=translate(moved[0].name),
        )
    epsilons = ", ".join(
        _(
            "%(epsilon)s for %(question)s",
            epsilon=epsilon_text(spender.epsilon),
            question=translate(spender.payer),
        )
        for spender in moved[:6]
    )
    if len(moved) > 6:
        rest = ngettext(
            "another for %(num)s more question", "others for %(num)s more questions", len(moved) - 6
        )
        epsilons = _("%(list)s and %(last)s", list=epsilons, last=rest)
    return _(
        "With %(n)s answers the margins need epsilon %(each)s: a total of %(total)s per person.",
        n=n,
        each=epsilons,
        total=epsilon_text(budget.total),
    )


def total_text(survey: Survey) -> tuple[str, str]:
    """Return one person's total epsilon as text, and a warning or ""."""
    total = survey.epsilon_total
    open_ones = [
        number for number, question in enumerate(survey.questions, 1) if not math.isfinite(question.epsilon)
    ]
    if open_ones:
        return _("unbounded"), ngettext(
            "Question %(list)s has no finite epsilon: one of its reports reveals an answer. Give it an epsilon to add a"
            " coin on the device, or be sure that what it reveals is harmless.",
            "Questions %(list)s have no finite epsilon: one of their reports reveals an answer. Give them an epsilon to"
            " add a coin on the device, or be sure that what they reveal is harmless.",
            len(open_ones),
            list=together([str(number) for number in open_ones]),
        )
    if total >= WARN_FROM:
        return epsilon_text(total), _(
            "A total of %(total)s lets one person's whole report multiply an onlooker's odds by up to %(factor)s. Ask"
            " fewer questions, or move the slider toward privacy.",
            total=epsilon_text(total),
            factor=localize_number(formatting.factor_text(total)),
        )
    return epsilon_text(total), ""
