"""The figures of the privacy screen: margin against epsilon, and one person's total among known deployments."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from hushpoll_client import Question, formatting

from hushpoll_server.i18n.translation import gettext as _
from hushpoll_server.i18n.translation import localize_number
from hushpoll_server.workspace.kinds import EDITORS, margin_text
from hushpoll_server.workspace.privacy.number_text import count_text
from hushpoll_server.workspace.privacy.question_plan import QuestionPlan, at_epsilon, plan_of

WARN_FROM = 5.0
"""A total epsilon that the screen warns of."""
# Published by Apple (Differential Privacy Overview): epsilon per person and day.
DEPLOYMENTS = ((2.0, "Apple Health"), (4.0, "Apple emoji"), (16.0, "Apple QuickType"))
# The figures are drawn in these units.
WIDTH, HEIGHT = 640.0, 300.0
LEFT, RIGHT, TOP, BOTTOM = 52.0, 14.0, 14.0, 42.0


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


def margin_curve(focus: QuestionPlan, n: int, margin: float) -> Curve | None:
    """Return the figure of one question; None if its mechanism has no epsilon to vary."""
    from hushpoll_analysis.planning.margins import SLIDER_STOPS

    mechanism = focus.question.mechanism
    if not _can_move(focus):
        return None
    low, high = SLIDER_STOPS[0], SLIDER_STOPS[-1]
    # A channel that has to be computed is at hand for the stops alone.
    epsilons = SLIDER_STOPS
    if mechanism.recompiled:
        epsilons = tuple(low * (high / low) ** (step / 40) for step in range(41))
    plans = [plan_of(at_epsilon(focus, epsilon), n=n) for epsilon in epsilons]
    unit = _unit(focus.question)
    top = _nice_top(max(1.1 * margin, plans[len(plans) // 4].margin))
    y = _y_scale(top)
    here = focus.question.epsilon
    point = needed_y = None
    if low * 0.999 <= here <= high * 1.001:
        point = (_x(here, low, high), y(focus.figures.margin))
    if margin <= top:
        needed_y = y(margin)
    ticks = [
        (y(top * quarter / 4), localize_number(formatting.size_text(top * quarter / 4 * unit, 6)))
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
        point=point,
        needed_y=needed_y,
        x_ticks=tuple((_x(stop, low, high), localize_number(f"{stop:g}")) for stop in SLIDER_STOPS),
        y_ticks=tuple(ticks),
        description=_(
            "Margin at %(n)s answers against epsilon: %(widest)s at %(low)s, falling to %(narrowest)s at %(high)s;"
            " without privacy %(alone)s.",
            n=count_text(n),
            widest=ends[0],
            low=localize_number(f"{low:g}"),
            narrowest=ends[1],
            high=localize_number(f"{high:g}"),
            alone=alone,
        ),
        y_label=_("margin, ± %(unit)s", unit=_unit_name(focus.question)),
    )


def _can_move(focus: QuestionPlan) -> bool:
    """Return whether the question has an epsilon to vary; a channel that came with the document has none."""
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
    if inside:
        return "M" + " L".join(f"{x:.1f} {y:.1f}" for x, y in inside)
    return ""


@dataclass(frozen=True)
class TotalScale:
    """The bar on which one person's total epsilon lies among known deployments."""

    x: float | None
    marks: tuple[tuple[float, str, str], ...]
    warn_x: float


def total_scale(total: float) -> TotalScale:
    """Place a total on a logarithmic bar from 0.1 to 20."""
    low, high = 0.1, 20.0
    marks = tuple(
        (_x(epsilon, low, high), localize_number(f"{epsilon:g}"), name) for epsilon, name in DEPLOYMENTS
    )
    x = None
    if math.isfinite(total):
        x = _x(total, low, high)
    return TotalScale(x, marks, _x(WARN_FROM, low, high))
