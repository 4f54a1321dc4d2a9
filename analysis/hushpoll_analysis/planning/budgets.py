"""One person's budget: what each question of a survey may cost, and what would make it cheaper."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from hushpoll_client import Survey
from hushpoll_client.formatting import at_most, epsilon_text
from hushpoll_client.messages import msg, sentence

from hushpoll_analysis.errors import AnalysisError
from hushpoll_analysis.planning.requests import BlockRequest, PlanningRequest
from hushpoll_analysis.result import PlottedResult

from .epsilon_search import HIGH_TOTAL, EpsilonSearch, QuestionBudget
from .precision import read_number, read_whole
from .remedies import remedies

if TYPE_CHECKING:
    import pandas as pd

NEEDED = 0.05
"""The margin of a question for which nothing else is said."""
COLUMNS = ("id", "epsilon", "margin", "needed", "locked", "mechanism", "block")


@dataclass(frozen=True)
class Budget(PlottedResult):
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

    words = "epsilon of each question"
    plotted_column = "epsilon"
    from_zero = True

    n: int
    questions: tuple[QuestionBudget, ...]
    total: float
    costliest: str
    advice: tuple[str, ...]
    problems: tuple[str, ...]

    @property
    def met(self) -> bool:
        """Whether every question is as precise as is needed."""
        return all(question.met for question in self.questions)

    @property
    def too_high(self) -> bool:
        """Whether one person's total is one to warn of."""
        return self.total >= HIGH_TOTAL

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON values: None stands for unbounded."""
        return {
            "n": self.n,
            "questions": [question.to_dict() for question in self.questions],
            "epsilon_total": self.total if math.isfinite(self.total) else None,
            "costliest": self.costliest,
            "advice": list(self.advice),
        }

    def to_frame(self) -> pd.DataFrame:
        """Return a table with one row per question."""
        import pandas as pd

        frame = pd.DataFrame([question.to_dict() for question in self.questions], columns=list(COLUMNS))
        return frame.astype({"epsilon": float})

    def _picture(self) -> pd.DataFrame:
        return self.to_frame().set_index("id")

    def _caption(self) -> str:
        return " ".join(self.advice)


def budget(
    survey: Survey,
    n: int | None = None,
    margins: Mapping[str, float] | None = None,
    locks: Mapping[str, Any] | None = None,
    *,
    margin: float = NEEDED,
    recommended: Iterable[str] = (),
    kept: Iterable[str] = (),
    numbered: bool = False,
    level: float = 0.95,
    designs: int = 3,
) -> Budget:
    """Return every question the smallest epsilon that reaches its margin; a locked one keeps its lock.

    A block is one search: it gets the smallest epsilon that reaches the margins of all its questions, with as many
    asked of each person as its document says. A lock of one of them, or of the block's own id (block1), is a cap on it.

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
    designs
        Where channels are long to compute (numbers, scales of more than 7 points), how many are computed between the
        slider's stops, for each question; 0 takes the stops, which are at hand. Bins stay at the stops.
    """
    if not isinstance(survey, Survey):
        raise AnalysisError(
            f"budget: survey is a {type(survey).__name__}",
            "give a Survey, as in budget(Survey.load('exam.json'), n=500)",
        )
    if n is None:
        raise AnalysisError("budget: n is missing", "give the number of answers expected, as in n=500")
    n, margins, locks = _answers(n), dict(margins or {}), dict(locks or {})
    ids = [question.id for question in survey.questions]
    _check_ids(ids, margins, "margin")
    _check_ids([*ids, *(block.id for block in survey.blocks)], locks, "lock")
    needs = {name: _margin(value, name) for name, value in margins.items()}
    usual, open_ones, still = _margin(margin, "margin"), set(recommended), set(kept)
    requests = []
    for number, question in enumerate(survey.questions, 1):
        name = msg('question "{question}"', question=question.id)
        if numbered:
            name = msg("question {number}", number=number)
        request = PlanningRequest(
            search=EpsilonSearch(question, question.id in open_ones, level),
            number=number,
            name=name,
            n=n,
            target_margin=needs.get(question.id, usual),
            is_explicit=question.id in needs,
            designs=designs,
        )
        requests.append(request)
    budgets: list[QuestionBudget] = []
    for request in requests:
        question = request.search.question
        if question.block is None:
            budgets.append(request.planned(locks.get(question.id), question.id in still))
        elif not any(done.search.question.block == question.block for done in budgets):
            inside = tuple(other for other in requests if other.search.question.block == question.block)
            block_locks = [
                locks[name] for name in (question.block, *(other.id for other in inside)) if name in locks
            ]
            budgets += BlockRequest(inside, numbered).planned(
                block_locks, any(other.id in still for other in inside)
            )
    return _summed(survey, n, budgets)


def _summed(survey: Survey, n: int, budgets: list[QuestionBudget]) -> Budget:
    # What does not move keeps its part of the total, whichever way the survey counts it.
    moved = sum(
        budget.epsilon - budget.search.question.epsilon
        for budget in budgets
        if budget.stated_epsilon is not None and budget.leads
    )
    total = math.inf
    if math.isfinite(survey.epsilon_total):
        total = survey.epsilon_total + moved
    costliest = max(budgets, key=lambda budget: budget.epsilon)
    first = {"payer": costliest.payer, "epsilon": epsilon_text(costliest.epsilon, 2)}
    if math.isfinite(total) and len(budgets) > 1:
        most = msg(
            "{payer} costs most: epsilon {epsilon} of {total} in total", total=epsilon_text(total, 2), **first
        )
    else:
        most = msg("{payer} costs most: epsilon {epsilon}", **first)
    missed = dict.fromkeys(budget.missed for budget in budgets if budget.missed)
    advice = [*missed, most, *remedies(budgets, costliest, n, total)]
    advice += [
        msg(
            "{name}: its epsilon is one of the slider's stops, because a channel in between takes minutes to compute",
            name=budget.name,
        )
        for budget in budgets
        if budget.search.at_stops
        and budget.stated_epsilon is not None
        and not budget.locked
        and not budget.problem
    ]
    if total >= HIGH_TOTAL and math.isfinite(total):
        advice.insert(
            0,
            msg(
                "a total of {total} is too high: one person's whole report may multiply an onlooker's odds by up to "
                "{factor}",
                total=epsilon_text(total, 2),
                factor=at_most(math.exp(total)),
            ),
        )
    problems = tuple(dict.fromkeys(budget.problem for budget in budgets if budget.problem))
    return Budget(n, tuple(budgets), total, costliest.id, tuple(map(sentence, advice)), problems)


def _answers(n: Any) -> int:
    count = read_whole(n, "n")
    if count < 1:
        raise AnalysisError(
            msg("n is {n}", n=count), "give the number of answers, a whole number of 1 or more"
        )
    return count


def _check_ids(names: Sequence[str], values: Mapping[str, Any], what: str) -> None:
    for name in values:
        if name not in names:
            raise AnalysisError(
                msg('{what} "{name}": the survey has no such question', what=what, name=name),
                msg("use one of: {known}", known=", ".join(names)),
            )


def _margin(value: Any, name: str) -> float:
    margin = read_number(value, msg('the margin of "{name}"', name=name) if name != "margin" else name)
    if not 1e-6 <= margin < 1.0:
        raise AnalysisError(
            msg("the margin of {name} is {found:g}", name=name, found=margin),
            "give a proportion between 0 and 1 (0.05, not 5)",
        )
    return margin
