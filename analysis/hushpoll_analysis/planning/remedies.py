"""What would make the costliest question cheaper, each with its figure: fewer options, more people, a wider margin."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import combinations

from hushpoll_client.formatting import at_most, epsilon_text
from hushpoll_client.messages import msg

from .epsilon_search import HIGH_TOTAL, QuestionBudget, krr_needed
from .margin_text import margin_words

_WORTH = 0.95  # advice that leaves more than this part of an epsilon is not given
_MERGED = 0.4  # of a long list: 12 options become 5
_MOST_TOGETHER = 10  # neighbours that are tried as one block


def remedies(
    budgets: Sequence[QuestionBudget], costliest: QuestionBudget, n: int, total: float
) -> Iterator[str]:
    """Yield what would help, best known first: each line a change and the epsilon that it leads to."""
    if costliest.stated_epsilon is None:
        yield msg("its mechanism has no epsilon to choose: the recommended one would have")
        return
    goal = _goal(costliest.epsilon, total)
    if costliest.block is not None:
        yield from _of_block(budgets, costliest, n, goal)
        return
    if costliest.locked:
        yield from _lower_lock(costliest, n)
        return
    yield from _merging(costliest, n)
    yield from _more_people(costliest, n, goal)
    yield from _wider(costliest, n, goal)
    yield from _together(budgets, costliest, n)


def _helps(budget: QuestionBudget, epsilon: str | None) -> bool:
    """Return whether an epsilon is worth saying: a good deal less, or any where the margin is out of reach as it is."""
    return epsilon is not None and (bool(budget.problem) or float(epsilon) <= _WORTH * budget.epsilon)


def _lower_lock(budget: QuestionBudget, n: int) -> Iterator[str]:
    """Yield what a lock spends beyond what its margin needs."""
    epsilon = budget.search.smallest(n, budget.target_margin)
    if epsilon is not None and float(epsilon) <= _WORTH * budget.epsilon:
        yield (
            msg(
                "it is locked at epsilon {lock}; its margin needs epsilon {epsilon} only, and a lock "
                "there would save {saved}",
                lock=_text(str(budget.stated_epsilon)),
                epsilon=_text(epsilon),
                saved=at_most(budget.epsilon - float(epsilon)),
            )
        )
    elif epsilon is not None:
        yield msg(
            "it is locked at epsilon {lock}; its margin needs epsilon {epsilon}",
            lock=_text(str(budget.stated_epsilon)),
            epsilon=_text(epsilon),
        )
    yield from _merging(budget, n)


def _of_block(
    budgets: Sequence[QuestionBudget], costliest: QuestionBudget, n: int, goal: float
) -> Iterator[str]:
    """Yield what would make a block cheaper: another number of questions asked, more people, wider margins."""
    block = costliest.block
    assert block is not None
    margins = [budget.target_margin for budget in budgets if budget.block == block]
    best = block.best(n, margins)
    if best is not None and best[0] != block.ask and _helps(costliest, best[1]):
        yield (
            msg(
                "asking each person {ask} of its {count} questions instead of {instead} would need "
                "epsilon {epsilon}",
                ask=best[0],
                count=len(margins),
                instead=block.ask,
                epsilon=_text(best[1]),
            )
        )
    at = costliest.search.usable(goal)
    more = _round_up(block.answers(margins, at))
    epsilon = block.smallest(more, margins)
    if more > n and epsilon is not None and _helps(costliest, epsilon):
        yield msg(
            "with {more:,} answers instead of {n:,} it would need epsilon {epsilon}",
            more=more,
            n=n,
            epsilon=_text(epsilon),
        )
    wide = math.ceil(200.0 * max(member.margin(n, at) for member in block.members)) / 200.0
    epsilon = None
    if wide < 0.5:
        epsilon = block.smallest(n, [max(margin, wide) for margin in margins])
    if epsilon is not None and _helps(costliest, epsilon):
        words = margin_words(costliest.search.question, wide)
        yield msg(
            "with {words} for all its questions it would need epsilon {epsilon}",
            words=words,
            epsilon=_text(epsilon),
        )


def _goal(epsilon: float, total: float) -> float:
    """Return the epsilon to aim at: what brings the total below the warning, if that is near enough.

    Else two thirds.
    """
    enough = epsilon - (total - 0.99 * HIGH_TOTAL)
    if epsilon / 3.0 <= enough < 0.9 * epsilon:
        return enough
    return epsilon * 2.0 / 3.0


def _merging(budget: QuestionBudget, n: int) -> Iterator[str]:
    rows = len(budget.search.question.options)
    fewer = math.ceil(_MERGED * rows)
    short = None
    if rows > 3:
        short = budget.search.reduced(fewer)
    epsilon = None
    if short is not None:
        epsilon = short.smallest(n, budget.target_margin)
    if epsilon is not None and _helps(budget, epsilon):
        yield msg(
            "merging its {rows:,} answers to {fewer:,} would bring it to epsilon {epsilon}",
            rows=rows,
            fewer=fewer,
            epsilon=_text(epsilon),
        )


def _more_people(budget: QuestionBudget, n: int, goal: float) -> Iterator[str]:
    more = _round_up(budget.search.answers(budget.target_margin, budget.search.usable(goal)))
    epsilon = budget.search.smallest(more, budget.target_margin)
    if more > n and epsilon is not None and _helps(budget, epsilon):
        yield msg(
            "with {more:,} answers instead of {n:,} it would need epsilon {epsilon}",
            more=more,
            n=n,
            epsilon=_text(epsilon),
        )


def _wider(budget: QuestionBudget, n: int, goal: float) -> Iterator[str]:
    # Half points, as somebody would say it.
    wider = math.ceil(200.0 * budget.search.margin(n, budget.search.usable(goal))) / 200.0
    epsilon = None
    if wider < 0.5:
        epsilon = budget.search.smallest(n, wider)
    if epsilon is not None and _helps(budget, epsilon):
        question = budget.search.question
        yield (
            msg(
                "with {wider} instead of {needed} it would need epsilon {epsilon}",
                wider=margin_words(question, wider),
                needed=margin_words(question, budget.target_margin),
                epsilon=_text(epsilon),
            )
        )


def _together(budgets: Sequence[QuestionBudget], costliest: QuestionBudget, n: int) -> Iterator[str]:
    """Compare asking all people all of some neighbours with a block, which asks each person a few of them."""
    members = _neighbours(budgets, costliest)
    if len(members) < 2:
        yield msg("it cannot be asked of fewer people: {reason}", reason=_why_alone(costliest))
        return
    split = sum(member.epsilon for member in members)
    blocks = [(epsilon, ask) for ask in range(1, len(members)) if (epsilon := _block(members, ask, n))]
    if not blocks or min(blocks)[0] > _WORTH * split:
        return
    epsilon, ask = min(blocks)
    yield (
        msg(
            "asking each person only {ask} of the questions {first} to {last}, drawn by a coin (a "
            "block), would need epsilon {epsilon} for all of them instead of {split}",
            ask=ask,
            first=members[0].number,
            last=members[-1].number,
            epsilon=at_most(epsilon),
            split=epsilon_text(split, 2),
        )
    )


def _neighbours(budgets: Sequence[QuestionBudget], costliest: QuestionBudget) -> list[QuestionBudget]:
    """Return the run of questions around the costliest that a block can hold: one answer each, no rule, no decoy."""
    index = budgets.index(costliest)
    low = high = index
    while low > 0 and _fits(budgets[low - 1]) and high - low < _MOST_TOGETHER - 1:
        low -= 1
    while high + 1 < len(budgets) and _fits(budgets[high + 1]) and high - low < _MOST_TOGETHER - 1:
        high += 1
    if _fits(costliest):
        return list(budgets[low : high + 1])
    return []


def _why_alone(budget: QuestionBudget) -> str:
    """Return why no block can hold the question, which would ask each person some of several."""
    question = budget.search.question
    if question.kind.several or question.answers.steps is not None:
        return msg("a block holds questions with one answer out of a list only")
    if question.after is not None:
        return msg("a block holds no question with a skip rule")
    if question.mechanism.has_decoy:
        return msg("a block holds no harmless question")
    return msg("a block needs a second question beside it that it can hold")


def _fits(budget: QuestionBudget) -> bool:
    question = budget.search.question
    kind = question.kind
    by_option = not kind.several and question.answers.steps is None
    free = budget.stated_epsilon is not None and not budget.locked and budget.block is None
    return by_option and free and question.after is None and not question.mechanism.has_decoy


def _block(members: Sequence[QuestionBudget], ask: int, n: int) -> float | None:
    """Return the epsilon of a block that asks `ask` of its members.

    In joint K-ary response over N combinations a member with K answers sees K-ary response itself, with
    (e^epsilon - 1) K/N + 1 for its ratio; it is asked of n * ask / d people.
    """
    respondents = n * ask // len(members)
    own_epsilons = [_own_epsilon(member, respondents) for member in members]
    if any(epsilon is None for epsilon in own_epsilons):
        return None
    most = 0.0
    for subset in combinations(range(len(members)), ask):
        size = math.prod(_rows(members[index]) for index in subset)
        for index in subset:
            own_epsilon = own_epsilons[index]
            assert own_epsilon is not None
            most = max(most, math.log1p(math.expm1(own_epsilon) * size / _rows(members[index])))
    return most


def _own_epsilon(budget: QuestionBudget, respondents: int) -> float | None:
    target = budget.search.question.answers.optimum[0]
    return krr_needed(_rows(budget), target, respondents, budget.target_margin, budget.search.level)


def _rows(budget: QuestionBudget) -> int:
    return len(budget.search.question.labels)


def _text(epsilon: str) -> str:
    return epsilon_text(float(epsilon), 2)


def _round_up(count: int) -> int:
    """Round a number of people up to two digits."""
    step = int(10 ** max(len(str(count)) - 2, 0))
    return -(-count // step) * step
