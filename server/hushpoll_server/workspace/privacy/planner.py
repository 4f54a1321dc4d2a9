"""What the privacy and accuracy screen shows. Every number comes from `hushpoll_analysis.planning.margins`.

The analysis is imported inside the functions: a worker that only collects never loads it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from hushpoll_client import Question, Survey, formatting

from hushpoll_server.fields import sentence, together
from hushpoll_server.i18n.translation import gettext as _
from hushpoll_server.i18n.translation import in_digits, in_words, ngettext
from hushpoll_server.workspace.drafts.draft import Draft
from hushpoll_server.workspace.kinds import EDITORS, margin_text

if TYPE_CHECKING:
    from hushpoll_analysis.planning.budgets import Budget
    from hushpoll_analysis.planning.margins import Plan


LEVEL = 0.95
WARN_FROM = 5.0
NEEDED = (0.05, 0.03)
# Published by Apple (Differential Privacy Overview): epsilon per person and day.
DEPLOYMENTS = ((2.0, "Apple Health"), (4.0, "Apple emoji"), (16.0, "Apple QuickType"))
# The figures are drawn in these units.
WIDTH, HEIGHT = 640.0, 300.0
LEFT, RIGHT, TOP, BOTTOM = 52.0, 14.0, 14.0, 42.0


def stops() -> tuple[str, ...]:
    """Return the slider's stops, spelled as the survey document spells numbers."""
    from hushpoll_analysis.planning.margins import SLIDER_STOPS

    return tuple(f"{stop:g}" for stop in SLIDER_STOPS)


def epsilon_text(epsilon: float) -> str:
    """Write an epsilon for people: a bound, so rounded up."""
    return in_digits(formatting.epsilon_text(epsilon, 2))


def whole(number: int | None) -> str:
    """Write a count for people."""
    return in_digits(f"{number:,}") if number is not None else _("out of reach")


@dataclass(frozen=True)
class QuestionPlan:
    """One question at the expected number of answers."""

    question: Question
    number: int
    automatic: bool
    plan: Plan
    share: float | None
    needed: tuple[int | None, ...]
    recommended: bool = True
    """Whether its mechanism is the recommended one, which may change with the epsilon."""
    wanted: float = 0.05
    """The margin that it needs."""
    lock: str = ""
    """The protection that it keeps, as it was typed."""
    leads_block: bool | None = None
    """In a block, whether it is the first question, beside which the block's epsilon stands; None outside."""

    @property
    def by_hand(self) -> bool:
        """Whether nothing but the editor moves it: neither the slider nor the search for the smallest epsilon."""
        return not self.automatic and self.leads_block is None

    @property
    def met(self) -> bool:
        """Whether it is as precise as is needed."""
        return self.plan.margin <= self.wanted * 1.0005

    @property
    def reported(self) -> str:
        """What will be reported of the question."""
        return EDITORS[self.question.kind.name].whose(self.question)

    def texts(self) -> dict[str, str]:
        """Return every figure of the question as the page words it."""
        plan, odds = self.plan, self.plan.odds_factor
        recorded = plan.recorded_as_chosen
        return {
            "mechanism": self.question.mechanism.name,
            "epsilon": self._epsilon_text(),
            "share": in_digits(f"{self.share * 100:.0f} %")
            if self.share is not None and self.leads_block is not False
            else "–",
            "margin": margin_text(self.question, plan.margin),
            "wanted": margin_text(self.question, self.wanted),
            "state": _("as precise as needed")
            if self.met
            else _("needs %(margin)s", margin=margin_text(self.question, self.wanted)),
            "margin_sampling": margin_text(self.question, plan.margin_sampling_only),
            "margin_curator": margin_text(self.question, plan.margin_trusted_curator),
            "recorded": _("about %(n)s of 100", n=formatting.about_of_100(recorded))
            if recorded is not None
            else _("not as an answer"),
            "recorded_help": self._recorded_help(),
            "odds": f"× {in_digits(formatting.at_most(odds))}" if math.isfinite(odds) else _("without limit"),
            "needed_5": whole(self.needed[0]),
            "needed_3": whole(self.needed[1]),
            "needed_5_for": _("Answers for %(margin)s", margin=self._needed_text(NEEDED[0])),
            "needed_3_for": _("Answers for %(margin)s", margin=self._needed_text(NEEDED[1])),
        }

    def _epsilon_text(self) -> str:
        """Write the epsilon; that of a block once, next to its first question."""
        if self.leads_block is None:
            return epsilon_text(self.question.epsilon)
        if not self.leads_block:
            return _("in the block")
        return _("%(epsilon)s, the block", epsilon=epsilon_text(self.question.epsilon))

    def _needed_text(self, margin: float) -> str:
        return margin_text(self.question, margin).replace("±", "± ")

    def _recorded_help(self) -> str:
        """Return what "recorded as chosen" means here; where reports are not answers, what a report tells instead."""
        if self.plan.recorded_as_chosen is not None:
            return _("People whose recorded answer is the one they chose.")
        if not math.isfinite(self.plan.odds_factor):
            return _("What is recorded is not an answer.")
        factor = in_digits(formatting.at_most(self.plan.odds_factor))
        return _(
            "What is sent could come from any answer; it is at most %(factor)s times likelier from a person's own.",
            factor=factor,
        )


