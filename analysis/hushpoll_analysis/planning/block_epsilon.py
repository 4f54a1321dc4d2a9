"""A block's epsilon: one for all its questions, the smallest that reaches the margins of all."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from hushpoll_client import HushpollError
from hushpoll_client.mechanism import Member, sampled

from .epsilon_search import Spender

__all__ = ["BlockSpender"]

_MOST_ASKED = 16


@dataclass(frozen=True)
class BlockSpender:
    """The questions of a block, which share one epsilon; `name` is what sentences call it."""

    members: tuple[Spender, ...]
    name: str

    @property
    def ask(self) -> int:
        """How many of its questions each person is asked."""
        return int(self.members[0].question.mechanism.parameters["ask"])

    @property
    def spent(self) -> str:
        """The epsilon that its document states."""
        return self.members[0].spent

    def asking(self, ask: int) -> BlockSpender | None:
        """Return the same block with another number of questions asked; None where it has too many joint answers."""
        sizes = [len(member.question.labels) for member in self.members]
        try:
            made = sampled(sizes, self.spent, ask)
        except HushpollError:
            return None
        members = [
            replace(one, question=replace(one.question, mechanism=Member.of(made, place)))
            for place, one in enumerate(self.members)
        ]
        return replace(self, members=tuple(members))

    def smallest(self, n: int, needed: Sequence[float]) -> str | None:
        """Find the smallest epsilon that reaches every question's margin; None where there is none."""
        most: str | None = None
        for one, margin in zip(self.members, needed, strict=True):
            # The margin of K-ary response falls as epsilon grows: what is enough for the others only rises.
            if most is None or one.margin(n, most) > margin:
                most = one.smallest(n, margin)
                if most is None:
                    return None
        return most

    def best(self, n: int, needed: Sequence[float]) -> tuple[int, str] | None:
        """Find the number of questions to ask that needs least epsilon, with that; None where none is enough.

        A block that asks two or more may be there for its cross-tables, and stays with two or more.
        """
        found = []
        for ask in range(min(self.ask, 2), min(len(self.members), _MOST_ASKED) + 1):
            other = self.asking(ask)
            epsilon = None if other is None else other.smallest(n, needed)
            if epsilon is not None:
                found.append((float(epsilon), ask, epsilon))
        return None if not found else (min(found)[1], min(found)[2])

    def hardest(self, n: int, needed: Sequence[float], epsilon: str | None) -> int:
        """Return the question that is furthest from its margin."""
        short = [one.margin(n, epsilon) / margin for one, margin in zip(self.members, needed, strict=True)]
        return short.index(max(short))

    def answers(self, needed: Sequence[float], epsilon: str) -> int:
        """Return the people that it takes to reach all margins."""
        return max(one.answers(margin, epsilon) for one, margin in zip(self.members, needed, strict=True))

    def people(self, needed: Sequence[float]) -> int:
        """Return the people that it takes even without privacy."""
        pairs = zip(self.members, needed, strict=True)
        return max(math.ceil((one.open_margin / margin) ** 2) for one, margin in pairs)
