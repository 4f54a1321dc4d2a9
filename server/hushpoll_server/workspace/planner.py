"""What the privacy and accuracy screen shows. Every number comes from `hushpoll_analysis.designing.planning`.

The analysis is imported inside the functions: a worker that only collects never loads it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from hushpoll_client import Question, Survey, words

from .drafts import Draft
from .kinds import EDITORS, margin_text, points

if TYPE_CHECKING:
    from hushpoll_analysis.designing.planning import Plan

LEVEL = 0.95
WARN_FROM = 5.0
NEEDED = (0.05, 0.03)
# Published by Apple (Differential Privacy Overview): epsilon per person and day.
DEPLOYMENTS = ((2.0, "Apple Health"), (4.0, "Apple emoji"), (16.0, "Apple QuickType"))

# The figures are drawn in these units.
WIDTH, HEIGHT = 640.0, 300.0
LEFT, RIGHT, TOP, BOTTOM = 52.0, 14.0, 14.0, 42.0


def stops() -> tuple[str, ...]:
    """Give the slider's stops, spelled as the survey document spells numbers."""
    from hushpoll_analysis.designing.planning import SLIDER_STOPS

    return tuple(f"{stop:g}" for stop in SLIDER_STOPS)


def epsilon_text(epsilon: float) -> str:
    """Write an epsilon for people: a bound, so rounded up."""
    return words.epsilon_text(epsilon, 2)


def whole(number: int | None) -> str:
    """Write a count for people."""
    return f"{number:,}" if number is not None else "out of reach"


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

    @property
    def reported(self) -> str:
        """What will be reported of the question."""
        return EDITORS[self.question.kind.name].reported(self.question)

    def texts(self) -> dict[str, str]:
        """Give every figure of the question as the page words it."""
        plan, odds = self.plan, self.plan.odds_factor
        recorded = plan.recorded_as_chosen
        return {
            "mechanism": self.question.mechanism.name,
            "epsilon": epsilon_text(self.question.epsilon),
            "share": f"{self.share * 100:.0f} %" if self.share is not None else "–",
            "margin": margin_text(self.question, plan.margin),
            "margin_sampling": margin_text(self.question, plan.margin_sampling_only),
            "margin_curator": margin_text(self.question, plan.margin_trusted_curator),
            "recorded": f"{words.at_least(100 * recorded, 2)} of 100"
            if recorded is not None
            else "not as an answer",
            "recorded_help": self._recorded_help(),
            "odds": f"× {words.at_most(odds)}" if math.isfinite(odds) else "without limit",
            "needed_5": whole(self.needed[0]),
            "needed_3": whole(self.needed[1]),
            "needed_5_for": f"Answers for {self._needed_text(NEEDED[0])}",
            "needed_3_for": f"Answers for {self._needed_text(NEEDED[1])}",
        }

    def _needed_text(self, margin: float) -> str:
        return margin_text(self.question, margin).replace("±", "± ").replace(".0 ", " ")

    def _recorded_help(self) -> str:
        """Say what "recorded as chosen" means here; where reports are no answers, what a report tells instead."""
        if self.plan.recorded_as_chosen is not None:
            return "People whose recorded answer is the one they chose."
        if not math.isfinite(self.plan.odds_factor):
            return "What is recorded is no answer."
        factor = words.at_most(self.plan.odds_factor)
        return f"What is sent could come from any answer; it is at most {factor} times likelier from a person's own."


def question_plans(draft: Draft, survey: Survey, n: int) -> list[QuestionPlan]:
    """Give the plan of every question of a compiled draft at n answers."""
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
                source is None or "name" not in source["mechanism"],
            )
        )
    return plans


def _plan(question: Question, **target: Any) -> Plan:
    from hushpoll_analysis.designing.planning import plan

    at_most = question.answers.about().get("at_most")
    return plan(
        question.mechanism, level=LEVEL, target=question.answers.optimum[0], at_most=at_most, **target
    )


def margin_at(question: Question, n: int) -> float:
    """Give the margin of a question at n answers, as a share or a part of its range."""
    return _plan(question, n=n).margin