def question_plans(draft: Draft, survey: Survey, n: int) -> list[QuestionPlan]:
    """Return the plan of every question of a compiled draft at n answers."""
    total = survey.epsilon_total
    bounded = math.isfinite(total) and total > 0
    plans = []
    for number, question in enumerate(survey.questions):
        source = draft.question(question.id)
        plans.append(
            QuestionPlan(
                question,
                number + 1,
                source is not None and draft.follows_slider(source),
                _plan(question, n=n),
                question.epsilon / total if bounded else None,
                tuple(_answers_for(question, margin) for margin in NEEDED),
                source is None or draft.is_recommended(source),
                draft.margins.get(question.id, draft.margin),
                draft.locks.get(question.id, ""),
                None if survey.block_of(question) is None else survey.block_of(question)[1] == 0,  # type: ignore[index]
            )
        )
    return plans


def _plan(question: Question, **target: Any) -> Plan:
    from hushpoll_analysis.planning.margins import plan

    at_most = question.answers.about().get("at_most")
    return plan(
        question.mechanism, level=LEVEL, target=question.answers.optimum[0], at_most=at_most, **target
    )


def margin_at(question: Question, n: int) -> float:
    """Return the margin of a question at n answers, as a share or a part of its range."""
    return _plan(question, n=n).margin


def _answers_for(question: Question, margin: float) -> int | None:
    from hushpoll_analysis import AnalysisError

    try:
        return _plan(question, margin=margin).n
    except AnalysisError:
        return None


def _moved(plan: QuestionPlan, epsilon: float) -> Question:
    """Return the question with another epsilon: the recommended mechanism there, or the same one."""
    from hushpoll_analysis.planning.precision import recommended

    question = plan.question
    mechanism = recommended(question, epsilon) if plan.recommended else question.mechanism.at(epsilon)
    return replace(question, mechanism=mechanism)


def focus_of(plans: Sequence[QuestionPlan], question_id: str | None) -> QuestionPlan:
    """Choose the question whose figures are shown large: the one asked for, else the least precise on the slider."""
    for plan in plans:
        if plan.question.id == question_id:
            return plan
    return max(plans, key=lambda plan: (plan.automatic, plan.plan.margin))


