"""One person's budget: what each question of a survey may cost, and what would make it cheaper."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from hushpoll_client import Survey
from hushpoll_client.words import at_most, epsilon_text

from hushpoll_analysis.errors import AnalysisError

from .designs import read_number, read_whole
from .remedies import remedies
from .spending import HIGH_TOTAL, QuestionBudget, Spender, margin_words, read_lock

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["HIGH_TOTAL", "NEEDED", "Budget", "QuestionBudget", "budget"]

NEEDED = 0.05
"""The margin of a question for which nothing else is said."""


@dataclass(frozen=True)
class Budget:
    """All questions of a survey at n answers.

    Attributes
    ----------
    total : float
        One person's epsilon; infinite when some question has none.
    costliest : str
        The id of the question that spends most.
    advice : tuple of str
        What the costliest one spends, and what would help, with figures.
    problems : tuple of str
        Margins that are out of reach.
    """

    n: int
    questions: tuple[QuestionBudget, ...]
    total: float
    costliest: str
    advice: tuple[str, ...]
    problems: tuple[str, ...]

    @property
    def too_high(self) -> bool:
        """Whether one person's total is one to warn of."""
        return self.total >= HIGH_TOTAL

    def to_dict(self) -> dict[str, Any]:
        """Give it as JSON values: None stands for unbounded."""
        return {
            "n": self.n,
            "questions": [one.to_dict() for one in self.questions],
            "epsilon_total": self.total if math.isfinite(self.total) else None,
            "costliest": self.costliest,
            "advice": list(self.advice),
        }

    def to_frame(self) -> pd.DataFrame:
        """Give a table with one row per question."""
        import pandas as pd

        return pd.DataFrame([one.to_dict() for one in self.questions])


def budget(
    survey: Survey,
    n: int,
    margins: Mapping[str, float] | None = None,
    locks: Mapping[str, Any] | None = None,
    *,
    margin: float = NEEDED,
    recommended: Iterable[str] = (),
    kept: Iterable[str] = (),
    numbered: bool = False,
    level: float = 0.95,
) -> Budget:
    """Give every question the smallest epsilon that reaches its margin; a locked one keeps its lock.

    Parameters
    ----------
    survey
        The survey; the epsilons in it are where the search starts, and stay where there is nothing to choose.
    n
        The number of answers expected.
    margins
        The half-width that a question needs, by its id; for an average as a part of its range.
    locks
        The protection that a question must keep, by its id: an epsilon (1.0), or an odds factor ("3-fold").
    margin
        The half-width that the others need.
    recommended
        Ids of the questions whose mechanism is open: each epsilon then has the recommended one.
    kept
        Ids of the questions whose epsilon stays as it is.
    numbered
        Whether sentences name questions by their numbers, not by their ids.
    level
        Confidence level of the margins.
    """
    n, margins, locks = _answers(n), dict(margins or {}), dict(locks or {})
    _check_ids(survey, margins, "margin")
    _check_ids(survey, locks, "lock")
    needs = {name: _margin(value, name) for name, value in margins.items()}
    usual, open_ones, still = _margin(margin, "margin"), set(recommended), set(kept)
    made = []
    for number, question in enumerate(survey.questions, 1):
        spender = Spender(question, question.id in open_ones, level)
        asked = _Asked(
            spender,
            number,
            f"question {number}" if numbered else f'question "{question.id}"',
            n,
            needs.get(question.id, usual),
            question.id in needs,
        )
        made.append(asked.planned(locks.get(question.id), question.id in still))
    return _summed(survey, n, made)