def _answers_for(question: Question, margin: float) -> int | None:
    from hushpoll_analysis import AnalysisError

    try:
        return _plan(question, margin=margin).n
    except AnalysisError:
        return None


def _moved(one: QuestionPlan, epsilon: float) -> Question:
    """Give the question with another epsilon: the recommended mechanism there, or the same one."""
    from hushpoll_analysis.designing.designs import recommended

    question = one.question
    made = recommended(question, epsilon) if one.recommended else question.mechanism.at(epsilon)
    return replace(question, mechanism=made)


def focus_of(plans: Sequence[QuestionPlan], asked: str | None) -> QuestionPlan:
    """Choose the question whose figures are shown large: the one asked for, else the least precise on the slider."""
    for one in plans:
        if one.question.id == asked:
            return one
    return max(plans, key=lambda one: (one.automatic, one.plan.margin))


def needed_epsilon(plans: Sequence[QuestionPlan], n: int, margin: float) -> tuple[str | None, str]:
    """Find the lowest stop at which every question on the slider meets the margin, and say one sentence about it."""
    automatic = [one for one in plans if one.automatic]
    if not automatic:
        return None, "No question follows the slider: every mechanism is set by hand."
    wanted, listed = _wanted(automatic, margin), stops()
    if all(one.question.mechanism.recompiled for one in automatic):
        exact = max(_exact_epsilon(one, n, margin) for one in automatic)
        if math.isinf(exact):
            return None, _out_of_reach(automatic, n, margin)
        found = next((stop for stop in listed if float(stop) >= exact), None)
        if found is None:
            return None, (
                f"{wanted} with {whole(n)} answers would need epsilon {words.at_most(exact)} per question, beyond"
                " the slider. Ask more people, or accept a wider margin."
            )
        return (
            found,
            f"{wanted} with {whole(n)} answers needs epsilon {words.at_most(exact, 2)} per question or more.",
        )
    # Channels that are computed are at hand for the stops, so these are tried one after the other.
    for stop in listed:
        if all(margin_at(_moved(one, float(stop)), n) <= margin for one in automatic):
            said = f"{wanted} with {whole(n)} answers needs epsilon {stop} per question, the lowest stop that does."
            return stop, said
    return None, _out_of_reach(automatic, n, margin)


def _wanted(automatic: Sequence[QuestionPlan], margin: float) -> str:
    """Write the needed margin in the unit that all questions share, else in points and percent."""
    written = {margin_text(one.question, margin) for one in automatic}
    return (
        written.pop()
        if len(written) == 1
        else f"{points(margin)} (averages: {margin * 100:g} % of the range)"
    )


def _exact_epsilon(one: QuestionPlan, n: int, margin: float) -> float:
    """Find the lowest epsilon that gives the margin, by bisection on its logarithm; infinity where none does."""
    low, high = math.log(0.001), math.log(20)
    if margin_at(_moved(one, math.exp(high)), n) > margin:
        return math.inf
    while high - low > 1e-7:
        middle = (low + high) / 2
        fits = margin_at(_moved(one, math.exp(middle)), n) <= margin
        low, high = (low, middle) if fits else (middle, high)
    return math.exp(high)