def solve(draft: Draft, survey: Survey, designs: int = 0) -> Budget:
    """Find the smallest epsilon of every question and block that the plan may set; locked ones keep their lock.

    While somebody types, channels that are long to compute stand at the slider's stops; `designs` of them are computed
    in between where somebody asks for it.
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


def advice(budget: Budget) -> str:
    """Return in one sentence what the margins need."""
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
    n = whole(budget.n)
    if len(moved) == 1 and moved[0].block is None:
        margin = margin_text(moved[0].search.question, moved[0].target_margin)
        return _(
            "%(margin)s with %(n)s answers needs epsilon %(epsilon)s for %(question)s.",
            margin=margin,
            n=n,
            epsilon=epsilon_text(moved[0].epsilon),
            question=in_words(moved[0].name),
        )
    epsilons = ", ".join(
        _(
            "%(epsilon)s for %(question)s",
            epsilon=epsilon_text(spender.epsilon),
            question=in_words(spender.payer),
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


def _x(epsilon: float, low: float, high: float) -> float:
    reach = math.log(high / low)
    return LEFT + (WIDTH - LEFT - RIGHT) * math.log(min(max(epsilon, low), high) / low) / reach


@dataclass(frozen=True)
class Curve:
    """The margin-against-epsilon figure, in drawing units."""

    line: str
    curator: str
    sampling_y: float
    point: tuple[float, float] | None
    needed_y: float | None
    x_ticks: tuple[tuple[float, str], ...]
    y_ticks: tuple[tuple[float, str], ...]
    description: str
    y_label: str


def curve(focus: QuestionPlan, n: int, margin: float) -> Curve | None:
    """Draw the figure of one question; None where its mechanism has no epsilon to vary."""
    from hushpoll_analysis.planning.margins import SLIDER_STOPS

    mechanism = focus.question.mechanism
    if not _can_move(focus):
        return None
    low, high = SLIDER_STOPS[0], SLIDER_STOPS[-1]
    # A channel that has to be computed is at hand for the stops alone.
    fine = [low * (high / low) ** (step / 40) for step in range(41)]
    epsilons = fine if mechanism.recompiled else SLIDER_STOPS
    plans = [_plan(_moved(focus, epsilon), n=n) for epsilon in epsilons]
    unit = _unit(focus.question)
    top = _nice_top(max(1.1 * margin, plans[len(plans) // 4].margin))
    y = _y_scale(top)
    here = focus.question.epsilon
    inside = low * 0.999 <= here <= high * 1.001
    ticks = [
        (y(top * quarter / 4), in_digits(formatting.size_text(top * quarter / 4 * unit, 6)))
        for quarter in range(5)
    ]
    ends = [
        margin_text(focus.question, margin_at_end) for margin_at_end in (plans[0].margin, plans[-1].margin)
    ]
    alone = margin_text(focus.question, plans[0].margin_sampling_only)
    return Curve(
        line=_path([(_x(plan.epsilon, low, high), y(plan.margin)) for plan in plans]),
        curator=_path([(_x(plan.epsilon, low, high), y(plan.margin_trusted_curator)) for plan in plans]),
        sampling_y=y(plans[0].margin_sampling_only),
        point=(_x(here, low, high), y(focus.plan.margin)) if inside else None,
        needed_y=y(margin) if margin <= top else None,
        x_ticks=tuple((_x(stop, low, high), in_digits(f"{stop:g}")) for stop in SLIDER_STOPS),
        y_ticks=tuple(ticks),
        description=_(
            "Margin at %(n)s answers against epsilon: %(widest)s at %(low)s, falling to %(narrowest)s at %(high)s;"
            " without privacy %(alone)s.",
            n=whole(n),
            widest=ends[0],
            low=in_digits(f"{low:g}"),
            narrowest=ends[1],
            high=in_digits(f"{high:g}"),
            alone=alone,
        ),
        y_label=_("margin, ± %(unit)s", unit=_unit_name(focus.question)),
    )


def _can_move(focus: QuestionPlan) -> bool:
    """Return whether the question has an epsilon to vary: not where its table came with the document."""
    mechanism = focus.question.mechanism
    if not math.isfinite(mechanism.epsilon) or not (mechanism.has_epsilon() or focus.leads_block is not None):
        return False
    return mechanism.recompiled or focus.recommended


def _unit(question: Question) -> float:
    """Return what a margin of 1 is in the figure's unit: 100 points, or the range of an average."""
    values = question.answers.values
    if values is None or question.answers.optimum[0] != "mean":
        return 100.0
    return float(values[-1] - values[0])


def _unit_name(question: Question) -> str:
    return EDITORS[question.kind.name].unit(question) or _("in its unit")


def _nice_top(value: float) -> float:
    for top in (0.04, 0.08, 0.12, 0.2, 0.4, 0.6, 1.0):
        if value <= top:
            return top
    return 1.0


def _y_scale(top: float) -> Callable[[float], float]:
    height = HEIGHT - TOP - BOTTOM
    return lambda margin: round(TOP + height * (1 - min(margin / top, 1.04)), 2)


def _path(spots: Sequence[tuple[float, float]]) -> str:
    # Where the curve leaves the figure at the top it is cut, not flattened along the edge.
    inside = [spot for spot in spots if spot[1] >= TOP - 8]
    return "M" + " L".join(f"{x:.1f} {y:.1f}" for x, y in inside) if inside else ""


@dataclass(frozen=True)
class TotalScale:
    """The bar on which one person's total epsilon lies among known deployments."""

    x: float | None
    marks: tuple[tuple[float, str, str], ...]
    warn_x: float


def total_scale(total: float) -> TotalScale:
    """Place a total on a logarithmic bar from 0.1 to 20."""
    low, high = 0.1, 20.0
    marks = tuple((_x(epsilon, low, high), in_digits(f"{epsilon:g}"), name) for epsilon, name in DEPLOYMENTS)
    return TotalScale(_x(total, low, high) if math.isfinite(total) else None, marks, _x(WARN_FROM, low, high))


def total_text(survey: Survey) -> tuple[str, str]:
    """Return the total of one person, and what to think of it ("" where there is nothing to warn of)."""
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
            factor=in_digits(formatting.factor_text(total)),
        )
    return epsilon_text(total), ""
