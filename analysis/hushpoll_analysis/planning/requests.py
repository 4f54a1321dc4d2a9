"""What is wanted of a question or a block, what that makes it spend, and what is out of reach."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from hushpoll_client.messages import Message, joined, msg

from hushpoll_analysis.errors import AnalysisError

from .block_epsilon import BlockSpender
from .epsilon_search import QuestionBudget, Spender, margin_words, read_lock

__all__ = ["Asked", "AskedBlock"]

_CLOSE = 1.0005


@dataclass(frozen=True)
class Asked:
    """What is wanted of one question."""

    spender: Spender
    number: int
    name: str
    n: int
    needed: float
    insisted: bool
    designs: int = 0

    @property
    def id(self) -> str:
        """The question's id."""
        return self.spender.question.id

    def planned(self, lock: Any, kept: bool) -> QuestionBudget:
        """Return what it spends: its lock, what it has, or the least that is enough."""
        if lock is not None and not self.spender.can_move:
            raise AnalysisError(
                msg("{name} has no epsilon to lock", name=self.name),
                "give its mechanism an epsilon, or leave it out of the locks",
            )
        if lock is not None:
            return self._locked(read_lock(lock))
        if kept or not self.spender.can_move:
            return self.spending(None, missed=self._by_hand())
        found = self.spender.smallest(self.n, self.needed, self.designs)
        problem = "" if found is not None else _out_of_reach(self)
        return self.spending(found or self.spender.spent, problem)

    def spending(
        self,
        spent: str | None,
        problem: str = "",
        missed: str = "",
        locked: bool = False,
        whole: BlockSpender | None = None,
    ) -> QuestionBudget:
        """Return what it spends and what that makes of it."""
        spender = self.spender
        epsilon = spender.question.epsilon if spent is None else spender.at(spent).epsilon
        margin = spender.margin(self.n, spent)
        plan = (spender, self.number, epsilon, margin, self.needed, locked, spent)
        return QuestionBudget(*plan, problem, self.name, missed, whole)

    def words(self, margin: float) -> str:
        """Write a margin in the question's unit."""
        return margin_words(self.spender.question, margin)

    def _locked(self, lock: str) -> QuestionBudget:
        told, spender = "", self.spender
        reached = spender.margin(self.n, lock)
        if reached > self.needed * _CLOSE:
            smallest = spender.smallest(self.n, self.needed)
            given: dict[str, Any] = {
                "name": self.name,
                "lock": _written(lock),
                "reached": self.words(reached),
                "n": self.n,
                "needed": self.words(self.needed),
                "people": spender.answers(self.needed, lock),
            }
            told = (
                msg(
                    "{name} is locked at epsilon {lock}, which gives {reached} with {n:,} answers, not the {needed} it "
                    "needs; ask {people:,} people, or accept the wider margin",
                    **given,
                )
                if smallest is None
                else msg(
                    "{name} is locked at epsilon {lock}, which gives {reached} with {n:,} answers, not the {needed} it "
                    "needs; lock it at epsilon {smallest} instead, ask {people:,} people, or accept the wider margin",
                    smallest=_written(smallest),
                    **given,
                )
            )
        # A lock alone is the wish, and said; only a margin that was asked for as well is refused.
        return self.spending(lock, told if self.insisted else "", "" if self.insisted else told, locked=True)

    def _by_hand(self) -> str:
        """Return the sentence that what stays as it is misses its margin."""
        reached = self.spender.margin(self.n)
        if reached <= self.needed * _CLOSE:
            return ""
        given = {"name": self.name, "reached": self.words(reached), "needed": self.words(self.needed)}
        try:
            people = self.spender.answers(self.needed)
        except AnalysisError:
            return msg(
                "{name} stays as it is and gives {reached}, not the {needed} it needs; choose another mechanism, or "
                "accept the wider margin",
                **given,
            )
        return msg(
            "{name} stays as it is and gives {reached}, not the {needed} it needs; ask {people:,} people, change its "
            "mechanism, or accept the wider margin",
            people=people,
            **given,
        )