@dataclass(frozen=True)
class _Asked:
    """What is wanted of one question."""

    spender: Spender
    number: int
    name: str
    n: int
    needed: float
    insisted: bool

    def planned(self, lock: Any, kept: bool) -> QuestionBudget:
        """Give what it spends: its lock, what it has, or the least that is enough."""
        if lock is not None and not self.spender.can_move:
            raise AnalysisError(
                f"{self.name} has no epsilon to lock",
                "give its mechanism an epsilon, or leave it out of the locks",
            )
        if lock is not None:
            return self._locked(read_lock(lock))
        if kept or not self.spender.can_move:
            return self._spending(None)
        found = self.spender.smallest(self.n, self.needed)
        problem = "" if found is not None else _out_of_reach(self)
        return self._spending(found or self.spender.spent, problem)

    def _locked(self, lock: str) -> QuestionBudget:
        problem, spender, question = "", self.spender, self.spender.question
        reached = spender.margin(self.n, lock)
        # A lock alone is the wish: only a margin that was asked for as well can be out of its reach.
        if self.insisted and reached > self.needed * 1.0005:
            smallest = spender.smallest(self.n, self.needed)
            more = f"lock it at epsilon {smallest} instead, " if smallest is not None else ""
            problem = (
                f"{self.name} is locked at epsilon {lock}, which gives {margin_words(question, reached)} with"
                f" {self.n:,} answers, not the {margin_words(question, self.needed)} it needs; {more}ask"
                f" {spender.answers(self.needed, lock):,} people, or accept the wider margin"
            )
        return self._spending(lock, problem, locked=True)

    def _spending(self, spent: str | None, problem: str = "", locked: bool = False) -> QuestionBudget:
        spender = self.spender
        epsilon = spender.question.epsilon if spent is None else spender.at(spent).epsilon
        margin = spender.margin(self.n, spent)
        return QuestionBudget(
            spender, self.number, epsilon, margin, self.needed, locked, spent, problem, self.name
        )


def _out_of_reach(asked: _Asked) -> str:
    """Say why no epsilon reaches a margin: too few people, or a mechanism that is not precise enough at any."""
    spender, question, n, needed = asked.spender, asked.spender.question, asked.n, asked.needed
    said = f"{asked.name}: {margin_words(question, needed)} cannot be reached with {n:,} answers"
    alone = spender.open_margin / math.sqrt(n)
    if alone > needed:
        people = math.ceil((spender.open_margin / needed) ** 2)
        return (
            f"{said}: even without privacy the margin is {margin_words(question, alone)}; ask more than {people:,}"
            " people, or accept a wider margin"
        )
    if question.mechanism.has_decoy:
        return (
            f"{said}: its harmless question takes more precision than that at any epsilon; leave its mechanism open,"
            " ask more people, or accept a wider margin"
        )
    return f"{said}: it would need more epsilon than there is; ask more people, or accept a wider margin"


def _summed(survey: Survey, n: int, made: list[QuestionBudget]) -> Budget:
    # What does not move keeps its part of the total, whichever way the survey counts it.
    moved = sum(one.epsilon - one.spender.question.epsilon for one in made if one.spent is not None)
    total = survey.epsilon_total + moved if math.isfinite(survey.epsilon_total) else math.inf
    costliest = max(made, key=lambda one: one.epsilon)
    first = f"{costliest.name} costs most: epsilon {epsilon_text(costliest.epsilon, 2)}"
    of = f" of {epsilon_text(total, 2)} in total" if math.isfinite(total) and len(made) > 1 else ""
    advice = [f"{first}{of}", *remedies(made, costliest, n, total)]
    if total >= HIGH_TOTAL and math.isfinite(total):
        advice.insert(
            0,
            f"a total of {epsilon_text(total, 2)} is too high: one person's whole report may multiply an onlooker's"
            f" odds by up to {at_most(math.exp(total))}",
        )
    problems = tuple(one.problem for one in made if one.problem)
    return Budget(n, tuple(made), total, costliest.id, tuple(_sentence(one) for one in advice), problems)


def _answers(n: Any) -> int:
    found = read_whole(n, "n")
    if found < 1:
        raise AnalysisError(f"n is {found}", "give the number of answers, a whole number of 1 or more")
    return found


def _sentence(said: str) -> str:
    return f"{said[:1].upper()}{said[1:]}."


def _check_ids(survey: Survey, given: Mapping[str, Any], what: str) -> None:
    known = [question.id for question in survey.questions]
    for name in given:
        if name not in known:
            raise AnalysisError(
                f'{what} "{name}": the survey has no such question', f"use one of: {', '.join(known)}"
            )


def _margin(value: Any, name: str) -> float:
    found = read_number(value, f'the margin of "{name}"' if name != "margin" else name)
    if not 1e-6 <= found < 1.0:
        raise AnalysisError(
            f"the margin of {name} is {found:g}", "give a proportion between 0 and 1 (0.05, not 5)"
        )
    return found
