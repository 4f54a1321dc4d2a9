"""What is wanted of a question or a block, what that makes it spend, and what is out of reach."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from hushpoll_client.messages import Message, joined, msg

from hushpoll_analysis.errors import AnalysisError

from .block_epsilon import BlockEpsilonSearch
from .epsilon_search import EpsilonSearch, QuestionBudget, read_lock
from .margin_text import margin_words

_CLOSE = 1.0005


@dataclass(frozen=True)
class PlanningRequest:
    """What is wanted of one question."""

    search: EpsilonSearch
    number: int
    name: str
    n: int
    target_margin: float
    is_explicit: bool
    designs: int = 0

    @property
    def id(self) -> str:
        """The question's id."""
        return self.search.question.id

    def planned(self, lock: Any, unchanged: bool) -> QuestionBudget:
        """Return what it spends: its lock, what it has, or the least that is enough."""
        if lock is not None and not self.search.can_move:
            raise AnalysisError(
                msg("{name} has no epsilon to lock", name=self.name),
                "give its mechanism an epsilon, or leave it out of the locks",
            )
        if lock is not None:
            return self._locked(read_lock(lock))
        if unchanged or not self.search.can_move:
            return self.spending(None, missed=self._by_hand())
        epsilon = self.search.smallest(self.n, self.target_margin, self.designs)
        problem = ""
        if epsilon is None:
            problem = _out_of_reach(self)
        return self.spending(epsilon or self.search.stated_epsilon, problem)

    def spending(
        self,
        stated_epsilon: str | None,
        problem: str = "",
        missed: str = "",
        locked: bool = False,
        block: BlockEpsilonSearch | None = None,
    ) -> QuestionBudget:
        """Return what it spends and what that makes of it."""
        search = self.search
        epsilon = search.question.epsilon
        if stated_epsilon is not None:
            epsilon = search.at(stated_epsilon).epsilon
        margin = search.margin(self.n, stated_epsilon)
        plan = (search, self.number, epsilon, margin, self.target_margin, locked, stated_epsilon)
        return QuestionBudget(*plan, problem, self.name, missed, block)

    def words(self, margin: float) -> str:
        """Write a margin in the question's unit."""
        return margin_words(self.search.question, margin)

    def _locked(self, lock: str) -> QuestionBudget:
        problem, search = "", self.search
        reached = search.margin(self.n, lock)
        if reached > self.target_margin * _CLOSE:
            smallest = search.smallest(self.n, self.target_margin)
            figures: dict[str, Any] = {
                "name": self.name,
                "lock": _written(lock),
                "reached": self.words(reached),
                "n": self.n,
                "needed": self.words(self.target_margin),
                "people": search.answers(self.target_margin, lock),
            }
            if smallest is None:
                problem = msg(
                    "{name} is locked at epsilon {lock}, which gives {reached} with {n:,} answers, not the {needed} it "
                    "needs; ask {people:,} people, or accept the wider margin",
                    **figures,
                )
            else:
                problem = msg(
                    "{name} is locked at epsilon {lock}, which gives {reached} with {n:,} answers, not the {needed} it "
                    "needs; lock it at epsilon {smallest} instead, ask {people:,} people, or accept the wider margin",
                    smallest=_written(smallest),
                    **figures,
                )
        # A lock alone is reported; only a margin that was asked for as well is refused.
        if self.is_explicit:
            return self.spending(lock, problem=problem, locked=True)
        return self.spending(lock, missed=problem, locked=True)

    def _by_hand(self) -> str:
        """Return the sentence that what stays as it is misses its margin."""
        reached = self.search.margin(self.n)
        if reached <= self.target_margin * _CLOSE:
            return ""
        figures = {
            "name": self.name,
            "reached": self.words(reached),
            "needed": self.words(self.target_margin),
        }
        try:
            people = self.search.answers(self.target_margin)
        except AnalysisError:
            return msg(
                "{name} stays as it is and gives {reached}, not the {needed} it needs; choose another mechanism, or "
                "accept the wider margin",
                **figures,
            )
        return msg(
            "{name} stays as it is and gives {reached}, not the {needed} it needs; ask {people:,} people, change its "
            "mechanism, or accept the wider margin",
            people=people,
            **figures,
        )


