"""`hushpoll plan`: number of answers, margin and epsilon, each from the other two."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import click
from hushpoll_client.cli.output import json_option, print_json
from hushpoll_client.formatting import at_least, at_most, brief_text, epsilon_text
from hushpoll_client.mechanism import MECHANISMS

from .parameters import parameter_options, read_parameters
from .plan_survey import only_margin, print_budget, refuse_beside, survey_options

if TYPE_CHECKING:
    from hushpoll_analysis.planning.margins import Plan

# What the planner can build; the planner itself is loaded when the command runs.
PLANNED = [
    mechanism
    for mechanism in MECHANISMS.values()
    if mechanism.in_surveys and (mechanism.recompiled or mechanism.fits == "ordered")
]
TARGETS = ("shares", "mean", "cumulative")


@click.command()
@click.option(
    "--mechanism",
    type=click.Choice([mechanism.name for mechanism in PLANNED]),
    help="How answers are randomized.",
)
@click.option("--options", type=int, metavar="K", help="Number of options (2 unless said otherwise).")
@click.option("--epsilon", type=float, metavar="E", help="Privacy parameter of one answer.")
@click.option("--n", "n", type=int, metavar="N", help="Number of answers expected.")
@click.option(
    "--margin",
    "margins",
    multiple=True,
    metavar="[QUESTION=]M",
    help="Half-width of the interval, as a proportion (.05, not 5). With --survey: of one question, or of all others.",
)
@survey_options
@parameter_options(PLANNED, but=("epsilon",))
@click.option("--at-most", type=int, metavar="C", help="How many options may be ticked (padded).")
@click.option(
    "--target",
    type=click.Choice(TARGETS),
    default=TARGETS[0],
    show_default=True,
    help="What will be reported: each share, the mean, or cumulative shares (4 or more, medians). The margin of a mean "
    "is a part of its range: .05 is 0.2 on a scale from 1 to 5.",
)
@click.option("--level", type=float, default=0.95, show_default=True, help="Confidence level.")
@click.option("--share", type=float, metavar="S", help="True share to plan for; the worst one by default.")
@json_option
def plan(
    mechanism: str | None,
    options: int | None,
    epsilon: float | None,
    n: int | None,
    margins: tuple[str, ...],
    survey: str | None,
    locks: tuple[str, ...],
    at_most: int | None,
    target: str,
    level: float,
    share: float | None,
    as_json: bool,
    **parameters: str | None,
) -> None:
    """Compute the third of --epsilon, --n and --margin from the other two.

    Margins and shares are proportions. A decoy design without --epsilon adds no flip on the device: give --n or
    --margin alone.

    With --survey and --n every question of a survey gets the smallest epsilon that reaches its margin; a locked one
    keeps its lock. The question that costs most is named, with what would help.

    \b
    Examples:
      hushpoll plan --mechanism warner --epsilon 1 --n 1000
      hushpoll plan --mechanism krr --options 5 --n 2000 --margin .05
      hushpoll plan --mechanism subset --options 1000 --epsilon 2 --n 5000
      hushpoll plan --mechanism designed --options 5 --target mean --epsilon 1 --n 1000
      hushpoll plan --survey survey.json --n 500 --margin .08 --margin reason=.1 --lock cheated=3-fold
    """
    if survey is not None:
        beside = [mechanism, options, epsilon, share, at_most, *parameters.values()]
        refuse_beside(beside, target != TARGETS[0])
        print_budget(survey, n, margins, locks, level, as_json)
        return
    if mechanism is None:
        raise click.UsageError("give --mechanism for one question, or --survey for a whole one")
    if locks:
        raise click.UsageError("--lock belongs to --survey; give --epsilon for one question")
    from hushpoll_analysis.planning.margins import plan as make_plan

    known_parameters = read_parameters(MECHANISMS[mechanism], parameters)
    result = make_plan(
        mechanism,
        options,
        epsilon=epsilon,
        n=n,
        margin=only_margin(margins),
        level=level,
        share=share,
        at_most=at_most,
        target=target,
        **known_parameters,
    )
    if as_json:
        print_json(result.to_dict())
    else:
        click.echo(_text(result))


def _points(margin: float, target: str) -> str:
    if target == "mean":
        if margin < 1.0:
            return f"±{brief_text(100.0 * margin)} % of the range"
        return "more than the range, nothing is learnt"
    if margin >= 1.0:
        return "more than ±100 points, nothing is learnt"
    points = brief_text(100.0 * margin)
    if points == "1":
        return "±1 point"
    return f"±{points} points"


_OF = {"cumulative": "of each cumulative share"}


def _text(result: Plan) -> str:
    """Write the plan for people, in points of a hundred."""
    if result.target == TARGETS[0]:
        what = "share"
    elif result.target == "mean":
        what = "mean"
    else:
        what = "distribution"
    if result.share is None:
        worst = f"worst case over the true {what}"
    else:
        worst = f"at a true {what} of {result.share:g}"
    reported = ""
    if result.target in _OF:
        reported = f" {_OF[result.target]}"
    lines: list[tuple[str, Any]] = [
        ("answers", f"{result.n:,}"),
        ("epsilon", epsilon_text(result.epsilon)),
        ("margin", f"{_points(result.margin, result.target)}{reported} ({100 * result.level:g} %, {worst})"),
        ("  without privacy", _points(result.margin_sampling_only, result.target)),
        ("  trusted curator", f"{_points(result.margin_trusted_curator, result.target)} at the same epsilon"),
    ]
    if result.recorded_as_chosen is not None:
        lines.append(
            ("recorded as chosen", f"at least {at_least(100 * result.recorded_as_chosen, 2)} of 100")
        )
    factor = "unbounded"
    if math.isfinite(result.odds_factor):
        factor = f"at most {at_most(result.odds_factor)}"
    lines.append(("odds factor", f"{factor} for somebody who sees one report"))
    if result.epsilon_note:
        lines.append(("note", result.epsilon_note))
    title = f"{result.mechanism}, {result.options} options ({result.solved} computed from the rest)"
    return "\n".join([title, *(f"  {name:<20}{value}" for name, value in lines)])
