"""What the privacy and accuracy screen shows. Every number comes from `hushpoll_analysis.designing.planning`.

The analysis is imported inside the functions: a worker that only collects never loads it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from hushpoll_client import Mechanism, Question, Survey, words

from .drafts import Draft

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


def points(share: float | None, digits: int = 1) -> str:
    """Write a margin for people: percentage points."""
    if share is None or not math.isfinite(share):
        return "out of reach"
    return f"±{share * 100:.{digits}f} points" if share < 1 else "more than ±100 points"


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

    def texts(self) -> dict[str, str]:
        """Give every figure of the question as the page words it."""
        plan, odds = self.plan, self.plan.odds_factor
        recorded = plan.recorded_as_chosen
        return {
            "mechanism": self.question.mechanism.name,
            "epsilon": epsilon_text(self.question.epsilon),
            "share": f"{self.share * 100:.0f} %" if self.share is not None else "–",
            "margin": points(plan.margin),
            "margin_sampling": points(plan.margin_sampling_only),
            "margin_curator": points(plan.margin_trusted_curator),
            "recorded": f"{words.at_least(100 * recorded, 2)} of 100"
            if recorded is not None
            else "not as an answer",
            "odds": f"× {words.at_most(odds)}" if math.isfinite(odds) else "without limit",
            "needed_5": whole(self.needed[0]),
            "needed_3": whole(self.needed[1]),
        }


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
            )
        )
    return plans


def _plan(question: Question, **target: Any) -> Plan:
    from hushpoll_analysis.designing.planning import plan

    return plan(question.mechanism, level=LEVEL, **target)


def _answers_for(question: Question, margin: float) -> int | None:
    from hushpoll_analysis import AnalysisError

    try:
        return _plan(question, margin=margin).n
    except AnalysisError:
        return None


def _parameters(mechanism: Mechanism) -> dict[str, Any]:
    """Give what the planner needs beside epsilon to build the mechanism anew."""
    return {
        parameter.name: mechanism.parameters[parameter.name]
        for parameter in mechanism.takes
        if parameter.name in mechanism.parameters and parameter.name != "epsilon" and not parameter.alone
    }


def focus_of(plans: Sequence[QuestionPlan], asked: str | None) -> QuestionPlan:
    """Choose the question whose figures are shown large: the one asked for, else the least precise on the slider."""
    for one in plans:
        if one.question.id == asked:
            return one
    return max(plans, key=lambda one: (one.automatic, one.plan.margin))


def needed_epsilon(plans: Sequence[QuestionPlan], n: int, margin: float) -> tuple[str | None, str]:
    """Find the lowest stop at which every question on the slider meets the margin, and say one sentence about it."""
    from hushpoll_analysis import AnalysisError
    from hushpoll_analysis.designing.planning import plan

    automatic = [one for one in plans if one.automatic]
    if not automatic:
        return None, "No question follows the slider: every mechanism is set by hand."
    exact = 0.0
    try:
        for one in automatic:
            question = one.question
            given = _parameters(question.mechanism)
            solved = plan(
                question.mechanism.name, len(question.options), n=n, margin=margin, level=LEVEL, **given
            )
            exact = max(exact, solved.epsilon)
    except AnalysisError:
        return None, _out_of_reach(automatic, n, margin)
    fitting = [stop for stop in stops() if float(stop) >= exact]
    if not fitting:
        return None, (
            f"{points(margin)} with {whole(n)} answers would need epsilon {words.at_most(exact)} per question, beyond"
            " the slider. Ask more people, or accept a wider margin."
        )
    return (
        fitting[0],
        f"{points(margin)} with {whole(n)} answers needs epsilon {words.at_most(exact, 2)} per question or more.",
    )


def _out_of_reach(automatic: Sequence[QuestionPlan], n: int, margin: float) -> str:
    """Say why no epsilon gives the margin: too few people, or a harmless question that costs precision by itself."""
    said = f"{points(margin)} cannot be reached with {whole(n)} answers"
    open_margin = max(one.plan.margin_sampling_only for one in automatic)
    numbers = [str(one.number) for one in automatic if one.question.mechanism.has_decoy]
    if open_margin > margin or not numbers:
        why = f"even without privacy the margin is {points(open_margin)}. Ask more people"
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


def curve(focus: QuestionPlan, n: int, margin: float) -> Curve | None:
    """Draw the figure of one question; None where its mechanism has no epsilon to vary."""
    from hushpoll_analysis.designing.planning import SLIDER_STOPS
    from hushpoll_analysis.designing.planning import curve as plan_curve

    mechanism = focus.question.mechanism
    if not mechanism.recompiled or not mechanism.has_epsilon() or not math.isfinite(mechanism.epsilon):
        return None
    parameters = _parameters(mechanism)
    low, high = SLIDER_STOPS[0], SLIDER_STOPS[-1]
    epsilons = [low * (high / low) ** (step / 40) for step in range(41)]
    plans = plan_curve(
        mechanism.name, len(focus.question.options), n=n, epsilons=epsilons, level=LEVEL, **parameters
    )
    top = _nice_top(max(margin, plans[len(plans) // 4].margin))
    y = _y_scale(top)
    here = focus.question.epsilon
    inside = low * 0.999 <= here <= high * 1.001
    ticks = [(y(top * part / 4), f"{top * part * 25:.3g}") for part in range(5)]
    return Curve(
        line=_path([(_x(one.epsilon, low, high), y(one.margin)) for one in plans]),
        curator=_path([(_x(one.epsilon, low, high), y(one.margin_trusted_curator)) for one in plans]),
        sampling_y=y(plans[0].margin_sampling_only),
        point=(_x(here, low, high), y(focus.plan.margin)) if inside else None,
        needed_y=y(margin) if margin <= top else None,
        x_ticks=tuple((_x(stop, low, high), f"{stop:g}") for stop in SLIDER_STOPS),
        y_ticks=tuple(ticks),
        description=(
            f"Margin at {whole(n)} answers against epsilon: {points(plans[0].margin)} at {low:g}, falling to"
            f" {points(plans[-1].margin)} at {high:g}; without privacy {points(plans[0].margin_sampling_only)}."
        ),
    )


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
