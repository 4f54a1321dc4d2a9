"""Changes of a plan that protect people more, each with its effect: the buttons of the privacy step."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from flask import current_app, url_for
from hushpoll_client import HushpollError
from hushpoll_client.kind import KINDS
from jinja2.filters import do_truncate

from hushpoll_server.i18n.translation import gettext as _
from hushpoll_server.i18n.translation import localize_number
from hushpoll_server.workspace.drafts.block import Block
from hushpoll_server.workspace.drafts.draft import LARGEST_N, Draft
from hushpoll_server.workspace.drafts.references import ByQuestion
from hushpoll_server.workspace.privacy.epsilon_search import fitted
from hushpoll_server.workspace.privacy.number_text import count_text, epsilon_text
from hushpoll_server.workspace.privacy.protection import Protection, is_weaker, protection_of

if TYPE_CHECKING:
    from hushpoll_analysis.planning.budgets import Budget

FIT = "fit"
"""The remedy that changes nothing but the epsilons."""
DROP = "drop"
"""The remedy that is not offered where the question's answers can be merged."""
GOALS = {"weak": math.log(10), "fair": math.log(3)}
"""The epsilon of one question that the next better tier allows."""
_MOST_TIMES = 20  # a survey of so many times the people is another survey
_WIDEST = 0.25
_MOST_TOGETHER = 10
_LONG = 8
"""Options from which merging is advised instead of dropping the question."""


@dataclass(frozen=True)
class Remedy:
    """A change that a button applies, or, with an address, one that the designer makes there."""

    name: str
    label: str
    effect: str
    draft: Draft | None = None
    address: str = ""

    def as_json(self) -> dict[str, str]:
        """Return what the page needs to draw the button."""
        return {"name": self.name, "label": self.label, "effect": self.effect, "address": self.address}


def remedies(draft: Draft) -> list[Remedy]:
    """Return the changes that would protect people more, each fitted to the margins anew; first the fit itself."""
    plan, budget = fitted(draft)
    now = protection_of(plan.compiled())
    offered = []
    if epsilons(plan) != epsilons(draft):
        label = _("Find the privacy that fits")
        # What else could change is worked out from a plan that fits.
        return [Remedy(FIT, label, _effect(now), plan)]
    for name, label, changed in _changes(plan, budget, now):
        fitted_change, its_budget = fitted(changed)
        protection = protection_of(fitted_change.compiled())
        if its_budget.problems:
            continue
        if budget.problems or _improves(protection, now):
            offered.append(Remedy(name, label, _effect(protection), fitted_change))
        elif protection.total < 0.95 * now.total:
            total = _(
                "One person's total falls from %(before)s to %(after)s."
                " A guess about one answer: at most %(guess)s %%.",
                before=epsilon_text(now.total),
                after=epsilon_text(protection.total),
                guess=protection.guess_text,
            )
            offered.append(Remedy(name, label, total, fitted_change))
    merging = list(_merging(plan, budget))
    if merging:
        offered = [remedy for remedy in offered if remedy.name != DROP]
    return offered + merging


def epsilons(draft: Draft) -> list[str]:
    """Return the epsilons of a draft's questions and blocks, to tell whether two drafts protect alike."""
    own = [str(question.get("mechanism", {}).get("epsilon")) for question in draft.questions]
    return own + [str(block.epsilon) for block in draft.blocks]


def _improves(protection: Protection, now: Protection) -> bool:
    return is_weaker(now.tier, protection.tier) or now.guess - protection.guess >= 0.01


def _effect(protection: Protection) -> str:
    return _(
        "Protection: %(tier)s, a guess of at most %(guess)s %%.",
        tier=protection.word,
        guess=protection.guess_text,
    )


