"""The figures of a question at the expected number of answers, from `hushpoll_analysis.planning.margins`.

The analysis is imported inside the functions: a worker that only collects never loads it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import NormalDist
from typing import TYPE_CHECKING, Any

from hushpoll_client import Question, Survey, formatting

from hushpoll_server.i18n.translation import gettext as _
from hushpoll_server.i18n.translation import localize_number
from hushpoll_server.workspace.drafts.draft import Draft
from hushpoll_server.workspace.kinds import EDITORS, margin_text
from hushpoll_server.workspace.privacy.number_text import count_text, epsilon_text

if TYPE_CHECKING:
    from hushpoll_analysis.planning.margins import Plan

LEVEL = 0.95
_Z = NormalDist().inv_cdf((1 + LEVEL) / 2)
MARGINS = (0.05, 0.03)
"""Margins for which the screen shows the number of answers needed."""


@dataclass(frozen=True)
class QuestionPlan:
    """One question at the expected number of answers."""

    question: Question
    number: int
    automatic: bool
    """Whether the slider moves its epsilon."""
    figures: Plan
    share: float | None
    """Its share of one person's total epsilon; None if that is unbounded."""
    answers_needed: tuple[int | None, ...]
    """The number of answers for each of MARGINS; None if no number is enough."""
    recommended: bool = True
    """Whether its mechanism is the recommended one, which may change with the epsilon."""
    margin_needed: float = 0.05
    lock: str = ""
    """The protection that it keeps, as it was typed."""
    leads_block: bool | None = None
    """In a block, whether it is the first question, which shows the block's epsilon; None outside."""

    @property
    def by_hand(self) -> bool:
        """Whether nothing but the editor moves it: neither the slider nor the search for the smallest epsilon."""
        return not self.automatic and self.leads_block is None

    @property
    def met(self) -> bool:
        """Whether it is as precise as is needed."""
        return self.figures.margin <= self.margin_needed * 1.0005

    @property
    def reported(self) -> str:
        """What will be reported of the question."""
        return EDITORS[self.question.kind.name].reported_of(self.question)

    def texts(self) -> dict[str, str]:
        """Return every figure of the question as text for the page."""
        figures = self.figures
        return {
            "mechanism": self.question.mechanism.name,
            "epsilon": self._epsilon_text(),
            "share": self._share_text(),
            "margin": margin_text(self.question, figures.margin),
            "wanted": margin_text(self.question, self.margin_needed),
            "state": self._state_text(),
            "margin_sampling": margin_text(self.question, figures.margin_sampling_only),
            "margin_curator": margin_text(self.question, figures.margin_trusted_curator),
            "recorded": self._recorded_text(),
            "recorded_help": self._recorded_help(),
            "odds": self._odds_text(),
            "needed_5": count_text(self.answers_needed[0]),
            "needed_3": count_text(self.answers_needed[1]),
            "needed_5_for": _("Answers for %(margin)s", margin=self._spaced_margin(MARGINS[0])),
            "needed_3_for": _("Answers for %(margin)s", margin=self._spaced_margin(MARGINS[1])),
            "break_even": self._break_even_text(),
        }

    @property
    def open_error(self) -> float:
        """The systematic error at which open answers would be as accurate: sqrt(Var randomized - Var open)."""
        figures = self.figures
        return math.sqrt(max(figures.margin**2 - figures.margin_sampling_only**2, 0.0)) / _Z

    def _break_even_text(self) -> str:
        return _(
            "Asking openly would be as accurate only if answers were off by less than %(error)s.",
            error=margin_text(self.question, self.open_error).lstrip("±"),
        )

    def _share_text(self) -> str:
        if self.share is None or self.leads_block is False:
            return "–"
        return localize_number(f"{self.share * 100:.0f} %")

    def _state_text(self) -> str:
        if self.met:
            return _("as precise as needed")
        return _("needs %(margin)s", margin=margin_text(self.question, self.margin_needed))

    def _recorded_text(self) -> str:
        recorded = self.figures.recorded_as_chosen
        if recorded is None:
            return _("not as an answer")
        return _("about %(n)s of 100", n=formatting.about_of_100(recorded))

    def _odds_text(self) -> str:
        if not math.isfinite(self.figures.odds_factor):
            return _("without limit")
        return f"× {localize_number(formatting.at_most(self.figures.odds_factor))}"

    def _epsilon_text(self) -> str:
        """Write the epsilon; that of a block once, next to its first question."""
        if self.leads_block is None:
            return epsilon_text(self.question.epsilon)
        if not self.leads_block:
            return _("in the block")
        return _("%(epsilon)s, the block", epsilon=epsilon_text(self.question.epsilon))

    def _spaced_margin(self, margin: float) -> str:
        return margin_text(self.question, margin).replace("±", "± ")

    def _recorded_help(self) -> str:
        """Return what "recorded as chosen" means here, or what a report means if it is not an answer."""
        if self.figures.recorded_as_chosen is not None:
            return _("People whose recorded answer is the one they chose.")
        if not math.isfinite(self.figures.odds_factor):
            return _("What is recorded is not an answer.")
        factor = localize_number(formatting.at_most(self.figures.odds_factor))
        return _(
            "What is sent could come from any answer; it is at most %(factor)s times likelier from a person's own.",
            factor=factor,
        )