@dataclass(frozen=True)
class BlockRequest:
    """What is wanted of the questions of one block, which spend together."""

    members: tuple[PlanningRequest, ...]
    numbered: bool

    @property
    def name(self) -> str:
        """What sentences call it."""
        first, last = self.members[0], self.members[-1]
        if self.numbered:
            return msg("the block of questions {first} to {last}", first=first.number, last=last.number)
        return msg('the block of questions "{first}" to "{last}"', first=first.id, last=last.id)

    @property
    def n(self) -> int:
        """The number of answers expected."""
        return self.members[0].n

    @property
    def target_margins(self) -> tuple[float, ...]:
        """The margins of its questions."""
        return tuple(member.target_margin for member in self.members)

    def planned(self, locks: Sequence[Any], unchanged: bool) -> list[QuestionBudget]:
        """Return what it spends, question by question: the least that is enough, never more than its strictest lock."""
        block = BlockEpsilonSearch(tuple(member.search for member in self.members), self.name)
        if unchanged:
            return [member.spending(None, block=block) for member in self.members]
        epsilon = block.smallest(self.n, self.target_margins)
        lock = min(map(read_lock, locks), key=float, default=None)
        if lock is not None and (epsilon is None or float(epsilon) > float(lock)):
            sentence = self._capped(block, lock, epsilon)
            # A margin that was asked for is refused; a lock alone is the wish.
            short = any(
                member.is_explicit and member.search.margin(self.n, lock) > member.target_margin * _CLOSE
                for member in self.members
            )
            if short:
                problem = sentence
                missed = ""
            else:
                problem = ""
                missed = sentence
            return [
                member.spending(lock, problem, missed, locked=True, block=block) for member in self.members
            ]
        problem = ""
        if epsilon is None:
            problem = self._out_of_reach(block)
        stated_epsilon, locked = epsilon or block.stated_epsilon, lock is not None
        return [
            member.spending(stated_epsilon, problem, locked=locked, block=block) for member in self.members
        ]

    def _short(self, block: BlockEpsilonSearch, epsilon: str | None) -> PlanningRequest:
        return self.members[block.hardest(self.n, self.target_margins, epsilon)]

    def _capped(self, block: BlockEpsilonSearch, lock: str, epsilon: str | None) -> str:
        """Return what a lock makes of the margins, and the ways out."""
        short = self._short(block, lock)
        reached = short.search.margin(self.n, lock)
        ways = []
        if epsilon is not None:
            ways = [msg("lock it at epsilon {epsilon} instead", epsilon=_written(epsilon))]
        people = msg("ask {people:,} people", people=block.answers(self.target_margins, lock))
        return msg(
            "{name} is locked at epsilon {lock}, which gives {question} {reached} with {n:,} answers, not the {needed} "
            "it needs; {ways}, or accept a wider margin",
            name=self.name,
            lock=_written(lock),
            question=short.name,
            reached=short.words(reached),
            n=self.n,
            needed=short.words(short.target_margin),
            ways=joined(", ", [*ways, people, *self._other(block, lock)]),
        )

    def _other(self, block: BlockEpsilonSearch, lock: str | None = None) -> list[Message]:
        """Return what another number of questions asked would need, where that is enough."""
        best = block.best(self.n, self.target_margins)
        if best is None or best[0] == block.ask or (lock is not None and float(best[1]) > float(lock)):
            return []
        return [
            msg(
                "ask each person {ask} of its {count} questions, which needs epsilon {epsilon}",
                ask=best[0],
                count=len(self.members),
                epsilon=_written(best[1]),
            )
        ]

    def _out_of_reach(self, block: BlockEpsilonSearch) -> str:
        """Return why no epsilon is enough, with the figures of the best number of questions to ask."""
        short = self._short(block, "20")
        respondents_each = float(short.search.question.mechanism.asked) * self.n
        figures: dict[str, Any] = {
            "name": self.name,
            "needed": short.words(short.target_margin),
            "question": short.name,
            "n": self.n,
            "each": respondents_each,
        }
        alone = short.search.open_margin / math.sqrt(self.n)
        if alone > short.target_margin:
            people = msg("ask more than {people:,} people", people=block.people(self.target_margins))
            return msg(
                "{name}: {needed} of {question} cannot be reached with {n:,} answers, of which about {each:,.0f} are "
                "to each of its questions (even without privacy the margin is {alone}); {ways}, or accept a wider "
                "margin",
                alone=short.words(alone),
                ways=joined(", ", [*self._other(block), people]),
                **figures,
            )
        more_people = msg("ask more people")
        return msg(
            "{name}: {needed} of {question} cannot be reached with {n:,} answers, of which about {each:,.0f} are to "
            "each of its questions; {ways}, or accept a wider margin",
            ways=joined(", ", [*self._other(block), more_people]),
            **figures,
        )


def _out_of_reach(request: PlanningRequest) -> str:
    """Return why no epsilon reaches a margin: too few people, or a mechanism that is not precise enough at any."""
    search, n, margin = request.search, request.n, request.target_margin
    figures: dict[str, Any] = {"name": request.name, "needed": request.words(margin), "n": n}
    alone = search.open_margin / math.sqrt(n)
    if alone > margin:
        people = math.ceil((search.open_margin / margin) ** 2)
        return msg(
            "{name}: {needed} cannot be reached with {n:,} answers: even without privacy the margin is {alone}; ask "
            "more than {people:,} people, or accept a wider margin",
            alone=request.words(alone),
            people=people,
            **figures,
        )
    if search.question.mechanism.has_decoy:
        return msg(
            "{name}: {needed} cannot be reached with {n:,} answers: its harmless question takes more precision than "
            "that at any epsilon; leave its mechanism open, ask more people, or accept a wider margin",
            **figures,
        )
    return msg(
        "{name}: {needed} cannot be reached with {n:,} answers: it would need more epsilon than there is; ask more "
        "people, or accept a wider margin",
        **figures,
    )


def _written(epsilon: str) -> Message:
    """Write an epsilon as it was given, so that another language can write it its own way."""
    return msg("{value}", value=Decimal(epsilon))