def _changes(plan: Draft, budget: Budget, now: Protection) -> Iterator[tuple[str, str, Draft]]:
    """Yield the name and label of each change, and the changed draft."""
    goal = GOALS.get(now.tier, math.inf)
    people = _more_people(plan, budget, goal)
    if people > plan.expected_n:
        label = _("More people: %(n)s", n=count_text(people))
        yield "people", label, replace(plan, expected_n=people)
    margin = _wider_margin(plan, budget, goal)
    if margin > plan.margin:
        own = ByQuestion({name: max(value, margin) for name, value in plan.margins.items()})
        label = _("Wider margin: ±%(points)s points", points=localize_number(f"{100 * margin:g}"))
        yield "margin", label, replace(plan, margin=margin, margins=own)
    block = _block(plan)
    if block is not None:
        order = plan.order
        label = _(
            "Ask each person %(ask)s of questions %(first)s to %(last)s",
            ask=block.ask,
            first=order.index(block.questions[0]) + 1,
            last=order.index(block.questions[-1]) + 1,
        )
        yield "block", label, plan.with_block(block)
    if len(plan.questions) > 1 and budget.costliest not in plan.blocks.epsilons:
        text = str(plan.questions[plan.order.index(budget.costliest)]["text"])
        label = _(
            "Drop question %(n)s: “%(text)s”",
            n=plan.order.index(budget.costliest) + 1,
            text=do_truncate(current_app.jinja_env, text, 32),
        )
        yield DROP, label, plan.without_question(budget.costliest)


def _more_people(plan: Draft, budget: Budget, goal: float) -> int:
    people = 2 * plan.expected_n
    if math.isfinite(goal):
        for question in budget.questions:
            if question.stated_epsilon is None or question.locked or question.block is not None:
                continue
            people = max(
                people, question.search.answers(question.target_margin, question.search.usable(goal))
            )
        if people > _MOST_TIMES * plan.expected_n:
            people = 2 * plan.expected_n
    step = int(10 ** max(len(str(people)) - 2, 0))
    return min(-(-people // step) * step, LARGEST_N)


def _wider_margin(plan: Draft, budget: Budget, goal: float) -> float:
    wide = 1.5 * plan.margin
    if math.isfinite(goal):
        reached = [
            question.search.margin(plan.expected_n, question.search.usable(goal))
            for question in budget.questions
            if question.stated_epsilon is not None and not question.locked and question.block is None
        ]
        wide = max([plan.margin, *reached])
    # Half points, as people say them.
    wide = math.ceil(200 * wide) / 200
    if wide > _WIDEST:
        return min(math.ceil(300 * plan.margin) / 200, _WIDEST)
    return wide


def _block(plan: Draft) -> Block | None:
    """Return a block of the longest run of questions that one can hold; None where there are not two in a row."""
    from hushpoll_analysis.planning.blocks import plan_block

    runs: list[list[str]] = [[]]
    sizes: dict[str, int] = {}
    for question in plan.questions:
        kind = KINDS[question["kind"]]
        free = plan.is_recommended(question) and question["id"] not in plan.locks
        if (
            free
            and kind.in_blocks
            and plan.rules.of(question["id"]) is None
            and len(runs[-1]) < _MOST_TOGETHER
        ):
            shape = {key: value for key, value in question.items() if key != "mechanism"}
            sizes[question["id"]] = len(kind.read(shape, ("questions",), False).labels)
            runs[-1].append(question["id"])
        else:
            runs.append([])
    members = max(runs, key=len)
    if len(members) < 2:
        return None
    try:
        ask = plan_block([sizes[name] for name in members], plan.epsilon, False).ask
        block = Block(tuple(members), min(ask or 1, len(members) - 1), plan.epsilon)
        plan.with_block(block).compiled()
    except HushpollError:
        return None
    return block


def _merging(plan: Draft, budget: Budget) -> Iterator[Remedy]:
    """Yield the advice to merge answers of the costliest question, where it has a long list of them."""
    costliest = next(question for question in budget.questions if question.id == budget.costliest)
    options = len(costliest.search.question.options)
    if options < _LONG or costliest.locked or costliest.stated_epsilon is None:
        return
    fewer = math.ceil(0.4 * options)
    short = costliest.search.reduced(fewer)
    epsilon = None
    if short is not None:
        epsilon = short.smallest(plan.expected_n, costliest.target_margin)
    if epsilon is None or float(epsilon) >= 0.95 * costliest.epsilon:
        return
    label = _(
        "Merge the %(many)s answers of question %(n)s to %(fewer)s",
        many=options,
        n=costliest.number,
        fewer=fewer,
    )
    odds = math.exp(float(epsilon))
    guess = localize_number(f"{math.ceil(100 * odds / (1 + odds))}")
    effect = _("A guess about its answer: at most %(guess)s %%.", guess=guess)
    address = url_for("workspace.questions.question", draft_id=plan.id, question_id=costliest.id)
    yield Remedy("merge", label, effect, address=address)
