"""A block's epsilon: one for all its questions, the smallest that reaches the margins of all."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from hushpoll_client import HushpollError
from hushpoll_client.mechanism import Member, sampled

from .epsilon_search import EpsilonSearch

_MOST_ASKED = 16


@dataclass(frozen=True)
class BlockEpsilonSearch:
    """The questions of a block, which share one epsilon; `name` is what sentences call it."""

    members: tuple[EpsilonSearch, ...]
    name: str

    @property
    def ask(self) -> int:
        """How many of its questions each person is asked."""
        return int(self.members[0].question.mechanism.parameters["ask"])

    @property
    def stated_epsilon(self) -> str:
        """The epsilon that its document states."""
        return self.members[0].stated_epsilon

    def asking(self, ask: int) -> BlockEpsilonSearch | None:
        """Return the same block with another number of questions asked; None where it has too many joint answers."""
        sizes = [len(member.question.labels) for member in self.members]
        try:
            block = sampled(sizes, self.stated_epsilon, ask)
        except HushpollError:
            return None
        members = [
            replace(block_member, question=replace(block_member.question, mechanism=Member.of(block, index)))
            for index, block_member in enumerate(self.members)
        ]
        return replace(self, members=tuple(members))

    def smallest(self, n: int, margins: Sequence[float]) -> str | None:
        """Find the smallest epsilon that reaches every question's margin; None where there is none."""
        largest: str | None = None
        for member, margin in zip(self.members, margins, strict=True):
            # The margin of K-ary response falls as epsilon grows: what is enough for the others only rises.
            if largest is None or member.margin(n, largest) > margin:
                largest = member.smallest(n, margin)
                if largest is None:
                    return None
        return largest

    def best(self, n: int, margins: Sequence[float]) -> tuple[int, str] | None:
        """Find the number of questions to ask that needs least epsilon, with that; None where none is enough.

        A block that asks two or more may be there for its cross-tables, and stays with two or more.
        """
        choices = []
        for ask in range(min(self.ask, 2), min(len(self.members), _MOST_ASKED) + 1):
            alternative = self.asking(ask)
            epsilon = None
            if alternative is not None:
                epsilon = alternative.smallest(n, margins)
            if epsilon is not None:
                choices.append((float(epsilon), ask, epsilon))
        if not choices:
            return None
        return (min(choices)[1], min(choices)[2])

    def hardest(self, n: int, margins: Sequence[float], epsilon: str | None) -> int:
        """Return the question that is furthest from its margin."""
        short = [
            member.margin(n, epsilon) / margin for member, margin in zip(self.members, margins, strict=True)
        ]
        return short.index(max(short))

    def answers(self, margins: Sequence[float], epsilon: str) -> int:
        """Return the people that it takes to reach all margins."""
        return max(
            member.answers(margin, epsilon) for member, margin in zip(self.members, margins, strict=True)
        )

    def people(self, margins: Sequence[float]) -> int:
        """Return the people that it takes even without privacy."""
        pairs = zip(self.members, margins, strict=True)
        return max(math.ceil((member.open_margin / margin) ** 2) for member, margin in pairs)