def _out_of_reach(automatic: Sequence[QuestionPlan], n: int, margin: float) -> str:
    """Why no epsilon gives the margin: too few people, or a harmless question that costs precision by itself."""
    said = f"{_wanted(automatic, margin)} cannot be reached with {whole(n)} answers"
    widest = max(automatic, key=lambda one: one.plan.margin_sampling_only)
    open_margin = widest.plan.margin_sampling_only
    numbers = [str(one.number) for one in automatic if one.question.mechanism.has_decoy]
    if open_margin > margin:
        why = (
            f"even without privacy the margin is {margin_text(widest.question, open_margin)}. Ask more people"
        )
    elif not numbers:
        why = "it would need more epsilon than the slider offers. Ask more people"
    else:
        named = f"question {numbers[0]}" if len(numbers) == 1 else f"questions {', '.join(numbers)}"
        why = (
            f"the harmless question of {named} takes more precision than that at any epsilon. Choose"
            " “Recommended” for its mechanism, ask more people"
        )
    return f"{said}: {why}, or accept a wider margin."


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
    from hushpoll_analysis.designing.planning import SLIDER_STOPS

    mechanism = focus.question.mechanism
    if not _can_move(focus):
        return None
    low, high = SLIDER_STOPS[0], SLIDER_STOPS[-1]
    # A channel that has to be computed is at hand for the stops alone.
    fine = [low * (high / low) ** (step / 40) for step in range(41)]
    epsilons = fine if mechanism.recompiled else SLIDER_STOPS
    plans = [_plan(_moved(focus, one), n=n) for one in epsilons]
    unit = _unit(focus.question)
    top = _nice_top(max(1.1 * margin, plans[len(plans) // 4].margin))
    y = _y_scale(top)
    here = focus.question.epsilon
    inside = low * 0.999 <= here <= high * 1.001
    ticks = [(y(top * part / 4), f"{top * part / 4 * unit:.3g}") for part in range(5)]
    ends = [margin_text(focus.question, one) for one in (plans[0].margin, plans[-1].margin)]
    alone = margin_text(focus.question, plans[0].margin_sampling_only)
    return Curve(
        line=_path([(_x(one.epsilon, low, high), y(one.margin)) for one in plans]),
        curator=_path([(_x(one.epsilon, low, high), y(one.margin_trusted_curator)) for one in plans]),
        sampling_y=y(plans[0].margin_sampling_only),
        point=(_x(here, low, high), y(focus.plan.margin)) if inside else None,
        needed_y=y(margin) if margin <= top else None,
        x_ticks=tuple((_x(stop, low, high), f"{stop:g}") for stop in SLIDER_STOPS),
        y_ticks=tuple(ticks),
        description=(
            f"Margin at {whole(n)} answers against epsilon: {ends[0]} at {low:g}, falling to {ends[1]} at {high:g};"
            f" without privacy {alone}."
        ),
        y_label=f"margin, ± {_unit_name(focus.question)}",
    )


def _can_move(focus: QuestionPlan) -> bool:
    """Tell whether the question has an epsilon to vary: not where its table came with the document."""
    mechanism = focus.question.mechanism
    if not mechanism.has_epsilon() or not math.isfinite(mechanism.epsilon):
        return False
    return mechanism.recompiled or focus.recommended


def _unit(question: Question) -> float:
    """Give what a margin of 1 is in the figure's unit: 100 points, or the range of an average."""
    values = question.answers.values
    if values is None or question.answers.optimum[0] != "mean":
        return 100.0
    return float(values[-1] - values[0])


def _unit_name(question: Question) -> str:
    return margin_text(question, 0.5).partition(" ")[2] or "in its unit"


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
    marks = tuple((_x(epsilon, low, high), f"{epsilon:g}", name) for epsilon, name in DEPLOYMENTS)
    return TotalScale(_x(total, low, high) if math.isfinite(total) else None, marks, _x(WARN_FROM, low, high))


def total_text(survey: Survey) -> tuple[str, str]:
    """Give the total of one person, and what to think of it ("" where there is nothing to warn of)."""
    total = survey.epsilon_total
    open_ones = [number for number, one in enumerate(survey.questions, 1) if not math.isfinite(one.epsilon)]
    if open_ones:
        named = ", ".join(str(number) for number in open_ones)
        return "unbounded", (
            f"Question {named} has no finite epsilon: one of its reports reveals an answer. Give it an epsilon to"
            " add a coin on the device, or be sure that what it reveals is harmless."
        )
    if total >= WARN_FROM:
        return epsilon_text(total), (
            f"A total of {epsilon_text(total)} lets one person's whole report multiply an onlooker's odds by up to"
            f" {words.factor_text(total)}. Ask fewer questions, or move the slider toward privacy."
        )
    return epsilon_text(total), ""
