"""What would make the costliest question cheaper, each with its figure: fewer options, more people, a wider margin."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import combinations

from hushpoll_client.formatting import at_most, epsilon_text
from hushpoll_client.messages import msg

from .epsilon_search import HIGH_TOTAL, QuestionBudget, krr_needed, margin_words

__all__ = ["remedies"]

_WORTH = 0.95  # advice that leaves more than this part of an epsilon is not given
_MERGED = 0.4  # of a long list: 12 options become 5
_MOST_TOGETHER = 10  # neighbours that are tried as one block


def remedies(
    made: Sequence[QuestionBudget], costliest: QuestionBudget, n: int, total: float
) -> Iterator[str]:
    """Yield what would help, best known first: each line a change and the epsilon that it leads to."""
    if costliest.spent is None:
        yield msg("its mechanism has no epsilon to choose: the recommended one would have")
        return
    goal = _goal(costliest.epsilon, total)
    if costliest.whole is not None:
        yield from _of_block(made, costliest, n, goal)
        return
    if costliest.locked:
        yield from _lower_lock(costliest, n)
        return
    yield from _merging(costliest, n)
    yield from _more_people(costliest, n, goal)
    yield from _wider(costliest, n, goal)
    yield from _together(made, costliest, n)


def _helps(one: QuestionBudget, found: str | None) -> bool:
    """Return whether an epsilon is worth saying: a good deal less, or any where the margin is out of reach as it is."""
    return found is not None and (bool(one.problem) or float(found) <= _WORTH * one.epsilon)


def _lower_lock(one: QuestionBudget, n: int) -> Iterator[str]:
    """Yield what a lock spends beyond what its margin needs."""
    found = one.spender.smallest(n, one.needed)
    if found is not None and float(found) <= _WORTH * one.epsilon:
        yield (
            msg(
                "it is locked at epsilon {lock}; its margin needs epsilon {epsilon} only, and a lock "
                "there would save {saved}",
                lock=_text(str(one.spent)),
                epsilon=_text(found),
                saved=at_most(one.epsilon - float(found)),
            )
        )
    elif found is not None:
        yield msg(
            "it is locked at epsilon {lock}; its margin needs epsilon {epsilon}",
            lock=_text(str(one.spent)),
            epsilon=_text(found),
        )
    yield from _merging(one, n)


def _of_block(
    made: Sequence[QuestionBudget], costliest: QuestionBudget, n: int, goal: float
) -> Iterator[str]:
    """Yield what would make a block cheaper: another number of questions asked, more people, wider margins."""
    whole = costliest.whole
    assert whole is not None
    needed = [one.needed for one in made if one.whole == whole]
    best = whole.best(n, needed)
    if best is not None and best[0] != whole.ask and _helps(costliest, best[1]):
        yield (
            msg(
                "asking each person {ask} of its {count} questions instead of {instead} would need "
                "epsilon {epsilon}",
                ask=best[0],
                count=len(needed),
                instead=whole.ask,
                epsilon=_text(best[1]),
            )
        )
    at = costliest.spender.usable(goal)
    more = _round_up(whole.answers(needed, at))
    found = whole.smallest(more, needed)
    if more > n and found is not None and _helps(costliest, found):
        yield msg(
            "with {more:,} answers instead of {n:,} it would need epsilon {epsilon}",
            more=more,
            n=n,
            epsilon=_text(found),
        )
    wide = math.ceil(200.0 * max(member.margin(n, at) for member in whole.members)) / 200.0
    found = whole.smallest(n, [max(one, wide) for one in needed]) if wide < 0.5 else None
    if found is not None and _helps(costliest, found):
        words = margin_words(costliest.spender.question, wide)
        yield msg(
            "with {words} for all its questions it would need epsilon {epsilon}",
            words=words,
            epsilon=_text(found),
        )


def _goal(epsilon: float, total: float) -> float:
    """Return the epsilon to aim at: what brings the total below the warning, if that is near enough.

    Else two thirds.
    """
    enough = epsilon - (total - 0.99 * HIGH_TOTAL)
    return enough if epsilon / 3.0 <= enough < 0.9 * epsilon else epsilon * 2.0 / 3.0


def _merging(one: QuestionBudget, n: int) -> Iterator[str]:
    rows = len(one.spender.question.options)
    fewer = math.ceil(_MERGED * rows)
    short = one.spender.reduced(fewer) if rows > 3 else None
    found = short.smallest(n, one.needed) if short is not None else None
    if found is not None and _helps(one, found):
        yield msg(
            "merging its {rows:,} answers to {fewer:,} would bring it to epsilon {epsilon}",
            rows=rows,
            fewer=fewer,
            epsilon=_text(found),
        )


def _more_people(one: QuestionBudget, n: int, goal: float) -> Iterator[str]:
    more = _round_up(one.spender.answers(one.needed, one.spender.usable(goal)))
    found = one.spender.smallest(more, one.needed)
    if more > n and found is not None and _helps(one, found):
        yield msg(
            "with {more:,} answers instead of {n:,} it would need epsilon {epsilon}",
            more=more,
            n=n,
            epsilon=_text(found),
        )


def _wider(one: QuestionBudget, n: int, goal: float) -> Iterator[str]:
    # Half points, as somebody would say it.
    wider = math.ceil(200.0 * one.spender.margin(n, one.spender.usable(goal))) / 200.0
    found = one.spender.smallest(n, wider) if wider < 0.5 else None
    if found is not None and _helps(one, found):
        question = one.spender.question
        yield (
            msg(
                "with {wider} instead of {needed} it would need epsilon {epsilon}",
                wider=margin_words(question, wider),
                needed=margin_words(question, one.needed),
                epsilon=_text(found),
            )
        )


def _together(made: Sequence[QuestionBudget], costliest: QuestionBudget, n: int) -> Iterator[str]:
    """Compare asking everybody all of some neighbours with a block, which asks each person a few of them."""
    members = _neighbours(made, costliest)
    if len(members) < 2:
        yield msg("it cannot be asked of fewer people: {reason}", reason=_why_alone(costliest))
        return
    split = sum(member.epsilon for member in members)
    found = [(epsilon, ask) for ask in range(1, len(members)) if (epsilon := _block(members, ask, n))]
    if not found or min(found)[0] > _WORTH * split:
        return
    epsilon, ask = min(found)
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


def _neighbours(made: Sequence[QuestionBudget], costliest: QuestionBudget) -> list[QuestionBudget]:
    """Return the run of questions around the costliest that a block can hold: one answer each, no rule, no decoy."""
    place = made.index(costliest)
    low = high = place
    while low > 0 and _fits(made[low - 1]) and high - low < _MOST_TOGETHER - 1:
        low -= 1
    while high + 1 < len(made) and _fits(made[high + 1]) and high - low < _MOST_TOGETHER - 1:
        high += 1
    return list(made[low : high + 1]) if _fits(costliest) else []


def _why_alone(one: QuestionBudget) -> str:
    """Return why no block can hold the question, which would ask each person some of several."""
    question = one.spender.question
    if question.kind.several or question.answers.steps is not None:
        return msg("a block holds questions with one answer out of a list only")
    if question.after is not None:
        return msg("a block holds no question with a skip rule")
    if question.mechanism.has_decoy:
        return msg("a block holds no harmless question")
    return msg("a block needs a second question beside it that it can hold")


def _fits(one: QuestionBudget) -> bool:
    question = one.spender.question
    kind = question.kind
    by_option = not kind.several and question.answers.steps is None
    free = one.spent is not None and not one.locked and one.whole is None
    return by_option and free and question.after is None and not question.mechanism.has_decoy


def _block(members: Sequence[QuestionBudget], ask: int, n: int) -> float | None:
    """Return the epsilon of a block that asks so many of its members.

    In joint K-ary response over N combinations a member with K answers sees K-ary response of its own, with
    (e^epsilon - 1) K/N + 1 for its ratio; it is asked of n * ask / d people.
    """
    asked = n * ask // len(members)
    needed = [_own_epsilon(member, asked) for member in members]
    if any(one is None for one in needed):
        return None
    most = 0.0
    for drawn in combinations(range(len(members)), ask):
        size = math.prod(_rows(members[place]) for place in drawn)
        for place in drawn:
            own = needed[place]
            assert own is not None
            most = max(most, math.log1p(math.expm1(own) * size / _rows(members[place])))
    return most


def _own_epsilon(one: QuestionBudget, asked: int) -> float | None:
    target = one.spender.question.answers.optimum[0]
    return krr_needed(_rows(one), target, asked, one.needed, one.spender.level)


def _rows(one: QuestionBudget) -> int:
    return len(one.spender.question.labels)


def _text(epsilon: str) -> str:
    return epsilon_text(float(epsilon), 2)


def _round_up(count: int) -> int:
    """Round a number of people up to two digits, as somebody would say it."""
    step = int(10 ** max(len(str(count)) - 2, 0))
    return -(-count // step) * step