@dataclass(frozen=True)
class AskedBlock:
    """What is wanted of the questions of one block, which spend together."""

    members: tuple[Asked, ...]
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
    def needed(self) -> tuple[float, ...]:
        """The margins of its questions."""
        return tuple(member.needed for member in self.members)

    def planned(self, locks: Sequence[Any], kept: bool) -> list[QuestionBudget]:
        """Return what it spends, question by question: the least that is enough, never more than its strictest lock."""
        whole = BlockSpender(tuple(member.spender for member in self.members), self.name)
        if kept:
            return [member.spending(None, whole=whole) for member in self.members]
        found = whole.smallest(self.n, self.needed)
        lock = min(map(read_lock, locks), key=float, default=None)
        if lock is not None and (found is None or float(found) > float(lock)):
            told = self._capped(whole, lock, found)
            # A margin that was asked for is refused; a lock alone is the wish.
            short = any(
                member.insisted and member.spender.margin(self.n, lock) > member.needed * _CLOSE
                for member in self.members
            )
            problem, missed = (told, "") if short else ("", told)
            return [
                member.spending(lock, problem, missed, locked=True, whole=whole) for member in self.members
            ]
        problem = "" if found is not None else self._out_of_reach(whole)
        spent, locked = found or whole.spent, lock is not None
        return [member.spending(spent, problem, locked=locked, whole=whole) for member in self.members]

    def _short(self, whole: BlockSpender, epsilon: str | None) -> Asked:
        return self.members[whole.hardest(self.n, self.needed, epsilon)]

    def _capped(self, whole: BlockSpender, lock: str, found: str | None) -> str:
        """Return what a lock makes of the margins, and the ways out."""
        short = self._short(whole, lock)
        reached = short.spender.margin(self.n, lock)
        ways = (
            [msg("lock it at epsilon {epsilon} instead", epsilon=_written(found))]
            if found is not None
            else []
        )
        people = msg("ask {people:,} people", people=whole.answers(self.needed, lock))
        return msg(
            "{name} is locked at epsilon {lock}, which gives {question} {reached} with {n:,} answers, not the {needed} "
            "it needs; {ways}, or accept a wider margin",
            name=self.name,
            lock=_written(lock),
            question=short.name,
            reached=short.words(reached),
            n=self.n,
            needed=short.words(short.needed),
            ways=joined(", ", [*ways, people, *self._other(whole, lock)]),
        )

    def _other(self, whole: BlockSpender, lock: str | None = None) -> list[Message]:
        """Return what another number of questions asked would need, where that is enough."""
        best = whole.best(self.n, self.needed)
        if best is None or best[0] == whole.ask or (lock is not None and float(best[1]) > float(lock)):
            return []
        return [
            msg(
                "ask each person {ask} of its {count} questions, which needs epsilon {epsilon}",
                ask=best[0],
                count=len(self.members),
                epsilon=_written(best[1]),
            )
        ]

    def _out_of_reach(self, whole: BlockSpender) -> str:
        """Return why no epsilon is enough, with the figures of the best number of questions to ask."""
        short = self._short(whole, "20")
        each = float(short.spender.question.mechanism.asked) * self.n
        given: dict[str, Any] = {
            "name": self.name,
            "needed": short.words(short.needed),
            "question": short.name,
            "n": self.n,
            "each": each,
        }
        alone = short.spender.open_margin / math.sqrt(self.n)
        if alone > short.needed:
            people = msg("ask more than {people:,} people", people=whole.people(self.needed))
            return msg(
                "{name}: {needed} of {question} cannot be reached with {n:,} answers, of which about {each:,.0f} are "
                "to each of its questions (even without privacy the margin is {alone}); {ways}, or accept a wider "
                "margin",
                alone=short.words(alone),
                ways=joined(", ", [*self._other(whole), people]),
                **given,
            )
        return msg(
            "{name}: {needed} of {question} cannot be reached with {n:,} answers, of which about {each:,.0f} are to "
            "each of its questions; {ways}, or accept a wider margin",
            ways=joined(", ", [*self._other(whole), msg("ask more people")]),
            **given,
        )


def _out_of_reach(asked: Asked) -> str:
    """Return why no epsilon reaches a margin: too few people, or a mechanism that is not precise enough at any."""
    spender, n, needed = asked.spender, asked.n, asked.needed
    given: dict[str, Any] = {"name": asked.name, "needed": asked.words(needed), "n": n}
    alone = spender.open_margin / math.sqrt(n)
    if alone > needed:
        people = math.ceil((spender.open_margin / needed) ** 2)
        return msg(
            "{name}: {needed} cannot be reached with {n:,} answers: even without privacy the margin is {alone}; ask "
            "more than {people:,} people, or accept a wider margin",
            alone=asked.words(alone),
            people=people,
            **given,
        )
    if spender.question.mechanism.has_decoy:
        return msg(
            "{name}: {needed} cannot be reached with {n:,} answers: its harmless question takes more precision than "
            "that at any epsilon; leave its mechanism open, ask more people, or accept a wider margin",
            **given,
        )
    return msg(
        "{name}: {needed} cannot be reached with {n:,} answers: it would need more epsilon than there is; ask more "
        "people, or accept a wider margin",
        **given,
    )


def _written(epsilon: str) -> Message:
    """Write an epsilon as it was given, so that another language can write it its own way."""
    return msg("{value}", value=Decimal(epsilon))