def question_plans(draft: Draft, survey: Survey, n: int) -> list[QuestionPlan]:
    """Return the plan of every question of a compiled draft at n answers."""
    plans = []
    for number, (source, question) in enumerate(zip(draft.questions, survey.questions, strict=True)):
        plans.append(
            QuestionPlan(
                question,
                number=number + 1,
                automatic=draft.follows_slider(source),
                figures=plan_of(question, n=n),
                share=share_of_total(question.epsilon, survey.epsilon_total),
                answers_needed=tuple(_answers_for(question, margin) for margin in MARGINS),
                recommended=draft.is_recommended(source),
                margin_needed=draft.margins.get(question.id, draft.margin),
                lock=draft.locks.get(question.id, ""),
                leads_block=_leads_block(survey, question),
            )
        )
    return plans


def share_of_total(epsilon: float, total: float) -> float | None:
    """Return the share of one person's total epsilon; None if the total is unbounded or nothing."""
    if not math.isfinite(total) or total <= 0:
        return None
    return epsilon / total


def _leads_block(survey: Survey, question: Question) -> bool | None:
    block = survey.block_of(question)
    if block is None:
        return None
    return block[1] == 0


def plan_of(question: Question, **target: Any) -> Plan:
    """Return the figures of a question at `n` answers, or at a `margin`."""
    from hushpoll_analysis.planning.margins import plan

    at_most = question.answers.about().get("at_most")
    return plan(
        question.mechanism, level=LEVEL, target=question.answers.optimum[0], at_most=at_most, **target
    )


def margin_at(question: Question, n: int) -> float:
    """Return the margin of a question at n answers, as a share or a part of its range."""
    return plan_of(question, n=n).margin


def _answers_for(question: Question, margin: float) -> int | None:
    from hushpoll_analysis import AnalysisError

    try:
        return plan_of(question, margin=margin).n
    except AnalysisError:
        return None


def at_epsilon(plan: QuestionPlan, epsilon: float) -> Question:
    """Return the question with another epsilon: the recommended mechanism there, or the same one."""
    from hushpoll_analysis.planning.precision import recommended

    question = plan.question
    if plan.recommended:
        mechanism = recommended(question, epsilon)
    else:
        mechanism = question.mechanism.at(epsilon)
    return replace(question, mechanism=mechanism)


def focus_of(plans: Sequence[QuestionPlan], question_id: str | None) -> QuestionPlan:
    """Choose the question whose figures are shown large: the one asked for, else the least precise on the slider."""
    for plan in plans:
        if plan.question.id == question_id:
            return plan
    return max(plans, key=lambda plan: (plan.automatic, plan.figures.margin))
